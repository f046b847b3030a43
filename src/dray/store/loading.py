"""From the log back to the state it describes, checking every row on the way.

Each row must match its checksum. After the floor the log is complete, so there each row must also
follow the one before it and replace what its key held: a row that went missing shows in the next
one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dray.errors import StoreCorrupt, quote, shorten
from dray.store.history import History
from dray.store.rows import Row, flaw, record_of
from dray.store.store import Event, Record

__all__ = ["load"]


def load(
    rows: Iterable[Row], history: History, path: Path, *, base: int
) -> tuple[int, dict[str, Record]]:
    """The newest revision and all records; what came after the history's floor goes into it."""
    records: dict[str, Record] = {}
    floor = history.floor  # moves when the history is full, so it is taken down here
    last = 0
    for row in rows:
        wrong = flaw(row)
        if wrong:
            raise _corrupt(path, row, wrong)
        revision, step, key, value, created, previous, _ = row
        held = records.get(key)
        if revision > floor:
            before = revision - step
            # The row before the first of these may be compacted.
            if before != last if last > floor else before > max(floor, base):
                raise _corrupt(path, row, f"should follow {before}, but follows {last}")
            if previous != (0 if held is None else held.revision):
                found = f"revision {held.revision} is there" if held else "there is none"
                raise _corrupt(path, row, f"replaces revision {previous}, but {found}")
            if value is not None and created != (revision if held is None else held.created):
                raise _corrupt(path, row, f"says it was created at {created}")
        elif value is None or held is not None:
            raise _corrupt(path, row, f"should be gone: compacted up to {floor}")
        record = record_of(row)
        if record is not None:
            records[key] = record
        elif held is not None:
            del records[key]
        else:
            raise _corrupt(path, row, "removes what is not there")
        if revision > floor:
            history.append(Event(revision, key, record, held))
        last = revision
    return max(last, base, floor), records


def _corrupt(path: Path, row: Row, wrong: str) -> StoreCorrupt:
    key = quote(shorten(str(row[2])))
    return StoreCorrupt(f"{path}: revision {row[0]} of {key} {wrong}; restore a backup")
