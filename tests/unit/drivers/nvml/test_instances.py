"""MIG instances are made and undone, also when that was begun before."""

from __future__ import annotations

import pytest

from dray.drivers.nvml.gpus import Gpu, Partition, read_gpus
from dray.drivers.nvml.instances import destroy_instance, find_instance, make_instance
from dray.sdk import DeviceFailed, PermanentError, TransientError
from tests.unit.drivers.nvml import fake_nvml
from tests.unit.drivers.nvml.fake_nvml import FakeGpu, Killed
from tests.unit.drivers.nvml.machines import machine_of


def seen(name: str = "2g.10gb", start: int = 2) -> tuple[Gpu, Partition]:
    (gpu, *_), _ = read_gpus(fake_nvml)
    found = next(p for p in gpu.partitions if (p.profile.name, p.start) == (name, start))
    return gpu, found


def undo(gpu: Gpu, partition: Partition) -> None:
    destroy_instance(fake_nvml, gpu.uuid, partition.profile.id, partition.start)


def test_an_instance_is_made_found_and_undone() -> None:
    with machine_of(FakeGpu(0, mig=True)) as machine:
        gpu, partition = seen()
        place = (gpu.uuid, partition.profile.id, partition.start)
        assert not find_instance(fake_nvml, *place)
        made = make_instance(fake_nvml, gpu, partition)
        assert find_instance(fake_nvml, *place)
        assert machine.gpus[0].instances == {made.gpu_instance: (14, 2, {0: 1})}
        assert make_instance(fake_nvml, gpu, partition) == made
        undo(gpu, partition)
        assert machine.gpus[0].instances == {}
        undo(gpu, partition)


@pytest.mark.parametrize("calls", [0, 1])
def test_killed_between_any_two_calls_the_next_attempt_completes_or_undoes_it(calls: int) -> None:
    for finish in (True, False):
        with machine_of(FakeGpu(0, mig=True)) as machine:
            gpu, partition = seen()
            machine.fail_after = calls
            with pytest.raises(Killed):
                make_instance(fake_nvml, gpu, partition)
            machine.fail_after = None
            if finish:
                assert make_instance(fake_nvml, gpu, partition).uuid.startswith("MIG-")
                assert machine.creations == 2
            undo(gpu, partition)
            assert machine.gpus[0].instances == {}


def test_a_place_that_is_taken_may_be_free_later() -> None:
    taken = {1: (9, 0, {0: 2})}
    rule = r"making MIG instance 2g\.10gb at 2 of GPU"
    with (
        machine_of(FakeGpu(0, mig=True, instances=taken)),
        pytest.raises(TransientError, match=rule),
    ):
        make_instance(fake_nvml, *seen())


def test_an_instance_in_use_is_undone_later() -> None:
    with machine_of(FakeGpu(0, mig=True)) as machine:
        gpu, partition = seen()
        make_instance(fake_nvml, gpu, partition)
        machine.busy = True
        with pytest.raises(TransientError, match="undoing the MIG instance at 2"):
            undo(gpu, partition)
        machine.busy = False
        undo(gpu, partition)
        assert machine.gpus[0].instances == {}


def test_who_may_not_make_instances_is_told_so_for_good() -> None:
    with machine_of(FakeGpu(0, mig=True)) as machine:
        machine.forbidden = True
        with pytest.raises(PermanentError, match="Insufficient Permissions"):
            make_instance(fake_nvml, *seen())


def test_a_lost_gpu_has_failed_and_one_that_is_gone_has_nothing_to_undo() -> None:
    with machine_of(FakeGpu(0, mig=True)) as machine:
        gpu, partition = seen()
        machine.gpus[0].lost = True
        with pytest.raises(DeviceFailed):
            make_instance(fake_nvml, gpu, partition)
        with pytest.raises(DeviceFailed):
            undo(gpu, partition)
        machine.gpus.clear()
        undo(gpu, partition)


def test_without_mig_there_is_nothing_to_undo() -> None:
    with machine_of(FakeGpu(0, mig=True)) as machine:
        gpu, partition = seen()
        machine.gpus[0].mig = False
        undo(gpu, partition)
