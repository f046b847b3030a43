"""The store: durable writes, watchers, opening. References: SQLite used plainly, and the bare disk.

A write is done when it is on disk, so the disk decides; TMPDIR says which one. The reference is
what most programs do: SQLite with a write-ahead log and full sync, one transaction per write. Below
it is the least anyone could pay: the same bytes appended to a file and synced. With many writers
dray shares a sync among them, which the others cannot.

`python -m benchmarks.store` runs alone.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from time import perf_counter, thread_time
from typing import Final

from benchmarks.contest import Floor, best_times, check_floors
from dray.store.memory import MemoryStore
from dray.store.sqlite import SQLiteStore
from dray.store.store import Event, Store

VALUE: Final = b"x" * 1400  # a ConfigMap with 900 bytes of payload, as stored
WRITERS: Final = (1, 16, 64)
WRITES_PER_WRITER: Final = 20
KEYS: Final = 5000  # objects are updated more often than created
SINKS: Final = 100
IDLE_WATCHES: Final = 1000
RECORDS: Final = 100_000
ROUNDS: Final = 9

PLAIN: Final = "SQLite, one transaction per write"
DISK: Final = "append and sync, no store at all"


def main() -> bool:
    """Run all contests."""
    with tempfile.TemporaryDirectory() as directory:
        asyncio.set_event_loop(loop := asyncio.new_event_loop())
        try:
            held = [
                _writes(Path(directory), loop),
                _watchers(loop),
                _opening(Path(directory), loop),
            ]
        finally:
            loop.close()
    return all(held)


# Writing ---------------------------------------------------------------------------------------


def _writes(directory: Path, loop: asyncio.AbstractEventLoop) -> bool:
    store = SQLiteStore.open(directory / "writes.db")
    memory = MemoryStore()
    contestants: dict[str, Callable[[], object]] = {}
    per_run: dict[str, int] = {}

    def enter(name: str, writes: int, work: Callable[[], object]) -> None:
        contestants[name] = work
        per_run[name] = writes

    for writers in WRITERS:
        work = _writing(store, writers, loop)
        enter(f"dray, writers: {writers}", writers * WRITES_PER_WRITER, work)
    enter("dray in memory, writers: 1", WRITES_PER_WRITER, _writing(memory, 1, loop))
    plain = _plain_database(directory / "plain.db")
    enter(PLAIN, 1, _plain_writing(plain))
    descriptor = os.open(directory / "bare", os.O_WRONLY | os.O_CREAT)
    enter(DISK, 1, _bare_writing(descriptor))

    best = best_times(contestants, rounds=ROUNDS)
    each = {name: seconds / per_run[name] for name, seconds in best.items()}
    print(f"\nDurable writes of {len(VALUE)} bytes")
    for name, seconds in each.items():
        print(f"  {name:<44} {1 / seconds:>10.0f} /s")
    print(f"  {'dray, a write in the event loop':<44} {_loop_cost(store, loop):>10.1f} µs")
    loop.run_until_complete(store.close())
    plain.close()
    os.close(descriptor)
    return check_floors(
        each,
        [
            # A write passes through another thread and back, which one at a time cannot hide.
            Floor("dray, writers: 1", PLAIN, 0.3),
            Floor("dray, writers: 16", PLAIN, 2.0),
            Floor("dray, writers: 64", PLAIN, 4.0),
        ],
    )


def _writing(store: Store, writers: int, loop: asyncio.AbstractEventLoop) -> Callable[[], object]:
    numbers = count()

    async def write() -> None:
        for _ in range(WRITES_PER_WRITER):
            await store.put(f"/registry/configmaps/default/{next(numbers) % KEYS:06}", VALUE)

    async def all_write() -> None:
        await asyncio.gather(*(write() for _ in range(writers)))

    return lambda: loop.run_until_complete(all_write())


def _loop_cost(store: SQLiteStore, loop: asyncio.AbstractEventLoop) -> float:
    """Microseconds the event loop's own thread works for a write, of many at once."""
    work = _writing(store, 64, loop)
    start = thread_time()
    for _ in range(5):
        work()
    return (thread_time() - start) / (5 * 64 * WRITES_PER_WRITER) * 1e6


def _plain_database(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE log (revision INTEGER PRIMARY KEY, key TEXT, value BLOB)")
    return connection


def _plain_writing(connection: sqlite3.Connection) -> Callable[[], object]:
    return lambda: connection.execute("INSERT INTO log (key, value) VALUES ('a', ?)", (VALUE,))


def _bare_writing(descriptor: int) -> Callable[[], object]:
    def write() -> None:
        os.write(descriptor, VALUE)
        os.fdatasync(descriptor)

    return write


# Watching --------------------------------------------------------------------------------------


def _watchers(loop: asyncio.AbstractEventLoop) -> bool:
    """Dispatch alone, so on a store that waits for no disk."""
    quiet, watched, crowded = MemoryStore(), MemoryStore(), MemoryStore()
    heard: list[int] = [0]

    def sink(events: Sequence[Event]) -> None:
        heard[0] += len(events)

    for _ in range(SINKS):
        watched.watch("/registry/configmaps/", 1, sink)
    quiet.watch("/registry/pods/namespace-0/", 1, sink)
    for n in range(IDLE_WATCHES):
        crowded.watch(f"/registry/pods/namespace-{n}/", 1, sink)
    names = {
        "one watch elsewhere": quiet,
        f"{IDLE_WATCHES} watches elsewhere": crowded,
        f"{SINKS} watches on the key": watched,
    }
    works = {name: _writing(store, 1, loop) for name, store in names.items()}
    best = best_times(works, rounds=ROUNDS)
    each = {name: seconds / WRITES_PER_WRITER for name, seconds in best.items()}
    print("\nA write in memory, while watched")
    for name, seconds in each.items():
        print(f"  {name:<44} {seconds * 1e6:>10.1f} µs")
    one, elsewhere, many = each
    sinks_seconds = (each[many] - each[one]) / SINKS
    print(f"  {'handing an event to one sink':<44} {sinks_seconds * 1e6:>10.2f} µs")
    if not heard[0]:
        raise AssertionError("the sinks must have heard")
    return check_floors(
        each,
        [
            Floor(elsewhere, one, 0.85),
            # A hundred calls of a Python function; this says that they are all it costs.
            Floor(many, one, 0.05),
        ],
    )


# Opening ---------------------------------------------------------------------------------------

_OPEN: Final = """
import resource, sys
from pathlib import Path
from time import perf_counter
from dray.store.sqlite import SQLiteStore
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = perf_counter()
store = SQLiteStore.open(Path(sys.argv[1]))
seconds = perf_counter() - start
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(seconds, (after - before) * 1024, store.count(""))
"""


def _opening(directory: Path, loop: asyncio.AbstractEventLoop) -> bool:
    path = directory / "large.db"
    loop.run_until_complete(_fill(path))
    # A process of its own, so that its memory is the store's.
    command = [sys.executable, "-c", _OPEN, str(path)]
    told = [_numbers(command) for _ in range(3)]
    seconds = min(numbers[0] for numbers in told)
    memory_bytes = told[0][1]
    if told[0][2] != RECORDS:
        raise AssertionError("all records must be there")
    values_bytes = RECORDS * len(VALUE)
    plain_seconds = min(_plain_reading(path) for _ in range(3))
    print(f"\nOpening a store of {RECORDS} records of {len(VALUE)} bytes")
    print(f"  {'dray: checked, in memory, ready to watch':<44} {seconds * 1e3:>10.0f} ms")
    print(f"  {'SQLite: every row read once':<44} {plain_seconds * 1e3:>10.0f} ms")
    print(f"  {'memory':<44} {memory_bytes >> 20:>10} MiB")
    print(f"  {'memory, of which values':<44} {values_bytes >> 20:>10} MiB")
    return check_floors(
        {"opening": seconds, "reading": plain_seconds}, [Floor("opening", "reading", 0.1)]
    )


async def _fill(path: Path) -> None:
    store = SQLiteStore.open(path)
    for start in range(0, RECORDS, 1000):
        await asyncio.gather(
            *(
                store.put(f"/registry/things/{n % 50}/{n:06}", VALUE)
                for n in range(start, start + 1000)
            )
        )
    await store.close()


def _numbers(command: list[str]) -> tuple[float, int, int]:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, memory_bytes, records = done.stdout.split()
    return float(seconds), int(memory_bytes), int(records)


def _plain_reading(path: Path) -> float:
    connection = sqlite3.connect(path)
    start = perf_counter()
    for _ in connection.execute("SELECT * FROM log"):
        pass
    seconds = perf_counter() - start
    connection.close()
    return seconds


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
