"""Writes to a store until it has written enough, telling a file in its directory of each write.

For tests that look at what reaches the disk. With a third argument `unsynced`, SQLite is told not
to sync: a test that does not notice that proves nothing.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from dray.store.sqlite import SQLiteStore
from tests.e2e.store_load import EVENTS_MAX, write_forever


async def main(directory: Path, writes: int, unsynced: bool) -> None:
    told = os.open(directory / "told", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    store = SQLiteStore.open(directory / "dray.db", events_max=EVENTS_MAX)
    if unsynced:
        # The writer thread has not started yet, so the connection is ours.
        store._writer._log._connection.execute("PRAGMA synchronous = OFF")  # type: ignore[attr-defined]
    await write_forever(store, 1, lambda line: _say(told, line), writes=writes)
    await store.close()
    os.close(told)


def _say(told: int, line: str) -> None:
    os.write(told, line.encode())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), "unsynced" in sys.argv[3:]))
