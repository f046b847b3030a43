"""Ports that get into each other's way."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import ContainerPort
from dray.validation.port_warnings import warn_of_ports
from tests.unit.validation.pod_builders import container, pod


def of(*ports: dict[str, Any]) -> list[str]:
    made = tuple(ContainerPort(**{"container_port": 80, **port}) for port in ports)
    return list(warn_of_ports(pod(containers=(container(ports=made),)).spec, "spec"))


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        ({}, {}, "duplicate"),
        ({}, {"host_port": 1}, "overlapping"),
        ({"host_port": 1}, {"host_port": 1, "host_ip": "10.0.0.1"}, "dangerously ambiguous"),
    ],
)
def test_one_port_listens_once(first: Any, second: Any, word: str) -> None:
    at = "spec.containers[0].ports"
    assert of(first, second) == [f"{at}[1]: {word} port definition with {at}[0]"]


def test_different_ports_are_fine() -> None:
    assert of({"host_port": 1}, {"host_port": 2}, {"container_port": 81}) == []


def test_an_address_of_the_host_needs_a_port_of_it() -> None:
    assert of({"host_ip": "10.0.0.1", "name": "web"}) == [
        (
            "spec.containers[0].ports[0]: hostIP set without hostPort: {Name:web HostPort:0 "
            "ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}"
        )
    ]


def test_a_name_means_the_first_port_that_has_it() -> None:
    at = "spec.containers[0].ports"
    assert of({"name": "a"}, {"name": "a", "container_port": 81}) == [
        (
            f'{at}[1]: duplicate port name "a" with {at}[0], services and probes that select ports '
            f"by name will use {at}[0]"
        )
    ]
