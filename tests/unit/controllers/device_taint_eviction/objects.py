"""Tainted devices and the pods that use them, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dray.api.core import Container, Pod, PodResourceClaim, PodSpec
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    Device,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.wire import Time
from dray.testing import FakeClock

__all__ = [
    "BROKEN",
    "DRIVER",
    "NAMESPACE",
    "NOW",
    "claim_of",
    "make_pod",
    "make_rule",
    "make_slice",
    "taint",
    "tolerate",
]

NAMESPACE: Final = "default"
DRIVER: Final = "gpu.example.com"
NOW: Final = Time(FakeClock().now())


def taint(
    effect: str = "NoExecute", *, key: str = "example.com/broken", added: Time | None = NOW
) -> DeviceTaint:
    return DeviceTaint(key=key, value="yes", effect=effect, time_added=added)


BROKEN: Final = taint()


def tolerate(seconds: int | None = None, *, effect: str = "NoExecute") -> DeviceToleration:
    return DeviceToleration(operator="Exists", effect=effect, toleration_seconds=seconds)


def make_slice(
    devices: Mapping[str, Sequence[DeviceTaint]],
    *,
    pool: str = "n1",
    name: str = "",
    generation: int = 1,
    count: int = 1,
) -> ResourceSlice:
    return ResourceSlice(
        metadata=ObjectMeta(name=name or f"{pool}-slice"),
        spec=ResourceSliceSpec(
            driver=DRIVER,
            node_name=pool,
            pool=ResourcePool(name=pool, generation=generation, resource_slice_count=count),
            devices=tuple(
                Device(name=device, taints=tuple(taints)) for device, taints in devices.items()
            ),
        ),
    )


def make_rule(
    name: str = "rule",
    *,
    effect: str = "NoExecute",
    driver: str | None = None,
    pool: str | None = None,
    device: str | None = None,
) -> DeviceTaintRule:
    return DeviceTaintRule(
        metadata=ObjectMeta(name=name),
        spec=DeviceTaintRuleSpec(
            device_selector=DeviceTaintSelector(driver=driver, pool=pool, device=device),
            taint=taint(effect, added=None),
        ),
    )


def make_pod(name: str, *, node: str = "n1", namespace: str = NAMESPACE, **metadata: Any) -> Pod:
    """A pod with a claim of its own name."""
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace, **metadata),
        spec=PodSpec(
            containers=(Container(name="main", image="registry.example/main:1"),),
            resource_claims=(PodResourceClaim(name="gpu", resource_claim_name=name),),
            node_name=node,
        ),
    )


def claim_of(
    pod: Pod,
    *devices: str,
    tolerations: Sequence[DeviceToleration] = (),
    pool: str = "n1",
    is_reserved: bool = True,
) -> ResourceClaim:
    """The claim that a pod refers to, allocated and reserved for it."""
    metadata = pod.metadata
    results = tuple(
        DeviceRequestAllocationResult(
            request="r",
            driver=DRIVER,
            pool=pool,
            device=device,
            tolerations=tuple(tolerations),
        )
        for device in devices
    )
    consumer = ResourceClaimConsumerReference(resource="pods", name=metadata.name, uid=metadata.uid)
    request = ExactDeviceRequest(
        device_class_name=DRIVER, allocation_mode="All", tolerations=tuple(tolerations)
    )
    return ResourceClaim(
        metadata=ObjectMeta(name=metadata.name, namespace=metadata.namespace),
        spec=ResourceClaimSpec(
            devices=DeviceClaim(requests=(DeviceRequest(name="r", exactly=request),))
        ),
        status=ResourceClaimStatus(
            allocation=AllocationResult(devices=DeviceAllocationResult(results=results)),
            reserved_for=(consumer,) if is_reserved else (),
        ),
    )
