from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from dray.errors import InternalError
from dray.store import watches as watches_module
from dray.store.store import Event
from dray.store.watches import Watch, Watches


def change(revision: int, key: str) -> Event:
    return Event(revision, key, None, None)


class CountingDict(dict[str, dict[Watch, None]]):
    lookups = 0

    def __contains__(self, key: object) -> bool:
        self.lookups += 1
        return super().__contains__(key)


def test_watches_on_other_prefixes_are_not_even_looked_at() -> None:
    watches = Watches()
    for n in range(1000):
        watches.add(f"/registry/pods/{n}/", 0, lambda _: None)
    watched = CountingDict(watches._by_prefix)
    watches._by_prefix = watched
    watches.dispatch([change(1, "/registry/leases/kube-node-lease/node-1")])
    assert watched.lookups == 5  # the empty prefix, and one per slash
    watches.dispatch([change(2, "/registry/leases/kube-node-lease/node-2")])
    assert watched.lookups == 5


def test_what_is_remembered_of_directories_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches_module, "DIRECTORIES_MAX", 3)
    watches = Watches()
    heard: list[Event] = []
    watches.add("/", 0, heard.extend)
    watches.dispatch([change(n, f"/{n}/x") for n in range(1, 11)])
    assert len(heard) == 10
    assert len(watches._by_directory) <= 3


def test_a_prefix_that_comes_or_goes_is_noticed_in_known_directories() -> None:
    watches = Watches()
    heard: dict[str, list[Event]] = {"/": [], "/a/": []}
    outer = watches.add("/", 0, heard["/"].extend)
    watches.dispatch([change(1, "/a/x")])
    watches.add("/a/", 0, heard["/a/"].extend)
    watches.dispatch([change(2, "/a/x")])
    outer.close()
    watches.dispatch([change(3, "/a/x")])
    assert {p: [e.revision for e in events] for p, events in heard.items()} == {
        "/": [1, 2],
        "/a/": [2, 3],
    }


def test_one_call_brings_all_events_of_a_commit() -> None:
    watches = Watches()
    calls: list[Sequence[Event]] = []
    watches.add("/a/", 0, calls.append)
    watches.dispatch([change(1, "/a/1"), change(2, "/b/1"), change(3, "/a/2")])
    assert [[event.revision for event in events] for events in calls] == [[1, 3]]


def test_events_up_to_the_start_of_a_watch_are_kept_from_it() -> None:
    watches = Watches()
    heard: list[Event] = []
    watches.add("", 2, heard.extend)
    watches.dispatch([change(1, "/a"), change(2, "/a"), change(3, "/a")])
    assert [event.revision for event in heard] == [3]


def test_the_bug_of_a_sink_is_logged_with_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    watches = Watches()
    cause = ValueError("mine")

    def broken(_: Sequence[Event]) -> None:
        raise cause

    watch = watches.add("/a/", 0, broken)
    with caplog.at_level(logging.ERROR):
        watches.dispatch([change(1, "/a/1")])
    assert watch.closed
    (record,) = caplog.records
    assert 'the watch on "/a/" was dropped' in record.message
    assert record.exc_info
    assert isinstance(record.exc_info[1], InternalError)
    assert record.exc_info[1].__cause__ is cause


def test_an_interruption_is_no_bug_of_a_sink() -> None:
    watches = Watches()

    def interrupted(_: Sequence[Event]) -> None:
        raise KeyboardInterrupt

    watch = watches.add("", 0, interrupted)
    with pytest.raises(KeyboardInterrupt):
        watches.dispatch([change(1, "/a")])
    assert not watch.closed


def test_nothing_is_left_of_watches_that_ended() -> None:
    watches = Watches()
    running = [watches.add(prefix, 0, lambda _: None) for prefix in ("", "/a/", "/a/")]
    assert len(watches) == 3
    running[1].close()
    assert len(watches) == 2
    watches.close()
    assert len(watches) == 0
    assert not watches._by_prefix
