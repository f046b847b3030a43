"""Keeps the registry in step with the definitions there are.

A definition is served as soon as its names are accepted, and what its status says follows. One that
is being deleted is served until the last of its objects is gone, which then lets it go. Everything
follows from what is stored, so a server that starts again goes on where it was.

Upstream counterparts: the naming, establishing and finalizing controllers of
apiextensions-apiserver, and its handler's table of what is served.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dray.api.apiextensions import (
    CONDITION_TERMINATING,
    CUSTOM_RESOURCE_CLEANUP_FINALIZER,
    CustomResourceDefinition,
)
from dray.api.core import CONDITION_FALSE, CONDITION_TRUE
from dray.api.meta import DeleteOptions
from dray.api.wire import Time, replace
from dray.errors import (
    APIError,
    DecodeError,
    InternalError,
    StoreError,
)
from dray.server.chores import Chores
from dray.server.custom.definition_status import (
    is_accepted,
    is_established,
    with_condition,
    with_names,
)
from dray.server.custom.kind import CustomKind, schema_document
from dray.server.custom.serving import served_versions
from dray.server.deletion import delete_object
from dray.server.discovery import KUBERNETES_VERSION
from dray.server.internal import internal_call
from dray.server.options import WriteOptions
from dray.server.registry import Served, key_of, prefix_of
from dray.server.services import Services
from dray.server.writing import replace_object
from dray.store.store import Event, Record, Subscription

__all__ = ["DefinitionKeeper"]

_log = logging.getLogger(__name__)

_GROUP: Final = "apiextensions.k8s.io"
_PLURAL: Final = "customresourcedefinitions"
_PREFIX: Final = prefix_of(_GROUP, _PLURAL)


# Who owns the status of definitions everywhere: upstream's controllers, at the version we are like.
_OPTIONS: Final = WriteOptions(manager=f"kube-apiserver-v{'.'.join(map(str, KUBERNETES_VERSION))}")


@dataclass(frozen=True, slots=True)
class _Defined:
    """What was last made of a definition."""

    definition: CustomResourceDefinition
    since: int


class DefinitionKeeper:
    """Serves what definitions define."""

    def __init__(
        self, services: Services, *, changed: Callable[[str, str], None] = lambda _g, _p: None
    ) -> None:
        """`changed` hears the group and plural of what is served otherwise from now on."""
        self._services = services
        self._changed = changed
        self._defined: dict[str, _Defined] = {}
        self._chores = Chores(services.clock)  # definitions to look at
        self._emptying: dict[str, Subscription] = {}
        served = services.registry.find(_GROUP, "v1", _PLURAL)
        if served is None or served.model is None:
            raise InternalError("definitions of custom resources are not served")
        self._served: Served = served
        self._model: Any = served.model

    def load(self) -> None:
        """Serve what is defined now; before anybody asks."""
        for record in self._services.store.range(_PREFIX).records:
            self._serve(record, since=record.revision)

    async def welcome(self, definition: CustomResourceDefinition) -> None:
        """Bring a new definition up to date, so that who created it can use it at once."""
        await self._sync(definition.metadata.name)
        # What runs beside may have been quicker, and its write may still be on its way.
        record = self._services.store.head(key_of(_PREFIX, "", definition.metadata.name))
        if record is not None:
            await self._services.store.settled(record.revision)

    async def run(self) -> None:
        """Keep at it, for ever."""
        store = self._services.store
        subscription = store.watch(_PREFIX, store.revision, self._note)
        try:
            for record in store.range(_PREFIX).records:
                self._serve(record, since=record.revision)
                self._chores.add(_name(record.key))
            while True:
                await self._attempt(await self._chores.take())
        finally:
            subscription.close()
            for emptying in self._emptying.values():
                emptying.close()
            self._emptying.clear()

    async def _attempt(self, name: str) -> None:
        """Bring one up to date; whatever is wrong with it holds up no other."""
        task = asyncio.ensure_future(self._sync(name))
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        why = None if task.cancelled() else task.exception()
        if why is not None:
            _log.error("definition %s cannot be brought up to date", name, exc_info=why)
            self._chores.failed(name)

    # What is served ----------------------------------------------------------------------------

    def _note(self, events: Sequence[Event]) -> None:
        for event in events:
            name = _name(event.key)
            if event.record is None:
                self._withdraw(name)
                self._reconsider(name)
            else:
                self._serve(event.record, since=event.revision)
            self._chores.add(name)

    def _serve(self, record: Record, *, since: int) -> None:
        definition = self._load(record)
        name = definition.metadata.name
        if not (is_accepted(definition) or is_established(definition)):
            self._withdraw(name)
            return
        before = self._defined.get(name)
        if before is not None:
            known = before.definition
            if _is_the_same(known, definition) and _is_ending(known) is _is_ending(definition):
                return
            if _has_the_same_schemas(before.definition, definition):
                since = before.since
        try:
            kind = CustomKind(definition, since=since)
        except DecodeError as error:
            # Nobody could have stored this today.
            _log.error("definition %s cannot be served: %s", name, error)
            self._withdraw(name)
            return
        self._services.registry.define(name, served_versions(definition, kind))
        self._defined[name] = _Defined(definition, since)
        if before is not None and not _is_the_same(before.definition, definition):
            self._changed(kind.group, kind.plural)

    def _withdraw(self, name: str) -> None:
        before = self._defined.pop(name, None)
        if before is not None:
            self._services.registry.withdraw(name)
            self._changed(before.definition.spec.group, before.definition.spec.names.plural)
        emptying = self._emptying.pop(name, None)
        if emptying is not None:
            emptying.close()

    def _reconsider(self, name: str) -> None:
        """Names may have become free for others of the same group."""
        group = name.partition(".")[2]
        for record in self._services.store.range(_PREFIX).records:
            other = _name(record.key)
            if other != name and other.partition(".")[2] == group:
                self._chores.add(other)

    # What the status says ----------------------------------------------------------------------

    async def _sync(self, name: str) -> None:
        record = self._services.store.head(key_of(_PREFIX, "", name))
        if record is None:
            self._chores.succeeded(name)
            return
        definition = self._load(record)
        try:
            if definition.metadata.deletion_timestamp is not None:
                await self._finish(record, definition)
            else:
                await self._name(record, definition)
        except (APIError, StoreError) as error:
            _log.info("definition %s was not brought up to date: %s", name, error)
            self._chores.failed(name)
        else:
            self._chores.succeeded(name)

    async def _name(self, record: Record, definition: CustomResourceDefinition) -> None:
        now = self._now()
        others = [self._load(each) for each in self._services.store.range(_PREFIX).records]
        wanted = with_names(definition, others, now)
        if wanted == definition:
            return
        if is_established(wanted) and not is_established(definition):
            # It is served before it says so: a client that waits for the one gets the other.
            kind = CustomKind(wanted, since=self._services.store.revision)
            self._services.registry.define(wanted.metadata.name, served_versions(wanted, kind))
            self._defined[wanted.metadata.name] = _Defined(wanted, kind.since)
        await self._write_status(record, wanted, now)
        if wanted.status.accepted_names != definition.status.accepted_names:
            self._reconsider(definition.metadata.name)

    async def _finish(self, record: Record, definition: CustomResourceDefinition) -> None:
        """Delete all objects of a definition, then let it go."""
        metadata = definition.metadata
        if CUSTOM_RESOURCE_CLEANUP_FINALIZER not in metadata.finalizers:
            return
        now = self._now()
        if is_established(definition):
            left = await self._delete_objects(definition)
            if left:
                told = "CustomResource deletion is in progress"
                await self._terminate(
                    record, definition, CONDITION_TRUE, "InstanceDeletionInProgress", told, now
                )
                return
            reason, told = "InstanceDeletionCompleted", "removed all instances"
        else:
            reason, told = "NeverEstablished", "resource was never established"
        ended = with_condition(
            definition, CONDITION_TERMINATING, CONDITION_FALSE, reason, told, now
        )
        kept = tuple(
            each for each in metadata.finalizers if each != CUSTOM_RESOURCE_CLEANUP_FINALIZER
        )
        ended = replace(ended, metadata=replace(ended.metadata, finalizers=kept))
        store = self._services.store
        # Nothing is left to serve, and whoever deleted it looks for that first.
        self._withdraw(metadata.name)
        if kept:
            await store.put(record.key, self._model.store(ended), expected=record.revision)
        else:
            await store.delete(record.key, expected=record.revision)

    async def _terminate(
        self,
        record: Record,
        definition: CustomResourceDefinition,
        status: str,
        reason: str,
        told: str,
        now: Time,
    ) -> None:
        wanted = with_condition(definition, CONDITION_TERMINATING, status, reason, told, now)
        if wanted != definition:
            await self._write_status(record, wanted, now)

    async def _write_status(
        self, record: Record, wanted: CustomResourceDefinition, now: Time
    ) -> None:
        call = internal_call(
            self._services,
            self._served,
            "update",
            name=wanted.metadata.name,
            subresource="status",
        )
        await replace_object(call, record, lambda _old: wanted, _OPTIONS, now, subresource="status")

    # The objects of a definition ---------------------------------------------------------------

    async def _delete_objects(self, definition: CustomResourceDefinition) -> bool:
        """Delete them all; whether some have to wait."""
        name = definition.metadata.name
        spec, store = definition.spec, self._services.store
        prefix = prefix_of(spec.group, spec.names.plural)
        if name not in self._emptying:
            again = self._again(name)
            self._emptying[name] = store.watch(prefix, store.revision, again)
        records = store.range(prefix).records
        if not records:
            return False
        served = self._as_stored(definition)
        for record in records:
            head = store.head(record.key)
            if head is None:
                continue
            namespace, _, object_name = record.key.removeprefix(prefix).rpartition("/")
            call = internal_call(
                self._services, served, "delete", namespace=namespace, name=object_name
            )
            await delete_object(call, head, DeleteOptions(), self._now())
        return bool(store.range(prefix, limit=1).records)

    def _as_stored(self, definition: CustomResourceDefinition) -> Served:
        """The version objects are stored at, which clients need not be served."""
        before = self._defined.get(definition.metadata.name)
        since = self._services.store.revision if before is None else before.since
        stored = tuple(
            replace(each, served=True) for each in definition.spec.versions or () if each.storage
        )
        alone = replace(definition, spec=replace(definition.spec, versions=stored))
        return next(served_versions(alone, CustomKind(definition, since=since)))

    def _again(self, name: str) -> Callable[[Sequence[Event]], None]:
        def note(events: Sequence[Event]) -> None:
            if any(event.record is None for event in events):
                self._chores.add(name)

        return note

    # Helpers -----------------------------------------------------------------------------------

    def _load(self, record: Record) -> CustomResourceDefinition:
        loaded: CustomResourceDefinition = self._model.load(record.value, record.revision)
        return loaded

    def _now(self) -> Time:
        return Time(self._services.clock.now())


def _name(key: str) -> str:
    return key.removeprefix(_PREFIX)


def _is_the_same(one: CustomResourceDefinition, other: CustomResourceDefinition) -> bool:
    """Whether a change of the definition is none to whoever watches its objects."""
    return (
        one.spec == other.spec
        and one.status.accepted_names == other.status.accepted_names
        and one.metadata.uid == other.metadata.uid
    )


def _is_ending(definition: CustomResourceDefinition) -> bool:
    return definition.metadata.deletion_timestamp is not None


def _has_the_same_schemas(one: CustomResourceDefinition, other: CustomResourceDefinition) -> bool:
    def schemas(definition: CustomResourceDefinition) -> list[Any]:
        versions = definition.spec.versions or ()
        return [(each.name, each.storage, schema_document(each)) for each in versions]

    return one.metadata.uid == other.metadata.uid and schemas(one) == schemas(other)
