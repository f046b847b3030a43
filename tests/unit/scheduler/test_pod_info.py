"""What the scheduler reads from a pod."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    Affinity,
    Container,
    ContainerPort,
    PodAffinityTerm,
    PodAntiAffinity,
    Toleration,
)
from dray.api.meta import LabelSelector, LabelSelectorRequirement
from dray.scheduler.pod_info import HostPort, PodInfo, read_selector
from tests.unit.scheduler.builders import container, info, pod


def test_host_ports_are_those_of_running_containers() -> None:
    def opening(port: ContainerPort, **rest: Any) -> Container:
        return container(ports=(port,), **rest)

    asked = info(
        containers=(
            opening(ContainerPort(host_port=80)),
            opening(ContainerPort(container_port=8080)),
        ),
        init_containers=(
            opening(ContainerPort(host_port=81)),
            opening(
                ContainerPort(host_port=82, protocol="UDP", host_ip="10.0.0.1"),
                restart_policy="Always",
            ),
        ),
    )
    assert asked.host_ports == (HostPort("TCP", 80, "0.0.0.0"), HostPort("UDP", 82, "10.0.0.1"))


def test_pods_of_one_template_share_a_placement_key() -> None:
    tolerations = (Toleration(key="a"),)
    one = info("one", labels={"index": "1"}, requests={"cpu": "1"}, tolerations=tolerations)
    two = info("two", labels={"index": "2"}, requests={"cpu": "2"}, tolerations=tolerations)
    assert one.placement_key == two.placement_key
    assert hash(one.placement_key) == hash(two.placement_key)


@pytest.mark.parametrize(
    "spec",
    [{"node_name": "n"}, {"tolerations": (Toleration(key="b"),)}, {"node_selector": {"a": "b"}}],
    ids=["name", "tolerations", "selector"],
)
def test_what_node_only_filters_look_at_tells_placement_keys_apart(spec: dict[str, Any]) -> None:
    assert info().placement_key != info(**spec).placement_key


def test_terms_of_one_template_are_equal() -> None:
    def apart(name: str) -> PodInfo:
        term = PodAffinityTerm(
            topology_key="zone", label_selector=LabelSelector(match_labels={"app": "web"})
        )
        far = PodAntiAffinity(required_during_scheduling_ignored_during_execution=(term,))
        return PodInfo.of(pod(name, affinity=Affinity(pod_anti_affinity=far)))

    assert apart("a").anti_affinity_terms == apart("b").anti_affinity_terms
    assert len({*apart("a").anti_affinity_terms, *apart("b").anti_affinity_terms}) == 1


def test_a_selector_that_cannot_be_read_selects_nothing() -> None:
    odd = LabelSelectorRequirement(key="app", operator="?")
    unreadable = read_selector(LabelSelector(match_expressions=(odd,)))
    assert not unreadable.matches({"app": "web"})
    assert not read_selector(None).matches({})
    assert read_selector(LabelSelector()).matches({})
