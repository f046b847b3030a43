from __future__ import annotations

from dray.store.memory import MemoryStore
from dray.store.store import Store
from dray.testing.store_suite import StoreSuite


class TestMemoryStore(StoreSuite):
    def open_store(self, *, events_max: int = 1000) -> Store:
        return MemoryStore(events_max=events_max)
