"""Claims of pods that ran before the checkpoint was lost, taken back from the API.

A claim that is reserved for a pod of this node may be prepared here. To assume it is safe: to
unprepare what is not prepared is no error to drivers, and when they prepare what is, they return
what they have. What containers need of the devices only drivers know, so entries say that they are
adopted until drivers answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dray.agent.claims.allocation import adopted_claim, name_of
from dray.agent.claims.cache import ClaimCache
from dray.agent.claims.checkpoint import CheckpointUnwritable
from dray.agent.claims.claim_info import ClaimInfo, ClaimKey, ClaimName
from dray.agent.claims.failures import ClaimFailure, ErrorClass
from dray.agent.claims.fetching import Fetcher
from dray.api.core import Pod
from dray.api.pod_claims import ClaimReference, is_reserved, references
from dray.api.resource import ResourceClaim
from dray.errors import APIError, NotFound, TransportError

__all__ = ["Adoption"]

# How many claims are read at once. A node has some hundreds at most.
_READS_MAX = 16


class Adoption:
    """Fills the cache from the API."""

    def __init__(self, fetcher: Fetcher, cache: ClaimCache) -> None:
        self._fetcher = fetcher
        self._cache = cache
        self._reading = asyncio.Semaphore(_READS_MAX)

    async def adopt(self, pods: Iterable[Pod]) -> Sequence[ClaimFailure]:
        """Record the claims reserved for these pods; returns what could not be read or recorded."""
        wanted = [
            (pod, reference)
            for pod in pods
            for reference in references(pod)
            if reference.claim_name
        ]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._read(pod, reference)) for pod, reference in wanted]
        failures: list[ClaimFailure] = []
        changes: dict[ClaimKey, ClaimInfo] = {}
        for (pod, _), task in zip(wanted, tasks, strict=True):
            result = task.result()
            if isinstance(result, ClaimFailure):
                failures.append(result)
            elif result is not None and is_reserved(pod, result):
                key = name_of(result).key
                known = changes.get(key) or self._cache.get(key)
                info = _with_pod(known, result, pod.metadata.uid)
                if info is not None:
                    changes[key] = info
        try:
            self._cache.commit(changes)
        except CheckpointUnwritable as error:
            failures += [
                ClaimFailure(info.claim, str(error), error_class=ErrorClass.TRANSIENT)
                for info in changes.values()
            ]
        return failures

    async def _read(
        self, pod: Pod, reference: ClaimReference
    ) -> ResourceClaim | ClaimFailure | None:
        try:
            async with self._reading:
                return await self._fetcher.get(pod, reference)
        except NotFound:
            return None
        except (APIError, TransportError, TimeoutError) as error:
            return ClaimFailure(
                ClaimName(pod.metadata.namespace, reference.claim_name, ""),
                f"fetch ResourceClaim {reference.claim_name}: {error}",
                error_class=ErrorClass.TRANSIENT,
            )


def _with_pod(known: ClaimInfo | None, claim: ResourceClaim, pod_uid: str) -> ClaimInfo | None:
    if known is None:
        return adopted_claim(claim, pod_uid)
    if known.claim.uid != claim.metadata.uid or known.unpreparing:
        return None
    return replace(known, pods=known.pods | {pod_uid})
