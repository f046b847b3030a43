"""The suite itself is run by the stores' own tests; here it must notice broken ones."""

from __future__ import annotations

import pytest

from dray.errors import StoreError
from dray.store.memory import MemoryStore
from dray.store.store import Store
from dray.testing.store_suite import StoreSuite
from tests.unit.testing.broken_stores import BROKEN


def failures(kind: type[MemoryStore]) -> list[str]:
    class Suite(StoreSuite):
        def open_store(self, *, events_max: int = 1000) -> Store:
            return kind(events_max=events_max)

    failed = []
    for name in dir(Suite):
        if name.startswith("test_"):
            try:
                getattr(Suite(), name)()
            except (AssertionError, StoreError, ValueError):
                failed.append(name)
    return failed


@pytest.mark.parametrize("broken", BROKEN)
def test_the_suite_notices_a_bug(broken: type[MemoryStore]) -> None:
    assert failures(broken)


def test_the_suite_finds_nothing_wrong_with_a_right_store() -> None:
    assert not failures(MemoryStore)
