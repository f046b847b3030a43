"""Whenever drivers and agents die, devices have one user, and everything ends as it should.

A node of real processes runs pods that come and go while its agent and its drivers are killed at
random moments, and its devices fail. Once that is over, the API, the files of agent and drivers,
and the processes of the machine must tell one story; when all pods are deleted, nothing is left.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from tests.e2e.node_checks import settled
from tests.e2e.node_machine import DRIVERS, Machine
from tests.e2e.node_storm import Storm

pytestmark = pytest.mark.slow

# How many; `make chaos` asks for more.
KILLS = int(os.environ.get("DRAY_CHAOS_KILLS", "6"))
SEED = int(os.environ.get("DRAY_CHAOS_SEED", "1"))

# So many kills, then calm and all checks, then the next storm on the same machine.
KILLS_PER_STORM = 25


def test_nothing_is_lost_or_left_behind_when_agents_and_drivers_are_killed() -> None:
    folder = Path(tempfile.mkdtemp(prefix="dray", dir="/tmp"))
    try:
        asyncio.run(scenario(folder))
    except BaseException as error:
        error.add_note(f"DRAY_CHAOS_SEED={SEED} DRAY_CHAOS_KILLS={KILLS}; files are in {folder}")
        raise
    shutil.rmtree(folder)


async def scenario(folder: Path) -> None:
    async with Machine(folder) as machine:
        storm = Storm(machine, SEED)
        async with storm.watching():
            while storm.kills < KILLS:
                await storm.rage(min(storm.kills + KILLS_PER_STORM, KILLS))
                assert not storm.double, "devices with two claims at once"
                await storm.subside()
                await break_some_devices(storm)
                seconds, last = await settled(storm)
                say(
                    f"{storm.kills} kills, {storm.pods_made} pods ({storm.forced} removed by "
                    f"force), {storm.claims_made} claims, {storm.faults} faults; "
                    f"settled in {seconds:.1f} s after {'; '.join(last[:2])}; "
                    f"agent {machine.descriptors(machine.agent)} descriptors, "
                    f"{machine.resident_bytes(machine.agent) >> 20} MB"
                )
            for work in list(storm.works.values()):
                if not work.deleted:
                    await storm.remove(work, force=False)
            await settled(storm)
            for member in machine.members:
                assert await member.terminate() == 0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def break_some_devices(storm: Storm) -> None:
    """So that not everything that is shown is healthy."""
    for driver, stem in DRIVERS.items():
        for index in (0, 3):
            fault = {"kind": "unhealthy", "device": f"{stem}-{index}", "message": "worn out"}
            await storm.machine.tell(driver, {"inject": fault})
