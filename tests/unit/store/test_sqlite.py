from __future__ import annotations

from pathlib import Path

import pytest

from dray.store.sqlite import SQLiteStore
from dray.store.store import Store
from dray.testing.store_suite import StoreSuite


class TestSQLiteStore(StoreSuite):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.path = tmp_path / "dray.db"

    def open_store(self, *, events_max: int = 1000) -> Store:
        return SQLiteStore.open(self.path, events_max=events_max)
