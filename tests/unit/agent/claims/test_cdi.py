"""Which devices containers get."""

from __future__ import annotations

import pytest

from dray.agent.claims.cdi import cdi_devices
from dray.agent.claims.claim_info import ClaimInfo, ClaimKey, ClaimName, PreparedDevice
from dray.agent.claims.failures import ClaimInfoMissing
from dray.api.core import (
    ContainerExtendedResourceRequest,
    Pod,
    PodExtendedResourceClaimStatus,
)
from dray.api.quantity import Quantity
from tests.unit.agent.claims.world import container, pod


def device(name: str, *requests: str, cdi: tuple[str, ...] = ()) -> PreparedDevice:
    return PreparedDevice("pool", name, requests, cdi or (f"v/c={name}",))


def info(name: str, **drivers: tuple[PreparedDevice, ...]) -> ClaimInfo:
    return ClaimInfo(ClaimName("ml", name, f"uid-{name}"), drivers=drivers, prepared=True)


KNOWN = {
    found.key: found
    for found in (
        info("gpus", b=(device("g1", "one"), device("g2", "two")), a=(device("any"),)),
        info("nic", d=(device("n1", "x", cdi=("v/c=n1", "v/c=g1")),)),
        info("extended", d=(device("e1", "r1"), device("e2", "r2"))),
    )
}


def devices_of(found: Pod, name: str = "main") -> list[str]:
    return [name.removeprefix("v/c=") for name in cdi_devices(found, name, KNOWN.get)]


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["gpus"], ["any", "g1", "g2"], id="whole-claim-drivers-by-name"),
        pytest.param(["gpus/one"], ["any", "g1"], id="one-request-and-devices-of-all"),
        pytest.param(["gpus/two", "gpus/one"], ["any", "g2", "g1"], id="requests-in-order"),
        pytest.param(["nic", "gpus"], ["any", "g1", "g2", "n1"], id="claims-in-the-pods-order"),
        pytest.param(["gpus/none"], ["any"], id="a-request-without-devices"),
        pytest.param(["gpus", "gpus/one"], ["any", "g1", "g2"], id="each-once"),
    ],
)
def test_a_container_gets_the_devices_it_names(uses: list[str], expected: list[str]) -> None:
    assert devices_of(pod("p", "gpus", "nic", containers=[container("main", *uses)])) == expected


def test_init_containers_get_theirs() -> None:
    found = pod("p", "nic", init_containers=[container("main", "nic")])
    assert devices_of(found) == ["n1", "g1"]


def test_a_container_that_is_not_there_gets_nothing() -> None:
    assert devices_of(pod("p", "nic"), "ghost") == []


def test_generated_claims_are_found_and_absent_ones_left_out() -> None:
    found = pod(
        "p",
        templates={"mine": "nic", "none": None},
        containers=[container("main", "mine", "none")],
    )
    assert devices_of(found) == ["n1", "g1"]


def test_a_claim_that_is_not_known_is_an_error_in_upstreams_words() -> None:
    found = pod("p", "lost", containers=[container("main", "lost")])
    with pytest.raises(ClaimInfoMissing) as caught:
        devices_of(found)
    assert str(caught.value) == (
        "internal error: unable to get claim info for ResourceClaim lost in namespace ml"
    )


def test_a_claim_that_is_not_made_yet_is_an_error() -> None:
    found = pod("p", missing_templates=["x"], containers=[container("main", "x")])
    with pytest.raises(ClaimInfoMissing, match="ResourceClaim not created yet"):
        devices_of(found)


def test_claims_of_other_containers_do_not_matter() -> None:
    found = pod("p", "lost", "nic", containers=[container("main", "nic"), container("b", "lost")])
    assert devices_of(found) == ["n1", "g1"]


def test_a_claim_whose_drivers_never_answered_is_not_started_without_devices() -> None:
    waiting = ClaimInfo(ClaimName("ml", "w", "u"), drivers={"d": ()})
    found = pod("p", "w", containers=[container("main", "w")])
    with pytest.raises(ClaimInfoMissing):
        cdi_devices(found, "main", {ClaimKey("ml", "w"): waiting}.get)


def test_extended_resources_get_the_devices_of_their_requests() -> None:
    def mapping(
        resource: str, request: str, name: str = "main"
    ) -> ContainerExtendedResourceRequest:
        return ContainerExtendedResourceRequest(
            container_name=name, resource_name=resource, request_name=request
        )

    def asking(**amounts: int) -> Pod:
        named = {"gpu": "example.com/gpu", "cls": "deviceclass.resource.kubernetes.io/x"}
        requests = {named[key]: Quantity.from_int(value) for key, value in amounts.items()}
        return pod("p", extended=status, containers=[container("main", requests=requests)])

    status = PodExtendedResourceClaimStatus(
        resource_claim_name="extended",
        request_mappings=(
            mapping("example.com/gpu", "r1"),
            mapping("deviceclass.resource.kubernetes.io/x", "r2"),
            mapping("example.com/gpu", "r2", "another"),
        ),
    )
    assert devices_of(asking(gpu=1)) == ["e1"]
    assert devices_of(asking(cls=1)) == ["e2"]
    assert devices_of(asking(gpu=2, cls=1)) == ["e1", "e2"]
    assert devices_of(asking(gpu=0)) == []
