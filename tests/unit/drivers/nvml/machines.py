"""What tests of the driver of NVIDIA GPUs share: machines, and the files that belong to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.unit.drivers.nvml import fake_nvml
from tests.unit.drivers.nvml.fake_nvml import FakeGpu, Machine


@contextmanager
def machine_of(*gpus: FakeGpu, initialized: bool = True) -> Iterator[Machine]:
    """A machine with these GPUs, behind the fake library."""
    before = fake_nvml.machine
    fake_nvml.machine = Machine(*gpus)
    fake_nvml.machine.initialized = int(initialized)
    try:
        yield fake_nvml.machine
    finally:
        fake_nvml.machine = before


def make_files(root: Path, *, gpus: int = 2) -> Path:
    """The device files and tables that the kernel driver makes, in plain files."""
    (root / "dev/nvidia-caps").mkdir(parents=True)
    for name in ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"):
        (root / "dev" / name).touch()
    table = []
    for minor in range(gpus):
        (root / f"dev/nvidia{minor}").touch()
        for instance in range(15):
            for number, key in enumerate((f"gi{instance}/access", f"gi{instance}/ci0/access")):
                capability = 1 + minor * 100 + instance * 2 + number
                table.append(f"gpu{minor}/{key} {capability}\n")
                (root / f"dev/nvidia-caps/nvidia-cap{capability}").touch()
        devices = root / "sys/devices/pci0000:3a/0000:3a:00.0" / f"0000:{0x3B + minor:02x}:00.0"
        devices.mkdir(parents=True)
        (devices / "numa_node").write_text(f"{minor}\n")
        links = root / "sys/bus/pci/devices"
        links.mkdir(parents=True, exist_ok=True)
        (links / devices.name).symlink_to(devices)
    (root / "proc/driver/nvidia-caps").mkdir(parents=True)
    (root / "proc/driver/nvidia-caps/mig-minors").write_text("config 1\n" + "".join(table))
    (root / "proc/devices").write_text("Character devices:\n195 nvidia\n237 nvidia-caps\n")
    return root
