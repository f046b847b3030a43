"""The machine a node stands for: what it has and what it is, read once from the operating system.

Nothing here fails: what cannot be read is empty or zero, and a simulated node is told everything.
Upstream counterpart: pkg/kubelet/cadvisor and the setters of pkg/kubelet/nodestatus.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["SIMULATED", "Machine", "read_machine"]

# As Go calls them, and with Go the labels of nodes.
_ARCHITECTURES: Final[Mapping[str, str]] = {
    "x86_64": "amd64",
    "i386": "386",
    "i686": "386",
    "aarch64": "arm64",
    "armv7l": "arm",
    "armv6l": "arm",
}

# An address set aside for documentation. Nothing is sent: choosing a route tells our own address.
_SOMEWHERE: Final = ("192.0.2.1", 9)


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine, as a node's status describes it."""

    hostname: str = ""
    addresses: tuple[str, ...] = ()
    cpu_count: int = 1
    memory_bytes: int = 0
    storage_bytes: int = 0
    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""
    kernel_version: str = ""
    os_image: str = ""
    operating_system: str = "linux"
    architecture: str = "amd64"


# What a simulated node stands for: a machine with eight large GPUs, and room for what pods of such
# ask for besides.
SIMULATED: Final = Machine(
    cpu_count=96,
    memory_bytes=1024**4,
    storage_bytes=4 * 1024**4,
    os_image="simulated",
    kernel_version="simulated",
)


def read_machine(storage: Path = Path("/"), *, root: Path = Path("/")) -> Machine:
    """The machine we run on. `storage` has the files of pods, `root` those of the system."""
    machine_id = _read(root / "etc/machine-id")
    system = os.uname()
    return Machine(
        hostname=system.nodename.lower(),
        addresses=(_own_address(),),
        cpu_count=len(os.sched_getaffinity(0)),
        memory_bytes=_memory_bytes(_read(root / "proc/meminfo")),
        storage_bytes=_storage_bytes(storage),
        machine_id=machine_id,
        # Readable by root alone, and not there on every machine.
        system_uuid=_read(root / "sys/class/dmi/id/product_uuid") or machine_id,
        boot_id=_read(root / "proc/sys/kernel/random/boot_id"),
        kernel_version=system.release,
        os_image=_os_image(_read(root / "etc/os-release")),
        operating_system=system.sysname.lower(),
        architecture=_ARCHITECTURES.get(system.machine, system.machine),
    )


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _memory_bytes(meminfo: str) -> int:
    for line in meminfo.splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal":
            with suppress(ValueError, IndexError):
                return int(value.split()[0]) * 1024
    return 0


def _storage_bytes(path: Path) -> int:
    try:
        return shutil.disk_usage(path).total
    except OSError:
        return 0


def _os_image(release: str) -> str:
    for line in release.splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip().strip("\"'")
    return ""


def _own_address() -> str:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(_SOMEWHERE)
            address: str = probe.getsockname()[0]
            return address
    except OSError:
        return "127.0.0.1"
