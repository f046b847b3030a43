"""A store against a dict: random operations, after each of which the two must agree.

Subclass StoreMachine, say how to open a store, and run its `TestCase` (hypothesis does the rest).
The model keeps every state there ever was; the store under test may forget old ones, but says
from where on it knows, and there it must be right.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dray.errors import RevisionCompacted, RevisionConflict
from dray.store.store import FIRST_REVISION, Event, Record, Store, Subscription

__all__ = ["StoreMachine"]

# Few keys, so that operations meet; some are prefixes of others, one sorts between them.
KEYS: Final = ("/a/1", "/a/2", "/a", "/a/1/x", "/b/1", "/a-1", "/b/ü", "c")
PREFIXES: Final = ("", "/", "/a/", "/a/1/", "/b/", "/none/")

# So few that histories overflow within an example.
EVENTS_MAX: Final = 12

T = TypeVar("T")

_keys = st.sampled_from(KEYS)
_values = st.binary(max_size=8)
_expectations = st.sampled_from(["none", "right", "absent", "stale", "future"])
# Counted back from the newest revision, one beyond it included.
_ages = st.integers(min_value=-1, max_value=EVENTS_MAX + 4)


@dataclass
class _Watcher:
    prefix: str
    after: int
    subscription: Subscription
    heard: list[Event] = field(default_factory=list)
    until: int | None = None  # what it has to have heard when it was closed


class StoreMachine(RuleBasedStateMachine):
    """The machine. Set `durable` if a store opened again has what the one before had."""

    durable = False

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.events: list[Event] = []
        self.states: dict[int, dict[str, Record]] = {FIRST_REVISION: {}}
        self.revision = FIRST_REVISION
        self.watchers: list[_Watcher] = []
        self.compacted = 0

    @abstractmethod
    def open_store(self, *, events_max: int) -> Store:
        """A store: empty the first time, what the one before left if `durable`."""

    @initialize()
    def start(self) -> None:
        self.store = self.open_store(events_max=EVENTS_MAX)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self._do(self.store.close())
        self.loop.close()

    # What happens ---------------------------------------------------------------------------

    @rule(key=_keys, value=_values, expectation=_expectations)
    def put(self, key: str, value: bytes, expectation: str) -> None:
        expected = self._expected(key, expectation)
        found = self._held(key)
        if expected is not None and expected != found:
            self._conflicts(self.store.put(key, value, expected=expected), found)
            return
        assert self._do(self.store.put(key, value, expected=expected)) == self._note(key, value)

    @rule(key=_keys, expectation=_expectations)
    def delete(self, key: str, expectation: str) -> None:
        expected = self._expected(key, expectation)
        found = self._held(key)
        if expected is not None and expected != found:
            self._conflicts(self.store.delete(key, expected=expected), found)
        elif not found:
            assert self._do(self.store.delete(key, expected=expected)) is None
        else:
            self._note(key, None)
            assert self._do(self.store.delete(key, expected=expected)) == self.revision

    @rule(changes=st.lists(st.tuples(_keys, st.none() | _values), max_size=10))
    def burst(self, changes: list[tuple[str, bytes | None]]) -> None:
        """Many writes at once, in order: each sees the head that the one before it left."""

        async def write() -> list[object]:
            return await asyncio.gather(
                *(
                    self.store.delete(key) if value is None else self.store.put(key, value)
                    for key, value in changes
                )
            )

        wanted: list[object] = []
        for key, value in changes:
            if value is not None:
                wanted.append(self._note(key, value))
            elif self._held(key):
                self._note(key, None)
                wanted.append(self.revision)
            else:
                wanted.append(None)
        assert self._do(write()) == wanted

    @rule(prefix=st.sampled_from(PREFIXES), age=_ages)
    def watch(self, prefix: str, age: int) -> None:
        after = max(0, self.revision - age)
        heard: list[Event] = []
        known = after >= self.store.oldest
        try:
            subscription = self.store.watch(prefix, after, heard.extend)
        except RevisionCompacted:
            assert not known, "history is there"
            return
        assert known, "history is gone"
        self.watchers.append(_Watcher(prefix, after, subscription, heard))

    @precondition(lambda self: self.watchers)
    @rule(data=st.data())
    def close_watch(self, data: st.DataObject) -> None:
        watcher = data.draw(st.sampled_from(self.watchers))
        watcher.subscription.close()
        if watcher.until is None:
            watcher.until = self.revision

    @rule(
        prefix=st.sampled_from(PREFIXES),
        after=st.just("") | _keys,
        limit=st.integers(min_value=0, max_value=4),
        age=st.none() | _ages,
    )
    def read(self, prefix: str, after: str, limit: int, age: int | None) -> None:
        revision = self.revision if age is None else max(FIRST_REVISION, self.revision - abs(age))
        asked = 0 if age is None else revision
        known = revision >= self.store.oldest
        try:
            page = self.store.range(prefix, after=after, limit=limit, revision=asked)
        except RevisionCompacted:
            assert not known, "history is there"
            return
        assert known, "history is gone"
        # Refused revisions apart, which do not happen here, every one has a state.
        state = self.states[revision]
        keys = sorted(key for key in state if key.startswith(prefix) and key > after)
        shown = keys[:limit] if limit else keys
        assert list(page.records) == [state[key] for key in shown]
        assert (page.revision, page.remaining_count) == (revision, len(keys) - len(shown))

    @rule(age=st.integers(min_value=0, max_value=EVENTS_MAX))
    def compact(self, age: int) -> None:
        revision = max(0, self.revision - age)
        self._do(self.store.compact(revision))
        self.compacted = max(self.compacted, revision)

    @precondition(lambda self: self.durable)
    @rule()
    def reopen(self) -> None:
        self._do(self.store.close())
        for watcher in self.watchers:
            if watcher.until is None:
                watcher.until = self.revision
        self.store = self.open_store(events_max=EVENTS_MAX)

    # What holds -----------------------------------------------------------------------------

    @invariant()
    def the_state_is_the_models(self) -> None:
        if not hasattr(self, "store"):
            return
        state = self.states[self.revision]
        assert self.store.revision == self.revision
        assert {record.key: record for record in self.store.range("").records} == state
        for key in KEYS:
            assert self.store.get(key) == self.store.head(key) == state.get(key)
        for prefix in PREFIXES:
            assert self.store.count(prefix) == sum(key.startswith(prefix) for key in state)

    @invariant()
    def watches_heard_all_and_only_what_is_theirs(self) -> None:
        for watcher in self.watchers:
            until = self.revision if watcher.until is None else watcher.until
            assert watcher.heard == [
                event
                for event in self.events
                if watcher.after < event.revision <= until and event.key.startswith(watcher.prefix)
            ]

    @invariant()
    def history_is_kept_as_promised(self) -> None:
        if hasattr(self, "store"):
            kept = min(len(self.events), EVENTS_MAX)
            promised = max(self.compacted, self.revision - kept)
            assert self.store.oldest <= promised

    # Helpers --------------------------------------------------------------------------------

    def _do(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(doing)

    def _conflicts(self, doing: Coroutine[Any, Any, object], found: int) -> None:
        refusal: RevisionConflict | None = None
        try:
            self._do(doing)
        except RevisionConflict as error:
            refusal = error
        assert refusal is not None, "nobody told the writer"
        assert refusal.found == found

    def _held(self, key: str) -> int:
        record = self.states[self.revision].get(key)
        return 0 if record is None else record.revision

    def _expected(self, key: str, expectation: str) -> int | None:
        held = self._held(key)
        wanted = {"right": held, "absent": 0, "stale": max(held - 1, 0)}
        wanted["future"] = self.revision + 1
        return wanted.get(expectation)

    def _note(self, key: str, value: bytes | None) -> Record | None:
        """Change the model; what the key holds since."""
        state = dict(self.states[self.revision])
        previous = state.pop(key, None)
        self.revision += 1
        record = None
        if value is not None:
            created = self.revision if previous is None else previous.created
            record = state[key] = Record(key, value, created, self.revision)
        self.states[self.revision] = state
        self.events.append(Event(self.revision, key, record, previous))
        return record
