"""How much pods take."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dray.api.core import (
    NodeAllocatableMappedResources,
    NodeAllocatableOverheadResources,
    NodeAllocatableResourceClaimStatus,
    PodStatus,
    ResourceRequirements,
)
from dray.api.quantity import Quantity
from dray.api.wire import replace
from dray.scheduler.pod_amounts import whole_units
from dray.scheduler.pod_info import PodInfo
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


def claiming(requests: Mapping[str, str]) -> PodInfo:
    """A pod of which two containers use a claim that takes cpu of the node, and costs some."""
    claim = NodeAllocatableResourceClaimStatus(
        resource_claim_name="c",
        containers=("a", "b"),
        mapping=(NodeAllocatableMappedResources(name="cpu", quantity=Quantity.parse("2")),),
        overhead=(
            NodeAllocatableOverheadResources(
                name="cpu", per_pod=Quantity.parse("10m"), per_container=Quantity.parse("1m")
            ),
        ),
    )
    status = PodStatus(node_allocatable_resource_claim_statuses=(claim,))
    return PodInfo.of(replace(pod(requests=requests), status=status))


def test_what_claims_take_of_the_node_counts() -> None:
    assert claiming({"cpu": "1"}).requests == {"cpu": 3012}
    assert claiming({"memory": "1"}).requests == {"cpu": 2012, "memory": 1}
    assert claiming({"memory": "1"}).scored_cpu == 2112


def test_overhead_does_not_speak_for_containers() -> None:
    asked = info(overhead=amounts({"cpu": "10m", "memory": "1Mi"}))
    assert (asked.scored_cpu, asked.scored_memory) == (110, 201 * MI)


def test_whole_units_round_up_and_leave_out_zeros() -> None:
    assert whole_units(amounts({"cpu": "0.0001", "memory": "0.1", "pods": "0"})) == {
        "cpu": 1,
        "memory": 1,
    }
