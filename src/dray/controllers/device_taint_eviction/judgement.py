"""Who has to leave, when, and on whose account. Pure: facts in, a judgement out.

A taint that no toleration of the allocated device covers ends the pod at the time it was added; one
that is covered for some seconds, so much later; the shortest of several tolerations counts, unless
one of them holds for ever. The earliest time of all devices of all claims is the pod's.

Three departures from upstream. A toleration without an effect is for every effect, as its API says,
and for ever, because seconds are for NoExecute alone; upstream's scheduler agrees, but its eviction
does not, and what one places the other ends
(test_a_toleration_without_an_effect_covers_every_effect). The claim behind a pod's extended
resources counts like the others
(test_the_claim_behind_extended_resources_counts_too). A pod that has ended is not ended again.
Upstream counterparts: claimEvictionTime and podEvictionTime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from dray.allocator.rules.taints import tolerates
from dray.api.core import Pod
from dray.api.pod_claims import is_reserved, ownership_error, references
from dray.api.resource import (
    TAINT_EFFECT_NO_EXECUTE,
    DeviceID,
    DeviceTaint,
    DeviceToleration,
    ResourceClaim,
)
from dray.controllers.device_taint_eviction.marks import Mark, RuleID
from dray.controllers.pod_states import is_active

__all__ = ["Eviction", "devices_of", "judge_claim", "judge_pod"]

# Later than any clock shows.
NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Eviction:
    """When a pod has to leave, and the rules that say so, if any."""

    at: datetime
    rules: frozenset[RuleID] = frozenset()


def judge_pod(
    pod: Pod,
    claim_of: Callable[[str], ResourceClaim | None],
    marks_on: Callable[[DeviceID], Iterable[Mark]],
) -> Eviction | None:
    """When a pod has to leave its node; None if it may stay, or is not there, or is leaving.

    `claim_of` gives a claim of the pod's namespace by its name.
    """
    if not pod.spec.node_name or not is_active(pod):
        return None
    return _earliest(
        judgement
        for claim in _claims_of(pod, claim_of)
        if (judgement := judge_claim(claim, marks_on)) is not None
    )


def judge_claim(
    claim: ResourceClaim, marks_on: Callable[[DeviceID], Iterable[Mark]]
) -> Eviction | None:
    """When pods that use a claim have to leave; None if they may stay."""
    if claim.status.allocation is None:
        return None
    return _earliest(
        Eviction(at, frozenset() if mark.rule is None else frozenset((mark.rule,)))
        for device, tolerations in devices_of(claim)
        for mark in marks_on(device)
        if (at := _time_of(mark.taint, tolerations)) is not None
    )


def devices_of(
    claim: ResourceClaim,
) -> Iterator[tuple[DeviceID, tuple[DeviceToleration, ...]]]:
    """The devices that a claim was given, and what was tolerated of each."""
    if claim.status.allocation is not None:
        for result in claim.status.allocation.devices.results:
            yield DeviceID(result.driver, result.pool, result.device), result.tolerations


def _claims_of(
    pod: Pod, claim_of: Callable[[str], ResourceClaim | None]
) -> Iterator[ResourceClaim]:
    """The claims that a pod really uses: they are its own, and reserved for it."""
    for reference in references(pod):
        claim = claim_of(reference.claim_name) if reference.claim_name else None
        if claim is None or (reference.generated and ownership_error(pod, claim)):
            continue
        if is_reserved(pod, claim):
            yield claim


def _time_of(taint: DeviceTaint, tolerations: Iterable[DeviceToleration]) -> datetime | None:
    """When a taint takes effect on whoever has these tolerations; None if never."""
    if taint.time_added is None:
        return None  # as upstream: until the server has said when it was added
    covering = [each for each in tolerations if tolerates(each, taint)]
    if not covering:
        return taint.time_added.instant
    limits = [
        max(each.toleration_seconds, 0)
        for each in covering
        if each.effect == TAINT_EFFECT_NO_EXECUTE and each.toleration_seconds is not None
    ]
    if len(limits) < len(covering):
        return None
    try:
        return taint.time_added.instant + timedelta(seconds=min(limits))
    except OverflowError:
        return NEVER


def _earliest(evictions: Iterable[Eviction]) -> Eviction | None:
    """All of them as one."""
    found = list(evictions)
    if not found:
        return None
    rules = frozenset().union(*(each.rules for each in found))
    return Eviction(min(each.at for each in found), rules)
