"""A machine with NVIDIA GPUs that are not there, behind the names of the module `pynvml`.

Functions, constants, structures, classes of errors and the way they are called are those of
nvidia-ml-py, as far as the driver uses them; a test compares them with the real module. `machine`
is the hardware: tests break it, and what a process did to it outlives the process if it has a file.

Its limits: one kind of GPU, no time-outs of its own, no processes on GPUs but `busy` instances.
"""

# Names are those of the real module.
# ruff: noqa: N801, N802, N803, N816

from __future__ import annotations

import ctypes
import json
import os
import string
import sys
import threading
from collections.abc import Callable
from ctypes import POINTER, Structure, Union, c_char, c_int64, c_uint, c_uint32, c_ulonglong
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

NVML_SUCCESS = 0
NVML_ERROR_UNINITIALIZED = 1
NVML_ERROR_INVALID_ARGUMENT = 2
NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_NO_PERMISSION = 4
NVML_ERROR_ALREADY_INITIALIZED = 5
NVML_ERROR_NOT_FOUND = 6
NVML_ERROR_INSUFFICIENT_SIZE = 7
NVML_ERROR_INSUFFICIENT_POWER = 8
NVML_ERROR_DRIVER_NOT_LOADED = 9
NVML_ERROR_TIMEOUT = 10
NVML_ERROR_IRQ_ISSUE = 11
NVML_ERROR_LIBRARY_NOT_FOUND = 12
NVML_ERROR_FUNCTION_NOT_FOUND = 13
NVML_ERROR_CORRUPTED_INFOROM = 14
NVML_ERROR_GPU_IS_LOST = 15
NVML_ERROR_RESET_REQUIRED = 16
NVML_ERROR_OPERATING_SYSTEM = 17
NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18
NVML_ERROR_IN_USE = 19
NVML_ERROR_MEMORY = 20
NVML_ERROR_NO_DATA = 21
NVML_ERROR_INSUFFICIENT_RESOURCES = 23
NVML_ERROR_GPU_NOT_FOUND = 28
NVML_ERROR_UNKNOWN = 999

NVML_BRAND_TESLA = 2
NVML_BRAND_GEFORCE = 5
NVML_BRAND_NVIDIA = 14
NVML_DEVICE_ARCH_AMPERE = 7
NVML_DEVICE_ARCH_ADA = 8
NVML_DEVICE_ARCH_HOPPER = 9
NVML_DEVICE_ADDRESSING_MODE_HMM = 1
NVML_DEVICE_ADDRESSING_MODE_ATS = 2
NVML_TEMPERATURE_GPU = 0
NVML_TEMPERATURE_THRESHOLD_SHUTDOWN = 0
NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1
NVML_MEMORY_ERROR_TYPE_CORRECTED = 0
NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
NVML_VOLATILE_ECC = 0
NVML_AGGREGATE_ECC = 1
NVML_NVLINK_MAX_LINKS = 36
NVML_NVLINK_ERROR_DL_REPLAY = 0
NVML_NVLINK_ERROR_DL_RECOVERY = 1
NVML_NVLINK_ERROR_DL_CRC_FLIT = 2
NVML_NVLINK_ERROR_DL_CRC_DATA = 3
NVML_FI_DEV_GET_GPU_RECOVERY_ACTION = 230
NVML_DEVICE_MIG_DISABLE = 0
NVML_DEVICE_MIG_ENABLE = 1
NVML_GPU_INSTANCE_PROFILE_1_SLICE = 0
NVML_GPU_INSTANCE_PROFILE_2_SLICE = 1
NVML_GPU_INSTANCE_PROFILE_3_SLICE = 2
NVML_GPU_INSTANCE_PROFILE_4_SLICE = 3
NVML_GPU_INSTANCE_PROFILE_7_SLICE = 4
NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1 = 7
NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1 = 8
NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2 = 9
NVML_GPU_INSTANCE_PROFILE_COUNT = 0x12
NVML_COMPUTE_INSTANCE_PROFILE_COUNT = 0x9
NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED = 0
nvmlEventTypeSingleBitEccError = 0x1
nvmlEventTypeXidCriticalError = 0x8

# Structures -------------------------------------------------------------------------------------


class struct_c_nvmlDevice_t(Structure):
    """Opaque."""


class struct_c_nvmlEventSet_t(Structure):
    """Opaque."""


class struct_c_nvmlGpuInstance_t(Structure):
    """Opaque."""


class struct_c_nvmlComputeInstance_t(Structure):
    """Opaque."""


c_nvmlDevice_t = POINTER(struct_c_nvmlDevice_t)
c_nvmlEventSet_t = POINTER(struct_c_nvmlEventSet_t)
c_nvmlGpuInstance_t = POINTER(struct_c_nvmlGpuInstance_t)
c_nvmlComputeInstance_t = POINTER(struct_c_nvmlComputeInstance_t)


class nvmlPciInfo_t(Structure):
    _fields_ = [
        ("busIdLegacy", c_char * 16),
        ("domain", c_uint),
        ("bus", c_uint),
        ("device", c_uint),
        ("pciDeviceId", c_uint),
        ("pciSubSystemId", c_uint),
        ("busId", c_char * 32),
    ]


class c_nvmlMemory_t(Structure):
    _fields_ = [("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong)]


class c_nvmlEventData_t(Structure):
    _fields_ = [
        ("device", c_nvmlDevice_t),
        ("eventType", c_ulonglong),
        ("eventData", c_ulonglong),
        ("gpuInstanceId", c_uint),
        ("computeInstanceId", c_uint),
    ]


class c_nvmlGpuInstancePlacement_t(Structure):
    _fields_ = [("start", c_uint), ("size", c_uint)]


class c_nvmlGpuInstanceProfileInfo_t(Structure):
    _fields_ = [
        ("id", c_uint),
        ("isP2pSupported", c_uint),
        ("sliceCount", c_uint),
        ("instanceCount", c_uint),
        ("multiprocessorCount", c_uint),
        ("copyEngineCount", c_uint),
        ("decoderCount", c_uint),
        ("encoderCount", c_uint),
        ("jpegCount", c_uint),
        ("ofaCount", c_uint),
        ("memorySizeMB", c_ulonglong),
    ]


class c_nvmlGpuInstanceProfileInfo_v2_t(Structure):
    _fields_ = [
        ("version", c_uint),
        *c_nvmlGpuInstanceProfileInfo_t._fields_,
        ("name", c_char * 96),
    ]


class c_nvmlGpuInstanceInfo_t(Structure):
    _fields_ = [
        ("device", c_nvmlDevice_t),
        ("id", c_uint),
        ("profileId", c_uint),
        ("placement", c_nvmlGpuInstancePlacement_t),
    ]


class c_nvmlComputeInstancePlacement_t(Structure):
    _fields_ = [("start", c_uint), ("size", c_uint)]


class c_nvmlComputeInstanceProfileInfo_t(Structure):
    _fields_ = [
        ("id", c_uint),
        ("sliceCount", c_uint),
        ("instanceCount", c_uint),
        ("multiprocessorCount", c_uint),
        ("sharedCopyEngineCount", c_uint),
        ("sharedDecoderCount", c_uint),
        ("sharedEncoderCount", c_uint),
        ("sharedJpegCount", c_uint),
        ("sharedOfaCount", c_uint),
    ]


class c_nvmlComputeInstanceInfo_t(Structure):
    _fields_ = [
        ("device", c_nvmlDevice_t),
        ("gpuInstance", c_nvmlGpuInstance_t),
        ("id", c_uint),
        ("profileId", c_uint),
        ("placement", c_nvmlComputeInstancePlacement_t),
    ]


class c_nvmlValue_t(Union):
    _fields_ = [
        ("dVal", ctypes.c_double),
        ("uiVal", c_uint),
        ("ulVal", ctypes.c_ulong),
        ("ullVal", c_ulonglong),
        ("sllVal", ctypes.c_longlong),
        ("siVal", ctypes.c_int),
        ("usVal", ctypes.c_ushort),
    ]


class c_nvmlFieldValue_t(Structure):
    _fields_ = [
        ("fieldId", c_uint32),
        ("scopeId", c_uint32),
        ("timestamp", c_int64),
        ("latencyUsec", c_int64),
        ("valueType", c_uint),
        ("nvmlReturn", c_uint),
        ("value", c_nvmlValue_t),
    ]


# Errors -----------------------------------------------------------------------------------------


class NVMLError(Exception):
    """Made with a code, it is of the class of that code."""

    _classes: ClassVar[dict[int, type[NVMLError]]] = {}
    value: int

    def __new__(cls, value: int) -> NVMLError:  # noqa: PYI034 - it may be of a subclass
        made = Exception.__new__(cls._classes.get(value, cls) if cls is NVMLError else cls)
        made.value = value
        return made

    def __str__(self) -> str:
        texts = {
            NVML_ERROR_GPU_IS_LOST: "GPU is lost",
            NVML_ERROR_NOT_SUPPORTED: "Not Supported",
            NVML_ERROR_NOT_FOUND: "Not Found",
            NVML_ERROR_TIMEOUT: "Timeout",
            NVML_ERROR_RESET_REQUIRED: "GPU requires restart",
            NVML_ERROR_NO_PERMISSION: "Insufficient Permissions",
            NVML_ERROR_UNINITIALIZED: "Uninitialized",
            NVML_ERROR_DRIVER_NOT_LOADED: "Driver Not Loaded",
            NVML_ERROR_UNKNOWN: "Unknown Error",
        }
        return texts.get(self.value, f"NVML Error with code {self.value}")


def _define_errors() -> None:
    module = sys.modules[__name__]
    for name in [name for name in dir(module) if name.startswith("NVML_ERROR_")]:
        words = string.capwords(name.removeprefix("NVML_ERROR_"), "_").replace("_", "")
        value = getattr(module, name)

        def new(cls: type[NVMLError], *_: Any, value: int = value) -> NVMLError:
            return NVMLError.__new__(cls, value)

        made = type(f"NVMLError_{words}", (NVMLError,), {"__new__": new, "__module__": __name__})
        setattr(module, made.__name__, made)
        NVMLError._classes[value] = cast("type[NVMLError]", made)


_define_errors()


# The hardware -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProfileSpec:
    """An A100 with 40 GB has these."""

    number: int
    id: int
    name: str
    slices: int
    multiprocessors: int
    copy_engines: int
    decoders: int
    jpeg: int
    ofa: int
    memory: int
    count: int
    starts: tuple[int, ...]
    size: int


PROFILES = (
    ProfileSpec(0, 19, "MIG 1g.5gb", 1, 14, 1, 0, 0, 0, 4864, 7, (0, 1, 2, 3, 4, 5, 6), 1),
    ProfileSpec(1, 14, "MIG 2g.10gb", 2, 28, 2, 1, 0, 0, 9856, 3, (0, 2, 4), 2),
    ProfileSpec(2, 9, "MIG 3g.20gb", 3, 42, 3, 2, 0, 0, 19968, 2, (0, 4), 4),
    ProfileSpec(3, 5, "MIG 4g.20gb", 4, 56, 4, 2, 0, 0, 19968, 1, (0,), 4),
    ProfileSpec(4, 0, "MIG 7g.40gb", 7, 98, 7, 5, 1, 1, 40192, 1, (0,), 8),
    ProfileSpec(7, 20, "MIG 1g.5gb+me", 1, 14, 1, 1, 1, 1, 4864, 1, (0, 1, 2, 3, 4, 5, 6), 1),
    ProfileSpec(9, 15, "MIG 1g.10gb", 1, 14, 1, 1, 0, 0, 9856, 4, (0, 2, 4, 6), 2),
)
# Compute instances: the number by which one asks, its ID, its slices.
COMPUTE_PROFILES = ((0, 0, 1), (1, 1, 2), (2, 2, 3), (3, 3, 4), (4, 4, 7))


@dataclass
class FakeGpu:
    minor: int
    mig: bool = False
    mig_capable: bool = True
    lost: bool = False
    error: int = 0  # raised by whatever is asked
    temperature: int = 40
    uncorrected: int | None = 0
    remapped: tuple[int, int, int, int] = (0, 0, 0, 0)
    retirement_pending: int | None = None
    links: list[int] = field(default_factory=list)
    link_errors: int = 0
    recovery_action: int | None = 0
    events: bool = True
    # By number: profile's ID, start, and compute instances by number with their profile.
    instances: dict[int, tuple[int, int, dict[int, int]]] = field(default_factory=dict)

    @property
    def uuid(self) -> str:
        return f"GPU-00000000-0000-0000-0000-{self.minor:012d}"


class Machine:
    """GPUs, and what happens to them. With a file, instances outlive the process."""

    def __init__(self, *gpus: FakeGpu, path: Path | None = None) -> None:
        self.gpus = list(gpus)
        self.initialized = 0
        self.driver_loaded = True
        self.driver_version = "535.104.05"
        self.creations = 0
        self.fail_after: int | None = None  # crash: so many more calls that create
        self.busy = False
        self.hold = threading.Event()
        self.hold.set()
        self.forbidden = False
        self._path = path
        self._news = threading.Condition()
        self._events: list[tuple[int, int, int]] = []
        self.registered: set[int] = set()
        self.freed = threading.Event()
        if path is not None and path.exists():
            for gpu, instances in zip(self.gpus, json.loads(path.read_text()), strict=True):
                gpu.instances = {
                    int(n): (p, s, {int(c): q for c, q in parts.items()})
                    for n, (p, s, parts) in instances.items()
                }

    def save(self) -> None:
        if self._path is not None:
            temporary = self._path.with_suffix(".new")
            temporary.write_text(json.dumps([gpu.instances for gpu in self.gpus]))
            temporary.replace(self._path)

    def xid(self, minor: int, number: int, *, instance: int = 0xFFFFFFFF) -> None:
        """Have an XID happen."""
        with self._news:
            self._events.append((minor, number, instance))
            self._news.notify_all()

    def next_event(self, seconds: float) -> tuple[int, int, int]:
        with self._news:
            if not self._news.wait_for(lambda: bool(self._events), seconds):
                raise NVMLError(NVML_ERROR_TIMEOUT)
            return self._events.pop(0)

    def creating(self) -> None:
        if self.forbidden:
            raise NVMLError(NVML_ERROR_NO_PERMISSION)
        if self.fail_after is not None:
            if self.fail_after == 0:
                raise Killed
            self.fail_after -= 1
        self.creations += 1


class Killed(BaseException):
    """The process died here; the hardware has what was done before."""


machine = Machine()


# Handles ----------------------------------------------------------------------------------------

T = TypeVar("T")

# Numbers that stand for addresses: the GPU's minor, an instance in it, a compute instance in that.
_MIG, _DEVICE = 1 << 40, 1 << 20


def _pointer(kind: Any, number: int) -> Any:
    return ctypes.cast(ctypes.c_void_p(number), kind)


def _number(handle: Any) -> int:
    number = ctypes.cast(handle, ctypes.c_void_p).value
    if number is None:
        raise NVMLError(NVML_ERROR_INVALID_ARGUMENT)
    return number


def _ready() -> Machine:
    machine.hold.wait()
    if not machine.initialized:
        raise NVMLError(NVML_ERROR_UNINITIALIZED)
    return machine


def _gpu(handle: Any) -> FakeGpu:
    minor = (_number(handle) % _DEVICE) - 1
    gpu = next((gpu for gpu in _ready().gpus if gpu.minor == minor), None)
    if gpu is None:
        raise NVMLError(NVML_ERROR_INVALID_ARGUMENT)
    if gpu.lost:
        raise NVMLError(NVML_ERROR_GPU_IS_LOST)
    if gpu.error:
        raise NVMLError(gpu.error)
    return gpu


def _device(gpu: FakeGpu) -> Any:
    return _pointer(c_nvmlDevice_t, _DEVICE + gpu.minor + 1)


def _instance_handle(kind: Any, gpu: FakeGpu, instance: int, part: int = 0) -> Any:
    return _pointer(kind, _MIG + (part << 32) + (instance << 24) + gpu.minor + 1)


def _instance_of(handle: Any) -> tuple[FakeGpu, int, int]:
    number = _number(handle)
    if number < _MIG:
        raise NVMLError(NVML_ERROR_INVALID_ARGUMENT)
    gpu = _gpu(_pointer(c_nvmlDevice_t, _DEVICE + number % _DEVICE))
    instance, part = (number >> 24) & 0xFF, (number >> 32) & 0xFF
    if instance not in gpu.instances:
        raise NVMLError(NVML_ERROR_NOT_FOUND)
    return gpu, instance, part


def _of_id(profile: int) -> ProfileSpec:
    found = next((one for one in PROFILES if one.id == profile), None)
    if found is None:
        raise NVMLError(NVML_ERROR_INVALID_ARGUMENT)
    return found


def _supported(value: T | None) -> T:
    if value is None:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    return value


# Functions: those of the real module ------------------------------------------------------------


def nvmlInit() -> None:
    machine.hold.wait()
    if not machine.driver_loaded:
        raise NVMLError(NVML_ERROR_DRIVER_NOT_LOADED)
    machine.initialized += 1


def nvmlShutdown() -> None:
    _ready().initialized -= 1


def nvmlSystemGetDriverVersion() -> str:
    return _ready().driver_version


def nvmlSystemGetCudaDriverVersion() -> int:
    _ready()
    return 12080


def nvmlDeviceGetCount() -> int:
    return len(_ready().gpus)


def nvmlDeviceGetHandleByIndex(index: int) -> Any:
    gpus = _ready().gpus
    if not 0 <= index < len(gpus):
        raise NVMLError(NVML_ERROR_INVALID_ARGUMENT)
    _gpu(_device(gpus[index]))
    return _device(gpus[index])


def nvmlDeviceGetHandleByUUID(uuid: str) -> Any:
    for gpu in _ready().gpus:
        if gpu.uuid == uuid:
            _gpu(_device(gpu))
            return _device(gpu)
    raise NVMLError(NVML_ERROR_NOT_FOUND)


def nvmlDeviceGetName(handle: Any) -> str:
    _gpu(handle)
    return "NVIDIA A100-SXM4-40GB"


def nvmlDeviceGetBrand(handle: Any) -> int:
    _gpu(handle)
    return NVML_BRAND_NVIDIA


def nvmlDeviceGetArchitecture(device: Any) -> int:
    _gpu(device)
    return NVML_DEVICE_ARCH_AMPERE


def nvmlDeviceGetAddressingMode(device: Any) -> int:
    _gpu(device)
    raise NVMLError(NVML_ERROR_NOT_SUPPORTED)


def nvmlDeviceGetUUID(handle: Any) -> str:
    if _number(handle) >= _MIG:
        gpu, instance, part = _instance_of(handle)
        return f"MIG-{gpu.minor:08d}-0000-0000-{instance:04d}-{part:012d}"
    return _gpu(handle).uuid


def nvmlDeviceGetMinorNumber(handle: Any) -> int:
    return _gpu(handle).minor


def nvmlDeviceGetPciInfo(handle: Any) -> Any:
    return nvmlPciInfo_t(busId=f"00000000:{0x3B + _gpu(handle).minor:02X}:00.0".encode())


def nvmlDeviceGetMemoryInfo(handle: Any, version: Any = None) -> Any:
    _gpu(handle)
    return c_nvmlMemory_t(total=40960 * 1024 * 1024)


def nvmlDeviceGetCudaComputeCapability(handle: Any) -> tuple[int, int]:
    _gpu(handle)
    return (8, 0)


def nvmlDeviceGetNumGpuCores(device: Any) -> int:
    _gpu(device)
    return 6912


def nvmlDeviceGetTemperature(handle: Any, sensor: int) -> int:
    return _gpu(handle).temperature


def nvmlDeviceGetTemperatureThreshold(handle: Any, threshold: int) -> int:
    _gpu(handle)
    return {NVML_TEMPERATURE_THRESHOLD_SHUTDOWN: 92, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN: 89}[
        threshold
    ]


def nvmlDeviceGetTotalEccErrors(handle: Any, errorType: int, counterType: int) -> int:
    assert (errorType, counterType) == (NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC)
    return _supported(_gpu(handle).uncorrected)


def nvmlDeviceGetRemappedRows(device: Any) -> tuple[int, int, int, int]:
    return _gpu(device).remapped


def nvmlDeviceGetRetiredPagesPendingStatus(device: Any) -> int:
    return _supported(_gpu(device).retirement_pending)


def nvmlDeviceGetNvLinkState(device: Any, link: int) -> int:
    links = _gpu(device).links
    if link >= len(links):
        raise NVMLError(NVML_ERROR_INVALID_ARGUMENT if links else NVML_ERROR_NOT_SUPPORTED)
    return links[link]


def nvmlDeviceGetNvLinkErrorCounter(device: Any, link: int, counter: int) -> int:
    return _gpu(device).link_errors if link == 0 and counter == NVML_NVLINK_ERROR_DL_RECOVERY else 0


def nvmlDeviceGetFieldValues(handle: Any, fieldIds: Any) -> Any:
    gpu = _gpu(handle)
    values = (c_nvmlFieldValue_t * len(fieldIds))()
    for value, number in zip(values, fieldIds, strict=True):
        value.fieldId = number
        if number == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION and gpu.recovery_action is not None:
            value.value.uiVal = gpu.recovery_action
        else:
            value.nvmlReturn = NVML_ERROR_NOT_SUPPORTED
    return values


def nvmlDeviceGetMigMode(device: Any) -> list[int]:
    gpu = _gpu(device)
    if not gpu.mig_capable:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    return [int(gpu.mig), int(gpu.mig)]


def nvmlDeviceGetMaxMigDeviceCount(device: Any) -> int:
    return 7 if _gpu(device).mig_capable else 0


def nvmlDeviceGetGpuInstanceProfileInfo(device: Any, profile: int, version: int = 2) -> Any:
    _gpu(device)
    found = next((one for one in PROFILES if one.number == profile), None)
    if found is None:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    kinds: dict[int, Any] = {
        1: c_nvmlGpuInstanceProfileInfo_t,
        2: c_nvmlGpuInstanceProfileInfo_v2_t,
    }
    if version not in kinds:
        raise NVMLError(NVML_ERROR_FUNCTION_NOT_FOUND)
    info = kinds[version](
        id=found.id,
        sliceCount=found.slices,
        instanceCount=found.count,
        multiprocessorCount=found.multiprocessors,
        copyEngineCount=found.copy_engines,
        decoderCount=found.decoders,
        jpegCount=found.jpeg,
        ofaCount=found.ofa,
        memorySizeMB=found.memory,
    )
    if version == 2:
        info.name = found.name.encode()
    return info


def nvmlDeviceGetGpuInstancePossiblePlacements(
    device: Any,
    profileId: int,
    placementsRef: Any,
    countRef: Any,
) -> int:
    _gpu(device)
    profile = _of_id(profileId)
    if countRef._obj.value < len(profile.starts):
        raise NVMLError(NVML_ERROR_INSUFFICIENT_SIZE)
    for number, start in enumerate(profile.starts):
        placementsRef[number] = c_nvmlGpuInstancePlacement_t(start, profile.size)
    countRef._obj.value = len(profile.starts)
    return NVML_SUCCESS


def nvmlDeviceCreateGpuInstanceWithPlacement(device: Any, profileId: int, placement: Any) -> Any:
    gpu, profile, place = _gpu(device), _of_id(profileId), placement._obj
    if not gpu.mig:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    if (place.start not in profile.starts) or place.size != profile.size:
        raise NVMLError(NVML_ERROR_INVALID_ARGUMENT)
    taken = {n for p, s, _ in gpu.instances.values() for n in range(s, s + _of_id(p).size)}
    same = sum(p == profileId for p, _, _ in gpu.instances.values())
    if taken & set(range(place.start, place.start + place.size)) or same >= profile.count:
        raise NVMLError(NVML_ERROR_INSUFFICIENT_RESOURCES)
    machine.creating()
    number = next(n for n in range(1, 15) if n not in gpu.instances)
    gpu.instances[number] = (profileId, place.start, {})
    machine.save()
    return _instance_handle(c_nvmlGpuInstance_t, gpu, number)


def nvmlGpuInstanceDestroy(gpuInstance: Any) -> int:
    gpu, number, _ = _instance_of(gpuInstance)
    if gpu.instances[number][2] or machine.busy:
        raise NVMLError(NVML_ERROR_IN_USE)
    del gpu.instances[number]
    machine.save()
    return NVML_SUCCESS


def nvmlDeviceGetGpuInstances(
    device: Any,
    profileId: int,
    gpuInstancesRef: Any,
    countRef: Any,
) -> int:
    gpu = _gpu(device)
    if not gpu.mig:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    found = [number for number, (p, _, _) in sorted(gpu.instances.items()) if p == profileId]
    for index, number in enumerate(found):
        gpuInstancesRef[index] = _instance_handle(c_nvmlGpuInstance_t, gpu, number)
    countRef._obj.value = len(found)
    return NVML_SUCCESS


def nvmlDeviceGetGpuInstanceById(device: Any, gpuInstanceId: int) -> Any:
    gpu = _gpu(device)
    if gpuInstanceId not in gpu.instances:
        raise NVMLError(NVML_ERROR_NOT_FOUND)
    return _instance_handle(c_nvmlGpuInstance_t, gpu, gpuInstanceId)


def nvmlGpuInstanceGetInfo(gpuInstance: Any) -> Any:
    gpu, number, _ = _instance_of(gpuInstance)
    profile, start, _ = gpu.instances[number]
    place = c_nvmlGpuInstancePlacement_t(start, _of_id(profile).size)
    return c_nvmlGpuInstanceInfo_t(_device(gpu), number, profile, place)


def nvmlGpuInstanceGetComputeInstanceProfileInfo(
    device: Any,
    profile: int,
    engProfile: int,
    version: int = 2,
) -> Any:
    gpu, number, _ = _instance_of(device)
    slices = _of_id(gpu.instances[number][0]).slices
    found = next((one for one in COMPUTE_PROFILES if one[0] == profile), None)
    if found is None or found[2] > slices:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    assert (version, engProfile) == (1, NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
    return c_nvmlComputeInstanceProfileInfo_t(id=found[1], sliceCount=found[2], instanceCount=1)


def nvmlGpuInstanceCreateComputeInstance(gpuInstance: Any, profileId: int) -> Any:
    gpu, number, _ = _instance_of(gpuInstance)
    profile, _, parts = gpu.instances[number]
    sizes = {one[1]: one[2] for one in COMPUTE_PROFILES}
    if sum(sizes[q] for q in parts.values()) + sizes[profileId] > _of_id(profile).slices:
        raise NVMLError(NVML_ERROR_INSUFFICIENT_RESOURCES)
    machine.creating()
    part = next(n for n in range(7) if n not in parts)
    parts[part] = profileId
    machine.save()
    return _instance_handle(c_nvmlComputeInstance_t, gpu, number, part)


def nvmlComputeInstanceDestroy(computeInstance: Any) -> int:
    gpu, number, part = _instance_of(computeInstance)
    if machine.busy:
        raise NVMLError(NVML_ERROR_IN_USE)
    del gpu.instances[number][2][part]
    machine.save()
    return NVML_SUCCESS


def nvmlGpuInstanceGetComputeInstances(
    gpuInstance: Any,
    profileId: int,
    computeInstancesRef: Any,
    countRef: Any,
) -> int:
    gpu, number, _ = _instance_of(gpuInstance)
    found = [part for part, q in sorted(gpu.instances[number][2].items()) if q == profileId]
    for index, part in enumerate(found):
        computeInstancesRef[index] = _instance_handle(c_nvmlComputeInstance_t, gpu, number, part)
    countRef._obj.value = len(found)
    return NVML_SUCCESS


def nvmlComputeInstanceGetInfo(computeInstance: Any) -> Any:
    gpu, number, part = _instance_of(computeInstance)
    return c_nvmlComputeInstanceInfo_t(
        _device(gpu),
        _instance_handle(c_nvmlGpuInstance_t, gpu, number),
        part,
        gpu.instances[number][2][part],
    )


def nvmlDeviceGetMigDeviceHandleByIndex(device: Any, index: int) -> Any:
    gpu = _gpu(device)
    pairs = [(n, part) for n, (_, _, parts) in sorted(gpu.instances.items()) for part in parts]
    if index >= len(pairs):
        raise NVMLError(NVML_ERROR_NOT_FOUND)
    return _instance_handle(c_nvmlDevice_t, gpu, *pairs[index])


def nvmlDeviceGetGpuInstanceId(device: Any) -> int:
    return _instance_of(device)[1]


def nvmlDeviceGetComputeInstanceId(device: Any) -> int:
    return _instance_of(device)[2]


def nvmlEventSetCreate() -> Any:
    _ready()
    return _pointer(c_nvmlEventSet_t, 1)


def nvmlDeviceGetSupportedEventTypes(handle: Any) -> int:
    return nvmlEventTypeXidCriticalError if _gpu(handle).events else 0


def nvmlDeviceRegisterEvents(handle: Any, eventTypes: int, eventSet: Any) -> None:
    gpu = _gpu(handle)
    if not gpu.events:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    _number(eventSet)
    machine.registered.add(gpu.minor)


def nvmlEventSetWait_v2(eventSet: Any, timeoutms: int) -> Any:
    _number(eventSet)
    minor, number, instance = _ready().next_event(timeoutms / 1000)
    handle = _pointer(c_nvmlDevice_t, _DEVICE + minor + 1)
    return c_nvmlEventData_t(handle, nvmlEventTypeXidCriticalError, number, instance, 0xFFFFFFFF)


def nvmlEventSetFree(eventSet: Any) -> None:
    _ready().freed.set()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: value
    for name, value in dict(globals()).items()
    if name.startswith("nvml") and callable(value) and not isinstance(value, type)
}


def machine_from_environment() -> Machine:
    """Two GPUs, cut or whole, that outlive the process; for drivers under test."""
    state = os.environ.get("FAKE_NVML_STATE")
    mig = os.environ.get("FAKE_NVML_MIG") == "1"
    return Machine(FakeGpu(0, mig), FakeGpu(1, mig), path=Path(state) if state else None)
