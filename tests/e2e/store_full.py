"""Fills a disk, frees it, and goes on writing: what a store says meanwhile, and what it keeps.

`limit` runs out of what the process may write to one file; `mount` runs out of a file system of its
own, which takes the right to mount one (run it under `unshare --mount`). Prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from dray.errors import StoreUnavailable
from dray.store.sqlite import SQLiteStore
from tests.e2e.store_load import Promises, value_of

WRITERS = 8
BYTES = 3 * 1024 * 1024
FULL_ROUNDS = 5


async def main(directory: Path, kind: str) -> None:
    free = _limit() if kind == "limit" else _mount(directory)
    path = directory / "dray.db"
    store = SQLiteStore.open(path)
    promises = Promises()
    refusals: list[str] = []

    async def writer(index: int, count: int) -> None:
        for n in range(count):
            key, number = f"/{index}/{n % 40}", n
            try:
                record = await store.put(key, value_of(key, number))
            except StoreUnavailable as error:
                refusals.append(str(error))
                return
            promises.hear(f"{record.revision} {key} {number}")

    # Until everybody was refused, and again while there is still no room.
    for _ in range(FULL_ROUNDS):
        await asyncio.gather(*(writer(index, 10**6) for index in range(WRITERS)))
        assert all(store.head(r.key) is r for r in store.range("").records)
        assert store.revision == promises.newest
    free()
    told_when_full = promises.count
    refused = len(refusals)
    await asyncio.gather(*(writer(index, 200) for index in range(WRITERS)))
    await store.close()

    again = SQLiteStore.open(path)
    promises.compare({record.key: record for record in again.range("").records})
    assert again.revision == promises.newest
    await again.close()
    told = {
        "refusals": sorted(set(refusals)),
        "refused": refused,
        "refused_after": len(refusals) - refused,
        "told_when_full": told_when_full,
        "told": promises.count,
    }
    json.dump(told, sys.stdout)


def _limit() -> Callable[[], None]:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, hard))
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def _mount(directory: Path) -> Callable[[], None]:
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={2 * BYTES}", "tmpfs", directory], check=True
    )

    def grow() -> None:
        subprocess.run(["mount", "-o", f"remount,size={10 * BYTES}", directory], check=True)

    return grow


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
