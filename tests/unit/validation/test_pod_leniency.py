"""What an update is forgiven, and that each grace is used."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    Affinity,
    ContainerResizePolicy,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    Toleration,
    TopologySpreadConstraint,
)
from dray.api.meta import LabelSelector, LabelSelectorRequirement
from dray.validation.pod_leniency import (
    DELETION_COST_ANNOTATION,
    STRICT,
    deletion_cost_holds,
    leniency_toward,
)
from tests.unit.validation.pod_builders import container, created, pod, resources, updated

ODD_CLAUSE = LabelSelectorRequirement(key="app", operator="In", values=("-",))
ODD_SELECTOR = LabelSelector(match_expressions=(ODD_CLAUSE,))
SPREAD = TopologySpreadConstraint(
    max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule", label_selector=ODD_SELECTOR
)
ODD_NODES = NodeSelectorTerm(
    match_expressions=(NodeSelectorRequirement(key="a", operator="In", values=("-",)),)
)

GRACES = [
    pytest.param(
        {
            "containers": (
                container(
                    resources=resources(
                        {"cpu": "1", "hugepages-2Mi": "3Mi"}, {"hugepages-2Mi": "3Mi"}
                    )
                ),
            )
        },
        "indivisible_huge_pages",
        id="huge-pages",
    ),
    pytest.param(
        {
            "affinity": Affinity(
                pod_affinity=PodAffinity(
                    required_during_scheduling_ignored_during_execution=(
                        PodAffinityTerm(topology_key="zone", label_selector=ODD_SELECTOR),
                    )
                )
            )
        },
        "any_value_in_affinity",
        id="pod-affinity",
    ),
    pytest.param(
        {
            "affinity": Affinity(
                node_affinity=NodeAffinity(
                    required_during_scheduling_ignored_during_execution=NodeSelector(
                        node_selector_terms=(ODD_NODES,)
                    )
                )
            )
        },
        "any_value_in_node_affinity",
        id="node-affinity",
    ),
    pytest.param(
        {"topology_spread_constraints": (SPREAD,)}, "any_spread_selector", id="spread-selector"
    ),
    pytest.param(
        {"tolerations": (Toleration(key="a", operator="Gt", value="5"),)},
        "comparing_tolerations",
        id="comparison",
    ),
    pytest.param(
        {
            "init_containers": (
                container(
                    "init",
                    resize_policy=(
                        ContainerResizePolicy(
                            resource_name="cpu", restart_policy="RestartContainer"
                        ),
                    ),
                ),
            )
        },
        "restarting_resize_of_init_containers",
        id="resize",
    ),
    pytest.param(
        {"metadata": {"annotations": {DELETION_COST_ANNOTATION: "cheap"}}},
        "any_deletion_cost",
        id="deletion-cost",
    ),
]


def test_an_orderly_pod_gets_no_grace() -> None:
    assert leniency_toward(pod()) == STRICT


@pytest.mark.parametrize(("fields", "grace"), GRACES)
def test_what_a_stored_pod_has_it_may_keep(fields: dict[str, Any], grace: str) -> None:
    odd = pod(**fields)
    assert created(odd) != []
    assert getattr(leniency_toward(odd), grace)
    assert updated(odd, odd) == []


def test_old_keys_in_spread_constraints_are_judged_by_the_old_rule() -> None:
    before = TopologySpreadConstraint(
        max_skew=1,
        topology_key="zone",
        when_unsatisfiable="DoNotSchedule",
        match_label_keys=("app",),
        label_selector=None,
    )
    odd = pod(topology_spread_constraints=(before,))
    assert leniency_toward(odd).overlapping_match_label_keys
    (error,) = updated(odd, odd)
    assert error.startswith("spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden")


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("0", True),
        ("-5", True),
        ("2147483647", True),
        ("2147483648", False),
        ("-2147483648", True),
        ("9" * 5000, False),
        ("+1", False),
        ("01", False),
        ("-01", True),
        ("", False),
        ("x", False),
    ],
)
def test_a_deletion_cost_is_a_32_bit_integer(text: str, good: bool) -> None:
    assert deletion_cost_holds({DELETION_COST_ANNOTATION: text}) is good
    assert deletion_cost_holds({})
