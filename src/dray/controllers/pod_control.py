"""Makes and deletes the pods of an owner, and says so in events.

Everything done is expected to be seen before the owner is looked at again. Upstream counterpart:
RealPodControl in pkg/controller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from dray.api.core import Pod, PodTemplateSpec
from dray.api.meta import Object, ObjectMeta, OwnerReference
from dray.client import PatchType
from dray.controllers.expectations import Expectations
from dray.controllers.ownership import Dependents, controller_reference
from dray.controllers.reconciler import Context, Key
from dray.errors import APIError, NotFound, TransportError

__all__ = [
    "BURST_PODS_MAX",
    "EVENT_NORMAL",
    "EVENT_WARNING",
    "Outcome",
    "PodControl",
    "all_at_once",
    "is_namespace_going",
    "slow_start",
]

EVENT_NORMAL: Final = "Normal"
EVENT_WARNING: Final = "Warning"

# Upstream's: what is made or deleted in one look, so that one owner does not keep others waiting.
BURST_PODS_MAX: Final = 500

# Requests under way at a time: more would only wait in the server.
AT_ONCE_MAX: Final = 100

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What several writes came to; of failures, which mostly are all the same, the first."""

    done: Sequence[T]
    failure: APIError | TransportError | None = None
    failed_count: int = 0

    def check(self) -> None:
        """Raise what failed."""
        if self.failure is not None:
            raise self.failure


class PodControl:
    """The pods of owners of one kind."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._events = context.events
        self.view: Final = context.informers.of(Pod)
        self.expectations: Final = Expectations(self.view, context.clock)
        self.dependents: Final = Dependents(context.client, Pod, self.view, self.expectations)

    async def create(
        self,
        owner: Object,
        template: PodTemplateSpec,
        *,
        generate_name: str = "",
        references: Sequence[OwnerReference] = (),
    ) -> Pod | None:
        """A pod like the template; None if its namespace is about to go, where nothing helps."""
        wanted = template.metadata
        pod = Pod(
            metadata=ObjectMeta(
                namespace=owner.metadata.namespace,
                generate_name=generate_name or f"{owner.metadata.name}-",
                labels=wanted.labels,
                annotations=wanted.annotations,
                finalizers=wanted.finalizers,
                owner_references=(*references, controller_reference(owner)),
            ),
            spec=template.spec,
        )
        try:
            made = await self._client.create(pod)
        except APIError as error:
            if is_namespace_going(error):
                return None
            self._events.record(owner, EVENT_WARNING, "FailedCreate", f"Error creating: {error}")
            raise
        self.expectations.created(Key.of(owner), made)
        message = f"Created pod: {made.metadata.name}"
        self._events.record(owner, EVENT_NORMAL, "SuccessfulCreate", message)
        return made

    async def delete(self, owner: Object, pod: Pod) -> Pod:
        """Have a pod stopped; that it is gone already is as good."""
        metadata = pod.metadata
        try:
            await self._client.delete(
                Pod, metadata.name, namespace=metadata.namespace, uid=metadata.uid
            )
        except NotFound:
            return pod
        except APIError as error:
            self._events.record(owner, EVENT_WARNING, "FailedDelete", f"Error deleting: {error}")
            raise
        self.expectations.deleted(Key.of(owner), pod)
        message = f"Deleted pod: {metadata.name}"
        self._events.record(owner, EVENT_NORMAL, "SuccessfulDelete", message)
        return pod

    async def remove_finalizer(
        self, pod: Pod, finalizer: str, *, owner: Object | None = None
    ) -> Pod:
        """Take a finalizer off a pod; that the pod is gone already is as good."""
        metadata = pod.metadata
        if finalizer not in metadata.finalizers:
            return pod
        patch = {
            "metadata": {
                "uid": metadata.uid,
                "$deleteFromPrimitiveList/finalizers": [finalizer],
            }
        }
        try:
            changed = await self._client.patch(
                Pod,
                metadata.name,
                patch,
                namespace=metadata.namespace,
                type=PatchType.STRATEGIC,
            )
        except NotFound:
            return pod
        if owner is not None:
            self.expectations.changed(Key.of(owner), changed)
        return pod


def is_namespace_going(error: APIError) -> bool:
    """Whether it was refused because its namespace is being deleted: nothing helps."""
    return any(cause.reason == "NamespaceTerminating" for cause in error.details.causes)


async def all_at_once(work: Callable[[T], Awaitable[T]], things: Iterable[T]) -> Outcome[T]:
    """Do something about each, side by side; whatever fails does not keep the others from it."""
    return await _in_batches([_bound(work, thing) for thing in things], AT_ONCE_MAX, stop=False)


async def slow_start(works: Sequence[Callable[[], Awaitable[T]]]) -> Outcome[T]:
    """Do one, then two, then four at a time, until one fails.

    What fails once mostly fails every time: nobody needs to be told a thousand times that a quota
    is used up.
    """
    return await _in_batches(works, 1, stop=True)


async def _in_batches(
    works: Sequence[Callable[[], Awaitable[T]]], size: int, *, stop: bool
) -> Outcome[T]:
    done: list[T] = []
    failures: list[APIError | TransportError] = []
    begun = 0
    while begun < len(works) and not (stop and failures):
        batch = works[begun : begun + size]
        begun += len(batch)
        size = min(2 * size, AT_ONCE_MAX)
        results = await asyncio.gather(*(work() for work in batch), return_exceptions=True)
        for result in results:
            if not isinstance(result, BaseException):
                done.append(result)
            elif isinstance(result, (APIError, TransportError)):
                failures.append(result)
            else:
                raise result
    return Outcome(done, failures[0] if failures else None, len(failures))


def _bound(work: Callable[[T], Awaitable[T]], thing: T) -> Callable[[], Awaitable[T]]:
    return lambda: work(thing)
