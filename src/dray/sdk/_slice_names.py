"""Names of slices: a slice's place in its pool comes first, because allocators go by name.

Upstream counterpart: the names of the resourceslice controller since 1.36.
"""

from __future__ import annotations

from typing import Final

__all__ = ["generate_name", "index_of"]

# Enough for a million slices; names with a longer number still sort after the shorter ones' range.
INDEX_DIGITS: Final = 5

# What nobody counts to: a name that begins so is somebody else's.
INDEX_MAX: Final = 2**31 - 1

_DIGITS: Final = frozenset("0123456789abcdef")


def generate_name(index: int, driver: str, node_name: str) -> str:
    """The prefix that the server completes."""
    node = f"{node_name}-" if node_name else ""
    return f"{index:0{INDEX_DIGITS}x}-{driver}-{node}"


def index_of(name: str) -> int | None:
    """The place that a name tells; None if it was not named like this."""
    digits, dash, _ = name.partition("-")
    if not dash or len(digits) < INDEX_DIGITS or not _DIGITS.issuperset(digits):
        return None
    index = int(digits[:16], 16)
    return index if len(digits) <= 16 and index <= INDEX_MAX else None
