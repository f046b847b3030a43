"""Claims of pods, as the API has them now, or as this node knows them while the API is away.

A pod that was here before can go on without the API: its claims were checked when it was recorded,
and cannot become another's while it holds them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from dray.agent.claims.allocation import allocated_claim, name_of
from dray.agent.claims.cache import ClaimCache
from dray.agent.claims.claim_info import ClaimInfo, ClaimKey, ClaimName
from dray.agent.claims.failures import ClaimFailure, ErrorClass
from dray.api.core import Pod
from dray.api.meta import Object
from dray.api.pod_claims import ClaimReference, is_reserved, ownership_error, references
from dray.api.resource import ResourceClaim
from dray.clock import Clock, within
from dray.errors import APIError, TooManyRequests, TransportError

__all__ = ["ClaimReader", "Fetched", "Fetcher", "is_outage"]

T = TypeVar("T", bound=Object)


class ClaimReader(Protocol):
    """The part of the client that is used here."""

    async def get(self, kind: type[T], name: str, *, namespace: str = "") -> T: ...


@dataclass(frozen=True, slots=True)
class Fetched:
    """A claim that a pod may use. No object: the API is away, the entry is this node's."""

    info: ClaimInfo
    claim: ResourceClaim | None = None


class Fetcher:
    """Reads the claims of pods, and checks that they may use them."""

    def __init__(
        self, client: ClaimReader, cache: ClaimCache, clock: Clock, *, timeout_seconds: float
    ) -> None:
        self._client = client
        self._cache = cache
        self._clock = clock
        self._timeout_seconds = timeout_seconds

    async def fetch(self, pod: Pod) -> tuple[Sequence[Fetched], Sequence[ClaimFailure]]:
        """All claims of a pod, each once, and what is wrong with them: both in the pod's order."""
        wanted = [
            reference for reference in references(pod) if reference.claim_name or reference.error
        ]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._fetch(pod, reference)) for reference in wanted]
        results = [task.result() for task in tasks]
        found = {result.info.key: result for result in results if isinstance(result, Fetched)}
        return (
            list(found.values()),
            [result for result in results if isinstance(result, ClaimFailure)],
        )

    async def get(self, pod: Pod, reference: ClaimReference) -> ResourceClaim:
        """The object; raises APIError, TransportError or TimeoutError."""
        reading = self._client.get(
            ResourceClaim, reference.claim_name, namespace=pod.metadata.namespace
        )
        return await within(self._clock, self._timeout_seconds, reading)

    async def _fetch(self, pod: Pod, reference: ClaimReference) -> Fetched | ClaimFailure:
        namespace = pod.metadata.namespace
        named = ClaimName(namespace, reference.claim_name, "")
        if reference.error:
            return ClaimFailure(named, reference.error, error_class=ErrorClass.TRANSIENT)
        try:
            claim = await self.get(pod, reference)
        except (APIError, TransportError, TimeoutError) as error:
            known = self._cache.get(ClaimKey(namespace, reference.claim_name))
            if is_outage(error) and known is not None and pod.metadata.uid in known.pods:
                return Fetched(known)
            return ClaimFailure(
                named,
                f"fetch ResourceClaim {reference.claim_name}: {error}",
                error_class=ErrorClass.TRANSIENT,
            )
        return _check(pod, reference, claim)


def is_outage(error: Exception) -> bool:
    """Whether an error says something about the API server only, nothing about the claim."""
    if isinstance(error, APIError):
        return error.code >= 500 or isinstance(error, TooManyRequests)
    return isinstance(error, TransportError | TimeoutError)


def _check(pod: Pod, reference: ClaimReference, claim: ResourceClaim) -> Fetched | ClaimFailure:
    named = name_of(claim)
    if reference.generated and (error := ownership_error(pod, claim)):
        return ClaimFailure(named, error)
    if not is_reserved(pod, claim):
        return ClaimFailure(
            named,
            f"pod {pod.metadata.name} ({pod.metadata.uid}) is not allowed to use"
            f" ResourceClaim {reference.claim_name} ({named.uid})",
            error_class=ErrorClass.TRANSIENT,
        )
    info = allocated_claim(claim)
    if info is None:
        return ClaimFailure(
            named, f"ResourceClaim {named.name}: not allocated", error_class=ErrorClass.TRANSIENT
        )
    return Fetched(info, claim)
