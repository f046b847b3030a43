"""Taints that follow from conditions."""

from __future__ import annotations

import pytest

from dray.api.core import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from dray.api.wire import Time
from dray.controllers.node_lifecycle.condition_taints import (
    evicting_key,
    is_marked,
    wanted_taints,
)
from dray.testing import FakeClock

NOW = Time(FakeClock().now())
PREFIX = "node.kubernetes.io/"


def node(*taints: str, unschedulable: bool = False, **conditions: str) -> Node:
    return Node(
        spec=NodeSpec(
            taints=tuple(
                Taint(key=PREFIX + key, effect=effect)
                for key, effect in (taint.split(":") for taint in taints)
            ),
            unschedulable=unschedulable,
        ),
        status=NodeStatus(
            conditions=tuple(NodeCondition(type=key, status=on) for key, on in conditions.items())
        ),
    )


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param(node("not-ready:NoSchedule", Ready="True"), [], id="ready-at-last"),
        pytest.param(node(Ready="False"), ["not-ready:NoSchedule"], id="not-ready"),
        pytest.param(node(Ready="Unknown"), ["unreachable:NoSchedule"], id="unreachable"),
        pytest.param(
            node("not-ready:NoSchedule", Ready="Unknown"), ["unreachable:NoSchedule"], id="other"
        ),
        pytest.param(
            node(
                Ready="True",
                MemoryPressure="True",
                DiskPressure="True",
                PIDPressure="True",
                NetworkUnavailable="True",
            ),
            [
                "memory-pressure:NoSchedule",
                "disk-pressure:NoSchedule",
                "pid-pressure:NoSchedule",
                "network-unavailable:NoSchedule",
            ],
            id="pressure",
        ),
        pytest.param(
            node(Ready="True", unschedulable=True), ["unschedulable:NoSchedule"], id="cordoned"
        ),
        pytest.param(node("unschedulable:NoSchedule", Ready="True"), [], id="uncordoned"),
        pytest.param(
            node("maintenance:NoSchedule", "not-ready:PreferNoSchedule", Ready="True"),
            ["maintenance:NoSchedule", "not-ready:PreferNoSchedule"],
            id="of-others",
        ),
        pytest.param(
            node("not-ready:NoExecute", "unreachable:NoExecute", Ready="True"), [], id="marks"
        ),
        pytest.param(node("not-ready:NoSchedule"), ["not-ready:NoSchedule"], id="not-a-word-yet"),
        pytest.param(node(), [], id="never-admitted"),
    ],
)
def test_conditions_become_taints(found: Node, wanted: list[str]) -> None:
    taints = wanted_taints(found, evict=False, now=NOW)
    assert [str(taint).removeprefix(PREFIX) for taint in taints] == wanted


@pytest.mark.parametrize(
    ("status", "key"),
    [("True", ""), ("False", PREFIX + "not-ready"), ("Unknown", PREFIX + "unreachable")],
)
def test_pods_leave_a_sick_node_that_is_to_be_emptied(status: str, key: str) -> None:
    found = node("not-ready:NoExecute", Ready=status)
    assert evicting_key(found) == key
    taints = wanted_taints(found, evict=True, now=NOW)
    assert [taint.key for taint in taints if taint.effect == "NoExecute"] == ([key] if key else [])


def test_a_taint_that_stays_keeps_the_time_it_was_added() -> None:
    found = node("not-ready:NoSchedule", Ready="False", DiskPressure="True")
    kept, added = wanted_taints(found, evict=False, now=NOW)
    assert (kept.time_added, added.time_added) == (None, NOW)


def test_a_node_is_marked_by_the_two_taints_of_sick_nodes_alone() -> None:
    assert is_marked(node("unreachable:NoExecute"))
    assert not is_marked(node("unreachable:NoSchedule", "maintenance:NoExecute"))
