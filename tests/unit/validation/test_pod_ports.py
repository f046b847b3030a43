"""Ports of containers."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import Container, ContainerPort, PodSpec
from dray.validation.pod_ports import (
    check_host_network_ports,
    check_host_ports,
    check_port,
    check_ports,
)
from tests.unit.validation.builders import told


def port(**fields: Any) -> ContainerPort:
    return ContainerPort(**{"container_port": 80, "protocol": "TCP", **fields})


def test_a_port_has_a_number_and_a_protocol() -> None:
    assert told(check_ports, (ContainerPort(),), "ports") == [
        "ports[0].containerPort: Required value",
        "ports[0].protocol: Required value",
    ]
    assert told(check_ports, (port(protocol="IP"),), "ports") == [
        'ports[0].protocol: Unsupported value: "IP": supported values: "SCTP", "TCP", "UDP"'
    ]


def test_names_are_unique_within_a_container() -> None:
    ports = (port(name="web"), port(name="web"), port(name="-"), port(name="-"))
    assert told(check_ports, ports, "ports")[0] == 'ports[1].name: Duplicate value: "web"'
    assert not any("Duplicate" in text for text in told(check_ports, ports[2:], "ports"))


@pytest.mark.parametrize(("number", "fine"), [(0, False), (1, True), (65535, True), (65536, False)])
def test_ports_are_numbered_as_everywhere(number: int, fine: bool) -> None:
    assert (told(check_port, number, "port") == []) is fine


def test_a_port_may_go_by_its_name() -> None:
    assert told(check_port, "web", "port") == []
    assert told(check_port, "", "port") != []


def test_a_port_of_the_host_is_taken_once() -> None:
    first = Container(ports=(port(host_port=1),))
    second = Container(ports=(port(host_port=1), port(host_port=1, protocol="UDP")))
    assert told(check_host_ports, (first, second), "c") == [
        'c[1].ports[0].hostPort: Duplicate value: "TCP//1"'
    ]


@pytest.mark.parametrize(
    ("host_port", "is_pod", "fine"),
    [(0, True, False), (0, False, True), (80, True, True), (81, False, False)],
)
def test_on_the_hosts_network_ports_are_the_hosts(host_port: int, is_pod: bool, fine: bool) -> None:
    container = Container(ports=(port(host_port=host_port),))
    spec = PodSpec(host_network=True, containers=(container,))
    assert (told(check_host_network_ports, spec, "spec", is_pod=is_pod) == []) is fine
    assert told(check_host_network_ports, PodSpec(containers=(container,)), "", is_pod=True) == []
