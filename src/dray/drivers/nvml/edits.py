"""What a container gets with a GPU or a part of one.

Access is by device files alone: the GPU's own, those all GPUs share, and for a MIG instance the two
that stand for it. The variable that NVIDIA's runtime heeds says void, so that it adds nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dray.drivers.nvml.config import ContainerRules
from dray.drivers.nvml.gpus import Gpu, Instance
from dray.sdk import DeviceFailed, DeviceNode, Edits, Mount

__all__ = ["edits_for"]

# Files all GPUs share, and whether a container can do without.
_SHARED: Final = (
    ("/dev/nvidiactl", False),
    ("/dev/nvidia-uvm", True),
    ("/dev/nvidia-uvm-tools", True),
    ("/dev/nvidia-modeset", True),
)
_CAPABILITIES: Final = "/dev/nvidia-caps/nvidia-cap{}"


def edits_for(
    name: str, gpu: Gpu, instance: Instance | None, rules: ContainerRules, *, root: Path
) -> Edits:
    """The edits for one device. Raises DeviceFailed where a file of it is missing. Blocks."""
    suffix = re.sub(r"[^A-Z0-9]", "_", name.upper())
    told = {
        **rules.env,
        "NVIDIA_VISIBLE_DEVICES": "void",
        # Devices are numbered as they are plugged in, not by which seems fastest.
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        # Every device has a variable of its own, for a container may have several.
        f"NVIDIA_DEVICE_{suffix}": instance.uuid if instance else gpu.uuid,
    }
    return Edits(
        env=tuple(f"{key}={value}" for key, value in told.items()),
        device_nodes=tuple(_nodes(gpu, instance, root)),
        mounts=tuple(
            Mount(
                host_path=rule.host_path,
                container_path=rule.container_path or rule.host_path,
                options=rule.options,
            )
            for rule in rules.mounts
        ),
    )


def _nodes(gpu: Gpu, instance: Instance | None, root: Path) -> Iterator[DeviceNode]:
    for path, optional in ((f"/dev/nvidia{gpu.minor}", False), *_SHARED):
        if _exists(root, path):
            yield DeviceNode(path=path, permissions="rw")
        elif not optional:
            raise DeviceFailed(f"{path} is missing: is NVIDIA's kernel driver loaded?")
    if instance is not None:
        yield from _capabilities(gpu, instance, root)


def _capabilities(gpu: Gpu, instance: Instance, root: Path) -> Iterator[DeviceNode]:
    minors = _minors(root)
    place = f"gpu{gpu.minor}/gi{instance.gpu_instance}"
    for key in (f"{place}/access", f"{place}/ci{instance.compute_instance}/access"):
        if key not in minors:
            raise DeviceFailed(f"the kernel driver knows no capability {key}")
        path = _CAPABILITIES.format(minors[key])
        if _exists(root, path):
            yield DeviceNode(path=path, permissions="r")
            continue
        # The file may be made later, by a tool of NVIDIA's; runtimes can make it themselves.
        major = _major(root)
        if major is None:
            raise DeviceFailed(f"{path} is missing, and /proc/devices has no nvidia-caps")
        yield DeviceNode(path=path, type="c", major=major, minor=minors[key], permissions="r")


def _exists(root: Path, path: str) -> bool:
    return os.path.exists(f"{str(root).rstrip('/')}{path}")


def _minors(root: Path) -> dict[str, int]:
    """The numbers of capabilities by their names."""
    text = _read(root, "/proc/driver/nvidia-caps/mig-minors")
    return {name: int(number) for name, number in re.findall(r"^(\S+) (\d+)$", text, re.MULTILINE)}


def _major(root: Path) -> int | None:
    found = re.search(r"^\s*(\d+) nvidia-caps$", _read(root, "/proc/devices"), re.MULTILINE)
    return int(found[1]) if found else None


def _read(root: Path, path: str) -> str:
    try:
        return Path(f"{str(root).rstrip('/')}{path}").read_text(errors="replace")
    except OSError as error:
        raise DeviceFailed(f"{path} cannot be read: {error.strerror}") from error
