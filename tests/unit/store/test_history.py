from __future__ import annotations

import pytest

from dray.errors import RevisionCompacted
from dray.store.history import EVENT_OVERHEAD_BYTES, History
from dray.store.store import Event, Record


def event(revision: int, key: str = "/a", *, previous: bytes | None = None) -> Event:
    before = None if previous is None else Record(key, previous, revision - 1, revision - 1)
    return Event(revision, key, Record(key, b"", revision, revision), before)


def revisions(history: History, after: int) -> list[int]:
    return [e.revision for e in history.since(after)]


def test_the_oldest_events_make_room() -> None:
    history = History(10, events_max=3)
    for revision in range(11, 16):
        history.append(event(revision))
    assert history.floor == 12
    assert revisions(history, 12) == [13, 14, 15]
    assert revisions(history, 14) == [15]
    assert revisions(history, 99) == []


def test_events_are_bounded_by_the_values_they_keep_alive() -> None:
    history = History(0, bytes_max=3 * (EVENT_OVERHEAD_BYTES + 1000))
    for revision in range(1, 10):
        history.append(event(revision, previous=b"x" * 1000))
    assert revisions(history, history.floor) == [7, 8, 9]


def test_one_event_too_big_for_the_bound_is_forgotten_at_once() -> None:
    history = History(0, bytes_max=100)
    history.append(event(1, previous=b"x" * 1000))
    assert (len(history), history.floor) == (0, 1)


def test_what_is_forgotten_cannot_be_asked_for() -> None:
    history = History(0)
    for revision in (1, 2, 5):  # 3 and 4 were refused by a disk
        history.append(event(revision))
    history.forget(3)
    assert (history.floor, len(history)) == (3, 1)
    assert revisions(history, 3) == [5]
    with pytest.raises(RevisionCompacted, match="revision 2 is no longer kept, the oldest is 3"):
        history.since(2)


def test_forgetting_does_not_go_back() -> None:
    history = History(7)
    history.forget(3)
    assert history.floor == 7


def test_undoing_tells_what_changed_keys_held_then() -> None:
    history = History(0)
    history.append(event(1, "/a/1", previous=b"first"))
    history.append(event(2, "/a/1", previous=b"second"))
    history.append(event(3, "/a/2"))
    history.append(event(4, "/b/1", previous=b"elsewhere"))
    held = history.undone("/a/", 0)
    assert {key: record and record.value for key, record in held.items()} == {
        "/a/1": b"first",
        "/a/2": None,
    }
    assert history.undone("/a/", 3) == {}
