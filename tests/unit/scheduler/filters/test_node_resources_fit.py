"""What nodes have to offer."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dray.api.wire import Time
from dray.scheduler.feasibility import Feasibility
from dray.scheduler.filters.filter import Rejection
from tests.unit.scheduler.builders import ask, info, node, snapshot

GPU = "example.com/gpu"


def short(*reasons: str, resolvable: bool = True) -> Rejection:
    return Rejection("NodeResourcesFit", reasons, resolvable)


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param({"cpu": "3"}, None, id="exactly-what-is-left"),
        pytest.param({"cpu": "3001m"}, short("Insufficient cpu"), id="a-little-too-much"),
        pytest.param(
            {"cpu": "5"}, short("Insufficient cpu", resolvable=False), id="more-than-the-node-has"
        ),
        pytest.param(
            {GPU: "2", "hugepages-2Mi": "4Mi", "memory": "8Gi", "cpu": "4"},
            short(
                "Insufficient cpu",
                "Insufficient memory",
                f"Insufficient {GPU}",
                "Insufficient hugepages-2Mi",
                resolvable=False,
            ),
            id="each-resource-is-a-reason",
        ),
        pytest.param(
            {"ephemeral-storage": "1"},
            short("Insufficient ephemeral-storage", resolvable=False),
            id="what-the-node-does-not-have",
        ),
        pytest.param({"cpu": "0", GPU: "0"}, None, id="zero-is-nothing"),
    ],
)
def test_a_node_offers_what_its_pods_leave(
    requests: Mapping[str, str], expected: Rejection | None
) -> None:
    cluster = snapshot(node("n", allocatable={GPU: "2"}))
    cluster.add_pod(info("other", requests={"cpu": "1", "memory": "1Gi", GPU: "1"}), "n")
    assert ask(cluster, info(requests=requests)) == expected


def test_a_node_takes_so_many_pods() -> None:
    cluster = snapshot(node("n", allocatable={"pods": "1"}))
    cluster.add_pod(info("other", requests={"cpu": "4"}), "n")
    assert ask(cluster, info()) == short("Too many pods")
    assert ask(cluster, info(requests={"cpu": "1"})) == short("Too many pods", "Insufficient cpu")


def test_a_node_that_does_not_say_how_many_pods_it_takes_takes_none() -> None:
    cluster = snapshot(node("n", allocatable={"pods": "0"}))
    assert ask(cluster, info()) == short("Too many pods")


def test_a_terminating_pod_counts_until_it_is_gone() -> None:
    cluster = snapshot(node("n"))
    leaving = {"deletion_timestamp": Time.parse("2026-01-31T12:00:00Z")}
    cluster.add_pod(info("leaving", requests={"cpu": "4"}, metadata=leaving), "n")
    assert ask(cluster, info(requests={"cpu": "1"})) == short("Insufficient cpu")
    cluster.remove_pod("leaving")
    assert ask(cluster, info(requests={"cpu": "1"})) is None


def test_what_devices_stand_for_is_not_asked_of_nodes_that_have_none() -> None:
    cluster = snapshot(node("none"), node("zero", allocatable={GPU: "0"}), node("some"))
    cluster.apply_node(node("some", allocatable={GPU: "1"}))
    asked = info(requests={GPU: "2", "cpu": "1"})
    check = Feasibility(cluster).check(asked, ignored_resources=frozenset({GPU}))
    assert check.on(cluster.nodes["none"]) is None
    assert check.on(cluster.nodes["zero"]) is None
    assert check.on(cluster.nodes["some"]) == short(f"Insufficient {GPU}", resolvable=False)
    assert check.needed() == {"cpu": 1000}
