"""Classes for drivers' devices."""

from __future__ import annotations

import asyncio

import pytest

from dray.api.resource import DeviceClass, DeviceClassSpec
from dray.api.wire import replace
from dray.cel import DeviceView, Environment, Selector, compile_selector
from dray.cli.embedded.device_classes import classes_of, ensure_classes
from dray.cli.embedded.plan import default_devices
from dray.drivers.simulated import SimulatedDriver, read_fleet
from dray.sdk import Driver, Inventory
from dray.testing.cluster import Cluster


class Plain(Driver):
    def __init__(self, name: str) -> None:
        self.name = name

    async def discover(self) -> Inventory:
        return Inventory.of(())


@pytest.mark.parametrize(
    ("driver", "extended"),
    [
        ("gpu.example.com", "example.com/gpu"),
        ("gpu.nvidia.com", "nvidia.com/gpu"),
        ("gpu.local", None),
        ("gpu", None),
        ("gpu.kubernetes.io", None),
        ("gpu.node.kubernetes.io", None),
    ],
)
def test_a_class_is_called_as_its_driver(driver: str, extended: str | None) -> None:
    (one,) = classes_of(Plain(driver))
    assert one.metadata.name == driver
    assert one.spec.extended_resource_name == extended


def test_simulated_devices_that_most_claims_do_not_mean_have_classes_of_their_own() -> None:
    plain = read_fleet("models: {a: {}}\nnodes: [{devices: [{model: a}]}]")
    assert [one.metadata.name for one in classes_of(SimulatedDriver(plain))] == [
        "gpu.simulated.dev"
    ]
    assert [one.metadata.name for one in classes_of(SimulatedDriver(default_devices()))] == [
        "gpu.simulated.dev",
        "partition.gpu.simulated.dev",
        "shared.gpu.simulated.dev",
    ]


def test_every_usual_device_is_of_one_class() -> None:
    driver = SimulatedDriver(default_devices())
    views = [
        DeviceView.of(driver.name, each) for _pool, each in driver.fleet.inventory("n").devices("n")
    ]
    counts = {}
    for one in classes_of(driver):
        (selector,) = one.spec.selectors
        assert selector.cel is not None
        compiled = Selector(compile_selector(selector.cel.expression, Environment()))
        counts[one.metadata.name] = sum(map(compiled.matches, views))
    assert counts == {
        "gpu.simulated.dev": 6,
        "partition.gpu.simulated.dev": 24,
        "shared.gpu.simulated.dev": 2,
    }
    assert sum(counts.values()) == len(views)


def test_classes_are_made_once_and_then_left_alone() -> None:
    async def scenario() -> None:
        async with Cluster() as cluster:
            classes = list(classes_of(Plain("gpu.example.com")))
            assert await ensure_classes(cluster.client, classes) == ["gpu.example.com"]
            made = await cluster.client.get(DeviceClass, "gpu.example.com")
            await cluster.client.update(replace(made, spec=DeviceClassSpec()))
            assert await ensure_classes(cluster.client, [*classes, *classes]) == []
            left = await cluster.client.get(DeviceClass, "gpu.example.com")
            assert left.spec == DeviceClassSpec()

    asyncio.run(asyncio.wait_for(scenario(), 30))
