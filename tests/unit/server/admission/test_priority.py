from __future__ import annotations

import pytest

from dray.api.meta import ObjectMeta
from dray.api.scheduling import PriorityClass
from dray.errors import Forbidden
from dray.server.admission.priority import Priority, default_objects
from dray.server.state import FixedState
from tests.unit.server.admission.builders import PODS, PRIORITY_CLASSES, create, pod, update


def priority_class(name: str, value: int, *, default: bool = False) -> PriorityClass:
    return PriorityClass(
        metadata=ObjectMeta(name=name),
        value=value,
        global_default=default,
        preemption_policy="PreemptLowerPriority",
    )


HIGH = priority_class("high", 1000)
USUAL = priority_class("usual", 10, default=True)


def test_a_pod_has_the_rank_of_its_class() -> None:
    spec = Priority(FixedState(HIGH)).admit(create(PODS, pod(priority_class_name="high"))).spec
    assert (spec.priority, spec.preemption_policy) == (1000, "PreemptLowerPriority")


def test_without_any_class_the_rank_is_zero() -> None:
    spec = Priority(FixedState()).admit(create(PODS, pod())).spec
    assert (spec.priority_class_name, spec.priority) == ("", 0)
    assert spec.preemption_policy == "PreemptLowerPriority"


def test_the_default_class_is_named_in_pods_that_name_none() -> None:
    spec = Priority(FixedState(HIGH, USUAL)).admit(create(PODS, pod())).spec
    assert (spec.priority_class_name, spec.priority) == ("usual", 10)


def test_a_new_default_class_counts_at_once() -> None:
    state = FixedState()
    plugin = Priority(state)
    assert plugin.admit(create(PODS, pod())).spec.priority == 0
    state.put(USUAL)
    assert plugin.admit(create(PODS, pod())).spec.priority == 10


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(
            {"priority_class_name": "zzz"}, "no PriorityClass with name zzz was found", id="missing"
        ),
        pytest.param(
            {"priority_class_name": "high", "priority": 7},
            "the integer value of priority (7) must not be provided in pod spec; priority "
            "admission controller computed 1000 from the given PriorityClass name",
            id="other-number",
        ),
        pytest.param(
            {"preemption_policy": "Never"},
            "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
            "priority admission controller computed PreemptLowerPriority from the given "
            "PriorityClass name",
            id="other-policy",
        ),
    ],
)
def test_a_rank_of_ones_own_is_refused(spec: dict[str, object], why: str) -> None:
    with pytest.raises(Forbidden) as refused:
        Priority(FixedState(HIGH)).admit(create(PODS, pod(**spec)))  # type: ignore[arg-type]  # fields
    assert refused.value.message == f'pods "p" is forbidden: {why}'


def test_an_update_keeps_what_its_client_does_not_know() -> None:
    old = pod(priority=5, preemption_policy="Never")
    spec = Priority(FixedState()).admit(update(PODS, pod(), old)).spec
    assert (spec.priority, spec.preemption_policy) == (5, "Never")


def test_there_is_one_default_class_at_most() -> None:
    second = priority_class("second", 1, default=True)
    with pytest.raises(Forbidden, match="PriorityClass usual is already marked as default"):
        Priority(FixedState(USUAL)).validate(create(PRIORITY_CLASSES, second))
    Priority(FixedState(HIGH)).validate(create(PRIORITY_CLASSES, second))
    Priority(FixedState(USUAL)).validate(update(PRIORITY_CLASSES, USUAL, USUAL))


def test_every_cluster_has_the_two_system_classes() -> None:
    assert {found.metadata.name: found.value for found in default_objects()} == {
        "system-node-critical": 2000001000,
        "system-cluster-critical": 2000000000,
    }
