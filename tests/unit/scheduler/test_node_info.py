"""What a node has left for pods."""

from __future__ import annotations

import pytest

from dray.api.core import ContainerPort, Node, NodeCondition, Taint
from dray.api.wire import replace
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from tests.unit.scheduler.builders import container, info, node


def taking(name: str, port: int, *, address: str = "", protocol: str = "TCP") -> PodInfo:
    taken = ContainerPort(host_port=port, host_ip=address, protocol=protocol)
    return info(name, containers=(container(ports=(taken,)),))


def test_pods_take_and_give_back_the_same() -> None:
    n = NodeInfo(node("n"))
    one, two = info("one", requests={"cpu": "1"}), info("two", requests={"cpu": "2", "memory": "1"})
    n.add_pod(one)
    n.add_pod(two)
    assert n.requested == {"cpu": 3000, "memory": 1}
    n.remove_pod(two)
    assert n.requested == {"cpu": 1000, "memory": 0}
    assert list(n.pods) == ["one"]
    assert n.scored_cpu == one.scored_cpu


def test_what_was_added_is_what_is_given_back() -> None:
    n = NodeInfo(node("n"))
    n.add_pod(info("p", requests={"cpu": "1"}))
    n.remove_pod(info("p", requests={"cpu": "3"}))
    assert n.requested == {"cpu": 0}


@pytest.mark.parametrize(
    ("asked", "free"),
    [
        pytest.param(taking("p", 80), False, id="every-address"),
        pytest.param(taking("p", 80, address="10.0.0.1"), False, id="same-address"),
        pytest.param(taking("p", 80, address="10.0.0.2"), True, id="other-address"),
        pytest.param(taking("p", 80, protocol="UDP"), True, id="other-protocol"),
        pytest.param(taking("p", 81), True, id="other-port"),
    ],
)
def test_ports_collide_by_protocol_and_address(asked: PodInfo, free: bool) -> None:
    n = NodeInfo(node("n"))
    n.add_pod(taking("holder", 80, address="10.0.0.1"))
    assert n.has_free(asked.host_ports) is free


def test_a_port_on_every_address_collides_with_each() -> None:
    n = NodeInfo(node("n"))
    n.add_pod(taking("holder", 80))
    assert not n.has_free(taking("p", 80, address="10.0.0.9").host_ports)


def test_a_port_is_free_when_its_last_taker_goes() -> None:
    n = NodeInfo(node("n"))
    one, two = taking("one", 80), taking("two", 80)
    n.add_pod(one)
    n.add_pod(two)
    n.remove_pod(one)
    assert not n.has_free(one.host_ports)
    n.remove_pod(two)
    assert n.has_free(one.host_ports)
    assert not n.used_ports


def test_a_heartbeat_changes_the_version_and_not_the_place() -> None:
    old = node("n")
    n = NodeInfo(old)
    place, version = n.place, n.version
    beat = replace(old.status, conditions=(NodeCondition(type="Ready", status="True"),))
    n.apply(replace(old, status=beat))
    assert n.place == place
    assert n.version != version


@pytest.mark.parametrize(
    "change",
    [
        node("n", labels={"a": "b"}),
        node("n", taints=(Taint(key="a", effect="NoSchedule"),)),
        node("n", unschedulable=True),
    ],
    ids=["labels", "taints", "unschedulable"],
)
def test_what_filters_see_of_a_node_changes_its_place(change: Node) -> None:
    n = NodeInfo(node("n"))
    place = n.place
    n.apply(change)
    assert n.place != place


def test_a_copy_and_its_original_do_not_see_each_other() -> None:
    n = NodeInfo(node("n"))
    held = taking("held", 80)
    n.add_pod(held)
    copy = n.copy()
    assert (copy.place, copy.version) == (n.place, n.version)
    copy.remove_pod(held)
    n.add_pod(info("more", requests={"cpu": "1"}))
    assert not copy.pods
    assert copy.requested == {}
    assert copy.has_free(held.host_ports)
    assert not n.has_free(held.host_ports)
    assert n.version != copy.version
