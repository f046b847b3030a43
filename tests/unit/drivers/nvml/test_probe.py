"""One look at a GPU."""

from __future__ import annotations

from dray.drivers.nvml.probe import Reading, read_state
from tests.unit.drivers.nvml import fake_nvml
from tests.unit.drivers.nvml.fake_nvml import FakeGpu
from tests.unit.drivers.nvml.machines import machine_of


def look(gpu: FakeGpu) -> Reading:
    with machine_of(gpu):
        return read_state(fake_nvml, gpu.uuid)


def test_what_a_gpu_tells_is_read() -> None:
    gpu = FakeGpu(0, temperature=90, uncorrected=3, remapped=(0, 1, 1, 0), links=[1, 0, 1])
    gpu.link_errors, gpu.recovery_action = 5, 1
    assert look(gpu) == Reading(
        temperature=90,
        slowdown_at=89,
        shutdown_at=92,
        uncorrected_errors=3,
        remap_pending=True,
        links_up=2,
        link_errors=5,
        recovery_action=1,
    )


def test_what_a_gpu_does_not_tell_is_none() -> None:
    reading = look(FakeGpu(0, uncorrected=None, recovery_action=None))
    assert reading.uncorrected_errors is None
    assert reading.links_up is None
    assert reading.recovery_action is None


def test_a_lost_gpu_and_an_unreadable_one_are_two_things() -> None:
    assert look(FakeGpu(0, lost=True)) == Reading(lost="GPU is lost")
    assert look(FakeGpu(0, error=fake_nvml.NVML_ERROR_UNKNOWN)) == Reading(
        unreadable="Unknown Error"
    )
    with machine_of():
        assert read_state(fake_nvml, "GPU-gone") == Reading(lost="Not Found")
