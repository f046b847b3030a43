from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from dray.errors import StoreError
from dray.store.memory import MemoryStore
from dray.store.sqlite import SQLiteStore
from dray.store.store import Store
from dray.testing.store_model import StoreMachine
from tests.unit.testing.broken_stores import BROKEN


class MemoryMachine(StoreMachine):
    def open_store(self, *, events_max: int) -> Store:
        return MemoryStore(events_max=events_max)


class SQLiteMachine(StoreMachine):
    durable = True

    def open_store(self, *, events_max: int) -> Store:
        if not hasattr(self, "directory"):
            self.directory = tempfile.TemporaryDirectory()
        return SQLiteStore.open(Path(self.directory.name) / "dray.db", events_max=events_max)

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "directory"):
            self.directory.cleanup()


@pytest.mark.slow
def test_the_memory_store_does_what_a_dict_does() -> None:
    run_state_machine_as_test(
        MemoryMachine, settings=settings(max_examples=150, stateful_step_count=40, deadline=None)
    )


@pytest.mark.slow
def test_the_sqlite_store_does_what_a_dict_does_also_when_opened_again() -> None:
    run_state_machine_as_test(
        SQLiteMachine, settings=settings(max_examples=60, stateful_step_count=40, deadline=None)
    )


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN)
def test_the_model_notices_a_bug(broken: type[MemoryStore]) -> None:
    class Machine(StoreMachine):
        def open_store(self, *, events_max: int) -> Store:
            return broken(events_max=events_max)

    # Found is enough: no time is spent on the smallest example.
    tries = settings(
        max_examples=300, deadline=None, derandomize=True, database=None, phases=[Phase.generate]
    )
    with pytest.raises((AssertionError, KeyError, StoreError)):
        run_state_machine_as_test(Machine, settings=tries)
