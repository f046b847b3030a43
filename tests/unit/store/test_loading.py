from __future__ import annotations

from pathlib import Path

import pytest

from dray.errors import StoreCorrupt
from dray.store.history import History
from dray.store.loading import load
from dray.store.rows import Row, delete_row, put_row
from dray.store.store import Record

PATH = Path("x.db")


def put(
    revision: int, key: str = "/a", *, created: int = 0, previous: int = 0, step: int = 1
) -> Row:
    return put_row(Record(key, b"%d" % revision, created or revision, revision), step, previous)


LOG = [
    put(2),
    put(3, "/b"),
    put(4, created=2, previous=2),
    delete_row(5, "/b", 1, 3),
    put(9, "/b", step=4),
]


def test_the_state_is_what_the_log_leads_to() -> None:
    history = History(0)
    revision, records = load(LOG, history, PATH, base=1)
    assert revision == 9
    assert records == {"/a": Record("/a", b"4", 2, 4), "/b": Record("/b", b"9", 9, 9)}
    assert [(e.revision, e.previous and e.previous.revision) for e in history.since(0)] == [
        (2, None),
        (3, None),
        (4, 2),
        (5, 3),
        (9, None),
    ]


def test_a_compacted_log_leads_to_the_same_state() -> None:
    whole, compacted = History(0), History(5)
    rows = [row for row in LOG if row[0] in (4, 9)]
    assert load(rows, compacted, PATH, base=1) == load(LOG, whole, PATH, base=1)
    assert [event.revision for event in compacted.since(5)] == [9]


def test_the_counter_is_at_least_where_the_log_begins() -> None:
    assert load([], History(0), PATH, base=1) == (1, {})
    assert load([], History(70), PATH, base=40)[0] == 70
    assert load([put(101, step=1)], History(0), PATH, base=100)[0] == 101


@pytest.mark.parametrize(
    ("rows", "floor", "wrong"),
    [
        (LOG[1:2], 0, r'revision 3 of "/b" should follow 2, but follows 0'),
        ([LOG[0], *LOG[2:]], 0, "should follow 3, but follows 2"),
        ([put(2), put(3, previous=1)], 0, "replaces revision 1, but revision 2 is there"),
        ([put(2, previous=1)], 0, "replaces revision 1, but there is none"),
        ([put(2), put(3, previous=2)], 0, "says it was created at 3"),
        ([delete_row(2, "/a", 1, 0)], 0, "removes what is not there"),
        ([delete_row(2, "/a", 1, 0)], 5, "should be gone: compacted up to 5"),
        ([put(2), put(3, created=2, previous=2)], 5, "should be gone: compacted up to 5"),
        ([(*put(2)[:3], b"flipped", *put(2)[4:])], 0, "does not match its checksum"),
    ],
    ids=[
        "first-is-gone",
        "one-between-is-gone",
        "replaces-another",
        "replaces-nothing",
        "created-at-another-time",
        "deletes-nothing",
        "deletion-was-compacted",
        "old-value-was-compacted",
        "flipped-bit",
    ],
)
def test_a_log_with_a_hole_is_not_believed(rows: list[Row], floor: int, wrong: str) -> None:
    with pytest.raises(StoreCorrupt, match=wrong) as caught:
        load(rows, History(floor), PATH, base=1)
    assert str(caught.value).startswith("x.db: revision")
