"""Where a pod may run."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinityTerm,
    PodAntiAffinity,
    PreferredSchedulingTerm,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from dray.api.meta import LabelSelector
from dray.validation.pod_leniency import STRICT, Leniency
from dray.validation.pod_placement import (
    check_affinity,
    check_spread_constraints,
    check_tolerations,
)
from tests.unit.validation.builders import told
from tests.unit.validation.pod_builders import paths

SPREAD = {"max_skew": 1, "topology_key": "zone", "when_unsatisfiable": "DoNotSchedule"}


def tolerating(leniency: Leniency = STRICT, **fields: Any) -> list[str]:
    return told(check_tolerations, (Toleration(**fields),), "t", leniency)


def spread(*constraints: dict[str, Any]) -> list[str]:
    built = tuple(TopologySpreadConstraint(**{**SPREAD, **fields}) for fields in constraints)
    return told(check_spread_constraints, built, "s", STRICT)


def affine(**parts: Any) -> list[str]:
    return told(check_affinity, Affinity(**parts), "a", STRICT)


def requiring(requirement: NodeSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(requirement,))


# Affinity --------------------------------------------------------------------------------------


def test_required_nodes_are_selected_by_some_term() -> None:
    required = NodeAffinity(required_during_scheduling_ignored_during_execution=NodeSelector())
    assert affine(node_affinity=required) == [
        (
            "a.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:"
            " Required value: must have at least one node selector term"
        )
    ]


def test_a_preference_has_a_weight_and_clauses_but_any_values() -> None:
    preferred = PreferredSchedulingTerm(
        weight=101,
        preference=requiring(NodeSelectorRequirement(key="a", operator="Is", values=("-",))),
    )
    affinity = NodeAffinity(preferred_during_scheduling_ignored_during_execution=(preferred,))
    path = "a.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
    assert affine(node_affinity=affinity) == [
        f"{path}.weight: Invalid value: 101: must be in the range 1-100",
        (
            f'{path}.preference.matchExpressions[0].operator: Invalid value: "Is": not a valid'
            " selector operator"
        ),
    ]


def test_affinity_to_pods_is_within_a_topology() -> None:
    term = PodAffinityTerm(
        namespaces=("a.b",), label_selector=LabelSelector(match_labels={"-": ""})
    )
    affinity = PodAntiAffinity(
        required_during_scheduling_ignored_during_execution=(term,),
        preferred_during_scheduling_ignored_during_execution=(
            WeightedPodAffinityTerm(
                weight=0, pod_affinity_term=PodAffinityTerm(topology_key="zone")
            ),
        ),
    )
    required = "a.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
    assert paths(affine(pod_anti_affinity=affinity)) == [
        f"{required}.labelSelector.matchLabels",
        f"{required}.namespace",
        f"{required}.topologyKey",
        *[f"{required}.topologyKey"] * 2,
        "a.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
    ]


# Tolerations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"operator": "Exists"},
        {"key": "a", "value": "x"},
        {"key": "a", "operator": "Exists", "effect": "NoExecute", "toleration_seconds": 5},
    ],
)
def test_tolerations_of_all_of_one_and_for_a_while(fields: dict[str, Any]) -> None:
    assert tolerating(**fields) == []


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        pytest.param(
            {"value": "x"},
            't[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which'
            ' means "match all values and all keys"',
            id="any-key",
        ),
        pytest.param(
            {"key": "a", "toleration_seconds": 5, "effect": "NoSchedule"},
            "t[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when"
            " `tolerationSeconds` is set",
            id="seconds",
        ),
        pytest.param(
            {"key": "a", "operator": "Exists", "value": "x"},
            "t[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
            id="value-of-exists",
        ),
        pytest.param(
            {"key": "a", "operator": "Gt", "value": "1"},
            't[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt",'
            ' "Gt"',
            id="comparison-is-off",
        ),
        pytest.param(
            {"key": "a", "operator": "Is"},
            't[0].operator: Unsupported value: "Is": supported values: "Equal", "Exists"',
            id="unknown-operator",
        ),
        pytest.param(
            {"key": "a", "effect": "Never"},
            't[0].effect: Unsupported value: "Never": supported values: "NoSchedule",'
            ' "PreferNoSchedule", "NoExecute"',
            id="unknown-effect",
        ),
    ],
)
def test_a_toleration_says_what_it_tolerates(fields: dict[str, Any], error: str) -> None:
    assert tolerating(**fields) == [error]


@pytest.mark.parametrize(
    ("value", "details"),
    [
        ("0", []),
        ("-5", []),
        (
            "",
            ["must be non-empty", 'strconv.ParseInt: parsing "": invalid syntax'],
        ),
        ("007", ["must be a valid decimal integer in canonical form"]),
        ("+5", ["must be a valid decimal integer in canonical form"]),
        (
            "x",
            [
                "must be a valid decimal integer in canonical form",
                'strconv.ParseInt: parsing "x": invalid syntax',
            ],
        ),
        (
            "9223372036854775808",
            ['strconv.ParseInt: parsing "9223372036854775808": value out of range'],
        ),
    ],
)
def test_a_stored_comparison_compares_with_a_number(value: str, details: list[str]) -> None:
    lenient = Leniency(comparing_tolerations=True)
    assert tolerating(lenient, key="a", operator="Lt", value=value) == [
        f't[0].value: Invalid value: "{value}": {detail}' for detail in details
    ]


# Spreading -------------------------------------------------------------------------------------


def test_a_spread_constraint_has_a_skew_a_topology_and_an_action() -> None:
    assert spread({}) == []
    assert paths(spread({"max_skew": 0, "topology_key": "", "when_unsatisfiable": "Cry"})) == [
        "s[0].maxSkew",
        "s[0].topologyKey",
        "s[0].whenUnsatisfiable",
    ]


def test_a_topology_is_spread_over_once_for_each_action() -> None:
    assert spread({}, {"when_unsatisfiable": "ScheduleAnyway"}) == []
    assert spread({}, {}) == [
        's[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"'
    ]


def test_a_number_of_domains_is_demanded_not_wished_for() -> None:
    assert spread({"min_domains": 2}) == []
    assert spread({"min_domains": 0, "when_unsatisfiable": "ScheduleAnyway"}) == [
        "s[0].minDomains: Invalid value: 0: must be greater than zero",
        (
            "s[0].minDomains: Invalid value: 0: can only use minDomains if"
            " whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
        ),
    ]


def test_nodes_are_counted_or_ignored() -> None:
    assert spread({"node_taints_policy": "Maybe"}) == [
        's[0].nodeTaintsPolicy: Unsupported value: "Maybe": supported values: "Honor", "Ignore"'
    ]
