"""The objects of a kind in one namespace, remembered for as long as none of the kind changes.

Most namespaces have no quota and no limit range, and every create has to find that out: a lookup
in a dict, not a walk over the state.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from dray.api.meta import Object
from dray.server.state import State

__all__ = ["NAMESPACES_REMEMBERED_MAX", "Listing"]

O = TypeVar("O", bound=Object)  # noqa: E741

# Namespaces come and go, and one that is gone is not missed here; large clusters have some
# thousands. At the bound everything is forgotten, which costs one listing per namespace in use.
NAMESPACES_REMEMBERED_MAX: Final = 16_384


class Listing(Generic[O]):
    """What `State.list` gives, by namespace."""

    def __init__(self, state: State, kind: type[O]) -> None:
        self._state = state
        self._kind = kind
        self._revision = -1
        self._found: dict[str, tuple[O, ...]] = {}

    def of(self, namespace: str) -> tuple[O, ...]:
        """The objects of a namespace, in the order of their names."""
        revision = self._state.revision(self._kind)
        if revision != self._revision or len(self._found) >= NAMESPACES_REMEMBERED_MAX:
            self._found.clear()
            self._revision = revision
        found = self._found.get(namespace)
        if found is None:
            found = self._found[namespace] = tuple(self._state.list(self._kind, namespace))
        return found
