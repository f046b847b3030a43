"""Cordoned nodes."""

from __future__ import annotations

from dray.api.core import Toleration
from dray.scheduler.filters.filter import Rejection
from tests.unit.scheduler.builders import ask, info, node, snapshot

CORDONED = node("n", unschedulable=True)


def test_a_cordoned_node_takes_no_pods() -> None:
    assert ask(snapshot(CORDONED), info()) == Rejection(
        "NodeUnschedulable", ("node(s) were unschedulable",), resolvable=False
    )


def test_who_tolerates_the_taint_of_cordoned_nodes_is_taken() -> None:
    tolerant = Toleration(key="node.kubernetes.io/unschedulable", operator="Exists")
    assert ask(snapshot(CORDONED), info(tolerations=(tolerant,))) is None
