"""A process dies at every point of its work, and the next one makes good what it left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.api.cdi import decode_spec
from dray.api.resource import ResourceClaim
from dray.sdk import ClaimedDevice, Edits, PreparedDevice
from dray.sdk._failures import ClaimFailure
from dray.sdk._preparation import Preparation
from dray.sdk._steps import Step
from tests.unit.sdk.drivers import (
    Fuse,
    Gpus,
    Machine,
    claim,
    devices,
    prepared,
    result,
    short_directory,
    unprepared,
)


def pair(uid: str = "uid-1") -> ResourceClaim:
    return claim(uid, result("gpu-0"), result("gpu-1"))


def check(machine: Machine, process: Preparation) -> None:
    """What must hold whenever nobody is at work: entries, files and hardware say the same."""
    ready = [entry for entry in process.entries() if entry.phase.value == "Committed"]
    assert ready == list(process.entries()), "nothing is left half done"
    held = {device.device: entry.uid for entry in ready for device in entry.devices}
    assert len(held) == sum(len(entry.devices) for entry in ready), "a device is held twice"
    assert machine.driver.held == held
    names = [f"k8s.gpu.example.com-claim_{entry.uid}.json" for entry in ready]
    assert machine.cdi_files() == sorted(names)
    for entry in ready:
        path = machine.root / "cdi" / f"k8s.gpu.example.com-claim_{entry.uid}.json"
        spec = decode_spec(path.read_bytes())
        said = [f"{spec.kind}={device.name}" for device in spec.devices]
        assert said == [name for device in entry.devices for name in device.cdi_devices]


def test_all_steps_of_a_claims_life_are_passed_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        fuse = Fuse()
        process = Machine(tmp_path, pair()).start(fuse)
        await prepared(process, pair())
        await unprepared(process, pair())
        assert fuse.steps == [
            Step.INTENT_RECORDED,
            Step.DEVICE_PREPARED,
            Step.DEVICE_PREPARED,
            Step.CDI_WRITTEN,
            Step.COMMITTED,
            Step.COMMIT_WITHDRAWN,
            Step.CDI_REMOVED,
            Step.DEVICE_UNPREPARED,
            Step.DEVICE_UNPREPARED,
            Step.ENTRY_REMOVED,
        ]

    asyncio.run(scenario())


@pytest.mark.parametrize("reboot", [False, True], ids=["", "reboot"])
@pytest.mark.parametrize("steps", range(5))
def test_a_preparation_that_was_cut_short_is_undone_and_can_be_done_again(
    tmp_path: Path, steps: int, reboot: bool
) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, pair())
        await prepared(machine.start(Fuse(steps)), pair())
        if reboot:
            machine.reboot()
        process = machine.start()
        await process.recover()
        if not reboot:
            check(machine, process)
        answer = devices((await prepared(process, pair()))["uid-1"])
        check(machine, process)
        again = machine.start()
        assert devices((await prepared(again, pair()))["uid-1"]) == answer
        await unprepared(again, pair())
        check(machine, again)
        assert again.entries() == ()

    asyncio.run(scenario())


@pytest.mark.parametrize("steps", range(5))
def test_undoing_that_was_cut_short_is_finished_by_the_next_process(
    tmp_path: Path, steps: int
) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, pair())
        await prepared(machine.start(), pair())
        await unprepared(machine.start(Fuse(steps)), pair())
        process = machine.start()
        await process.recover()
        check(machine, process)
        assert await unprepared(process, pair()) == {"uid-1": None}
        assert process.entries() == ()
        check(machine, process)

    asyncio.run(scenario())


@pytest.mark.parametrize("second", range(5))
@pytest.mark.parametrize("first", range(5))
def test_a_process_that_dies_while_making_good_is_made_good_itself(
    tmp_path: Path, first: int, second: int
) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, pair())
        await prepared(machine.start(Fuse(first)), pair())
        await prepared(machine.start(Fuse(second)), pair())
        process = machine.start()
        await process.recover()
        check(machine, process)
        devices((await prepared(process, pair()))["uid-1"])
        check(machine, process)

    asyncio.run(scenario())


CLAIMS = {
    "uid-1": claim("uid-1", result("gpu-0"), result("gpu-1")),
    "uid-2": claim("uid-2", result("gpu-1"), result("gpu-2")),
    "uid-3": claim("uid-3", result("gpu-3")),
}
ACTIONS = st.tuples(
    st.sampled_from(["prepare", "unprepare"]),
    st.lists(st.sampled_from(sorted(CLAIMS)), min_size=1, max_size=3),
    st.one_of(st.none(), st.integers(0, 12)),
    st.booleans(),
)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(ACTIONS, min_size=1, max_size=8))
def test_whatever_is_done_and_whenever_it_dies_no_device_is_held_twice_and_nothing_is_left(
    actions: list[tuple[str, list[str], int | None, bool]],
) -> None:
    async def scenario(root: Path) -> None:
        machine = Machine(root, *CLAIMS.values())
        for verb, uids, steps, reboot in actions:
            process = machine.start(Fuse(steps))
            claims = [CLAIMS[uid] for uid in uids]
            do = prepared if verb == "prepare" else unprepared
            outcomes = await do(process, *claims)
            if steps is None:
                for uid, outcome in outcomes.items():
                    if isinstance(outcome, ClaimFailure):
                        assert "is prepared for claim" in outcome.message or (
                            "is being prepared for claim" in outcome.message
                        ), uid
            if reboot:
                machine.reboot()
        last = machine.start()
        await unprepared(last, *CLAIMS.values())
        assert last.entries() == ()
        check(machine, last)
        for each in CLAIMS.values():
            devices((await prepared(last, each))[each.metadata.uid])
            check(machine, last)
            await unprepared(last, each)
        check(machine, last)

    with short_directory() as root:
        asyncio.run(scenario(root))


class OnDisk(Gpus):
    """Hardware that outlives processes: a file for each device that is set up, naming its claim."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        folder.mkdir(exist_ok=True)

    async def prepare(self, device: ClaimedDevice) -> Edits | None:
        (self.folder / device.device).write_text(device.claim_uid)
        return await super().prepare(device)

    async def unprepare(self, device: PreparedDevice) -> None:
        (self.folder / device.device).unlink(missing_ok=True)


def live_and_die(root: Path, steps: int) -> None:
    """A process that is killed, as the kernel kills, after so many steps of a claim's life."""

    class Deadly(Fuse):
        def __call__(self, step: Step, uid: str) -> None:
            super().__call__(step, uid)
            if len(self.steps) == steps:
                os.kill(os.getpid(), signal.SIGKILL)

    async def scenario() -> None:
        process = Machine(root, pair()).start(Deadly(), driver=OnDisk(root / "hardware"))
        await prepared(process, pair())
        await unprepared(process, pair())

    asyncio.run(scenario())


@pytest.mark.slow
def test_killed_for_real_at_every_step_it_is_the_same(tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from tests.unit.sdk.test_steps import *; "
    program += "live_and_die(Path(sys.argv[1]), int(sys.argv[2]))"
    lives = {}
    for steps in range(1, 11):
        root = tmp_path / str(steps)
        root.mkdir()
        lives[root] = subprocess.Popen([sys.executable, "-c", program, str(root), str(steps)])

    async def scenario(root: Path) -> None:
        machine = Machine(root, pair())
        process = machine.start(driver=OnDisk(root / "hardware"))
        await process.recover()
        ready = [device.device for entry in process.entries() for device in entry.devices]
        assert sorted(path.name for path in (root / "hardware").iterdir()) == ready
        assert len(machine.cdi_files()) == len(process.entries())
        devices((await prepared(process, pair()))["uid-1"])
        await unprepared(process, pair())
        assert list((root / "hardware").iterdir()) == []
        assert machine.cdi_files() == []
        assert process.entries() == ()

    for root, life in lives.items():
        assert life.wait(60) == -signal.SIGKILL
        asyncio.run(scenario(root))
