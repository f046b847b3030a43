"""Deleting: now, when the last finalizer is gone, or when the pod has had its time.

A deletion that has to wait marks the object with the time of its end; whoever removes the last
reason to wait deletes it (dray.server.writing). Upstream counterparts: BeforeDelete in apiserver
pkg/registry/rest/delete.go, the finalizer handling of its generic store, and the special rules of
pods and namespaces in pkg/registry/core.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from dray.api.apiextensions import CustomResourceDefinition
from dray.api.core import NAMESPACE_PHASE_TERMINATING, Namespace, Pod
from dray.api.meta import DeleteOptions, ObjectMeta
from dray.api.scheduling import PriorityClass
from dray.api.wire import Time, replace
from dray.errors import (
    Conflict,
    RevisionConflict,
    StatusDetails,
    StoreUnavailable,
    Unavailable,
    quote,
)
from dray.server.admission.request import AdmissionRequest, Operation
from dray.server.call import Call
from dray.server.custom.definition_status import ending_definition
from dray.server.models.traits import ORPHANING_KINDS
from dray.server.options import FOREGROUND, ORPHAN
from dray.server.refusals import conflict, forbidden, modified
from dray.store.store import Record

__all__ = ["Deleted", "check_preconditions", "delete_object", "would_be_orphaned_by_default"]

FINALIZER_ORPHAN: Final = "orphan"
FINALIZER_FOREGROUND: Final = "foregroundDeletion"

# Names that only the server's own classes can have.
_SYSTEM_CLASSES: Final = "system-"

_POD_GRACE_SECONDS: Final = 30
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion came to: the object as it was last, or as it now waits."""

    object: Any
    value: bytes
    revision: int
    gone: bool


async def delete_object(
    call: Call, record: Record, options: DeleteOptions, now: Time, *, admitted: bool = False
) -> Deleted:
    """Delete, or begin to. Raises Conflict if a precondition fails, and whatever admission does."""
    old = call.model.load(record.value, record.revision)
    check_preconditions(call, old, options)
    if isinstance(old, PriorityClass) and old.metadata.name.startswith(_SYSTEM_CLASSES):
        told = "this is a system priority class and cannot be deleted"
        raise forbidden(call.resource, old.metadata.name, told)
    if not admitted:
        request = _admission(call, old, options)
        call.services.admission.admit(request)
        call.services.admission.validate(request)
    new = _ending(call, old, options, now)
    store = call.services.store
    try:
        if new is None:
            value, revision = record.value, record.revision
            if options.dry_run:
                await store.settled(revision)
            else:
                gone_at = await store.delete(record.key, expected=record.revision)
                revision = gone_at or revision
            return Deleted(old, value, revision, gone=True)
        value = call.model.store(new)
        if value == record.value or options.dry_run:
            await store.settled(record.revision)
            return Deleted(new, value, record.revision, gone=False)
        if not _waits(new):
            return await _end_pod(call, record, new, value)
        written = await store.put(record.key, value, expected=record.revision)
    except RevisionConflict as error:
        raise modified(call.resource, old.metadata.name) from error
    except StoreUnavailable as error:
        raise Unavailable(f"the deletion was not stored: {error}") from error
    return Deleted(new, written.value, written.revision, gone=False)


def _waits(obj: Any) -> bool:
    metadata: ObjectMeta = obj.metadata
    held = metadata.finalizers or (isinstance(obj, Namespace) and obj.spec.finalizers)
    return bool(held or metadata.deletion_grace_period_seconds)


async def _end_pod(call: Call, record: Record, pod: Any, value: bytes) -> Deleted:
    """Delete a pod at once, in two steps: watchers see first that it ends, then that it is gone."""
    store = call.services.store
    ending = await store.put(record.key, value, expected=record.revision)
    try:
        gone_at = await store.delete(record.key, expected=ending.revision)
    except RevisionConflict as error:
        # Whoever writes to what has nothing left to wait for deletes it, and was quicker.
        await store.settled(error.found)
        gone_at = None
    return Deleted(pod, value, gone_at or ending.revision, gone=True)


def check_preconditions(call: Call, old: Any, options: DeleteOptions) -> None:
    """Refuse to delete another object than the one that was meant. Raises Conflict."""
    wanted = options.preconditions
    if wanted is None:
        return
    metadata = old.metadata
    for title, precondition, found in (
        ("UID", wanted.uid, metadata.uid),
        ("ResourceVersion", wanted.resource_version, metadata.resource_version),
    ):
        if precondition is None or precondition == found:
            continue
        told = (
            f"the {title} in the precondition ({precondition}) does not match the {title} in "
            f"record ({found}). The object might have been "
            + ("deleted and then recreated" if title == "UID" else "modified")
        )
        if isinstance(old, Namespace):
            told = f"Precondition failed: {title} in precondition: {precondition}, "
            told += f"{title} in object meta: {found}"
            raise conflict(call.resource, metadata.name, told)
        kind = call.resource.kind
        # Both faces of events speak in the name of the older one.
        group = "" if kind == "Event" else call.resource.group
        qualified = f"{kind}.{group}" if group else kind
        raise Conflict(
            f"Operation cannot be fulfilled on {qualified} {quote(metadata.name)}: {told}",
            StatusDetails(name=metadata.name, group=group, kind=kind),
        )


def _admission(call: Call, old: Any, options: DeleteOptions) -> AdmissionRequest:
    return AdmissionRequest(
        operation=Operation.DELETE,
        resource=call.resource,
        user=call.user,
        namespace=call.namespace,
        name=old.metadata.name,
        dry_run=bool(options.dry_run),
        old=old,
        delete_options=options,
    )


# What is left to wait for ----------------------------------------------------------------------


def _ending(call: Call, old: Any, options: DeleteOptions, now: Time) -> Any | None:
    """The object while it waits to be deleted, or None if it need not."""
    metadata: ObjectMeta = old.metadata
    finalizers = _finalizers(call, metadata, options)
    if isinstance(old, Namespace):
        return _ending_namespace(old, finalizers, now)
    if isinstance(old, CustomResourceDefinition):
        return ending_definition(old, finalizers, now)
    grace = _pod_grace(old, options) if isinstance(old, Pod) else 0
    if metadata.deletion_timestamp is not None:
        if isinstance(old, Pod) and options.grace_period_seconds is None:
            # The pod has been given its time; only who names another takes it away.
            grace = metadata.deletion_grace_period_seconds or 0
        return _ending_sooner(old, finalizers, grace, now)
    if not grace and not finalizers and not isinstance(old, Pod):
        return None
    metadata = replace(
        metadata,
        finalizers=finalizers,
        deletion_timestamp=Time(now.instant + timedelta(seconds=grace)),
        deletion_grace_period_seconds=grace,
        generation=metadata.generation + 1 if metadata.generation > 0 else 0,
    )
    return replace(old, metadata=metadata)


def _ending_sooner(old: Any, finalizers: tuple[str, ...], grace: int, now: Time) -> Any | None:
    """What a second deletion changes: it may shorten the time that is left, not lengthen it."""
    metadata: ObjectMeta = old.metadata
    current = metadata.deletion_grace_period_seconds or 0
    if not grace and not finalizers and not current:
        return None
    if grace < current and metadata.deletion_timestamp is not None:
        started = metadata.deletion_timestamp.instant - timedelta(seconds=current)
        ends = Time(max(started + timedelta(seconds=grace), now.instant))
        metadata = replace(metadata, deletion_timestamp=ends, deletion_grace_period_seconds=grace)
    if finalizers != metadata.finalizers:
        metadata = replace(metadata, finalizers=finalizers)
    return old if metadata is old.metadata else replace(old, metadata=metadata)


def _pod_grace(pod: Pod, options: DeleteOptions) -> int:
    """How long a pod has to end its work: nothing, if it never began or is done."""
    if not pod.spec.node_name or pod.status.phase in _FINISHED:
        return 0
    seconds = options.grace_period_seconds
    if seconds is None:
        own = pod.spec.termination_grace_period_seconds
        seconds = _POD_GRACE_SECONDS if own is None else own
    return 1 if seconds < 0 else seconds


def _finalizers(call: Call, metadata: ObjectMeta, options: DeleteOptions) -> tuple[str, ...]:
    """The finalizers, with those that say what happens to dependents as this deletion wants it."""
    present = metadata.finalizers
    if call.resource.kind == "Event":
        return present  # events have no dependents
    policy, orphans = options.propagation_policy, options.orphan_dependents
    kind = (call.resource.group, call.resource.kind)
    if policy is not None:
        wanted = {ORPHAN: FINALIZER_ORPHAN, FOREGROUND: FINALIZER_FOREGROUND}.get(policy)
    elif orphans is not None:
        wanted = FINALIZER_ORPHAN if orphans else None
    else:
        wanted = next((each for each in _DEPENDENTS if each in present), None)
        if wanted is None and kind in ORPHANING_KINDS:
            wanted = FINALIZER_ORPHAN
    kept = tuple(name for name in present if name not in _DEPENDENTS or name == wanted)
    return kept if wanted is None or wanted in kept else (*kept, wanted)


_DEPENDENTS: Final = (FINALIZER_ORPHAN, FINALIZER_FOREGROUND)


def would_be_orphaned_by_default(call: Call, options: DeleteOptions) -> bool:
    """Whether dependents stay behind only because nobody said what should become of them."""
    said = options.propagation_policy is not None or options.orphan_dependents is not None
    return not said and (call.resource.group, call.resource.kind) in ORPHANING_KINDS


def _ending_namespace(old: Namespace, finalizers: tuple[str, ...], now: Time) -> Namespace | None:
    """A namespace waits in its spec for its content to go."""
    metadata = old.metadata
    if metadata.deletion_timestamp is None:
        metadata = replace(metadata, deletion_timestamp=now, finalizers=finalizers)
        status = replace(old.status, phase=NAMESPACE_PHASE_TERMINATING)
        if not old.spec.finalizers and not finalizers:
            return None
        return replace(old, metadata=metadata, status=status)
    return old if old.spec.finalizers or finalizers else None
