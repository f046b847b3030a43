"""What containers get with GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dray.api.cdi import validate_edits
from dray.drivers.nvml.config import ContainerRules, MountRule
from dray.drivers.nvml.edits import edits_for
from dray.drivers.nvml.gpus import Gpu, read_gpus
from dray.sdk import DeviceFailed, DeviceNode, Mount
from tests.unit.drivers.nvml import fake_nvml
from tests.unit.drivers.nvml.fake_nvml import FakeGpu
from tests.unit.drivers.nvml.machines import machine_of, make_files


def gpu(fake: FakeGpu) -> Gpu:
    with machine_of(fake):
        return read_gpus(fake_nvml)[0][0]


def test_a_gpu_is_its_file_and_those_all_share(tmp_path: Path) -> None:
    found = gpu(FakeGpu(1))
    edits = edits_for("gpu-1", found, None, ContainerRules(), root=make_files(tmp_path))
    assert not validate_edits(edits)
    assert [node.path for node in edits.device_nodes] == [
        "/dev/nvidia1",
        "/dev/nvidiactl",
        "/dev/nvidia-uvm",
        "/dev/nvidia-uvm-tools",
    ]
    assert edits.env == (
        "NVIDIA_VISIBLE_DEVICES=void",
        "CUDA_DEVICE_ORDER=PCI_BUS_ID",
        f"NVIDIA_DEVICE_GPU_1={found.uuid}",
    )


def test_an_instance_adds_the_files_that_stand_for_it(tmp_path: Path) -> None:
    found = gpu(FakeGpu(0, mig=True, instances={3: (9, 4, {0: 2})}))
    root = make_files(tmp_path)
    (instance,) = found.instances
    edits = edits_for("part", found, instance, ContainerRules(), root=root)
    assert [node.path for node in edits.device_nodes][-2:] == [
        "/dev/nvidia-caps/nvidia-cap7",
        "/dev/nvidia-caps/nvidia-cap8",
    ]
    assert edits.env[-1] == f"NVIDIA_DEVICE_PART={instance.uuid}"
    # A file that is not made yet is described, so that a runtime can make it.
    (root / "dev/nvidia-caps/nvidia-cap8").unlink()
    edits = edits_for("part", found, instance, ContainerRules(), root=root)
    assert edits.device_nodes[-1] == DeviceNode(
        path="/dev/nvidia-caps/nvidia-cap8", type="c", major=237, minor=8, permissions="r"
    )


def test_what_the_configuration_says_is_added_but_void_stays_void(tmp_path: Path) -> None:
    rules = ContainerRules(
        env={"A": "1", "NVIDIA_VISIBLE_DEVICES": "all"},
        mounts=(MountRule(host_path="/lib/libcuda.so", options=("ro",)),),
    )
    edits = edits_for("gpu-0", gpu(FakeGpu(0)), None, rules, root=make_files(tmp_path))
    assert "A=1" in edits.env
    assert "NVIDIA_VISIBLE_DEVICES=void" in edits.env
    assert "NVIDIA_VISIBLE_DEVICES=all" not in edits.env
    assert edits.mounts == (
        Mount(host_path="/lib/libcuda.so", container_path="/lib/libcuda.so", options=("ro",)),
    )


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    root = make_files(tmp_path)
    (root / "dev/nvidia0").unlink()
    with pytest.raises(DeviceFailed, match="/dev/nvidia0 is missing"):
        edits_for("gpu-0", gpu(FakeGpu(0)), None, ContainerRules(), root=root)


def test_a_capability_that_nobody_knows_is_named(tmp_path: Path) -> None:
    found = gpu(FakeGpu(0, mig=True, instances={3: (9, 4, {0: 2})}))
    root = make_files(tmp_path)
    (root / "proc/driver/nvidia-caps/mig-minors").write_text("")
    with pytest.raises(DeviceFailed, match="no capability gpu0/gi3/access"):
        edits_for("part", found, found.instances[0], ContainerRules(), root=root)
    (root / "proc/driver/nvidia-caps/mig-minors").unlink()
    with pytest.raises(DeviceFailed, match="mig-minors cannot be read"):
        edits_for("part", found, found.instances[0], ContainerRules(), root=root)
