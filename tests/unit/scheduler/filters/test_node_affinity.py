"""Nodes a pod must be on."""

from __future__ import annotations

import pytest

from dray.api.core import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from dray.scheduler.feasibility import Feasibility
from dray.scheduler.filters.filter import Rejection
from tests.unit.scheduler.builders import ask, info, node, snapshot

REFUSED = Rejection(
    "NodeAffinity", ("node(s) didn't match Pod's node affinity/selector",), resolvable=False
)
NOT_NAMED = Rejection(
    "NodeAffinity", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), resolvable=False
)


def must(*terms: NodeSelectorTerm) -> Affinity:
    required = NodeSelector(node_selector_terms=terms)
    return Affinity(
        node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    )


def term(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    requirement = NodeSelectorRequirement(key=key, operator=operator, values=values)
    return NodeSelectorTerm(match_expressions=(requirement,))


def named(*names: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        match_fields=tuple(
            NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,))
            for name in names
        )
    )


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({"disk": "ssd"}, None, id="same"),
        pytest.param({"disk": "hdd"}, REFUSED, id="other-value"),
        pytest.param({"disk": "ssd", "gpu": "yes"}, REFUSED, id="one-label-too-few"),
        pytest.param({}, None, id="none"),
    ],
)
def test_a_node_has_all_labels_of_the_node_selector(
    selector: dict[str, str], expected: Rejection | None
) -> None:
    cluster = snapshot(node("n", labels={"disk": "ssd"}))
    assert ask(cluster, info(node_selector=selector)) == expected


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        pytest.param(must(term("disk", "In", "ssd", "nvme")), None, id="in"),
        pytest.param(must(term("disk", "NotIn", "ssd")), REFUSED, id="not-in"),
        pytest.param(must(term("cores", "Gt", "8")), None, id="greater"),
        pytest.param(must(term("cores", "Lt", "16")), REFUSED, id="less"),
        pytest.param(must(term("disk", "Exists"), term("no", "Exists")), None, id="either"),
        pytest.param(must(term("disk", "?"), term("disk", "Exists")), None, id="bad-term-skipped"),
        pytest.param(must(term("disk", "?")), REFUSED, id="only-a-bad-term"),
        pytest.param(must(NodeSelectorTerm()), REFUSED, id="an-empty-term-matches-nothing"),
        pytest.param(must(), REFUSED, id="no-terms-match-nothing"),
        pytest.param(must(named("n")), None, id="by-name"),
        pytest.param(must(named("m")), NOT_NAMED, id="by-another-name"),
        pytest.param(must(named("m"), term("no", "Exists")), REFUSED, id="not-only-by-name"),
    ],
)
def test_a_node_matches_any_term(affinity: Affinity, expected: Rejection | None) -> None:
    cluster = snapshot(node("n", labels={"disk": "ssd", "cores": "16"}))
    assert ask(cluster, info(affinity=affinity)) == expected


def test_selector_and_affinity_must_both_match() -> None:
    cluster = snapshot(node("n", labels={"disk": "ssd"}))
    affinity = must(term("disk", "Exists"))
    assert ask(cluster, info(affinity=affinity, node_selector={"disk": "hdd"})) == REFUSED


def test_a_pod_that_names_nodes_has_few_candidates() -> None:
    check = Feasibility(snapshot()).check(info(affinity=must(named("n"), named("m"))))
    assert check.candidates() == frozenset({"n", "m"})
    assert check.refusal() is None


def test_terms_that_contradict_themselves_are_said_of_the_pod() -> None:
    cluster = snapshot(node("n"))
    check = Feasibility(cluster).check(info(affinity=must(named("n", "m"))))
    conflict = Rejection("NodeAffinity", ("pod affinity terms conflict",), resolvable=False)
    assert check.refusal() == conflict
    assert check.on(cluster.nodes["n"]) == conflict
