"""All filters together."""

from __future__ import annotations

import pytest

from dray.api.core import (
    Affinity,
    NodeAffinity,
    NodeCondition,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Taint,
)
from dray.api.wire import replace
from dray.scheduler import feasibility
from dray.scheduler.feasibility import Feasibility, default_filters
from dray.scheduler.filters.filter import Attempt, Rejection, Test
from dray.scheduler.node_info import NodeInfo
from tests.unit.scheduler.builders import ask, info, node, snapshot

TAINTED = node("n", taints=(Taint(key="a", effect="NoSchedule"),), allocatable={"cpu": "0"})


class Watching:
    """A node-only filter that remembers what it was asked."""

    name = "Watching"
    static = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def prepare(self, attempt: Attempt) -> Test | None:
        def test(each: NodeInfo) -> Rejection | None:
            self.asked.append(each.name)
            return None

        return test


def test_filters_are_in_the_order_of_upstream() -> None:
    assert [each.name for each in default_filters()] == [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "PodTopologySpread",
        "InterPodAffinity",
    ]


def test_the_first_filter_that_refuses_is_the_answer() -> None:
    rejection = ask(snapshot(TAINTED), info(requests={"cpu": "1"}, node_selector={"no": "such"}))
    assert rejection is not None
    assert rejection.plugin == "TaintToleration"


def test_node_only_filters_are_asked_once_per_shape_and_look() -> None:
    watching = Watching()
    cluster = snapshot(node("n"), node("m"))
    asked = Feasibility(cluster, (watching,))

    def ask_all(**spec: object) -> list[str]:
        watching.asked.clear()
        check = asked.check(info(**spec))  # type: ignore[arg-type] # fields of any spec
        for each in cluster.nodes.values():
            check.on(each)
        return list(watching.asked)

    assert ask_all() == ["n", "m"]
    assert ask_all() == []
    assert ask_all(requests={"cpu": "1"}) == []
    assert ask_all(node_selector={"a": "b"}) == ["n", "m"]
    cluster.add_pod(info("other"), "n")
    beating = replace(node("n").status, conditions=(NodeCondition(type="Ready", status="True"),))
    cluster.apply_node(replace(node("n"), status=beating))
    assert ask_all() == []
    cluster.apply_node(node("n", labels={"new": "label"}))
    assert ask_all() == ["n"]


def test_a_node_that_came_back_is_asked_again() -> None:
    cluster = snapshot(node("n"))
    asked = Feasibility(cluster)
    assert asked.check(info()).on(cluster.nodes["n"]) is None
    cluster.remove_node("n")
    cluster.apply_node(TAINTED)
    rejection = asked.check(info()).on(cluster.nodes["n"])
    assert rejection is not None
    assert rejection.plugin == "TaintToleration"


def test_no_more_shapes_are_remembered_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feasibility, "REMEMBERED_SHAPES_MAX", 2)
    watching = Watching()
    cluster = snapshot(node("n"))
    asked = Feasibility(cluster, (watching,))
    for name in ("one", "two", "one", "three", "one", "two"):
        asked.check(info(node_name=name)).on(cluster.nodes["n"])
    # The shape that was asked for least recently is forgotten: two, when three came.
    assert len(watching.asked) == 4


def test_what_is_remembered_of_nodes_that_change_stays_bounded() -> None:
    cluster = snapshot(node("n"))
    watching = Watching()
    asked = Feasibility(cluster, (watching,))
    check = asked.check(info())
    for index in range(200):
        cluster.apply_node(node("n", labels={"index": str(index)}))
        check = asked.check(info())
        check.on(cluster.nodes["n"])
    assert len(check._verdicts) < 70


def test_a_copied_node_is_judged_by_what_is_on_the_copy() -> None:
    cluster = snapshot(node("n"))
    holder = info("holder", requests={"cpu": "4"})
    cluster.add_pod(holder, "n")
    check = Feasibility(cluster).check(info(requests={"cpu": "1"}))
    what_if = cluster.nodes["n"].copy()
    what_if.remove_pod(holder)
    assert check.on(what_if) is None
    assert check.on(cluster.nodes["n"]) is not None


def test_who_names_nodes_is_refused_elsewhere_for_that_alone() -> None:
    rejection = ask(snapshot(TAINTED), info(node_name="m"))
    assert rejection is not None
    assert rejection.plugin == "NodeName"


def test_names_that_exclude_each_other_leave_no_node() -> None:
    requirement = NodeSelectorRequirement(key="metadata.name", operator="In", values=("n",))
    required = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(requirement,)),))
    affinity = Affinity(
        node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    )
    check = Feasibility(snapshot(node("n"))).check(info(node_name="m", affinity=affinity))
    assert check.candidates() == frozenset()
    refusal = check.refusal()
    assert refusal is not None
    assert refusal.reasons == (
        "node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously",
    )


def test_a_pod_that_names_its_node_has_one_candidate() -> None:
    assert Feasibility(snapshot()).check(info(node_name="n")).candidates() == frozenset({"n"})
    assert Feasibility(snapshot()).check(info()).candidates() is None
