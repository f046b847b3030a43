"""The objects of a kind that were written last, as reading them back would give them.

What is written is mostly written again soon: a pod is created, its claims are named, it is bound,
and its node says that it runs. Each of these starts from what is stored, and need not decode it.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["OBJECTS_MAX", "VALUE_BYTES_MAX", "Recent"]

# What a scheduler has under way that was given a few thousand pods at once. Longer values are not
# remembered, which bounds the memory: usual objects share their specs and take two or three
# kilobytes.
OBJECTS_MAX: Final = 4096
VALUE_BYTES_MAX: Final = 8 * 1024


class Recent:
    """Objects by revision; the oldest makes room."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[bytes, Any]] = {}

    def find(self, value: bytes, revision: int) -> Any | None:
        """The object that was stored as this value at this revision, if it is still known."""
        known = self._known.get(revision)
        # Whose revision it is shows in the value: there may be several stores in a process.
        return known[1] if known is not None and known[0] == value else None

    def add(self, value: bytes, revision: int, obj: Any) -> None:
        """Know an object again."""
        if len(value) > VALUE_BYTES_MAX:
            return
        if len(self._known) >= OBJECTS_MAX:
            del self._known[next(iter(self._known))]
        self._known[revision] = (value, obj)
