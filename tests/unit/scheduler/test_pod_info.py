"""What the scheduler reads from a pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dray.api.core import (
    Affinity,
    Container,
    ContainerPort,
    PodAffinityTerm,
    PodAntiAffinity,
    ResourceRequirements,
    Toleration,
)
from dray.api.meta import LabelSelector
from dray.scheduler.pod_info import HostPort, PodInfo
from tests.unit.scheduler.builders import amounts, container, info, pod

MI = 2**20


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param({"cpu": "1500m"}, {"cpu": 1500}, id="cpu-in-thousandths"),
        pytest.param({"cpu": "100u"}, {"cpu": 1}, id="less-than-a-thousandth-rounds-up"),
        pytest.param({"memory": "1Ki"}, {"memory": 1024}, id="memory-in-bytes"),
        pytest.param({"memory": "1500m"}, {"memory": 2}, id="less-than-a-byte-rounds-up"),
        pytest.param({"cpu": "0", "example.com/gpu": "2"}, {"example.com/gpu": 2}, id="no-zeros"),
        pytest.param({}, {}, id="nothing"),
    ],
)
def test_requests_are_whole_numbers(
    requests: Mapping[str, str], expected: Mapping[str, int]
) -> None:
    assert info(requests=requests).requests == expected


def test_containers_add_up_and_init_containers_raise() -> None:
    asked = info(
        containers=(container({"cpu": "1"}), container({"cpu": "2", "memory": "1Mi"})),
        init_containers=(container({"cpu": "1", "memory": "5Mi"}),),
    )
    assert asked.requests == {"cpu": 3000, "memory": 5 * MI}


def test_what_a_pod_asks_for_as_a_whole_stands_for_its_containers() -> None:
    asked = info(
        requests={"cpu": "1", "memory": "1Mi"},
        resources=ResourceRequirements(requests=amounts({"cpu": "3"})),
    )
    assert asked.requests == {"cpu": 3000, "memory": MI}


def test_overhead_comes_on_top() -> None:
    asked = info(requests={"cpu": "1"}, overhead=amounts({"cpu": "250m", "memory": "10Mi"}))
    assert asked.requests == {"cpu": 1250, "memory": 10 * MI}


SIDECAR = container(restart_policy="Always")


@pytest.mark.parametrize(
    ("asked", "cpu", "memory"),
    [
        pytest.param(info(), 100, 200 * MI, id="silent"),
        pytest.param(info(requests={"cpu": "1", "memory": "1Mi"}), 1000, MI, id="outspoken"),
        pytest.param(info(requests={"cpu": "0"}), 0, 200 * MI, id="zero-is-said"),
        pytest.param(
            info(containers=(container({"cpu": "1"}), container({"memory": "1Mi"}))),
            1100,
            201 * MI,
            id="each-container-for-itself",
        ),
        pytest.param(
            info(init_containers=(SIDECAR, container({"cpu": "1"}))),
            1100,
            400 * MI,
            id="init-containers-beside-sidecars",
        ),
        pytest.param(info(overhead=amounts({"cpu": "10m"})), 110, 200 * MI, id="overhead-on-top"),
        pytest.param(
            info(
                containers=(container({"memory": "1Mi"}), container()),
                resources=ResourceRequirements(requests=amounts({"cpu": "2"})),
            ),
            2000,
            MI,
            id="a-pod-that-speaks-for-itself",
        ),
    ],
)
def test_silent_containers_count_a_little_in_scores(asked: PodInfo, cpu: int, memory: int) -> None:
    assert (asked.scored_cpu, asked.scored_memory) == (cpu, memory)


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
