"""Who has to leave, when, and on whose account."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.allocator.rules.taints import tolerates
from dray.api.core import (
    Pod,
    PodExtendedResourceClaimStatus,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodSchedulingGroup,
    PodStatus,
)
from dray.api.meta import OwnerReference
from dray.api.resource import (
    DeviceID,
    DeviceTaint,
    DeviceToleration,
    ResourceClaimConsumerReference,
)
from dray.api.wire import Time, replace
from dray.controllers.device_taint_eviction.judgement import Eviction, judge_claim, judge_pod
from dray.controllers.device_taint_eviction.marks import Mark, RuleID
from tests.unit.controllers.device_taint_eviction.objects import (
    BROKEN,
    NOW,
    claim_of,
    make_pod,
    taint,
    tolerate,
)

WEB = make_pod("web", uid="u1")
RULE = RuleID("rule", "r1")


def on(**marks: Sequence[Mark]) -> Callable[[DeviceID], Iterable[Mark]]:
    """What devices are marked with, by their names."""
    return lambda device: marks.get(device.device, ())


def after(seconds: int) -> datetime:
    return NOW.instant + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("tolerations", "at"),
    [
        pytest.param([], after(0), id="not-tolerated"),
        pytest.param([tolerate()], None, id="for-ever"),
        pytest.param([tolerate(60)], after(60), id="for-a-minute"),
        pytest.param([tolerate(60), tolerate(20)], after(20), id="the-shortest-counts"),
        pytest.param([tolerate(60), tolerate()], None, id="for-ever-beats-a-minute"),
        pytest.param([tolerate(-5)], after(0), id="less-than-nothing-is-nothing"),
        pytest.param([tolerate(effect="NoSchedule")], after(0), id="another-effect"),
        pytest.param(
            [DeviceToleration(key="example.com/hot", operator="Exists", effect="NoExecute")],
            after(0),
            id="another-key",
        ),
    ],
)
def test_a_taint_takes_effect_when_tolerations_end(
    tolerations: list[DeviceToleration], at: datetime | None
) -> None:
    claim = claim_of(WEB, "gpu0", tolerations=tolerations)
    judgement = judge_claim(claim, on(gpu0=[Mark(BROKEN)]))
    assert (judgement.at if judgement is not None else None) == at


def test_a_toleration_without_an_effect_covers_every_effect() -> None:
    """A departure: upstream ends here what its scheduler has placed."""
    for seconds in (None, 20):
        claim = claim_of(WEB, "gpu0", tolerations=[tolerate(seconds, effect="")])
        assert judge_claim(claim, on(gpu0=[Mark(BROKEN)])) is None


def test_a_toleration_for_longer_than_time_lasts_is_no_error() -> None:
    claim = claim_of(WEB, "gpu0", tolerations=[tolerate(2**63 - 1)])
    judgement = judge_claim(claim, on(gpu0=[Mark(BROKEN)]))
    assert judgement is not None
    assert judgement.at.year == 9999


def test_a_taint_counts_once_it_has_a_time() -> None:
    claim = claim_of(WEB, "gpu0")
    assert judge_claim(claim, on(gpu0=[Mark(taint(added=None))])) is None


def test_a_pod_leaves_at_the_earliest_time_and_on_account_of_all_rules() -> None:
    other = RuleID("other", "r2")
    claim = claim_of(WEB, "gpu0", "gpu1", tolerations=[tolerate(60)])
    later = taint(added=Time(after(30)))
    marks = on(gpu0=[Mark(later, RULE)], gpu1=[Mark(BROKEN, other)])
    expected = Eviction(after(60), frozenset({RULE, other}))
    assert judge_pod(WEB, {"web": claim}.get, marks) == expected


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod("web", node="", uid="u1"), id="not-on-a-node"),
        pytest.param(make_pod("web", uid="u1", deletion_timestamp=NOW), id="leaving-already"),
        pytest.param(replace(WEB, status=PodStatus(phase="Failed")), id="ended"),
        pytest.param(make_pod("web", uid="u2"), id="of-the-same-name"),
    ],
)
def test_pods_that_do_not_use_the_claim_are_left_alone(pod: Pod) -> None:
    claim = claim_of(WEB, "gpu0")
    assert judge_pod(pod, {"web": claim}.get, on(gpu0=[Mark(BROKEN)])) is None


def test_a_claim_that_is_not_reserved_or_not_allocated_ends_nobody() -> None:
    marks = on(gpu0=[Mark(BROKEN)])
    idle = claim_of(WEB, "gpu0", is_reserved=False)
    assert judge_pod(WEB, {"web": idle}.get, marks) is None
    assert judge_pod(WEB, lambda _name: None, marks) is None
    bare = replace(idle, status=replace(idle.status, allocation=None))
    assert judge_claim(bare, marks) is None


def test_a_generated_claim_must_be_the_pods_own() -> None:
    entry = PodResourceClaim(name="gpu", resource_claim_template_name="t")
    made = PodResourceClaimStatus(name="gpu", resource_claim_name="x")
    pod = replace(
        WEB,
        spec=replace(WEB.spec, resource_claims=(entry,)),
        status=PodStatus(resource_claim_statuses=(made,)),
    )
    foreign, marks = claim_of(WEB, "gpu0"), on(gpu0=[Mark(BROKEN)])
    assert judge_pod(pod, {"x": foreign}.get, marks) is None
    owner = OwnerReference(api_version="v1", kind="Pod", name="web", uid="u1", controller=True)
    own = replace(foreign, metadata=replace(foreign.metadata, owner_references=(owner,)))
    assert judge_pod(pod, {"x": own}.get, marks) == Eviction(after(0))


def test_the_claim_behind_extended_resources_counts_too() -> None:
    """A departure: upstream never looks at it."""
    status = PodStatus(
        extended_resource_claim_status=PodExtendedResourceClaimStatus(resource_claim_name="x")
    )
    pod = replace(WEB, spec=replace(WEB.spec, resource_claims=()), status=status)
    claim = claim_of(WEB, "gpu0")
    assert judge_pod(pod, {"x": claim}.get, on(gpu0=[Mark(BROKEN)])) == Eviction(after(0))


def test_pods_that_use_a_claim_through_their_group_count_too() -> None:
    group = ResourceClaimConsumerReference(
        api_group="scheduling.k8s.io", resource="podgroups", name="g", uid="g1"
    )
    claim = claim_of(WEB, "gpu0")
    claim = replace(claim, status=replace(claim.status, reserved_for=(group,)))
    member = replace(
        WEB, spec=replace(WEB.spec, scheduling_group=PodSchedulingGroup(pod_group_name="g"))
    )
    marks = on(gpu0=[Mark(BROKEN)])
    assert judge_pod(member, {"web": claim}.get, marks) is not None
    assert judge_pod(WEB, {"web": claim}.get, marks) is None


# Properties ------------------------------------------------------------------------------------

KEYS = st.sampled_from(["example.com/a", "example.com/b"])
TAINTS = st.builds(
    lambda key, seconds: taint(key=key, added=Time(after(seconds))), KEYS, st.integers(0, 100)
)
TOLERATIONS = st.builds(
    DeviceToleration,
    key=st.just("") | KEYS,
    operator=st.just("Exists"),
    effect=st.sampled_from(["", "NoExecute", "NoSchedule"]),
    toleration_seconds=st.none() | st.integers(-10, 100),
)
MARKS = st.lists(st.builds(Mark, TAINTS, st.none() | st.just(RULE)), max_size=3)
CLAIMS = st.lists(TOLERATIONS, max_size=3)


def judged(
    gpu0: list[Mark], gpu1: list[Mark], tolerations: list[DeviceToleration]
) -> Eviction | None:
    claim = claim_of(WEB, "gpu0", "gpu1", tolerations=tolerations)
    return judge_pod(WEB, {"web": claim}.get, on(gpu0=gpu0, gpu1=gpu1))


def stays_until(taint: DeviceTaint, tolerations: list[DeviceToleration]) -> set[datetime]:
    """By the definition: the moments at which the pod may be ended for one taint."""
    covering = [each for each in tolerations if tolerates(each, taint)]
    if any(each.toleration_seconds is None or not each.effect for each in covering):
        return set()
    assert taint.time_added is not None
    waits = [max(each.toleration_seconds or 0, 0) for each in covering] or [0]
    return {taint.time_added.instant + timedelta(seconds=min(waits))}


@given(MARKS, MARKS, CLAIMS)
def test_the_judgement_is_the_definitions(
    gpu0: list[Mark], gpu1: list[Mark], tolerations: list[DeviceToleration]
) -> None:
    acting = [
        (at, mark.rule) for mark in (*gpu0, *gpu1) for at in stays_until(mark.taint, tolerations)
    ]
    expected = (
        Eviction(
            min(at for at, _rule in acting),
            frozenset(rule for _at, rule in acting if rule is not None),
        )
        if acting
        else None
    )
    assert judged(gpu0, gpu1, tolerations) == expected


@given(MARKS, MARKS, CLAIMS, st.builds(Mark, TAINTS))
def test_another_taint_never_lets_a_pod_stay_longer(
    gpu0: list[Mark], gpu1: list[Mark], tolerations: list[DeviceToleration], added: Mark
) -> None:
    before = judged(gpu0, gpu1, tolerations)
    now = judged([*gpu0, added], gpu1, tolerations)
    if before is not None:
        assert now is not None
        assert now.at <= before.at


@given(MARKS, MARKS, CLAIMS)
def test_whoever_tolerates_everything_for_ever_stays(
    gpu0: list[Mark], gpu1: list[Mark], tolerations: list[DeviceToleration]
) -> None:
    assert judged(gpu0, gpu1, [*tolerations, tolerate()]) is None
