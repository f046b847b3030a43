"""What a rule without effect would do if it had one. Pure.

Upstream counterpart: the simulated controller of maybeUpdateRuleStatus.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from dray.api.core import Pod
from dray.api.resource import (
    TAINT_EFFECT_NO_EXECUTE,
    DeviceID,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from dray.api.wire import replace
from dray.controllers.device_taint_eviction.judgement import devices_of, judge_pod
from dray.controllers.device_taint_eviction.marks import Mark, RuleID, selects
from dray.controllers.device_taint_eviction.rule_status import Survey

__all__ = ["survey_without_effect"]


def survey_without_effect(
    rule: DeviceTaintRule,
    slices: Sequence[ResourceSlice],
    claims: Iterable[ResourceClaim],
    pods: Iterable[Pod],
    *,
    evicted_count: int,
) -> Survey:
    """Devices that a rule selects and pods it would end, of claims with such devices."""
    known = {(claim.metadata.namespace, claim.metadata.name): claim for claim in claims}
    mark = Mark(replace(rule.spec.taint, effect=TAINT_EFFECT_NO_EXECUTE), RuleID.of(rule))

    def marks_on(device: DeviceID) -> Iterator[Mark]:
        if selects(rule, device):
            yield mark

    def is_hit(pod: Pod) -> bool:
        namespace = pod.metadata.namespace
        return judge_pod(pod, lambda name: known.get((namespace, name)), marks_on) is not None

    hit = [pod.metadata.namespace for pod in pods if is_hit(pod)]
    allocated = (device for claim in known.values() for device, _tolerations in devices_of(claim))
    return dataclasses.replace(
        Survey.of_pods(hit, evicted_count=evicted_count),
        published_count=sum(selects(rule, device) for device in _published(slices)),
        allocated_count=sum(selects(rule, device) for device in allocated),
    )


def _published(slices: Sequence[ResourceSlice]) -> Iterator[DeviceID]:
    """The devices of slices that are of the newest generation of their pool."""
    newest: dict[tuple[str, str], int] = {}
    for slice_ in slices:
        key = slice_.spec.driver, slice_.spec.pool.name
        newest[key] = max(newest.get(key, 0), slice_.spec.pool.generation)
    for slice_ in slices:
        driver, pool = slice_.spec.driver, slice_.spec.pool
        if pool.generation == newest[driver, pool.name]:
            for device in slice_.spec.devices or ():
                yield DeviceID(driver, pool.name, device.name)
