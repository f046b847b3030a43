"""Looks at objects whose owners may be gone, and at owners that are to go before or after them.

An object that names owners is deleted once none of them is there. An owner that is deleted in the
foreground stays until the dependents are gone that block it; one that orphans stays until nothing
names it. Objects are judged as our views have them, and every write says so: what has changed since
is looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dray.api.meta import Object, OwnerReference
from dray.api.wire import replace
from dray.controllers.garbage_collection.graph import Graph
from dray.controllers.garbage_collection.owners import (
    FINALIZER_FOREGROUND,
    FINALIZER_ORPHAN,
    Owners,
    Standing,
    waits_for_dependents,
)
from dray.controllers.garbage_collection.views import View, Views
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import NotFound, quote
from dray.metrics import Family

__all__ = ["GarbageCollector"]

# When to look again at what names an owner of a kind that is not served: it may be one day.
UNKNOWN_SECONDS: Final = 60.0

_SAID: Final = (FINALIZER_ORPHAN, FINALIZER_FOREGROUND)


class GarbageCollector(Reconciler):
    """Keys are names of objects after those of their resources: `replicasets.apps/web`."""

    name = "garbage-collector-controller"
    workers = 20

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._graph = Graph()
        self._deletions = Family(
            "garbagecollector_controller_deletions_total",
            "Objects that were deleted because their owners are gone.",
            kind="counter",
            labels=("resource",),
        )
        self._views = Views(context)
        self._owners = Owners(self._views, context.client)
        self._views.listen(self._changed)

    async def reconcile(self, key: Key) -> Result:
        found = self._views.get(key)
        if found is None:
            return DONE
        view, obj = found
        finalizers = obj.metadata.finalizers
        if obj.metadata.deletion_timestamp is None:
            return await self._judge(view, obj)
        if FINALIZER_FOREGROUND in finalizers:
            if not self._graph.is_blocked(obj.metadata.uid):
                await self._release(view, obj, FINALIZER_FOREGROUND)
        elif FINALIZER_ORPHAN in finalizers:
            await self._orphan(obj)
            await self._release(view, obj, FINALIZER_ORPHAN)
        return DONE

    async def run(self) -> None:
        await self._views.run()

    def families(self) -> Sequence[Family]:
        return (self._deletions,)

    # What is heard -----------------------------------------------------------------------------

    def _changed(self, view: View, old: Object | None, new: Object | None) -> None:
        before = old.metadata.owner_references if old is not None else ()
        after = new.metadata.owner_references if new is not None else ()
        if before != after:
            self._note_owners(view, old or new, before, after)
        if new is None:
            if old is not None and (dependents := self._graph.dependents(old.metadata.uid)):
                self._owners.gone(view, old)
                for dependent in dependents:
                    self.queue.add(dependent)
        elif new.metadata.deletion_timestamp is not None and new.metadata.finalizers:
            self._note_ending(view, old, new)

    def _note_owners(
        self,
        view: View,
        obj: Object | None,
        before: tuple[OwnerReference, ...],
        after: tuple[OwnerReference, ...],
    ) -> None:
        assert obj is not None
        key = view.key(obj)
        for reference in self._graph.change(key, before, after):
            owner = self._owners.find(reference, key.namespace)
            if owner is not None and waits_for_dependents(owner[1]):
                self.queue.add(owner[0].key(owner[1]))
        for reference in after:
            owner = self._owners.find(reference, key.namespace)
            if owner is None or waits_for_dependents(owner[1]):
                self.queue.add(key)
                break

    def _note_ending(self, view: View, old: Object | None, new: Object) -> None:
        """An object is being deleted, and its finalizers may say something about dependents."""
        if _ending(old) == _ending(new):
            return
        self.queue.add(view.key(new))
        if waits_for_dependents(new):
            for dependent in self._graph.dependents(new.metadata.uid):
                self.queue.add(dependent)

    # Dependents --------------------------------------------------------------------------------

    async def _judge(self, view: View, obj: Object) -> Result:
        """Delete an object that has lost all owners; let it forget those that it has lost."""
        references = obj.metadata.owner_references
        standings = [await self._standing(obj, reference) for reference in references]
        if not references or Standing.IMPOSSIBLE in standings:
            return DONE
        if Standing.UNKNOWN in standings:
            return Result(UNKNOWN_SECONDS)
        if Standing.SOLID in standings:
            kept = tuple(
                reference
                for reference, standing in zip(references, standings, strict=True)
                if standing is Standing.SOLID
            )
            if kept != references:
                await self._write(view, obj, {"ownerReferences": kept})
            return DONE
        dependents = self._graph.dependents(obj.metadata.uid)
        policy = "Background"
        if Standing.WAITING in standings and dependents:
            if any(self._waits(dependent) for dependent in dependents):
                obj = await self._unblock(view, obj) or obj
            policy = "Foreground"
        elif FINALIZER_ORPHAN in obj.metadata.finalizers:
            policy = "Orphan"
        elif FINALIZER_FOREGROUND in obj.metadata.finalizers:
            policy = "Foreground"
        await self._delete(view, obj, policy)
        return DONE

    async def _standing(self, obj: Object, reference: OwnerReference) -> Standing:
        namespace = obj.metadata.namespace
        known = self._owners.is_known_absent(reference, namespace)
        standing = await self._owners.standing(reference, namespace)
        news = standing is Standing.ABSENT and not known
        if news and self._owners.is_elsewhere(reference, namespace):
            self._report(obj, reference)
        return standing

    def _report(self, obj: Object, reference: OwnerReference) -> None:
        namespace = obj.metadata.namespace
        owner = (
            f"[{reference.api_version}/{reference.kind}, namespace: {namespace}, "
            f"name: {reference.name}, uid: {reference.uid}]"
        )
        told = f"ownerRef {owner} does not exist in namespace {quote(namespace)}"
        self.context.events.record(obj, "Warning", "OwnerRefInvalidNamespace", told)

    def _waits(self, key: Key) -> bool:
        found = self._views.get(key)
        return found is not None and waits_for_dependents(found[1])

    async def _unblock(self, view: View, obj: Object) -> Object | None:
        """Owners that own each other in a circle would wait for ever: let nobody wait for this."""
        references = tuple(
            replace(each, block_owner_deletion=False) if each.block_owner_deletion else each
            for each in obj.metadata.owner_references
        )
        if references == obj.metadata.owner_references:
            return None
        return await self._write(view, obj, {"ownerReferences": references})

    async def _delete(self, view: View, obj: Object, policy: str) -> None:
        metadata = obj.metadata
        try:
            await self.context.client.delete(
                view.type,
                metadata.name,
                namespace=metadata.namespace,
                uid=metadata.uid,
                resource_version=metadata.resource_version,
                propagation_policy=policy,
            )
        except NotFound:
            return
        self._deletions.add(view.resource)

    # Owners ------------------------------------------------------------------------------------

    async def _orphan(self, owner: Object) -> None:
        """Let all dependents forget an owner."""
        for key in self._graph.dependents(owner.metadata.uid):
            found = self._views.get(key)
            if found is not None:
                view, dependent = found
                references = tuple(
                    each
                    for each in dependent.metadata.owner_references
                    if each.uid != owner.metadata.uid
                )
                await self._write(view, dependent, {"ownerReferences": references})

    async def _release(self, view: View, obj: Object, finalizer: str) -> None:
        kept = tuple(each for each in obj.metadata.finalizers if each != finalizer)
        await self._write(view, obj, {"finalizers": kept})

    async def _write(self, view: View, obj: Object, metadata: dict[str, Any]) -> Object | None:
        """Change the metadata of an object that is as we know it; None if it is gone."""
        known = obj.metadata
        patch = {"metadata": {**metadata, "resourceVersion": known.resource_version}}
        try:
            return await self.context.client.patch(
                view.type, known.name, patch, namespace=known.namespace
            )
        except NotFound:
            return None


def _ending(obj: Object | None) -> tuple[str, ...]:
    """What the end of an object means for its dependents."""
    if obj is None or obj.metadata.deletion_timestamp is None:
        return ()
    return tuple(each for each in obj.metadata.finalizers if each in _SAID)
