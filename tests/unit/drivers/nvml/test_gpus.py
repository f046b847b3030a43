"""What is read of GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dray.drivers.nvml.gpus import pci_address, read_gpus, version_text
from tests.unit.drivers.nvml import fake_nvml
from tests.unit.drivers.nvml.fake_nvml import FakeGpu
from tests.unit.drivers.nvml.machines import machine_of, make_files


def test_a_gpu_is_read_whole(tmp_path: Path) -> None:
    with machine_of(FakeGpu(0), FakeGpu(1)):
        (gpu, other), silent = read_gpus(fake_nvml, root=make_files(tmp_path))
    assert silent == {}
    assert (gpu.name, gpu.minor, gpu.index) == ("gpu-0", 0, 0)
    assert gpu.uuid.startswith("GPU-")
    assert (gpu.brand, gpu.architecture) == ("Nvidia", "Ampere")
    assert (gpu.driver_version, gpu.cuda_driver_version) == ("535.104.5", "12.8.0")
    assert gpu.compute_capability == "8.0.0"
    assert (gpu.pci_address, gpu.pcie_root) == ("0000:3b:00.0", "pci0000:3a")
    assert (gpu.numa_node, other.numa_node) == (0, 1)
    assert gpu.memory == 40 * 2**30
    assert (gpu.mig_enabled, gpu.partitions, gpu.instances) == (False, (), ())


def test_what_a_machine_does_not_tell_is_left_open(tmp_path: Path) -> None:
    with machine_of(FakeGpu(0, mig_capable=False)):
        (gpu,), _ = read_gpus(fake_nvml, root=tmp_path)
    assert (gpu.pcie_root, gpu.numa_node, gpu.mig_enabled) == ("", None, False)


def test_the_parts_a_gpu_can_be_cut_into_and_those_it_is_cut_into_are_known() -> None:
    with machine_of(FakeGpu(0, mig=True, instances={3: (9, 4, {0: 2}), 5: (19, 0, {})})):
        (gpu,), _ = read_gpus(fake_nvml)
    assert len(gpu.partitions) == 7 + 3 + 2 + 1 + 1 + 7 + 4
    names = {partition.profile.name for partition in gpu.partitions}
    assert names == {
        *("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb", "1g.5gb+me", "1g.10gb"),
    }
    # An instance without a compute instance is no device yet.
    (instance,) = gpu.instances
    assert instance.partition.profile.name == "3g.20gb"
    assert (instance.partition.start, instance.gpu_instance) == (4, 3)
    assert instance.uuid.startswith("MIG-")


def test_a_library_without_names_of_profiles_has_them_worked_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = fake_nvml.nvmlDeviceGetGpuInstanceProfileInfo

    def old(device: object, profile: int, version: int = 2) -> object:
        if version == 2:
            raise fake_nvml.NVMLError(fake_nvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        return real(device, profile, version)

    monkeypatch.setattr(fake_nvml, "nvmlDeviceGetGpuInstanceProfileInfo", old)
    with machine_of(FakeGpu(0, mig=True)):
        (gpu,), _ = read_gpus(fake_nvml)
    names = {partition.profile.name for partition in gpu.partitions}
    assert {"1g.5gb", "2g.10gb", "1g.5gb+me", "1g.10gb"} <= names


def test_a_gpu_that_does_not_answer_does_not_hide_the_others() -> None:
    with machine_of(FakeGpu(0, lost=True), FakeGpu(1)):
        gpus, silent = read_gpus(fake_nvml)
    assert [gpu.minor for gpu in gpus] == [1]
    assert silent == {0: "GPU is lost"}


@pytest.mark.parametrize(
    ("text", "version"),
    [("535.104.05", "535.104.5"), ("550.54", "550.54.0"), ("", "0.0.0"), ("13", "13.0.0")],
)
def test_versions_become_versions(text: str, version: str) -> None:
    assert version_text(text) == version


def test_addresses_are_written_as_the_kernel_does() -> None:
    assert pci_address("00000000:3B:00.0") == "0000:3b:00.0"
    assert pci_address("00010000:3B:00.0") == "10000:3b:00.0"
