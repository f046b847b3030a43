"""Kills writers at moments nobody chose, and looks at what they leave.

A program of its own: it forks each writer, so that starting one is cheap, and has no threads, so
that forking is safe. Each writer opens what the last one left. One line of JSON at the end; a
failure says seed and round, which play it back up to the timing of the machine.

With a fourth argument `hasty`, writers say that a write is done before it is: that must be noticed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from random import Random

from dray.store.sqlite import SQLiteStore
from tests.e2e.store_load import EVENTS_MAX, Promises, write_forever

# A start takes some ten milliseconds, a commit a fraction of one; this counts up to several.
SPINS_MAX = 200_000
ACKNOWLEDGEMENTS_MAX = 400


def main() -> None:
    directory, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    hasty = "hasty" in sys.argv[4:]
    random = Random(seed)
    promises = Promises()
    path = directory / "dray.db"
    seen: Counter[str] = Counter()
    for round_ in range(kills):
        moment = random.choice(["start", "amid", "amid", "amid", "end"])
        try:
            left = kill_one(path, random, promises, moment, seed + round_, hasty=hasty)
            seen[moment] += 1
            seen["unacknowledged"] += promises.check(path, adopt=True)
        except AssertionError as error:
            sys.exit(f"seed {seed}, round {round_}, killed at the {moment}: {error}")
        seen["unfinished"] += left
    json.dump({"kills": kills, "acknowledged": promises.count, **seen}, sys.stdout)


def kill_one(
    path: Path, random: Random, promises: Promises, moment: str, seed: int, *, hasty: bool
) -> bool:
    """Start a writer, hear some of what it says, kill it, hear the rest; whether it was at work."""
    reading, writing = os.pipe()
    writes = random.randrange(ACKNOWLEDGEMENTS_MAX) if moment == "end" else 10**9
    child = os.fork()
    if child == 0:
        os.close(reading)
        asyncio.run(work(path, seed, writing, writes, hasty=hasty))
        os._exit(0)
    os.close(writing)
    wanted = random.randrange(1, ACKNOWLEDGEMENTS_MAX) if moment == "amid" else 0
    heard = b""
    while (heard.count(b"\n") < wanted) if moment != "end" else (b"closing\n" not in heard):
        data = os.read(reading, 65536)
        assert data, "the writer ended by itself"
        heard += data
    for _ in range(random.randrange(SPINS_MAX) if moment == "start" else random.randrange(2000)):
        pass
    os.kill(child, signal.SIGKILL)
    while data := os.read(reading, 65536):
        heard += data
    os.close(reading)
    _, status = os.waitpid(child, 0)
    lines = heard.decode().splitlines(keepends=True)
    for line in lines:
        # The last one may be cut off: then nobody was told.
        if line.endswith("\n") and line != "closing\n":
            promises.hear(line)
    return os.WIFSIGNALED(status)


async def work(path: Path, seed: int, told: int, writes: int, *, hasty: bool) -> None:
    store = SQLiteStore.open(path, events_max=EVENTS_MAX)
    await write_forever(store, seed, lambda line: _say(told, line), writes=writes, hasty=hasty)
    _say(told, "closing\n")
    await store.close()


def _say(told: int, line: str) -> None:
    os.write(told, line.encode())


if __name__ == "__main__":
    main()
