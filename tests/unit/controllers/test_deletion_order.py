"""Which pods go first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dray.api.core import Container, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.controllers.deletion_order import POD_DELETION_COST, by_deletion_cost, by_progress

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make_pod(
    name: str,
    *,
    node: str = "n1",
    phase: str = "Running",
    ready: float | None = 100,
    age: float = 1000,
    restarts: int = 0,
    sidecar_restarts: int = 0,
    cost: str = "",
) -> Pod:
    conditions: tuple[PodCondition, ...] = ()
    if ready is not None:
        at = Time(NOW - timedelta(seconds=ready))
        conditions = (PodCondition(type="Ready", status="True", last_transition_time=at),)
    return Pod(
        metadata=ObjectMeta(
            name=name,
            uid=name,
            creation_timestamp=Time(NOW - timedelta(seconds=age)),
            annotations={POD_DELETION_COST: cost} if cost else {},
        ),
        spec=PodSpec(
            node_name=node, init_containers=(Container(name="side", restart_policy="Always"),)
        ),
        status=PodStatus(
            phase=phase,
            conditions=conditions,
            container_statuses=(ContainerStatus(name="main", restart_count=restarts),),
            init_container_statuses=(ContainerStatus(name="side", restart_count=sidecar_restarts),),
        ),
    )


SHARED: list[Any] = [
    pytest.param({"node": ""}, {}, id="without-a-node"),
    pytest.param({"phase": "Pending"}, {"phase": "Running"}, id="pending"),
    pytest.param({"phase": "Unknown"}, {"phase": "Running"}, id="unknown"),
    pytest.param({"ready": None}, {}, id="not-ready"),
    pytest.param({"ready": 10}, {"ready": 900}, id="ready-for-less-long"),
    pytest.param({"restarts": 2}, {"restarts": 1}, id="restarted-more"),
    pytest.param({"sidecar_restarts": 1}, {}, id="sidecar-restarted-more"),
    pytest.param({"age": 10}, {"age": 1000}, id="newer"),
    pytest.param({"ready": None, "restarts": 0}, {"restarts": 9}, id="readiness-before-restarts"),
]


@pytest.mark.parametrize(("first", "second"), SHARED)
def test_who_has_come_less_far_goes_first(first: dict[str, Any], second: dict[str, Any]) -> None:
    pods = [make_pod("a", **second), make_pod("b", **first)]
    assert [pod.metadata.name for pod in by_progress(pods)] == ["b", "a"]
    ranked = by_deletion_cost(pods, pods, NOW)
    if first.get("node") != "":  # who has no node has no company there either
        assert [pod.metadata.name for pod in ranked] == ["b", "a"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"cost": "-5"}, {"ready": 1}, id="cheaper"),
        pytest.param({"cost": "1"}, {"cost": "20"}, id="compared-as-numbers"),
        pytest.param({"cost": "-1"}, {"cost": "none"}, id="what-is-no-number-counts-as-zero"),
        pytest.param({"cost": "-1"}, {"cost": "99999999999"}, id="too-large-counts-as-zero"),
    ],
)
def test_what_annotations_say_comes_before_age(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    pods = [make_pod("a", **second), make_pod("b", **first)]
    assert by_deletion_cost(pods, pods, NOW)[0].metadata.name == "b"


def test_a_pod_with_company_on_its_node_goes_first() -> None:
    mine = [make_pod("a", node="n1"), make_pod("b", node="n2")]
    others = [make_pod("c", node="n2"), make_pod("d", node="n1", phase="Failed")]
    assert by_deletion_cost(mine, [*mine, *others], NOW)[0].metadata.name == "b"


def test_among_pods_about_as_old_the_uid_decides() -> None:
    pods = [make_pod("b", age=1000), make_pod("a", age=1010)]
    assert [pod.metadata.name for pod in by_deletion_cost(pods, pods, NOW)] == ["a", "b"]
