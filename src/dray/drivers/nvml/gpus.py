"""What NVML says about the GPUs of a machine, and the ways each can be cut by MIG.

Everything here blocks, and is called in the lane of NVML. Handles are not kept: they do not outlive
a reset. A GPU that does not answer is left to those that watch health; it keeps its place in the
inventory as it was last seen.
"""

from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dray.drivers.nvml.library import NVML, optional

__all__ = ["Gpu", "Instance", "Partition", "Profile", "pci_address", "read_gpus", "version_text"]

# NVML knows no machine with more; a count beyond it is a fault of the library.
GPUS_MAX: Final = 64
# NVIDIA's largest GPU has seven parts, with eight slices of memory.
PLACEMENTS_MAX: Final = 32
_MEBIBYTE: Final = 1024 * 1024

_BRANDS: Final = {
    "QUADRO": "Quadro",
    "TESLA": "Tesla",
    "NVS": "NVS",
    "GRID": "Grid",
    "GEFORCE": "GeForce",
    "TITAN": "Titan",
    "NVIDIA_VAPPS": "NvidiaVApps",
    "NVIDIA_VPC": "NvidiaVPC",
    "NVIDIA_VCS": "NvidiaVCS",
    "NVIDIA_VWS": "NvidiaVWS",
    "NVIDIA_CLOUD_GAMING": "NvidiaCloudGaming",
    "QUADRO_RTX": "QuadroRTX",
    "NVIDIA_RTX": "NvidiaRTX",
    "NVIDIA": "Nvidia",
    "GEFORCE_RTX": "GeForceRTX",
    "TITAN_RTX": "TitanRTX",
}
_ARCHITECTURES: Final = {
    "KEPLER": "Kepler",
    "MAXWELL": "Maxwell",
    "PASCAL": "Pascal",
    "VOLTA": "Volta",
    "TURING": "Turing",
    "AMPERE": "Ampere",
    "ADA": "Ada Lovelace",
    "HOPPER": "Hopper",
    "BLACKWELL": "Blackwell",
    "RUBIN": "Rubin",
}


@dataclass(frozen=True, slots=True)
class Profile:
    """One size of a part of a GPU."""

    number: int  # by which NVML is asked for it
    id: int  # by which it is created
    name: str  # 1g.5gb
    slices: int
    count_max: int  # how many of it a GPU has at once
    multiprocessors: int
    copy_engines: int
    decoders: int
    encoders: int
    jpeg_engines: int
    ofa_engines: int
    memory: int  # bytes


@dataclass(frozen=True, slots=True)
class Partition:
    """A size at a place: what can be made of a GPU."""

    profile: Profile
    start: int
    size: int

    def overlaps(self, other: Partition) -> bool:
        return self.start < other.start + other.size and other.start < self.start + self.size


@dataclass(frozen=True, slots=True)
class Instance:
    """A MIG device that exists."""

    partition: Partition
    uuid: str
    gpu_instance: int
    compute_instance: int


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU, as it was last seen."""

    uuid: str
    index: int
    minor: int
    product_name: str
    brand: str
    architecture: str
    compute_capability: str
    driver_version: str
    cuda_driver_version: str
    pci_address: str
    pcie_root: str
    numa_node: int | None
    addressing_mode: str
    memory: int
    cores: int | None
    mig_enabled: bool
    partitions: tuple[Partition, ...] = ()
    instances: tuple[Instance, ...] = ()

    @property
    def name(self) -> str:
        """Its name as a device: numbers of device files are what stays."""
        return f"gpu-{self.minor}"


def read_gpus(nvml: NVML, *, root: Path = Path("/")) -> tuple[list[Gpu], dict[int, str]]:
    """All GPUs that answer, and why others do not, by index. Raises NVMLError if none can."""
    driver = version_text(nvml.nvmlSystemGetDriverVersion())
    cuda = nvml.nvmlSystemGetCudaDriverVersion()
    cuda_text = f"{cuda // 1000}.{cuda % 1000 // 10}.0"
    gpus: list[Gpu] = []
    silent: dict[int, str] = {}
    for index in range(min(nvml.nvmlDeviceGetCount(), GPUS_MAX)):
        try:
            gpus.append(_read_gpu(nvml, index, driver, cuda_text, root))
        except nvml.NVMLError as error:
            silent[index] = str(error)
    return gpus, silent


def _read_gpu(nvml: NVML, index: int, driver: str, cuda: str, root: Path) -> Gpu:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    address = pci_address(_text(nvml.nvmlDeviceGetPciInfo(handle).busId))
    mode = optional(nvml, "nvmlDeviceGetMigMode", handle)
    mig_enabled = bool(mode and mode[0] == nvml.NVML_DEVICE_MIG_ENABLE)
    partitions = _partitions(nvml, handle) if mig_enabled else ()
    return Gpu(
        uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
        index=index,
        minor=nvml.nvmlDeviceGetMinorNumber(handle),
        product_name=_text(nvml.nvmlDeviceGetName(handle)),
        brand=_named(nvml, "NVML_BRAND_", _BRANDS, optional(nvml, "nvmlDeviceGetBrand", handle)),
        architecture=_named(
            nvml,
            "NVML_DEVICE_ARCH_",
            _ARCHITECTURES,
            optional(nvml, "nvmlDeviceGetArchitecture", handle),
        ),
        compute_capability=f"{major}.{minor}.0",
        driver_version=driver,
        cuda_driver_version=cuda,
        pci_address=address,
        pcie_root=_pcie_root(root, address),
        numa_node=_numa_node(root, address),
        addressing_mode=_addressing_mode(nvml, handle),
        memory=nvml.nvmlDeviceGetMemoryInfo(handle).total,
        cores=optional(nvml, "nvmlDeviceGetNumGpuCores", handle),
        mig_enabled=mig_enabled,
        partitions=partitions,
        instances=_instances(nvml, handle, partitions) if mig_enabled else (),
    )


# Parts of a GPU ---------------------------------------------------------------------------------


def _partitions(nvml: NVML, handle: Any) -> tuple[Partition, ...]:
    found = []
    for number in range(nvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
        profile = _profile(nvml, handle, number)
        if profile is not None:
            found += [
                Partition(profile, start, size)
                for start, size in _placements(nvml, handle, profile.id)
            ]
    return tuple(found)


def _profile(nvml: NVML, handle: Any, number: int) -> Profile | None:
    # The second version has the name; drivers before it are asked without.
    info = optional(nvml, "nvmlDeviceGetGpuInstanceProfileInfo", handle, number, 2)
    if info is None:
        info = optional(nvml, "nvmlDeviceGetGpuInstanceProfileInfo", handle, number, 1)
    if info is None:
        return None
    gibibytes = round(info.memorySizeMB / 1024)
    name = _text(getattr(info, "name", b"")).removeprefix("MIG ")
    return Profile(
        number=number,
        id=info.id,
        name=name or f"{info.sliceCount}g.{gibibytes}gb{_suffix(nvml, number)}",
        slices=info.sliceCount,
        count_max=info.instanceCount,
        multiprocessors=info.multiprocessorCount,
        copy_engines=info.copyEngineCount,
        decoders=info.decoderCount,
        encoders=info.encoderCount,
        jpeg_engines=info.jpegCount,
        ofa_engines=info.ofaCount,
        memory=info.memorySizeMB * _MEBIBYTE,
    )


def _suffix(nvml: NVML, number: int) -> str:
    media = (
        nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1,
        nvml.NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1,
    )
    return "+me" if number in media else ""


def _placements(nvml: NVML, handle: Any, profile: int) -> list[tuple[int, int]]:
    count = ctypes.c_uint(PLACEMENTS_MAX)
    places = (nvml.c_nvmlGpuInstancePlacement_t * PLACEMENTS_MAX)()
    asked = (handle, profile, places, ctypes.byref(count))
    if optional(nvml, "nvmlDeviceGetGpuInstancePossiblePlacements", *asked) is None:
        return []
    return [(place.start, place.size) for place in places[: min(count.value, PLACEMENTS_MAX)]]


def _instances(nvml: NVML, handle: Any, partitions: tuple[Partition, ...]) -> tuple[Instance, ...]:
    found = []
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            mig = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            gpu_instance = nvml.nvmlDeviceGetGpuInstanceId(mig)
            uuid = _text(nvml.nvmlDeviceGetUUID(mig))
            compute_instance = nvml.nvmlDeviceGetComputeInstanceId(mig)
            info = nvml.nvmlGpuInstanceGetInfo(
                nvml.nvmlDeviceGetGpuInstanceById(handle, gpu_instance)
            )
        except nvml.NVMLError as error:
            if error.value in (nvml.NVML_ERROR_NOT_FOUND, nvml.NVML_ERROR_INVALID_ARGUMENT):
                continue
            raise
        place = (info.profileId, info.placement.start)
        partition = next((p for p in partitions if (p.profile.id, p.start) == place), None)
        if partition is not None:
            found.append(Instance(partition, uuid, gpu_instance, compute_instance))
    return tuple(found)


# Texts ------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _named(nvml: NVML, prefix: str, names: dict[str, str], value: int | None) -> str:
    """NVIDIA's word for a number, found by the constant that has it."""
    return next(
        (name for key, name in names.items() if getattr(nvml, prefix + key, None) == value),
        "Unknown",
    )


def version_text(text: Any) -> str:
    """A version as semver has it: 535.104.05 has one zero too many."""
    numbers = [str(int(part)) for part in re.findall(r"\d+", _text(text))[:3]]
    return ".".join([*numbers, "0", "0", "0"][:3])


def pci_address(bus_id: str) -> str:
    """An address as the kernel writes it: NVML's domain has eight digits, Linux' four."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}" if rest else bus_id.lower()


def _pcie_root(root: Path, address: str) -> str:
    path = os.path.realpath(f"{str(root).rstrip('/')}/sys/bus/pci/devices/{address}")
    found = re.search(r"/devices/(pci[0-9a-f]{4,8}:[0-9a-f]{2})/", path)
    return found[1] if found else ""


def _numa_node(root: Path, address: str) -> int | None:
    path = Path(f"{str(root).rstrip('/')}/sys/bus/pci/devices/{address}/numa_node")
    try:
        node = int(path.read_text())
    except (OSError, ValueError):
        return None
    # The kernel says -1 of machines without nodes.
    return node if node >= 0 else None


def _addressing_mode(nvml: NVML, handle: Any) -> str:
    mode = optional(nvml, "nvmlDeviceGetAddressingMode", handle)
    names = {"HMM": "HMM", "ATS": "ATS"}
    found = _named(nvml, "NVML_DEVICE_ADDRESSING_MODE_", names, mode) if mode else "Unknown"
    return "None" if found == "Unknown" else found
