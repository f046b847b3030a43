"""GPUs and their parts as devices, with the names that NVIDIA's own driver gives them.

A GPU in MIG mode is not offered as a whole. Statically, the instances it has are devices. Else
every size at every place is a device; those of one GPU draw on one set of counters, so that claims
never get parts that do not fit beside each other. Instances that somebody else made are devices as
they are, and what lies in their place is not offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dray.drivers.nvml.gpus import Gpu, Instance, Partition
from dray.sdk import Device, Inventory, Pool, Version, device

__all__ = ["Offer", "Part", "offer", "partition_name"]


@dataclass(frozen=True, slots=True)
class Part:
    """What a device's name stands for."""

    gpu: Gpu
    partition: Partition | None = None  # None: all of it
    # The instance, where it is somebody else's; else it is made when a claim has the device.
    instance: Instance | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """What is published, and what each name stands for."""

    inventory: Inventory
    parts: Mapping[str, Part]


def partition_name(gpu: Gpu, partition: Partition) -> str:
    """A part's name: of its GPU, its profile and its place."""
    return f"{gpu.name}-mig-{partition.profile.id}-{partition.start}-{partition.size}"


def offer(
    gpus: Iterable[Gpu], *, dynamic: bool = False, own: frozenset[tuple[str, str]] = frozenset()
) -> Offer:
    """All devices of these GPUs. `own` are instances that claims have: (GPU's UUID, name)."""
    parts: dict[str, Part] = {}
    devices: list[Device] = []
    counters: dict[str, dict[str, int]] = {}
    for gpu in gpus:
        if not gpu.mig_enabled:
            parts[gpu.name] = Part(gpu)
            devices.append(_whole(gpu))
            continue
        foreign = [
            one
            for one in gpu.instances
            if not dynamic or (gpu.uuid, partition_name(gpu, one.partition)) not in own
        ]
        for instance in _one_each(foreign):
            name = partition_name(gpu, instance.partition)
            parts[name] = Part(gpu, instance.partition, instance)
            devices.append(_part(gpu, instance.partition, name, uuid=instance.uuid))
        if not dynamic:
            continue
        free = [
            one
            for one in gpu.partitions
            if not any(one.overlaps(taken.partition) for taken in foreign)
        ]
        if free:
            counters[_counter_set(gpu)] = _counters(gpu, foreign)
        for partition in free:
            name = partition_name(gpu, partition)
            parts[name] = Part(gpu, partition)
            taken = {_counter_set(gpu): _consumed(partition)}
            devices.append(_part(gpu, partition, name, consumes=taken))
    return Offer(Inventory([Pool(devices, counters=counters)]), parts)


def _one_each(instances: Iterable[Instance]) -> list[Instance]:
    """One device for each place: of several compute instances in one, the first."""
    kept: dict[int, Instance] = {}
    for each in instances:
        kept.setdefault(each.gpu_instance, each)
    return list(kept.values())


def _common(gpu: Gpu) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "productName": gpu.product_name[:64],
        "brand": gpu.brand,
        "architecture": gpu.architecture,
        "cudaComputeCapability": Version(gpu.compute_capability),
        "driverVersion": Version(gpu.driver_version),
        "cudaDriverVersion": Version(gpu.cuda_driver_version),
        "pcieBusID": gpu.pci_address,
        "resource.kubernetes.io/pciBusID": gpu.pci_address,
        "addressingMode": gpu.addressing_mode,
    }
    if gpu.pcie_root:
        attributes["resource.kubernetes.io/pcieRoot"] = gpu.pcie_root
    if gpu.numa_node is not None:
        attributes["numaNode"] = gpu.numa_node
    return attributes


def _whole(gpu: Gpu) -> Device:
    attributes = {
        "type": "gpu",
        "uuid": gpu.uuid,
        "index": gpu.index,
        "minor": gpu.minor,
        **_common(gpu),
    }
    capacity: dict[str, str | int] = {"memory": _amount(gpu.memory)}
    if gpu.cores is not None:
        capacity["cores"] = gpu.cores
    return device(gpu.name, attributes=attributes, capacity=capacity)


def _part(
    gpu: Gpu,
    partition: Partition,
    name: str,
    *,
    uuid: str = "",
    consumes: Mapping[str, Mapping[str, str | int]] | None = None,
) -> Device:
    attributes = {"type": "mig", "parentUUID": gpu.uuid, "profile": partition.profile.name}
    if uuid:
        attributes["uuid"] = uuid
    profile = partition.profile
    capacity: dict[str, str | int] = {
        "multiprocessors": profile.multiprocessors,
        "copyEngines": profile.copy_engines,
        "decoders": profile.decoders,
        "encoders": profile.encoders,
        "jpegEngines": profile.jpeg_engines,
        "ofaEngines": profile.ofa_engines,
        "memory": _amount(profile.memory),
        **{f"memorySlice{n}": 1 for n in range(partition.start, partition.start + partition.size)},
    }
    return device(name, attributes=attributes | _common(gpu), capacity=capacity, consumes=consumes)


def _counter_set(gpu: Gpu) -> str:
    return f"{gpu.name}-counter-set"


def _consumed(partition: Partition) -> dict[str, str | int]:
    profile = partition.profile
    counted = {
        "multiprocessors": profile.multiprocessors,
        "copy-engines": profile.copy_engines,
        "decoders": profile.decoders,
        "encoders": profile.encoders,
        "jpeg-engines": profile.jpeg_engines,
        "ofa-engines": profile.ofa_engines,
        "compute-slices": profile.slices,
    }
    slices = range(partition.start, partition.start + partition.size)
    return {
        **{name: amount for name, amount in counted.items() if amount},
        **{f"memory-slice-{number}": 1 for number in slices},
    }


def _counters(gpu: Gpu, foreign: Iterable[Instance]) -> dict[str, int]:
    """All that the GPU has: of each counter as much as its largest part, less what is taken."""
    whole: dict[str, int] = {}
    for partition in gpu.partitions:
        consumed = _consumed(partition)
        for name, amount in consumed.items():
            whole[name] = max(whole.get(name, 0), int(amount))
    # Seven parts of one seventh have more copy engines than the largest part says.
    whole = {name: max(most, _beside_each_other(gpu, name)) for name, most in whole.items()}
    for instance in foreign:
        for name, amount in _consumed(instance.partition).items():
            whole[name] = max(whole.get(name, 0) - int(amount), 0)
    return whole


def _beside_each_other(gpu: Gpu, name: str) -> int:
    """How much of a counter the parts of one profile take that all exist at once."""
    most = 0
    for profile in {partition.profile for partition in gpu.partitions}:
        end = total = count = 0
        for partition in sorted(gpu.partitions, key=lambda one: one.start):
            fits = partition.start >= end and count < profile.count_max
            if partition.profile == profile and fits:
                end = partition.start + partition.size
                count += 1
                total += int(_consumed(partition).get(name, 0))
        most = max(most, total)
    return most


def _amount(count: int) -> str:
    """Bytes as people write them, where nothing is lost by it."""
    mebibytes, rest = divmod(count, 1024 * 1024)
    return str(count) if rest else f"{mebibytes}Mi"
