"""From an object a client sent to a record in the store: the one way a write takes.

Between reading what is stored and handing the new value to the store nothing waits, unless quotas
have to be paid or the object is large, so hardly ever does another write come in between. The order
of the steps is upstream's: who owns which field, admission that changes, preparation, rules,
admission that refuses, store.

A write that changes nothing is not one: it answers with what is stored, under its old revision.
Upstream counterpart: apiserver pkg/registry/generic/registry/store.go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import msgspec

from dray.api.meta import ObjectMeta
from dray.api.resource import ResourceClaim
from dray.api.wire import Time, replace
from dray.errors import (
    APIError,
    BadRequest,
    FieldError,
    FieldErrorType,
    Invalid,
    RequestEntityTooLarge,
    RevisionConflict,
    StoreUnavailable,
    Timeout,
    Unavailable,
    quote,
)
from dray.server.admission.request import AdmissionRequest, Operation
from dray.server.call import Call
from dray.server.field_managers import after_create, after_update, differ_in_time_only
from dray.server.guards import guard_create, guard_update
from dray.server.options import WriteOptions
from dray.server.quotas import give_back, pay
from dray.server.refusals import (
    already_exists,
    invalid,
    modified,
    not_found,
    precondition_failed,
)
from dray.server.services import Services
from dray.store.store import Record

__all__ = ["Written", "complete_metadata", "create_object", "replace_object"]

_log = logging.getLogger(__name__)

# A name that is taken is drawn again this often before the client hears of it.
NAME_DRAWS_MAX: Final = 8

_GENERATED_BASE_MAX: Final = 58

# Twice the largest body: its defaults, and who owns which field, have to fit as well.
OBJECT_BYTES_MAX: Final = 6 * 1024 * 1024


class Written(msgspec.Struct, frozen=True):
    """What a write came to. On a dry run nothing is stored, and a new object has no revision."""

    object: Any
    value: bytes
    revision: int
    created: bool = False
    deleted: bool = False


# Creating --------------------------------------------------------------------------------------


async def create_object(
    call: Call, obj: Any, options: WriteOptions, now: Time, *, tracked: bool = True
) -> Written:
    """Store a new object. Raises AlreadyExists, Invalid, Forbidden and whatever admission does.

    `tracked` is False if the object comes with its field managers already.
    """
    obj = replace(obj, metadata=_without_system_fields(obj.metadata))
    if tracked:
        obj = await call.aside(0, after_create, call, obj, options, now)
    generated = not obj.metadata.name and bool(obj.metadata.generate_name)
    for draw in range(NAME_DRAWS_MAX):
        try:
            return await _create_once(call, obj, options, now)
        except APIError as error:
            taken = error.reason == "AlreadyExists"
            if not (generated and taken) or draw == NAME_DRAWS_MAX - 1:
                raise
    raise AssertionError("the last draw returns or raises")


async def _create_once(call: Call, obj: Any, options: WriteOptions, now: Time) -> Written:
    services = call.services
    obj = services.admission.admit(_admission(call, Operation.CREATE, obj, None, options))
    obj = replace(obj, metadata=complete_metadata(call, obj.metadata, now))
    circumstances = call.circumstances(now)

    def judge(new: Any) -> tuple[Any, list[FieldError]]:
        new = call.model.prepare_create(new, circumstances)
        return new, list(call.model.validate_create(new, circumstances))

    obj, errors = await call.aside(0, judge, obj)
    errors += guard_create(call, obj)
    if errors:
        raise invalid(call.resource, obj.metadata.name, errors)
    for warning in call.model.warnings(obj, None):
        call.warn(warning)
    value = await call.aside(0, _stored, call, obj)
    request = _admission(call, Operation.CREATE, obj, None, options)
    services.admission.validate(request)
    _warn(call, request)
    key = call.key(obj.metadata.name)
    if services.store.head(key) is not None:
        raise _taken(call, obj.metadata.name, key)

    async def keep() -> Written:
        if options.dry_run:
            return Written(obj, value, 0, created=True)
        try:
            record = await services.store.put(key, value, expected=0)
        except RevisionConflict as error:
            raise _taken(call, obj.metadata.name, key) from error
        except StoreUnavailable as error:
            raise Unavailable(f"the write was not stored: {error}") from error
        call.model.remember(obj, record.value, record.revision)
        return Written(obj, record.value, record.revision, created=True)

    written = await _paid_for(services, request, keep)
    more = services.after_create.get(type(obj))
    if more is not None and not options.dry_run:
        await more(obj)
    return written


async def _paid_for(
    services: Services, request: AdmissionRequest, keep: Callable[[], Awaitable[Written]]
) -> Written:
    """Pay from the quotas, then keep; what is not kept is not paid for.

    A request that is cancelled while it pays, because its client had no more time, waits no longer,
    but the payment goes on to its end, so that somebody is left to take it back. Once paid for, the
    write is on its way, and only its own failure undoes the payment.
    """
    if not services.admission.charge(request) or request.dry_run:
        return await keep()
    left = False

    async def pay_and_keep() -> Written:
        paid = await pay(services, request)
        if left:
            await give_back(services, paid)
            raise Timeout("the request ended before it was paid for")
        try:
            return await keep()
        except (RevisionConflict, APIError):
            await give_back(services, paid)
            raise

    # A task of its own costs time, so only those who pay have one.
    task = asyncio.ensure_future(pay_and_keep())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        left = True
        task.add_done_callback(_note_end)
        raise


def _note_end(task: asyncio.Task[Written]) -> None:
    """Hear how a write ended that nobody waits for."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.info("a write that nobody waited for any more was not stored: %s", error)


def _stored(call: Call, obj: Any) -> bytes:
    value = call.model.store(obj)
    if len(value) > OBJECT_BYTES_MAX:
        raise RequestEntityTooLarge(
            f"{call.resource.qualified} {quote(obj.metadata.name)} takes {len(value)} bytes as it "
            f"is stored: limit is {OBJECT_BYTES_MAX}"
        )
    return value


def _taken(call: Call, name: str, key: str) -> APIError:
    record = call.services.store.head(key)
    terminating = False
    if record is not None:
        stored = call.model.load(record.value, record.revision)
        terminating = stored.metadata.deletion_timestamp is not None
    return already_exists(call.resource, name, terminating=terminating)


def complete_metadata(call: Call, metadata: ObjectMeta, now: Time) -> ObjectMeta:
    """The metadata of a new object: what is the server's to say, it says."""
    name = metadata.name
    if not name and not metadata.generate_name and call.resource.kind == "LimitRange":
        name = call.services.entropy.uid()  # nobody ever asks for one by name
    if not name and metadata.generate_name:
        base = metadata.generate_name[:_GENERATED_BASE_MAX]
        name = base + call.services.entropy.name_suffix()
    return replace(metadata, name=name, uid=call.services.entropy.uid(), creation_timestamp=now)


def _without_system_fields(metadata: ObjectMeta) -> ObjectMeta:
    """What a client says in these is not its to say."""
    return replace(
        metadata,
        uid="",
        resource_version="",
        creation_timestamp=None,
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
        self_link="",
    )


_TRIES_MAX: Final = 10


# Replacing -------------------------------------------------------------------------------------


async def replace_object(
    call: Call,
    record: Record,
    change: Callable[[Any], Any],
    options: WriteOptions,
    now: Time,
    *,
    subresource: str = "",
    tracked: bool = True,
    check: Callable[[Any, Any], Sequence[FieldError]] | None = None,
) -> Written:
    """Store what `change` makes of a stored object, if that is allowed and different.

    `change` gets the stored object and returns the one wanted, whose metadata may name the uid and
    the revision it was made from. `tracked` is False if it comes with its field managers already.
    """
    for _try in range(_TRIES_MAX):
        try:
            return await _replace_once(
                call, record, change, options, now, subresource, tracked=tracked, check=check
            )
        except RevisionConflict:
            # Paying from a quota waits, and so does work on what is large; meanwhile somebody else
            # may have written.
            head = call.services.store.head(record.key)
            if head is None:
                raise not_found(call.resource, call.route.name) from None
            record = head
    raise modified(call.resource, call.route.name)


async def _replace_once(
    call: Call,
    record: Record,
    change: Callable[[Any], Any],
    options: WriteOptions,
    now: Time,
    subresource: str,
    *,
    tracked: bool,
    check: Callable[[Any, Any], Sequence[FieldError]] | None,
) -> Written:
    services = call.services
    size = len(record.value)

    def make() -> tuple[Any, Any]:
        old = call.model.load(record.value, record.revision)
        new = _checked_against(call, change(old), old, record)
        if tracked:
            new = after_update(call, new, old, options, now, subresource=subresource)
        return new, old

    new, old = await call.aside(size, make)
    new = services.admission.admit(
        _admission(call, Operation.UPDATE, new, old, options, subresource=subresource)
    )
    circumstances = call.circumstances(now)

    def judge(new: Any) -> tuple[Any, list[FieldError]]:
        new = call.model.prepare_update(new, old, circumstances, subresource=subresource)
        found = call.model.validate_update(new, old, circumstances, subresource=subresource)
        return new, list(found)

    new, found = await call.aside(size, judge, new)
    errors = [
        *found,
        *guard_update(call, new, old, subresource=subresource),
        *(check(new, old) if check else ()),
    ]
    if errors:
        raise invalid(call.resource, new.metadata.name, errors)
    for warning in call.model.warnings(new, old):
        call.warn(warning)
    request = _admission(call, Operation.UPDATE, new, old, options, subresource=subresource)
    services.admission.validate(request)
    _warn(call, request)

    async def keep() -> Written:
        return await _keep(call, record, new, old, options)

    return await _paid_for(services, request, keep)


async def _keep(call: Call, record: Record, new: Any, old: Any, options: WriteOptions) -> Written:
    store = call.services.store
    value = await call.aside(len(record.value), _unless_only_time_passed, call, record, new, old)
    last_held = _last_hold_is_gone(call, new)
    holding = _holding_devices(call, record.key, value, new, old, options)
    try:
        if options.dry_run:
            # What it is made of may still be on its way to disk.
            await store.settled(record.revision)
            return Written(new, value, record.revision, deleted=last_held)
        if last_held:
            await store.delete(record.key, expected=record.revision)
            return Written(new, value, record.revision, deleted=True)
        if value == record.value:
            # What it answers with may still be on its way to disk.
            await store.settled(record.revision)
            return Written(new, value, record.revision)
        with holding:
            written = await store.put(record.key, value, expected=record.revision)
    except StoreUnavailable as error:
        raise Unavailable(f"the write was not stored: {error}") from error
    call.model.remember(new, written.value, written.revision)
    return Written(new, written.value, written.revision)


def _holding_devices(
    call: Call, key: str, value: bytes, new: Any, old: Any, options: WriteOptions
) -> AbstractContextManager[None]:
    """While it lasts, a claim that gets devices has them. Raises Conflict if another one does."""
    allocations = call.services.allocations
    if allocations is None or not isinstance(new, ResourceClaim):
        return _NO_DEVICES
    return allocations.holding(call.resource, key, value, new, old, dry_run=options.dry_run)


_NO_DEVICES: Final[AbstractContextManager[None]] = nullcontext()


def _unless_only_time_passed(call: Call, record: Record, new: Any, old: Any) -> bytes:
    """The value to store: the stored one, if nothing but the times of field managers differs."""
    value = _stored(call, new)
    if value == record.value:
        return value
    managers = old.metadata.managed_fields
    if not differ_in_time_only(new.metadata.managed_fields, managers):
        return value
    same = call.model.store(replace(new, metadata=replace(new.metadata, managed_fields=managers)))
    return same if same == record.value else value


def _last_hold_is_gone(call: Call, obj: Any) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    metadata = obj.metadata
    if metadata.deletion_timestamp is None or metadata.finalizers:
        return False
    if call.resource.kind == "Namespace" and obj.spec.finalizers:
        return False
    return not metadata.deletion_grace_period_seconds


def _checked_against(call: Call, new: Any, old: Any, record: Record) -> Any:
    """The wanted object as a successor of the stored one, or why it is none."""
    metadata: ObjectMeta = new.metadata
    resource = call.resource
    # To patch the uid is to change it, which a rule forbids; to put another is to mean another.
    if metadata.uid and metadata.uid != old.metadata.uid and call.route.verb != "patch":
        raise precondition_failed(resource, metadata.name, metadata.uid, old.metadata.uid)
    version = metadata.resource_version
    if version in ("", "0"):
        if not call.model.traits.allows_unconditional_update(resource.version):
            told = "must be specified for an update"
            error = FieldError(FieldErrorType.INVALID, "metadata.resourceVersion", 0, told)
            raise Invalid(resource.group, resource.plural, metadata.name, [error])
    elif not version.isascii() or not version.isdigit():
        raise BadRequest(
            f"{resource.qualified} {quote(metadata.name)}: metadata.resourceVersion "
            f"{quote(version)} is not a number"
        )
    elif int(version) != record.revision:
        raise modified(resource, metadata.name)
    if version != str(record.revision):
        metadata = replace(metadata, resource_version=str(record.revision))
        new = replace(new, metadata=metadata)
    return new


def _warn(call: Call, request: AdmissionRequest) -> None:
    for warning in call.services.admission.warn(request):
        call.warn(warning)


def _admission(
    call: Call,
    operation: Operation,
    obj: Any,
    old: Any,
    options: WriteOptions,
    *,
    subresource: str = "",
) -> AdmissionRequest:
    return AdmissionRequest(
        operation=operation,
        resource=call.resource,
        user=call.user,
        namespace=call.namespace,
        name=obj.metadata.name,
        subresource=subresource,
        dry_run=options.dry_run,
        object=obj,
        old=old,
    )
