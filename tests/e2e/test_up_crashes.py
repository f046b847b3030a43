"""Whenever a whole cluster dies, nothing acknowledged is lost, and nothing is given twice.

`dray up` is killed at random moments, in the middle of a start too, while users create, scale and
delete everything that makes pods, and devices fail. Each time it is started again on what it left,
what it had acknowledged must be there, and no device may be with two. Once that is over, whatever
can run must run, and the API, the files of nodes and drivers, and the processes of the machine must
tell one story; when everything is deleted, nothing is left.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import pytest

from dray.api.apps import Deployment
from dray.api.batch import Job
from dray.api.core import Pod
from dray.api.resource import ResourceClaim
from tests.e2e.up_checks import check_settled, inspect
from tests.e2e.up_machine import UpMachine
from tests.e2e.up_storm import UpStorm

pytestmark = pytest.mark.slow

# How many; `make chaos` asks for more.
KILLS = int(os.environ.get("DRAY_CHAOS_UP_KILLS", "5"))
SEED = int(os.environ.get("DRAY_CHAOS_SEED", "1"))

# So many kills, then calm and all checks, then the next storm on the same cluster.
KILLS_PER_STORM = 10


def test_nothing_is_lost_or_given_twice_when_a_cluster_is_killed() -> None:
    folder = Path(tempfile.mkdtemp(prefix="dray-up-", dir="/tmp"))
    replay = f"DRAY_CHAOS_SEED={SEED} DRAY_CHAOS_UP_KILLS={KILLS} python -m pytest -s {__file__}"
    say(replay)
    try:
        asyncio.run(scenario(folder))
    except BaseException as error:
        error.add_note(f"{replay}; files are in {folder}")
        raise
    shutil.rmtree(folder)


async def scenario(folder: Path) -> None:
    async with UpMachine(folder) as machine:
        storm = UpStorm(machine, SEED)
        storm.inspect = lambda: inspect(storm)
        await storm.prepare()
        while storm.kills < KILLS:
            await storm.rage(min(storm.kills + KILLS_PER_STORM, KILLS))
            await storm.subside()
            seconds = await check_settled(storm)
            say(
                f"{storm.kills} kills, {storm.counts}; {len(storm.seen_pods)} pods and "
                f"{len(storm.seen_claims)} claims seen; settled in {seconds:.1f} s; "
                f"{machine.resident_bytes() >> 20} MB, database {machine.database_bytes() >> 10} KB"
            )
        starts = sorted(machine.ready_seconds)
        say(f"ready after {statistics.median(starts):.1f} s, at most {starts[-1]:.1f} s")
        await storm.remove_all((Deployment, Job, Pod, ResourceClaim))
        await check_settled(storm)
        assert await machine.up.terminate() == 0
        assert not machine.processes()
        assert not machine.supervisors()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
