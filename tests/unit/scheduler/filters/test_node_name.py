"""Pods that name their node."""

from __future__ import annotations

from dray.scheduler.filters.filter import Attempt, Rejection
from dray.scheduler.filters.node_name import NodeName
from dray.scheduler.node_info import NodeInfo
from tests.unit.scheduler.builders import ask, info, node, snapshot


def test_a_pod_that_names_a_node_goes_nowhere_else() -> None:
    cluster = snapshot(node("n"), node("m"))
    asked = info(node_name="m")
    assert NodeName().only(asked) == frozenset({"m"})
    assert ask(cluster, asked, "m") is None
    assert ask(cluster, asked, "n") == Rejection(
        "NodeName", ("node(s) didn't satisfy plugin(s) [NodeName]",), resolvable=False
    )


def test_asked_all_the_same_it_says_why() -> None:
    test = NodeName().prepare(Attempt(info(node_name="m"), snapshot()))
    assert test is not None
    assert test(NodeInfo(node("m"))) is None
    assert test(NodeInfo(node("n"))) == Rejection(
        "NodeName", ("node(s) didn't match the requested node name",), resolvable=False
    )


def test_there_is_nothing_to_ask_for_a_pod_that_names_none() -> None:
    assert NodeName().prepare(Attempt(info(), snapshot())) is None
