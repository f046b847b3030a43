from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from dray.server.operations import disk_check
from dray.server.operations.disk_check import PATIENCE_SECONDS, REMEMBERED_SECONDS, DiskCheck
from dray.store.memory import MemoryStore
from dray.testing import FakeClock


def test_a_disk_that_takes_writes_is_fine_and_left_as_it_was(tmp_path: Path) -> None:
    async def run() -> None:
        assert await DiskCheck(MemoryStore(), tmp_path, FakeClock())() is None

    asyncio.run(run())
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_gone_fails(tmp_path: Path) -> None:
    async def run() -> str | None:
        return await DiskCheck(MemoryStore(), tmp_path / "gone", FakeClock())()

    told = asyncio.run(run())
    assert told == f"{tmp_path / 'gone'} cannot be written: No such file or directory"


def test_a_store_that_takes_no_writes_fails_however_fine_the_disk(tmp_path: Path) -> None:
    async def run() -> str | None:
        store = MemoryStore()
        await store.close()
        return await DiskCheck(store, tmp_path, FakeClock())()

    assert "closed" in (asyncio.run(run()) or "")


def test_asking_changes_nothing_in_the_store() -> None:
    async def run() -> None:
        store = MemoryStore()
        before = store.revision
        assert await DiskCheck(store, None, FakeClock())() is None
        assert store.revision == before

    asyncio.run(run())


def test_an_answer_is_good_for_a_moment_so_that_probes_do_not_wear_out_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def probe(directory: Path) -> str | None:
        asked.append(directory)
        return f"problem {len(asked)}"

    async def run() -> None:
        clock = FakeClock()
        check = DiskCheck(MemoryStore(), tmp_path, clock)
        assert set(await asyncio.gather(check(), check())) == {"problem 1"}
        assert await check() == "problem 1"
        clock.advance(REMEMBERED_SECONDS)
        assert await check() == "problem 2"

    monkeypatch.setattr(disk_check, "_probe", probe)
    asyncio.run(run())


def test_a_disk_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    async def run() -> str | None:
        loop, hanging = asyncio.get_running_loop(), asyncio.Event()

        def probe(directory: Path) -> str | None:
            loop.call_soon_threadsafe(hanging.set)
            released.wait()
            return None

        monkeypatch.setattr(disk_check, "_probe", probe)
        clock = FakeClock()
        asking = asyncio.ensure_future(DiskCheck(MemoryStore(), tmp_path, clock)())
        await hanging.wait()
        clock.advance(PATIENCE_SECONDS)
        told = await asking
        released.set()
        return told

    assert asyncio.run(run()) == "the disk did not answer within 5 s"
