"""Texts that say the same as before stay as they were; others are what they became."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw

from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocatedDeviceStatus,
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceClass,
    DeviceClassConfiguration,
    DeviceClassSpec,
    OpaqueDeviceConfiguration,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from dray.api.wire import replace
from dray.server.patching.carried_texts import with_texts_of


def opaque(text: bytes) -> OpaqueDeviceConfiguration:
    return OpaqueDeviceConfiguration(driver="gpu.example.com", parameters=Raw(text))


def spec(*texts: bytes) -> ResourceClaimSpec:
    config = tuple(DeviceClaimConfiguration(opaque=opaque(text)) for text in texts)
    return ResourceClaimSpec(devices=DeviceClaim(config=config))


def claim(*texts: bytes) -> ResourceClaim:
    return ResourceClaim(spec=spec(*texts))


def allocated(text: bytes) -> ResourceClaim:
    config = DeviceAllocationConfiguration(source="FromClaim", opaque=opaque(text))
    devices = DeviceAllocationResult(config=(config,))
    return ResourceClaim(status=ResourceClaimStatus(allocation=AllocationResult(devices=devices)))


def reported(text: bytes) -> ResourceClaim:
    device = AllocatedDeviceStatus(driver="d", pool="p", device="gpu-0", data=Raw(text))
    return ResourceClaim(status=ResourceClaimStatus(devices=(device,)))


def template(text: bytes) -> ResourceClaimTemplate:
    return ResourceClaimTemplate(spec=ResourceClaimTemplateSpec(spec=spec(text)))


def device_class(text: bytes) -> DeviceClass:
    config = DeviceClassConfiguration(opaque=opaque(text))
    return DeviceClass(spec=DeviceClassSpec(config=(config,)))


@pytest.mark.parametrize("make", [claim, allocated, reported, template, device_class])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(rb'{"a":"x\u0026y"}', b'{"a":"x&y"}', id="escapes"),
        pytest.param(b'{"a":[1.10,1e2]}', b'{"a":[1.1,100.0]}', id="numbers"),
        pytest.param(b'{"b":{"d":1,"c":2},"a":3}', b'{"a":3,"b":{"c":2,"d":1}}', id="order"),
    ],
)
def test_what_says_the_same_is_written_as_before(
    make: Callable[[bytes], Any], before: bytes, after: bytes
) -> None:
    assert with_texts_of(make(before), make(after)) == make(before)


@pytest.mark.parametrize("after", [b'{"a":"x"}', b'{"a":null}', b"{}", b'{"a":1}'])
def test_what_says_something_else_stays(after: bytes) -> None:
    assert with_texts_of(claim(rb'{"a":"x\u0026y"}'), claim(after)) == claim(after)


def test_wherever_it_went() -> None:
    before = claim(b'{"a":1e2}', b'{"a":1e3}')
    assert with_texts_of(before, claim(b'{"a":1000.0}', b"{}", b'{"a":100.0}')) == claim(
        b'{"a":1e3}', b"{}", b'{"a":1e2}'
    )


def test_an_object_with_nothing_to_restore_is_the_very_same() -> None:
    before = claim(b'{"a":1e2}')
    after = replace(before, metadata=ObjectMeta(name="a"))
    assert with_texts_of(before, after) is after
    assert with_texts_of(claim(), after) is after
