"""Objects as authorizers and admission read them: typed, at their hub version, always current.

Declared here is what they need, no more. The server's own reader decodes records of the store once
and remembers them; tests hand in a FixedState.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from dray.api.meta import Object

__all__ = ["FixedState", "State"]

O = TypeVar("O", bound=Object)  # noqa: E741


class State(Protocol):
    """Read access to what is stored, durable or on its way to be."""

    def get(self, kind: type[O], name: str, namespace: str = "") -> O | None:
        """One object."""
        ...

    def list(self, kind: type[O], namespace: str = "") -> Sequence[O]:
        """All objects of a kind, in a namespace or, without one, everywhere; ordered by key."""
        ...

    def revision(self, kind: type[Object]) -> int:
        """A number that changes whenever any object of the kind does, for caches."""
        ...


class FixedState:
    """A state made of the objects it is given."""

    def __init__(self, *objects: Object) -> None:
        self._objects: dict[tuple[type[Object], str, str], Object] = {}
        self._revision = 0
        for obj in objects:
            self.put(obj)

    def put(self, obj: Object) -> None:
        """Add an object, or replace the one of its name."""
        self._revision += 1
        self._objects[type(obj), obj.metadata.namespace, obj.metadata.name] = obj

    def remove(self, obj: Object) -> None:
        self._revision += 1
        self._objects.pop((type(obj), obj.metadata.namespace, obj.metadata.name), None)

    def get(self, kind: type[O], name: str, namespace: str = "") -> O | None:
        found = self._objects.get((kind, namespace, name))
        return found if isinstance(found, kind) else None

    def list(self, kind: type[O], namespace: str = "") -> Sequence[O]:
        return [
            obj
            for key, obj in sorted(self._objects.items(), key=lambda item: item[0][1:])
            if isinstance(obj, kind) and key[0] is kind and namespace in ("", key[1])
        ]

    def revision(self, kind: type[Object]) -> int:
        del kind
        return self._revision
