from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dray.api.core import ContainerStatus, PodCondition, PodStatus, ResourceRequirements
from dray.api.meta import ObjectMeta
from dray.api.quota_usage import (
    claim_usage,
    container_usage,
    count_name,
    is_extended_resource_quota,
    is_pod_charged,
    pod_usage,
)
from dray.api.resource import (
    DeviceClaim,
    DeviceRequest,
    DeviceSubRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dray.api.wire import Time, replace
from tests.unit.server.admission.builders import claim, container, pod, quantities

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def shown(amounts: Any) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def test_requests_and_limits_have_several_names() -> None:
    used = container_usage(
        quantities({"cpu": "1", "hugepages-2Mi": "2Mi", "example.com/gpu": "1", "odd": "1"}),
        quantities({"cpu": "2"}),
    )
    assert shown(used) == {
        "pods": "1",
        "cpu": "1",
        "requests.cpu": "1",
        "limits.cpu": "2",
        "hugepages-2Mi": "2Mi",
        "requests.hugepages-2Mi": "2Mi",
        "requests.example.com/gpu": "1",
    }


def test_a_pod_that_has_ended_is_only_counted() -> None:
    ended = replace(pod("p", container("c", {"cpu": "1"})), status=PodStatus(phase="Failed"))
    assert shown(pod_usage(ended, NOW)) == {"count/pods": "1"}


@pytest.mark.parametrize(
    ("deleted_at", "charged"),
    [
        pytest.param("2025-12-31T23:59:30Z", True, id="just-now"),
        pytest.param("2025-12-31T23:59:29Z", False, id="too-long-ago"),
    ],
)
def test_a_pod_may_take_its_grace_period_twice_to_stop(deleted_at: str, charged: bool) -> None:
    metadata = {
        "deletion_timestamp": Time.parse(deleted_at),
        "deletion_grace_period_seconds": 30,
    }
    assert is_pod_charged(pod(metadata=metadata), NOW) is charged


def test_a_pod_pays_for_its_most_demanding_moment_and_its_overhead() -> None:
    made = pod(
        "p",
        container("a", {"cpu": "1"}, {"cpu": "1"}),
        init_containers=(
            container("s", {"cpu": "2"}, restart_policy="Always"),
            container("i", {"cpu": "4"}),
        ),
        overhead=quantities({"cpu": "500m", "memory": "1Mi"}),
    )
    used = shown(pod_usage(made, NOW))
    assert used["requests.cpu"] == "6500m"
    assert used["limits.cpu"] == "1500m"
    assert used["requests.memory"] == "1Mi"


def test_a_pod_that_asks_as_a_whole_pays_that() -> None:
    made = pod(
        "p",
        container("a", {"cpu": "1", "memory": "1Gi"}),
        resources=ResourceRequirements(requests=quantities({"cpu": "5", "example.com/gpu": "1"})),
    )
    used = shown(pod_usage(made, NOW))
    assert (used["cpu"], used["memory"]) == ("5", "1Gi")
    assert "requests.example.com/gpu" not in used


@pytest.mark.parametrize(
    ("reason", "cpu"),
    [
        pytest.param("Deferred", "3", id="larger-of-both"),
        pytest.param("Infeasible", "2", id="what-cannot-be-is-not-paid"),
    ],
)
def test_while_resizing_a_pod_pays_the_larger_amount(reason: str, cpu: str) -> None:
    status = PodStatus(
        conditions=(PodCondition(type="PodResizePending", reason=reason),),
        container_statuses=(
            ContainerStatus(
                name="c",
                allocated_resources=quantities({"cpu": "2"}),
                resources=ResourceRequirements(requests=quantities({"cpu": "1"})),
            ),
        ),
    )
    made = replace(pod("p", container("c", {"cpu": "3"})), status=status)
    assert shown(pod_usage(made, NOW))["cpu"] == cpu


def test_a_claim_pays_by_device_class_and_by_extended_resource() -> None:
    used = claim_usage(claim("c", "gpu", 3), {"gpu": "example.com/gpu"}, {})
    assert shown(used) == {
        "count/resourceclaims.resource.k8s.io": "1",
        "gpu.deviceclass.resource.k8s.io/devices": "3",
        "requests.deviceclass.resource.kubernetes.io/gpu": "3",
        "requests.example.com/gpu": "3",
    }


def test_a_claim_does_not_pay_what_its_pod_pays() -> None:
    paid = quantities({"requests.example.com/gpu": "2"})
    used = claim_usage(claim("c", "gpu", 3), {"gpu": "example.com/gpu"}, paid)
    assert str(used["requests.example.com/gpu"]) == "1"
    used = claim_usage(claim("c", "gpu", 2), {"gpu": "example.com/gpu"}, paid)
    assert "requests.example.com/gpu" not in used


def test_alternatives_cost_the_worst_of_each_class() -> None:
    def sub(device_class: str, mode: str, count: int = 0) -> DeviceSubRequest:
        return DeviceSubRequest(device_class_name=device_class, allocation_mode=mode, count=count)

    alternatives = (sub("gpu", "ExactCount", 2), sub("gpu", "ExactCount", 5), sub("nic", "All"))
    request = DeviceRequest(name="r", first_available=alternatives)
    made = ResourceClaim(
        metadata=ObjectMeta(name="c"),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=(request,))),
    )
    used = shown(claim_usage(made, {}, {}))
    assert used["gpu.deviceclass.resource.k8s.io/devices"] == "5"
    assert used["nic.deviceclass.resource.k8s.io/devices"] == "32"


def test_of_two_classes_that_share_a_name_the_larger_amount_counts() -> None:
    first, second = claim("c", "a", 2), claim("c", "b", 3)
    requests = (*(first.spec.devices.requests or ()), *(second.spec.devices.requests or ()))
    made = replace(first, spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)))
    used = claim_usage(made, {"a": "example.com/x", "b": "example.com/x"}, {})
    assert str(used["requests.example.com/x"]) == "3"


def test_counts_and_extended_resources_are_known_by_their_names() -> None:
    assert count_name("", "pods") == "count/pods"
    assert count_name("batch", "jobs") == "count/jobs.batch"
    assert is_extended_resource_quota("requests.example.com/gpu")
    assert is_extended_resource_quota("requests.deviceclass.resource.kubernetes.io/gpu")
    assert not is_extended_resource_quota("requests.cpu")
    assert not is_extended_resource_quota("example.com/gpu")
