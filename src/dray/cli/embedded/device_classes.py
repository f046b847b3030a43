"""Device classes for the drivers of a cluster, so that its first claim needs no preparation.

A driver's class is called as the driver, and has an extended resource besides: gpu.example.com's
is example.com/gpu. The simulated driver's leaves out what most claims do not mean: partitions of
devices, and devices to share; they have classes of their own. Classes are made when they are
missing, and are the cluster's from then on: nobody changes them here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from dray.api.meta import ObjectMeta
from dray.api.names import dns_subdomain
from dray.api.resource import CELDeviceSelector, DeviceClass, DeviceClassSpec, DeviceSelector
from dray.client import Client
from dray.drivers.simulated import SimulatedDriver
from dray.errors import AlreadyExists
from dray.sdk import Driver

__all__ = ["classes_of", "ensure_classes"]

# What the simulated driver gives to partitions by itself, and what models to share call themselves.
PARTITION_ATTRIBUTE: Final = "profile"
SHARED_ATTRIBUTE: Final = "shared"


def classes_of(driver: Driver) -> Iterator[DeviceClass]:
    """The classes that a driver's devices are claimed by."""
    name = driver.name
    own = f'device.driver == "{name}"'
    if not isinstance(driver, SimulatedDriver):
        yield _device_class(name, own, extended=True)
        return
    attributes = f'device.attributes["{name}"]'
    partition = f'"{PARTITION_ATTRIBUTE}" in {attributes}'
    shared = f'"{SHARED_ATTRIBUTE}" in {attributes}'
    models = driver.fleet.models.values()
    yield _device_class(name, f"{own} && !({partition}) && !({shared})", extended=True)
    if any(model.partitions is not None for model in models):
        yield _device_class(f"partition.{name}", f"{own} && {partition}")
    if any(SHARED_ATTRIBUTE in model.attributes for model in models):
        yield _device_class(f"shared.{name}", f"{own} && {shared}")


async def ensure_classes(client: Client, classes: Iterable[DeviceClass]) -> list[str]:
    """Make those that are missing; returns their names."""
    known = {one.metadata.name for one in (await client.list(DeviceClass)).items}
    made = []
    for one in classes:
        if one.metadata.name in known:
            continue
        known.add(one.metadata.name)
        try:
            await client.create(one)
        except AlreadyExists:
            continue
        made.append(one.metadata.name)
    return made


def _device_class(name: str, expression: str, *, extended: bool = False) -> DeviceClass:
    selector = DeviceSelector(cel=CELDeviceSelector(expression=expression))
    return DeviceClass(
        metadata=ObjectMeta(name=name),
        spec=DeviceClassSpec(
            selectors=(selector,),
            extended_resource_name=_extended_resource(name) if extended else None,
        ),
    )


def _extended_resource(driver: str) -> str | None:
    """gpu.example.com has example.com/gpu; a name of one label, or a reserved one, has none."""
    thing, _, domain = driver.partition(".")
    reserved = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    if "." not in domain or reserved or dns_subdomain(domain):
        return None
    return f"{domain}/{thing}"
