"""The State that authorizers and admission read, over the store.

Objects are decoded when somebody asks and remembered by the revision they were read at, so that
roles, namespaces and service accounts cost a lookup. Upstream counterpart: the informers that
kube-apiserver keeps for its own use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from dray.api.meta import Object
from dray.errors import InternalError
from dray.server.registry import Registry, Served, key_of
from dray.store.store import Event, Record, Store

__all__ = ["StoredState"]

O = TypeVar("O", bound=Object)  # noqa: E741

# Enough for every role, namespace and account of a large cluster, and what pods refer to.
REMEMBERED_OBJECTS_MAX: Final = 20_000


class StoredState:
    """Typed reads of what is durable."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._kinds: dict[type[Object], Served] = {}
        for served in registry.served():
            if served.kind is not None and served.resource.version == served.kind.hub.name:
                self._kinds.setdefault(served.kind.hub.type, served)
        self._objects: dict[str, tuple[int, Any]] = {}
        self._revisions: dict[str, int] = {}
        self._subscription = store.watch("", store.revision, self._note)

    def get(self, kind: type[O], name: str, namespace: str = "") -> O | None:
        served = self._served(kind)
        record = self._store.get(key_of(served.prefix, namespace, name))
        return None if record is None else self._load(served, record)

    def list(self, kind: type[O], namespace: str = "") -> Sequence[O]:
        served = self._served(kind)
        prefix = f"{served.prefix}{namespace}/" if namespace else served.prefix
        return [self._load(served, record) for record in self._store.range(prefix).records]

    def revision(self, kind: type[Object]) -> int:
        return self._revisions.get(self._served(kind).prefix, 0)

    def close(self) -> None:
        self._subscription.close()

    def _served(self, kind: type[Object]) -> Served:
        served = self._kinds.get(kind)
        if served is None:
            raise InternalError(f"{kind.__name__} is not served")
        return served

    def _load(self, served: Served, record: Record) -> Any:
        found = self._objects.get(record.key)
        if found is not None and found[0] == record.revision:
            return found[1]
        if served.model is None:
            raise InternalError(f"{served.resource.plural} are not stored")
        obj = served.model.load(record.value, record.revision)
        if len(self._objects) >= REMEMBERED_OBJECTS_MAX:
            self._objects.clear()
        self._objects[record.key] = (record.revision, obj)
        return obj

    def _note(self, events: Sequence[Event]) -> None:
        for event in events:
            group, plural, _rest = event.key.split("/", 2)
            self._revisions[f"{group}/{plural}/"] = event.revision
            if event.record is None:
                self._objects.pop(event.key, None)
