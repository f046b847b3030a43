"""Ports of nodes."""

from __future__ import annotations

from dray.api.core import ContainerPort
from dray.scheduler.filters.filter import Attempt, Rejection
from dray.scheduler.filters.node_ports import NodePorts
from dray.scheduler.pod_info import PodInfo
from tests.unit.scheduler.builders import ask, container, info, node, snapshot


def taking(name: str, port: int) -> PodInfo:
    return info(name, containers=(container(ports=(ContainerPort(host_port=port),)),))


def test_a_taken_port_is_free_when_its_pod_leaves() -> None:
    cluster = snapshot(node("n"))
    cluster.add_pod(taking("holder", 80), "n")
    assert ask(cluster, taking("p", 81)) is None
    assert ask(cluster, taking("p", 80)) == Rejection(
        "NodePorts",
        ("node(s) didn't have free ports for the requested pod ports",),
        resolvable=True,
    )
    cluster.remove_pod("holder")
    assert ask(cluster, taking("p", 80)) is None


def test_there_is_nothing_to_ask_for_a_pod_without_ports() -> None:
    assert NodePorts().prepare(Attempt(info(), snapshot())) is None
