"""GPUs and parts as devices; parts that do not fit beside each other are never given together."""

from __future__ import annotations

from itertools import combinations

import pytest

from dray.api.resource import Device
from dray.drivers.nvml.gpus import Gpu, read_gpus
from dray.drivers.nvml.inventory import Offer, offer, partition_name
from tests.unit.drivers.nvml import fake_nvml
from tests.unit.drivers.nvml.fake_nvml import FakeGpu
from tests.unit.drivers.nvml.machines import machine_of


def gpus(*fakes: FakeGpu) -> list[Gpu]:
    with machine_of(*fakes):
        return read_gpus(fake_nvml)[0]


def devices(offered: Offer) -> dict[str, Device]:
    return {device.name: device for _, device in offered.inventory.devices()}


def test_a_whole_gpu_has_the_attributes_of_nvidias_driver() -> None:
    device = devices(offer(gpus(FakeGpu(3))))["gpu-3"]
    attributes = device.attributes
    assert attributes["type"].string_value == "gpu"
    assert attributes["productName"].string_value == "NVIDIA A100-SXM4-40GB"
    assert attributes["driverVersion"].version_value == "535.104.5"
    assert attributes["cudaComputeCapability"].version_value == "8.0.0"
    assert attributes["resource.kubernetes.io/pciBusID"].string_value == "0000:3e:00.0"
    assert str(device.capacity["memory"].value) == "40Gi"
    assert device.consumes_counters == ()


def test_statically_the_instances_there_are_are_devices() -> None:
    found = offer(gpus(FakeGpu(0, mig=True, instances={1: (9, 4, {0: 2})}), FakeGpu(1, mig=True)))
    (device,) = devices(found).values()
    assert device.name == "gpu-0-mig-9-4-4"
    assert device.attributes["profile"].string_value == "3g.20gb"
    assert device.attributes["uuid"].string_value is not None
    assert device.capacity["memorySlice7"].value is not None
    assert "memorySlice3" not in device.capacity
    assert found.inventory.pools[0].counters == ()


def test_every_device_stays_within_the_limits_of_the_api() -> None:
    offered = offer(gpus(FakeGpu(0, mig=True), FakeGpu(1)), dynamic=True)
    for device in devices(offered).values():
        assert len(device.attributes) + len(device.capacity) <= 32


def test_dynamically_every_part_at_every_place_is_a_device() -> None:
    (gpu,) = gpus(FakeGpu(0, mig=True))
    offered = offer([gpu], dynamic=True)
    assert len(devices(offered)) == len(gpu.partitions)
    (counters,) = offered.inventory.pools[0].counters
    assert counters.name == "gpu-0-counter-set"
    totals = {name: int(str(counter.value)) for name, counter in counters.counters.items()}
    assert totals["multiprocessors"] == 98
    assert totals["compute-slices"] == totals["copy-engines"] == 7
    assert totals["jpeg-engines"] == totals["ofa-engines"] == 1
    assert totals["memory-slice-7"] == 1


def test_counters_admit_two_parts_exactly_when_hardware_does() -> None:
    """The fake hardware is the judge: it refuses what overlaps, and a profile too many."""
    (gpu,) = gpus(FakeGpu(0, mig=True))
    offered = offer([gpu], dynamic=True)
    (counters,) = offered.inventory.pools[0].counters
    totals = {name: int(str(counter.value)) for name, counter in counters.counters.items()}

    def taken(device: Device) -> dict[str, int]:
        (consumed,) = device.consumes_counters
        return {name: int(str(counter.value)) for name, counter in consumed.counters.items()}

    listed = devices(offered)
    for one, other in combinations(gpu.partitions, 2):
        first = taken(listed[partition_name(gpu, one)])
        second = taken(listed[partition_name(gpu, other)])
        admitted = all(
            first.get(name, 0) + second.get(name, 0) <= total for name, total in totals.items()
        )
        same_too_often = one.profile == other.profile and one.profile.count_max < 2
        assert admitted == (not one.overlaps(other) and not same_too_often), (one, other)


def test_what_somebody_else_made_is_offered_as_it_is_and_its_place_is_not() -> None:
    (gpu,) = gpus(FakeGpu(0, mig=True, instances={1: (9, 4, {0: 2})}))
    offered = offer([gpu], dynamic=True)
    listed = devices(offered)
    assert listed["gpu-0-mig-9-4-4"].consumes_counters == ()
    assert offered.parts["gpu-0-mig-9-4-4"].instance is not None
    assert "gpu-0-mig-0-0-8" not in listed
    assert "gpu-0-mig-19-3-1" in listed
    assert "gpu-0-mig-19-4-1" not in listed
    (counters,) = offered.inventory.pools[0].counters
    assert str(counters.counters["compute-slices"].value) == "4"


def test_what_claims_have_is_offered_as_if_it_were_free() -> None:
    (gpu,) = gpus(FakeGpu(0, mig=True, instances={1: (9, 4, {0: 2})}))
    (bare,) = gpus(FakeGpu(0, mig=True))
    own = frozenset({(gpu.uuid, "gpu-0-mig-9-4-4")})
    assert offer([gpu], dynamic=True, own=own).inventory == offer([bare], dynamic=True).inventory


@pytest.mark.parametrize("dynamic", [False, True])
def test_no_gpus_is_an_empty_pool(dynamic: bool) -> None:
    assert devices(offer([], dynamic=dynamic)) == {}
