"""However many pods come and go, a cluster is no larger for it when they are gone."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from dray.clock import SystemClock
from tests.e2e.up_checks import given_twice, view
from tests.e2e.up_churn import CHURN_FLEET, Churn
from tests.e2e.up_machine import UpMachine

pytestmark = pytest.mark.slow

# How many; `make chaos` asks for more.
PODS = int(os.environ.get("DRAY_CHAOS_UP_PODS", "500"))
SEED = int(os.environ.get("DRAY_CHAOS_SEED", "1"))

# Between two looks at how much of everything there is.
PODS_PER_ROUND = 500

CALM_SECONDS = 120.0
LOOK_SECONDS = 0.1

# A history of changes is kept for watches, in memory and on disk, up to a limit.
RESIDENT_BYTES_MAX = 400 * 1024 * 1024
DATABASE_BYTES_MAX = 200 * 1024 * 1024


def test_pods_that_came_and_went_leave_nothing() -> None:
    folder = Path(tempfile.mkdtemp(prefix="dray-up-", dir="/tmp"))
    replay = f"DRAY_CHAOS_SEED={SEED} DRAY_CHAOS_UP_PODS={PODS} python -m pytest -s {__file__}"
    say(replay)
    try:
        asyncio.run(scenario(folder))
    except BaseException as error:
        error.add_note(f"{replay}; files are in {folder}")
        raise
    shutil.rmtree(folder)


async def scenario(folder: Path) -> None:
    clock = SystemClock()
    async with UpMachine(folder, fleet=CHURN_FLEET) as machine:
        churn = Churn(machine, SEED)
        async with churn.watching():
            said(machine, churn, 0.0)
            while churn.pods < PODS:
                began = clock.monotonic()
                async with asyncio.TaskGroup() as tasks:
                    looking = tasks.create_task(look(churn))
                    await churn.go(min(PODS_PER_ROUND, PODS - churn.pods))
                    looking.cancel()
                said(machine, churn, clock.monotonic() - began)
            await calm(churn, clock)
            assert machine.resident_bytes() < RESIDENT_BYTES_MAX
            assert machine.database_bytes() < DATABASE_BYTES_MAX
        assert await machine.up.terminate() == 0


async def look(churn: Churn) -> None:
    """Nothing is given twice, whenever somebody looks."""
    while True:
        found = given_twice(await view(churn.client))
        assert not found, "\n".join(found)
        await asyncio.sleep(1.0)


async def calm(churn: Churn, clock: SystemClock) -> None:
    """Wait until nothing is left."""
    began = clock.monotonic()
    while found := await churn.leaked():
        assert clock.monotonic() - began < CALM_SECONDS, "\n".join(found)
        await asyncio.sleep(LOOK_SECONDS)


def said(machine: UpMachine, churn: Churn, seconds: float) -> None:
    machine.check_alive()
    say(
        f"{churn.pods} pods, {seconds:.1f} s for the last; {machine.resident_bytes() >> 20} MB, "
        f"{machine.descriptors()} descriptors, database {machine.database_bytes() >> 10} KB"
    )


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
