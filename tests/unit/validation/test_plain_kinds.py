"""Namespaces, service accounts, leases, priority classes, disruption budgets."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.coordination import Lease, LeaseSpec
from dray.api.core import Namespace, NamespaceSpec, NamespaceStatus, ServiceAccount
from dray.api.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta
from dray.api.policy import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from dray.api.scheduling import PriorityClass
from dray.api.wire import Time, replace
from dray.validation.plain_kinds import USER_PRIORITY_MAX
from tests.unit.validation.pod_builders import paths
from tests.unit.validation.workload_builders import (
    created,
    metadata,
    status_updated,
    updated,
)

LATER = Time.parse("2024-01-02T00:00:00Z")


# Namespace -------------------------------------------------------------------------------------


def namespace(*, name: str = "one", phase: str = "Active", **fields: Any) -> Namespace:
    meta = metadata(name=name, namespace="", **fields)
    return Namespace(metadata=meta, status=NamespaceStatus(phase=phase))


def test_a_namespace_is_a_dns_label() -> None:
    assert created(namespace()) == []
    assert paths(created(namespace(name="my.one"))) == ["metadata.name"]
    assert paths(created(namespace(name="x" * 64))) == ["metadata.name"]


def test_a_namespaces_own_finalizers_are_standard_or_qualified() -> None:
    odd = replace(namespace(), spec=NamespaceSpec(finalizers=("kubernetes", "a/b", "mine")))
    assert created(odd) == [
        (
            'spec.finalizers: Invalid value: "mine": '
            "name is neither a standard finalizer name nor is it fully qualified"
        )
    ]
    assert created(odd) == updated(odd, odd)


def test_a_namespace_terminates_when_it_is_deleted() -> None:
    alive, leaving = namespace(), namespace(deletion_timestamp=LATER, phase="Terminating")
    assert status_updated(alive, alive) == []
    assert status_updated(leaving, leaving) == []
    assert status_updated(namespace(phase="Terminating"), alive) == [
        (
            'status.Phase: Invalid value: "Terminating": '
            "may only be 'Active' if `deletionTimestamp` is empty"
        )
    ]
    assert status_updated(namespace(deletion_timestamp=LATER), leaving) == [
        (
            'status.Phase: Invalid value: "Active": '
            "may only be 'Terminating' if `deletionTimestamp` is not empty"
        )
    ]


# ServiceAccount --------------------------------------------------------------------------------


def test_a_service_account_has_a_name_and_that_is_it() -> None:
    fine = ServiceAccount(metadata=metadata())
    odd = ServiceAccount(metadata=metadata(name="A!"))
    assert created(fine) == updated(fine, fine) == []
    assert paths(created(odd)) == ["metadata.name"]
    # What the registry and the kind say of it differ.
    assert set(paths(updated(odd, odd))) == {"metadata.name"}


# Lease -----------------------------------------------------------------------------------------


def lease(**spec: Any) -> Lease:
    return Lease(metadata=metadata(), spec=LeaseSpec(**spec))


@pytest.mark.parametrize(
    ("spec", "texts"),
    [
        pytest.param({"lease_duration_seconds": 40}, [], id="fine"),
        pytest.param({"strategy": "a.io/mine", "preferred_holder": "me"}, [], id="own-strategy"),
        pytest.param(
            {"lease_duration_seconds": 0},
            ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
            id="no-time",
        ),
        pytest.param(
            {"lease_transitions": -1},
            ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"],
            id="negative",
        ),
        pytest.param(
            {"strategy": "Newest"},
            [
                (
                    'spec.strategy.strategy: Unsupported value: "Newest": '
                    'supported values: "OldestEmulationVersion"'
                )
            ],
            id="unknown-strategy",
        ),
        pytest.param(
            {"preferred_holder": "me"},
            ["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"],
            id="holder-without-strategy",
        ),
    ],
)
def test_a_lease_runs_for_some_time(spec: dict[str, Any], texts: list[str]) -> None:
    assert created(lease(**spec)) == texts
    assert updated(lease(**spec), lease()) == texts


def test_a_lease_takes_any_finalizer() -> None:
    held = Lease(metadata=metadata(finalizers=("mine",)))
    assert created(held) == updated(held, held) == []


# PriorityClass ---------------------------------------------------------------------------------


def priority(name: str = "high", value: int = 5, **fields: Any) -> PriorityClass:
    return PriorityClass(metadata=metadata(name=name, namespace=""), value=value, **fields)


@pytest.mark.parametrize(
    "fine",
    [
        priority(value=USER_PRIORITY_MAX),
        priority(value=-(2**31)),
        priority("system-node-critical", 2_000_001_000),
        priority("system-cluster-critical", 2_000_000_000),
        priority(preemption_policy="Never"),
    ],
    ids=lambda fine: f"{fine.metadata.name}-{fine.value}",
)
def test_priorities_of_users_and_of_the_system(fine: PriorityClass) -> None:
    assert created(fine) == []


RESERVED = (
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system"
    " use only. error: "
)


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        (
            priority(value=USER_PRIORITY_MAX + 1),
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        ),
        (priority("system-x"), f"{RESERVED}system-x is not a known system priority class"),
        (
            priority("system-node-critical", 5),
            f"{RESERVED}value of system-node-critical PriorityClass must be 2000001000",
        ),
        (
            priority("system-cluster-critical", 2_000_000_000, global_default=True),
            f"{RESERVED}globalDefault of system-cluster-critical PriorityClass must be false",
        ),
        (priority(preemption_policy=""), "preemptionPolicy: Required value"),
        (
            priority(preemption_policy="X"),
            (
                'preemptionPolicy: Unsupported value: "X": '
                'supported values: "PreemptLowerPriority", "Never"'
            ),
        ),
    ],
)
def test_priorities_that_nobody_may_have(odd: PriorityClass, text: str) -> None:
    assert created(odd) == [text]


def test_a_priority_is_for_life() -> None:
    assert updated(priority(value=6, preemption_policy="Never"), priority()) == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "Never": field is immutable',
    ]


# PodDisruptionBudget ---------------------------------------------------------------------------


def budget(**spec: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(metadata=metadata(), spec=PodDisruptionBudgetSpec(**spec))


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        pytest.param({"min_available": "50%"}, [], id="share"),
        pytest.param({"max_unavailable": 0}, [], id="none"),
        pytest.param({"min_available": 1, "max_unavailable": 1}, ["spec"], id="both"),
        pytest.param({"min_available": "150%"}, ["spec.minAvailable"], id="more-than-all"),
        pytest.param({"max_unavailable": -1}, ["spec.maxUnavailable"], id="negative"),
        pytest.param({"max_unavailable": "x"}, ["spec.maxUnavailable"], id="no-number"),
        pytest.param(
            {"selector": LabelSelector(match_labels={"A!": ""})},
            ["spec.selector.matchLabels"],
            id="selector",
        ),
        pytest.param(
            {"unhealthy_pod_eviction_policy": "X"}, ["spec.unhealthyPodEvictionPolicy"], id="policy"
        ),
    ],
)
def test_a_budget_says_one_thing(spec: dict[str, Any], where: list[str]) -> None:
    assert paths(created(budget(**spec))) == where


def test_a_budget_shows_what_it_says_twice() -> None:
    assert created(budget(min_available=1, max_unavailable="5%")) == [
        (
            'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"5%",'
            '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set'
        )
    ]


def test_a_stored_selector_keeps_its_odd_values() -> None:
    clause = LabelSelectorRequirement(key="app", operator="In", values=("x!",))
    odd = budget(selector=LabelSelector(match_expressions=(clause,)))
    assert paths(created(odd)) == ["spec.selector.matchExpressions[0].values[0]"]
    assert updated(odd, odd) == []


def test_a_budget_may_be_called_anything() -> None:
    assert created(replace(budget(), metadata=metadata(name="A!"))) == []
    assert paths(created(PodDisruptionBudget(metadata=ObjectMeta(namespace="a")))) == [
        "metadata.name"
    ]


def test_a_budget_counts_nothing_below_nought() -> None:
    new = replace(budget(), status=PodDisruptionBudgetStatus(disruptions_allowed=-1))
    assert paths(status_updated(new, budget())) == ["status.disruptionsAllowed"]
