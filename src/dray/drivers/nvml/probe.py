"""One look at a GPU: what NVML says about its state. Blocks, and judges nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dray.drivers.nvml.library import NVML, is_lost, optional

__all__ = ["Reading", "read_state"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a GPU said. None is what this GPU does not tell."""

    lost: str = ""  # why it does not answer
    unreadable: str = ""  # what else went wrong
    temperature: int | None = None
    slowdown_at: int | None = None
    shutdown_at: int | None = None
    uncorrected_errors: int | None = None  # since the last reset
    remap_pending: bool = False
    remap_failed: bool = False
    retirement_pending: bool = False
    links_up: int | None = None
    link_errors: int | None = None
    recovery_action: int | None = None


def read_state(nvml: NVML, uuid: str) -> Reading:
    """Look at a GPU now; it raises nothing of NVML's."""
    try:
        return _read(nvml, nvml.nvmlDeviceGetHandleByUUID(uuid))
    except nvml.NVMLError as error:
        gone = error.value in (nvml.NVML_ERROR_NOT_FOUND, nvml.NVML_ERROR_GPU_NOT_FOUND)
        if is_lost(nvml, error) or gone:
            return Reading(lost=str(error))
        return Reading(unreadable=str(error))


def _read(nvml: NVML, handle: Any) -> Reading:
    threshold = "nvmlDeviceGetTemperatureThreshold"
    remapped = optional(nvml, "nvmlDeviceGetRemappedRows", handle)
    links_up, link_errors = _links(nvml, handle)
    return Reading(
        temperature=optional(nvml, "nvmlDeviceGetTemperature", handle, nvml.NVML_TEMPERATURE_GPU),
        slowdown_at=optional(nvml, threshold, handle, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN),
        shutdown_at=optional(nvml, threshold, handle, nvml.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN),
        uncorrected_errors=optional(
            nvml,
            "nvmlDeviceGetTotalEccErrors",
            handle,
            nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
            nvml.NVML_VOLATILE_ECC,
        ),
        remap_pending=bool(remapped and remapped[2]),
        remap_failed=bool(remapped and remapped[3]),
        retirement_pending=bool(optional(nvml, "nvmlDeviceGetRetiredPagesPendingStatus", handle)),
        links_up=links_up,
        link_errors=link_errors,
        recovery_action=_recovery_action(nvml, handle),
    )


def _links(nvml: NVML, handle: Any) -> tuple[int | None, int | None]:
    """How many links are up, and the errors of all; None for GPUs without links."""
    up = errors = 0
    for link in range(nvml.NVML_NVLINK_MAX_LINKS):
        state = optional(nvml, "nvmlDeviceGetNvLinkState", handle, link)
        if state is None:
            # Links are numbered without gaps.
            return (up, errors) if link else (None, None)
        if not state:
            continue
        up += 1
        for counter in (nvml.NVML_NVLINK_ERROR_DL_RECOVERY, nvml.NVML_NVLINK_ERROR_DL_CRC_DATA):
            errors += optional(nvml, "nvmlDeviceGetNvLinkErrorCounter", handle, link, counter) or 0
    return up, errors


def _recovery_action(nvml: NVML, handle: Any) -> int | None:
    """What the kernel driver wants done with the GPU; 0 is nothing."""
    field = getattr(nvml, "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION", None)
    if field is None:
        return None
    values = optional(nvml, "nvmlDeviceGetFieldValues", handle, [field])
    if values is None or values[0].nvmlReturn != nvml.NVML_SUCCESS:
        return None
    return int(values[0].value.uiVal)
