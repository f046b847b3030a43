"""Makes MIG instances of GPUs, and undoes them. Everything here blocks.

Both can be repeated: what is there already is taken as it is, and what is gone is gone. So a crash
between any two calls leaves nothing that the next attempt does not find by its place: a GPU has one
instance in one place.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from dray.drivers.nvml.gpus import Gpu, Instance, Partition
from dray.drivers.nvml.library import NVML, said

__all__ = ["destroy_instance", "find_instance", "make_instance"]

_INSTANCES_MAX: Final = 32


def find_instance(nvml: NVML, gpu_uuid: str, profile: int, start: int) -> bool:
    """Whether the GPU has an instance of this profile at this place. Raises the SDK's errors."""
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(gpu_uuid)
        return _found(nvml, handle, profile, start) is not None
    except nvml.NVMLError as error:
        raise said(nvml, error, f"looking for MIG instances of GPU {gpu_uuid}") from error


def make_instance(nvml: NVML, gpu: Gpu, partition: Partition) -> Instance:
    """The instance in this place, made if need be. Raises the SDK's errors."""
    profile = partition.profile
    what = f"making MIG instance {profile.name} at {partition.start} of GPU {gpu.uuid}"
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
        instance = _found(nvml, handle, profile.id, partition.start)
        if instance is None:
            place = nvml.c_nvmlGpuInstancePlacement_t(partition.start, partition.size)
            instance = nvml.nvmlDeviceCreateGpuInstanceWithPlacement(
                handle, profile.id, ctypes.byref(place)
            )
        gpu_instance = nvml.nvmlGpuInstanceGetInfo(instance).id
        compute_instance = _compute_instance(nvml, instance, profile.slices)
        uuid = _mig_uuid(nvml, handle, gpu_instance, compute_instance)
    except nvml.NVMLError as error:
        raise said(nvml, error, what) from error
    return Instance(partition, uuid, gpu_instance, compute_instance)


def destroy_instance(nvml: NVML, gpu_uuid: str, profile: int, start: int) -> None:
    """Undo the instance in this place, if it is there. Raises the SDK's errors."""
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(gpu_uuid)
    except nvml.NVMLError as error:
        if error.value in (nvml.NVML_ERROR_NOT_FOUND, nvml.NVML_ERROR_INVALID_ARGUMENT):
            # Whatever it had is gone with the GPU.
            return
        raise said(nvml, error, f"looking for GPU {gpu_uuid}") from error
    try:
        instance = _found(nvml, handle, profile, start)
        if instance is None:
            return
        for slices in range(nvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
            for part in _compute_instances(nvml, instance, slices):
                nvml.nvmlComputeInstanceDestroy(part)
        nvml.nvmlGpuInstanceDestroy(instance)
    except nvml.NVMLError as error:
        if error.value == nvml.NVML_ERROR_NOT_FOUND:
            return
        what = f"undoing the MIG instance at {start} of GPU {gpu_uuid}"
        raise said(nvml, error, what) from error


def _found(nvml: NVML, handle: Any, profile: int, start: int) -> Any:
    """The handle of the instance in a place, or None."""
    count = ctypes.c_uint(_INSTANCES_MAX)
    handles = (nvml.c_nvmlGpuInstance_t * _INSTANCES_MAX)()
    try:
        nvml.nvmlDeviceGetGpuInstances(handle, profile, handles, ctypes.byref(count))
    except nvml.NVMLError as error:
        if error.value == nvml.NVML_ERROR_NOT_SUPPORTED:
            # MIG is off: there are none.
            return None
        raise
    for one in handles[: min(count.value, _INSTANCES_MAX)]:
        if nvml.nvmlGpuInstanceGetInfo(one).placement.start == start:
            return one
    return None


def _compute_instance(nvml: NVML, instance: Any, slices: int) -> int:
    """The number of the compute instance that has all of a GPU instance, made if need be."""
    for number in range(nvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
        info = _compute_profile(nvml, instance, number)
        if info is None or info.sliceCount != slices:
            continue
        for part in _handles(nvml, instance, info.id):
            return int(nvml.nvmlComputeInstanceGetInfo(part).id)
        part = nvml.nvmlGpuInstanceCreateComputeInstance(instance, info.id)
        return int(nvml.nvmlComputeInstanceGetInfo(part).id)
    raise nvml.NVMLError(nvml.NVML_ERROR_NOT_SUPPORTED)


def _compute_profile(nvml: NVML, instance: Any, number: int) -> Any:
    shared = nvml.NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED
    try:
        # The first version: all drivers with MIG have it, and the name is not needed.
        return nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, number, shared, 1)
    except nvml.NVMLError as error:
        if error.value in (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_INVALID_ARGUMENT):
            return None
        raise


def _compute_instances(nvml: NVML, instance: Any, number: int) -> list[Any]:
    info = _compute_profile(nvml, instance, number)
    return [] if info is None else _handles(nvml, instance, info.id)


def _handles(nvml: NVML, instance: Any, profile: int) -> list[Any]:
    count = ctypes.c_uint(_INSTANCES_MAX)
    handles = (nvml.c_nvmlComputeInstance_t * _INSTANCES_MAX)()
    nvml.nvmlGpuInstanceGetComputeInstances(instance, profile, handles, ctypes.byref(count))
    return list(handles[: min(count.value, _INSTANCES_MAX)])


def _mig_uuid(nvml: NVML, handle: Any, gpu_instance: int, compute_instance: int) -> str:
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            mig = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            pair = (nvml.nvmlDeviceGetGpuInstanceId(mig), nvml.nvmlDeviceGetComputeInstanceId(mig))
            if pair == (gpu_instance, compute_instance):
                return str(nvml.nvmlDeviceGetUUID(mig))
        except nvml.NVMLError as error:
            if error.value not in (nvml.NVML_ERROR_NOT_FOUND, nvml.NVML_ERROR_INVALID_ARGUMENT):
                raise
    # It was made a moment ago: somebody else undoes instances.
    raise nvml.NVMLError(nvml.NVML_ERROR_NOT_FOUND)
