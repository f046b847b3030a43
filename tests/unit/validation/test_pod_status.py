"""What may be written into a pod's status."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    ContainerExtendedResourceRequest,
    ContainerStatus,
    HostIP,
    PodCondition,
    PodExtendedResourceClaimStatus,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodStatus,
    ResourceClaim,
    ResourceHealth,
    ResourceStatus,
)
from dray.validation.pod_status import HEALTH_MESSAGE_BYTES_MAX
from tests.unit.validation.pod_builders import (
    container,
    paths,
    pod,
    resources,
    status_updated,
)

GPU = PodResourceClaim(name="gpu", resource_claim_template_name="gpu-template")
EXTENDED = {"nvidia.com/gpu": "1"}
SPEC: dict[str, Any] = {
    "resource_claims": (GPU,),
    "containers": (
        container(
            resources=resources(
                EXTENDED, EXTENDED, claims=[ResourceClaim(name="gpu", request="big")]
            )
        ),
        container("other", resources=resources(claims=[ResourceClaim(name="gpu")])),
    ),
    "init_containers": (container("init", resources=resources(EXTENDED, EXTENDED)),),
}
MAPPING = ContainerExtendedResourceRequest(
    container_name="main", resource_name="nvidia.com/gpu", request_name="request-0"
)
CLAIM = PodExtendedResourceClaimStatus(
    resource_claim_name="pod-extended", request_mappings=(MAPPING,)
)


def written(**status: Any) -> list[str]:
    """What is wrong with giving a pod this status."""
    return status_updated(pod(status=PodStatus(**status), **SPEC), pod(**SPEC))


# Claims ----------------------------------------------------------------------------------------


def test_statuses_of_claims_are_those_of_the_spec() -> None:
    made = PodResourceClaimStatus(name="gpu", resource_claim_name="pod-gpu-x1")
    assert written(resource_claim_statuses=(made,)) == []
    assert written(resource_claim_statuses=(PodResourceClaimStatus(name="gpu"),)) == []
    broken = PodResourceClaimStatus(name="tpu", resource_claim_name="Bad")
    path = "status.resourceClaimStatuses"
    errors = written(resource_claim_statuses=(made, made, broken))
    assert errors[:2] == [
        f'{path}[1].name: Duplicate value: "gpu"',
        (
            f'{path}[2].name: Invalid value: "tpu": must match the name of an entry in'
            " `spec.resourceClaims`"
        ),
    ]
    assert paths(errors[2:]) == [f"{path}[2].resourceClaimName"]


def test_a_claim_behind_extended_resources_maps_requests_of_containers() -> None:
    assert written(extended_resource_claim_status=CLAIM) == []


@pytest.mark.parametrize(
    ("mappings", "claim", "errors"),
    [
        pytest.param(
            (),
            "c",
            [".requestMappings: Required value: at least one request mapping is required"],
            id="none",
        ),
        pytest.param((MAPPING,), "", [".resourceClaimName: Required value"], id="no-claim"),
        pytest.param(
            (ContainerExtendedResourceRequest(container_name="x", request_name="r"),),
            "c",
            [
                (
                    '.requestMappings[0].containerName: Invalid value: "x": must match the name'
                    " of an entry in spec.initContainers.name or spec.containers.name"
                )
            ],
            id="unknown-container",
        ),
        pytest.param(
            (
                ContainerExtendedResourceRequest(
                    container_name="init", resource_name="x/y", request_name="r"
                ),
            ),
            "c",
            [
                (
                    '.requestMappings[0].resourceName: Invalid value: "x/y": must match the'
                    " extended resource name of an entry in spec.initContainers.resources.requests"
                    " or spec.containers.resources.requests"
                )
            ],
            id="unknown-resource",
        ),
        pytest.param(
            (MAPPING, MAPPING),
            "c",
            [
                '.requestMappings[1].containerName: Duplicate value: "main"',
                '.requestMappings[1].resourceName: Duplicate value: "nvidia.com/gpu"',
                '.requestMappings[1].requestName: Duplicate value: "request-0"',
            ],
            id="twice",
        ),
    ],
)
def test_a_mapping_leads_from_a_container_to_a_request(
    mappings: tuple[ContainerExtendedResourceRequest, ...], claim: str, errors: list[str]
) -> None:
    status = PodExtendedResourceClaimStatus(resource_claim_name=claim, request_mappings=mappings)
    assert written(extended_resource_claim_status=status) == [
        f"status.extendedResourceClaimStatus{error}" for error in errors
    ]


# Health ----------------------------------------------------------------------------------------

HEALTHY = ResourceHealth(resource_id="d/p/0", health="Healthy")


def reported(
    name: str,
    *health: ResourceHealth,
    container: str = "main",
    field: str = "container_statuses",
    **status: Any,
) -> list[str]:
    resource = ResourceStatus(name=name, resources=health or (HEALTHY,))
    report = ContainerStatus(name=container, allocated_resources_status=(resource,))
    return written(**{field: (report,)}, **status)


@pytest.mark.parametrize(
    ("name", "container"),
    [("claim:gpu/big", "main"), ("claim:gpu", "other"), ("nvidia.com/gpu", "main")],
)
def test_health_is_told_of_what_the_container_has(name: str, container: str) -> None:
    assert reported(name, container=container) == []


@pytest.mark.parametrize("name", ["claim:gpu", "claim:gpu/small", "claim:", "claim:pod-extended/x"])
def test_health_of_another_claim_is_refused(name: str) -> None:
    assert reported(name, extended_resource_claim_status=CLAIM) == [
        (
            "status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value:"
            f' "{name}": must match one of the container\'s resource claims as'
            " 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set"
            " or 'claim:<claimName>' when it is empty"
        )
    ]


def test_health_of_devices_behind_extended_resources_is_told_by_their_claim() -> None:
    name = "claim:pod-extended/request-0"
    assert reported(name, extended_resource_claim_status=CLAIM) == []
    assert reported(name) != []
    assert reported(name, container="other", extended_resource_claim_status=CLAIM) != []


def test_health_of_a_resource_the_container_did_not_ask_for_is_refused() -> None:
    (error,) = reported("nvidia.com/gpu", container="other")
    assert error.endswith("must match one of the container's resource requests")


def test_a_container_nobody_knows_is_not_looked_at() -> None:
    assert reported("anything", container="stranger") == []


def test_debuggers_have_no_devices() -> None:
    assert reported("claim:gpu", container="debug", field="ephemeral_container_statuses") == [
        (
            "status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be"
            " specified in container status"
        )
    ]


@pytest.mark.parametrize(
    ("health", "error"),
    [
        pytest.param(
            {"health": "Fine"},
            '.health: Unsupported value: "Fine": supported values: "Healthy", "Unhealthy",'
            ' "Unknown"',
            id="unknown-word",
        ),
        pytest.param(
            {"health": ""},
            '.health: Unsupported value: "": supported values: "Healthy", "Unhealthy", "Unknown"',
            id="no-word",
        ),
        pytest.param(
            {"message": ""},
            ".message: Required value: must be non-empty if specified",
            id="empty-message",
        ),
        pytest.param(
            {"message": "é" * (HEALTH_MESSAGE_BYTES_MAX // 2 + 1)},
            ".message: Too long: may not be more than 1024 bytes",
            id="long-message",
        ),
    ],
)
def test_health_is_one_of_three_words_and_maybe_a_sentence(
    health: dict[str, str], error: str
) -> None:
    fields: dict[str, Any] = {"resource_id": "d/p/0", "health": "Healthy", **health}
    path = "status.containerStatuses[0].allocatedResourcesStatus[0].resources[0]"
    assert reported("claim:gpu/big", ResourceHealth(**fields)) == [f"{path}{error}"]


def test_a_device_is_told_of_once() -> None:
    (error,) = reported("claim:gpu/big", HEALTHY, HEALTHY)
    assert error.endswith('.resources[1].resourceID: Duplicate value: "d/p/0"')


# The rest --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (
            {"observed_generation": -1},
            "status.observedGeneration: Invalid value: -1: must be a non-negative integer",
        ),
        (
            {"conditions": (PodCondition(type="Ready", observed_generation=-1),)},
            (
                "status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative"
                " integer"
            ),
        ),
        (
            {"qos_class": "Guaranteed"},
            'status.qosClass: Invalid value: "Guaranteed": field is immutable',
        ),
        (
            {"host_ip": "10.0.0.1", "host_ips": (HostIP(ip="10.0.0.2"),)},
            'status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`',
        ),
    ],
)
def test_what_nodes_may_not_say(status: dict[str, Any], error: str) -> None:
    assert written(**status) == [error]


def test_conditions_of_others_are_named_like_labels() -> None:
    assert written(conditions=(PodCondition(type="example.com/Ready"),)) == []
    assert paths(written(conditions=(PodCondition(type="-"),))) == ["status.conditions[0].Type"]


def test_a_node_is_nominated_before_the_pod_is_bound() -> None:
    assert written(nominated_node_name="node-2") == []
    bound = {**SPEC, "node_name": "node-1"}
    nominated = pod(status=PodStatus(nominated_node_name="node-2"), **bound)
    assert status_updated(nominated, pod(**bound)) == [
        (
            "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to"
            " a node"
        )
    ]
    assert status_updated(nominated, nominated) == []


def test_a_status_does_not_move_the_pod() -> None:
    assert status_updated(pod(node_name="node-1"), pod()) == [
        "status.nodeName: Forbidden: may not be changed directly"
    ]
