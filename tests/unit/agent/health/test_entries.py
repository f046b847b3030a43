from __future__ import annotations

import pytest

from dray.agent.health.cache import Opinion
from dray.agent.health.entries import health_entries
from dray.agent.health.words import DeviceID, Health
from dray.api.core import (
    Container,
    ContainerExtendedResourceRequest,
    ContainerStatus,
    EphemeralContainer,
    Pod,
    PodExtendedResourceClaimStatus,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodSpec,
    PodStatus,
    ResourceClaim,
    ResourceRequirements,
    ResourceStatus,
)
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.wire import replace
from dray.validation.findings import Findings
from dray.validation.pod_status import check_pod_status_update
from tests.unit.agent.health.fakes import DRIVER, FakeClaims, prepared

UNHEALTHY = {"gpu-1"}


def read(device: DeviceID) -> Opinion:
    if device.device in UNHEALTHY:
        return Opinion(Health.UNHEALTHY, "ECC error")
    return Opinion(Health.HEALTHY, "")


def uses(*picks: str, **amounts: int) -> ResourceRequirements:
    claims = [pick.partition("/") for pick in picks]
    return ResourceRequirements(
        claims=tuple(ResourceClaim(name=name, request=request) for name, _, request in claims),
        requests={
            f"example.com/{name}": Quantity.from_int(amount) for name, amount in amounts.items()
        },
    )


def pod(main: ResourceRequirements, **spec: object) -> Pod:
    """A pod with a claim of its own, `direct`, and one from a template, `made`."""
    return Pod(
        metadata=ObjectMeta(name="pod", namespace="default", uid="pod-1"),
        spec=PodSpec(
            containers=(Container(name="main", resources=main),),
            resource_claims=(
                PodResourceClaim(name="direct", resource_claim_name="shared-gpus"),
                PodResourceClaim(name="made", resource_claim_template_name="template"),
                PodResourceClaim(name="later", resource_claim_template_name="template"),
            ),
            **spec,  # type: ignore[arg-type] # whichever fields a test is about
        ),
        status=PodStatus(
            resource_claim_statuses=(
                PodResourceClaimStatus(name="made", resource_claim_name="pod-made-x7k"),
            )
        ),
    )


def shown(
    pod: Pod, claims: FakeClaims, container: str = "main"
) -> dict[str, list[tuple[str, str, str | None]]]:
    entries = health_entries(pod, container, claims, read)
    assert not problems(pod, container, entries)
    return {
        entry.name: [(item.resource_id, item.health, item.message) for item in entry.resources]
        for entry in entries
    }


def problems(pod: Pod, container: str, entries: tuple[ResourceStatus, ...]) -> list[str]:
    """What the API would say to a status with these entries."""
    status = (ContainerStatus(name=container, allocated_resources_status=entries),)
    if any(init.name == container for init in pod.spec.init_containers):
        new = replace(pod.status, init_container_statuses=status)
    else:
        new = replace(pod.status, container_statuses=status)
    found = Findings()
    check_pod_status_update(found, replace(pod, status=new), pod)
    return [str(error) for error in found.errors() if "allocatedResourcesStatus" in error.field]


@pytest.fixture
def claims() -> FakeClaims:
    claims = FakeClaims()
    claims.put("shared-gpus", prepared("gpu-0", "small"), prepared("gpu-1", "large"))
    claims.put("pod-made-x7k", prepared("gpu-2"))
    return claims


@pytest.mark.parametrize(
    ("pick", "name", "devices"),
    [
        pytest.param("direct", "claim:direct", ["gpu-0", "gpu-1"], id="a-claim"),
        pytest.param("direct/large", "claim:direct/large", ["gpu-1"], id="one-request"),
        pytest.param("made", "claim:made", ["gpu-2"], id="made-from-a-template"),
        pytest.param("made/any", "claim:made/any", ["gpu-2"], id="a-device-of-all-requests"),
    ],
)
def test_an_entry_has_the_name_the_container_uses_and_the_devices_it_gets(
    claims: FakeClaims, pick: str, name: str, devices: list[str]
) -> None:
    entries = shown(pod(uses(pick)), claims)
    assert {key: [item[0] for item in items] for key, items in entries.items()} == {
        name: [f"example.com/gpu={device}" for device in devices]
    }


def test_health_and_message_are_those_of_the_device(claims: FakeClaims) -> None:
    assert shown(pod(uses("direct")), claims)["claim:direct"] == [
        ("example.com/gpu=gpu-0", "Healthy", None),
        ("example.com/gpu=gpu-1", "Unhealthy", "ECC error"),
    ]


@pytest.mark.parametrize(
    "pick",
    [
        pytest.param("later", id="not-made-yet"),
        pytest.param("direct/none", id="no-such-request"),
        pytest.param("unheard", id="no-such-claim"),
    ],
)
def test_without_devices_there_is_no_entry(claims: FakeClaims, pick: str) -> None:
    assert shown(pod(uses(pick)), claims) == {}


def test_a_claim_that_is_not_prepared_for_the_pod_shows_nothing(claims: FakeClaims) -> None:
    claims.put("shared-gpus", prepared("gpu-0"), pods=["somebody-else"])
    assert shown(pod(uses("direct")), claims) == {}


def test_init_containers_and_sidecars_show_their_devices(claims: FakeClaims) -> None:
    init = (
        Container(name="setup", resources=uses("made")),
        Container(name="proxy", restart_policy="Always", resources=uses("direct/small")),
    )
    whole = pod(uses(), init_containers=init)
    assert list(shown(whole, claims, "setup")) == ["claim:made"]
    assert list(shown(whole, claims, "proxy")) == ["claim:direct/small"]


def test_ephemeral_containers_show_nothing_because_the_api_takes_nothing(
    claims: FakeClaims,
) -> None:
    debugger = (EphemeralContainer(name="debug", resources=uses("direct")),)
    assert shown(pod(uses(), ephemeral_containers=debugger), claims, "debug") == {}


def test_extended_resources_are_named_by_the_claim_behind_them(claims: FakeClaims) -> None:
    claims.put("pod-extended", prepared("gpu-0", "container-0"), prepared("gpu-1", "container-1"))
    whole = pod(uses(gpu=1, unasked=0))
    mappings = tuple(
        ContainerExtendedResourceRequest(
            container_name=container, resource_name=f"example.com/{resource}", request_name=request
        )
        for container, resource, request in [
            ("main", "gpu", "container-1"),
            ("main", "unasked", "container-0"),
            ("other", "gpu", "container-0"),
        ]
    )
    extended = PodExtendedResourceClaimStatus(
        resource_claim_name="pod-extended", request_mappings=mappings
    )
    whole = replace(whole, status=replace(whole.status, extended_resource_claim_status=extended))
    assert shown(whole, claims) == {
        "claim:pod-extended/container-1": [("example.com/gpu=gpu-1", "Unhealthy", "ECC error")]
    }


@pytest.mark.parametrize(
    ("first", "second", "ids"),
    [
        pytest.param("x/y=a", "x/y=b", ["x/y=a", "x/y=b"], id="each-its-own"),
        pytest.param("", "x/y=b", [f"{DRIVER}/node-1/gpu-0", "x/y=b"], id="one-without"),
        pytest.param(
            "x/y=all",
            "x/y=all",
            [f"{DRIVER}/node-1/gpu-0", f"{DRIVER}/node-1/gpu-1"],
            id="the-same-hides-neither",
        ),
    ],
)
def test_a_device_is_known_by_its_first_cdi_id_if_that_tells_it_apart(
    first: str, second: str, ids: list[str]
) -> None:
    claims = FakeClaims()
    claims.put("shared-gpus", prepared("gpu-0", cdi=first), prepared("gpu-1", cdi=second))
    assert [item[0] for item in shown(pod(uses("direct")), claims)["claim:direct"]] == ids


def test_shares_of_one_device_are_one_device() -> None:
    claims = FakeClaims()
    claims.put("shared-gpus", prepared("gpu-0", share_id="a"), prepared("gpu-0", share_id="b"))
    assert len(shown(pod(uses("direct")), claims)["claim:direct"]) == 1


def test_a_driver_with_absurd_ids_does_not_cost_the_pod_its_status() -> None:
    claims = FakeClaims()
    claims.put(
        "shared-gpus",
        prepared("gpu-0", cdi=""),
        prepared("gpu-1", cdi=f"{DRIVER}/node-1/gpu-0"),
    )
    assert len(shown(pod(uses("direct")), claims)["claim:direct"]) == 2


def test_entries_come_in_the_order_of_the_container(claims: FakeClaims) -> None:
    entries = shown(pod(uses("made", "direct/large", "direct/small")), claims)
    assert list(entries) == ["claim:made", "claim:direct/large", "claim:direct/small"]
