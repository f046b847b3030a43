"""Writers that never rest, what they were told, and whether a store kept it.

Values describe themselves, so that half of one, or one under another's key, is noticed. A store is
right when everything acknowledged is there, or was replaced by a later write of the same load.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from random import Random

from dray.errors import RevisionConflict, StoreUnavailable
from dray.store.history import History
from dray.store.loading import load
from dray.store.log import Log
from dray.store.rows import Row
from dray.store.sqlite import SQLiteStore
from dray.store.store import Record

__all__ = ["WRITERS", "Promises", "value_of", "write_forever"]

WRITERS = 16
KEYS = [f"/registry/things/{n % 5}/{n:02}" for n in range(48)]

# Few, so that logs are compacted; many more than writes that may be under way.
EVENTS_MAX = 600


def value_of(key: str, number: int) -> bytes:
    """The one value that may be found under the key with this number."""
    header = f"{key} {number} ".encode()
    digest = hashlib.sha256(header).digest()
    size = digest[0] * digest[1] // 8  # mostly small, up to two pages
    return header + (digest * (size // len(digest) + 1))[:size]


def genuine(key: str, value: bytes) -> bool:
    """Whether some writer wrote this value, whole, under this key."""
    _, _, rest = value.partition(b" ")
    number = rest.partition(b" ")[0]
    return number.isdigit() and value == value_of(key, int(number))


async def write_forever(
    store: SQLiteStore,
    seed: int,
    acknowledge: Callable[[str], None],
    *,
    writes: int = 10**9,
    hasty: bool = False,
) -> None:
    """Write and delete at once from many tasks; say a line for each when it is durable.

    A hasty writer says it before: tests that do not notice that prove nothing.
    """
    left = writes

    async def writer(index: int) -> None:
        nonlocal left
        random = Random(f"{seed}/{index}")
        while left > 0:
            left -= 1
            key = random.choice(KEYS)
            head = store.head(key)
            expected = random.choice([None, head.revision if head else 0])
            try:
                if random.random() < 0.15:
                    revision = await store.delete(key, expected=expected)
                    if revision is not None:
                        acknowledge(f"{revision} {key} -\n")
                    else:
                        await asyncio.sleep(0)
                else:
                    number = random.getrandbits(48)
                    writing = asyncio.ensure_future(
                        store.put(key, value_of(key, number), expected=expected)
                    )
                    if hasty:
                        await asyncio.sleep(0)
                        accepted = store.head(key)
                        assert accepted is not None
                        acknowledge(f"{accepted.revision} {key} {number}\n")
                    record = await writing
                    if not hasty:
                        acknowledge(f"{record.revision} {key} {number}\n")
            except (RevisionConflict, StoreUnavailable):
                await asyncio.sleep(0)

    await asyncio.gather(*(writer(index) for index in range(WRITERS)))


class Promises:
    """What was acknowledged so far, line by line."""

    def __init__(self) -> None:
        self.newest = 1
        self.count = 0
        # The last acknowledged write of each key: its revision, and its value or None.
        self._last: dict[str, tuple[int, bytes | None]] = {}
        self._rows: dict[int, tuple[str, bytes | None]] = {}

    def hear(self, line: str) -> None:
        revision, key, number = line.split()
        value = None if number == "-" else value_of(key, int(number))
        self._note(int(revision), key, value)
        self.count += 1

    def _note(self, revision: int, key: str, value: bytes | None) -> None:
        self._rows[revision] = (key, value)
        self.newest = max(self.newest, revision)
        if revision > self._last.get(key, (0, None))[0]:
            self._last[key] = (revision, value)

    def check(
        self, path: Path, *, adopt: bool = False, gaps: bool = False, later: bool = False
    ) -> int:
        """Open the database and compare; how many writes are there that nobody was told of.

        With `adopt`, those are there to stay: the next writers build on them. Some revisions were
        refused if there may be `gaps`; writers went on before the copy was made if it is `later`.
        """
        log = Log.open(path)
        try:
            rows = list(log.rows())
            history = History(log.floor, events_max=EVENTS_MAX)
            newest, records = load(rows, history, path, base=log.base)
            self._check_rows(rows, log.floor, None if gaps else newest)
        finally:
            log.close()
        last: dict[str, int] = {row[2]: row[0] for row in rows}
        # What was replaced by a write nobody was told of is no promise any more.
        replaced = {key for key, (told, _) in self._last.items() if last.get(key, 0) > told}
        self.compare(records, without=replaced)
        surplus = newest - self.newest
        assert surplus >= 0, f"ends at {newest}, told {self.newest}"
        assert surplus <= WRITERS or gaps or later, f"ends at {newest}, told {self.newest}"
        if adopt:
            for row in rows:
                self._note(row[0], row[2], row[3])
        return surplus

    def compare(self, records: Mapping[str, Record], *, without: Collection[str] = ()) -> None:
        """The last promise for each key must be what the key holds."""
        for key in self._last.keys() - set(without):
            revision, value = self._last[key]
            record = records.get(key)
            held = (revision, None) if record is None else (record.revision, record.value)
            assert held == (revision, value), f"{key} should be at {revision}, is at {held[0]}"

    def _check_rows(self, rows: list[Row], floor: int, newest: int | None) -> None:
        found = {row[0]: row for row in rows}
        recent = [revision for revision in found if revision > floor]
        # Opening checked already that no row is missing; without refusals no number is, either.
        if newest is not None:
            assert recent == list(range(max(floor, 1) + 1, newest + 1)), "revisions are missing"
        for row in rows:
            assert row[3] is None or genuine(row[2], row[3]), f"half a value at {row[0]}"
        for revision, promised in self._rows.items():
            if revision > floor:
                assert revision in found, f"revision {revision} was acknowledged and is gone"
                assert found[revision][2:4] == promised, f"revision {revision} is another"
