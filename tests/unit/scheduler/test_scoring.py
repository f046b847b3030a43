"""How full nodes would be."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dray.scheduler.node_info import NodeInfo
from dray.scheduler.scoring import balanced_allocation, least_allocated
from tests.unit.scheduler.builders import info, node


def offering(cpu: str, memory: str, used: Mapping[str, str] | None = None) -> NodeInfo:
    found = NodeInfo(node("n", allocatable={"cpu": cpu, "memory": memory}))
    if used is not None:
        found.add_pod(info("other", requests=used))
    return found


@pytest.mark.parametrize(
    ("on", "requests", "expected"),
    [
        pytest.param(offering("4", "8Gi"), {"cpu": "1", "memory": "2Gi"}, 75, id="a-quarter"),
        pytest.param(offering("4", "8Gi"), {"cpu": "2", "memory": "0"}, 75, id="mean-of-both"),
        pytest.param(
            offering("4", "8Gi", {"cpu": "1", "memory": "6Gi"}),
            {"cpu": "1", "memory": "2Gi"},
            25,
            id="what-others-took",
        ),
        pytest.param(offering("1", "1Gi"), {"cpu": "2", "memory": "2Gi"}, 0, id="never-below-zero"),
        pytest.param(offering("0", "0"), {"cpu": "1"}, 0, id="nothing-to-offer"),
        pytest.param(offering("4", "0"), {"cpu": "1"}, 75, id="only-cpu"),
        pytest.param(offering("0", "4"), {"memory": "1"}, 75, id="only-memory"),
        pytest.param(offering("1", "2000Mi"), {}, 90, id="silence-counts-a-little"),
    ],
)
def test_nodes_with_much_left_are_better(
    on: NodeInfo, requests: Mapping[str, str], expected: int
) -> None:
    assert least_allocated(info(requests=requests), on) == expected


@pytest.mark.parametrize(
    ("on", "requests", "expected"),
    [
        pytest.param(offering("4", "4"), {"cpu": "1", "memory": "1"}, 75, id="no-difference"),
        pytest.param(offering("4", "4"), {"cpu": "4"}, 50, id="all-of-one"),
        pytest.param(offering("4", "4", {"cpu": "4"}), {"memory": "4"}, 100, id="what-was-left"),
        pytest.param(offering("4", "0"), {"cpu": "4"}, 75, id="nothing-to-balance"),
        pytest.param(offering("4", "4", {"cpu": "4"}), {}, 0, id="silence-has-no-say"),
        pytest.param(offering("4", "4"), {"cpu": "40", "memory": "4"}, 75, id="full-is-full"),
    ],
)
def test_nodes_that_become_balanced_are_better(
    on: NodeInfo, requests: Mapping[str, str], expected: int
) -> None:
    assert balanced_allocation(info(requests=requests), on) == expected
