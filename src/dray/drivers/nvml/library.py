"""NVIDIA's management library, loaded when it is needed, and its errors in words.

The library is nvidia-ml-py's module `pynvml`. Nothing else of it is imported anywhere, so that a
machine without it can load the driver and be told what is missing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from dray.sdk import ConfigurationError, DeviceFailed, PermanentError, TransientError

__all__ = ["NVML", "close_library", "is_lost", "load_library", "open_library", "optional", "said"]

# The module has no annotations; whoever calls it names what is returned.
NVML: TypeAlias = Any

MODULE_NAME: Final = "pynvml"


def load_library() -> NVML:
    """The module. Raises ConfigurationError where it is not installed."""
    try:
        return importlib.import_module(MODULE_NAME)
    except ImportError as error:
        raise ConfigurationError(
            "NVIDIA GPUs need the Python package nvidia-ml-py: "
            "pip install '.[nvml]' in a checkout of dray"
        ) from error


def open_library(nvml: NVML) -> None:
    """Start the library. Raises TransientError: drivers of the kernel may be loaded later."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise TransientError(f"NVML cannot be started: {error}") from error


def close_library(nvml: NVML) -> None:
    """End it; what cannot be ended ends with the process."""
    try:
        nvml.nvmlShutdown()
    except nvml.NVMLError:
        return


def is_lost(nvml: NVML, error: Exception) -> bool:
    """Whether the GPU does not answer any more."""
    return getattr(error, "value", None) in (
        nvml.NVML_ERROR_GPU_IS_LOST,
        nvml.NVML_ERROR_RESET_REQUIRED,
    )


def said(nvml: NVML, error: Exception, what: str) -> Exception:
    """The SDK's error for one of the library, raised while doing something."""
    message = f"{what}: {error}"
    value = getattr(error, "value", None)
    if is_lost(nvml, error):
        return DeviceFailed(message)
    if value in (nvml.NVML_ERROR_NO_PERMISSION, nvml.NVML_ERROR_NOT_SUPPORTED):
        return PermanentError(message)
    return TransientError(message)


def optional(nvml: NVML, function: str, *arguments: Any) -> Any:
    """What a function returns, or None where this GPU, or this library, has no such thing."""
    call: Callable[..., Any] | None = getattr(nvml, function, None)
    if call is None:
        return None
    try:
        return call(*arguments)
    except nvml.NVMLError as error:
        if error.value in (
            nvml.NVML_ERROR_NOT_SUPPORTED,
            nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
            nvml.NVML_ERROR_INVALID_ARGUMENT,
            nvml.NVML_ERROR_NO_DATA,
            nvml.NVML_ERROR_NO_PERMISSION,
        ):
            return None
        raise
