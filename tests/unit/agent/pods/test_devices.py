"""A pod's devices over its life. What the pod shows of it is in test_worker."""

from __future__ import annotations

import asyncio

import pytest

from dray.agent.claims.claim_info import ClaimName
from dray.agent.claims.failures import (
    ClaimFailure,
    DeviceFailure,
    ErrorClass,
    PrepareFailed,
    UnprepareFailed,
)
from dray.agent.pods.devices import DeviceKeeper, uses_claims
from dray.api.core import (
    Pod,
    PodExtendedResourceClaimStatus,
    PodResourceClaim,
    PodSpec,
    PodStatus,
)
from dray.api.meta import ObjectMeta
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from tests.unit.agent.pods.stage import FakeClaims, FakeHealth, Recorder

POD = Pod(
    metadata=ObjectMeta(name="web", uid="uid"),
    spec=PodSpec(resource_claims=(PodResourceClaim(name="gpu", resource_claim_name="gpu"),)),
)
CLAIM = ClaimName("default", "gpu", "1")


class Set:
    """A keeper and everything around it."""

    def __init__(self) -> None:
        self.claims, self.health, self.events = FakeClaims(), FakeHealth(), Recorder()
        self.clock = FakeClock()
        self.keeper = DeviceKeeper(
            self.claims, self.health, self.events, clock=self.clock, entropy=SeededEntropy(1)
        )


def failed(error_class: ErrorClass, *devices: DeviceFailure) -> PrepareFailed:
    return PrepareFailed("no", [ClaimFailure(CLAIM, "no", "gpu.dev", error_class, devices)])


def test_a_pod_without_claims_has_nothing_to_wait_for() -> None:
    found = Set()
    assert asyncio.run(found.keeper.prepare(Pod()))
    assert asyncio.run(found.keeper.release(Pod()))
    assert found.claims.calls == []


def test_a_pod_with_extended_resources_uses_claims() -> None:
    status = PodStatus(
        extended_resource_claim_status=PodExtendedResourceClaimStatus(resource_claim_name="x")
    )
    assert uses_claims(Pod(status=status))


def test_a_failure_is_not_tried_again_before_its_time() -> None:
    found = Set()
    found.claims.prepare_failures = [failed(ErrorClass.TRANSIENT)]
    assert not asyncio.run(found.keeper.prepare(POD))
    assert not asyncio.run(found.keeper.prepare(POD))
    assert len(found.claims.calls) == 1
    assert found.keeper.ready_at is not None
    found.clock.advance(found.keeper.ready_at)
    assert asyncio.run(found.keeper.prepare(POD))
    assert [one.status for one in found.keeper.conditions] == [True]
    assert found.keeper.ready_at is None


@pytest.mark.parametrize(
    ("driver", "hurries"), [("gpu.dev", True), ("other.dev", False), ("", True)]
)
def test_only_what_is_waited_for_hurries(driver: str, hurries: bool) -> None:
    found = Set()
    assert not found.keeper.hurry(driver)
    found.claims.prepare_failures = [failed(ErrorClass.UNKNOWN)]
    asyncio.run(found.keeper.prepare(POD))
    assert found.keeper.hurry(driver) is hurries


def test_every_device_that_failed_is_named() -> None:
    found = Set()
    devices = [DeviceFailure("pool", f"gpu-{n}", f"fault {n}") for n in range(2)]
    found.claims.prepare_failures = [failed(ErrorClass.DEVICE_FAILED, *devices)]
    asyncio.run(found.keeper.prepare(POD))
    assert found.keeper.verdict is not None
    assert found.keeper.verdict.message == (
        "driver gpu.dev: ResourceClaim default/gpu: "
        "device pool/gpu-0: fault 0; device pool/gpu-1: fault 1"
    )
    assert found.keeper.verdict.disruption


def test_a_long_story_is_cut() -> None:
    found = Set()
    device = DeviceFailure("pool", "gpu-0", "x" * 10_000)
    found.claims.prepare_failures = [failed(ErrorClass.TRANSIENT, device)]
    asyncio.run(found.keeper.prepare(POD))
    assert len(found.keeper.conditions[0].message) < 1200


def test_after_a_verdict_nothing_is_prepared_any_more() -> None:
    found = Set()
    found.claims.prepare_failures = [failed(ErrorClass.PERMANENT)]
    asyncio.run(found.keeper.prepare(POD))
    assert not asyncio.run(found.keeper.prepare(POD))
    assert len(found.claims.calls) == 1


def test_health_is_kept_before_devices_are_given_back() -> None:
    found = Set()
    asyncio.run(found.keeper.prepare(POD))
    found.claims.unprepare_failures = [UnprepareFailed("no", [ClaimFailure(CLAIM, "no", "g")])]
    assert not asyncio.run(found.keeper.release(POD))
    assert found.health.frozen == ["uid"]
    assert found.keeper.conditions[0].message.startswith("driver g: ResourceClaim default/gpu: no")
    assert not asyncio.run(found.keeper.release(POD))
    found.clock.advance(1)
    assert asyncio.run(found.keeper.release(POD))
    assert found.keeper.released
    assert found.keeper.conditions[0].status
    assert asyncio.run(found.keeper.release(POD))
    assert found.claims.calls.count("unprepare web") == 2


def test_what_a_pod_still_holds_is_given_back_whatever_its_spec_says() -> None:
    found = Set()
    found.claims.held["uid"] = ()
    asyncio.run(found.keeper.prepare(POD))
    bare = Pod(metadata=ObjectMeta(name="web", uid="uid"))
    assert asyncio.run(found.keeper.release(bare))
    assert found.claims.calls[-1] == "unprepare web"


def test_a_failure_of_no_claim_names_none() -> None:
    found = Set()
    nobodys = ClaimFailure(ClaimName("", "", "?"), "unknown claim", "gpu.dev")
    found.claims.prepare_failures = [PrepareFailed("no", [nobodys])]
    assert not asyncio.run(found.keeper.prepare(POD))
    (condition,) = found.keeper.conditions
    assert condition.message.startswith("driver gpu.dev: unknown claim (attempt 1,")
