from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dray.cli.program import program
from dray.store.backup import back_up
from dray.store.sqlite import SQLiteStore


async def write(directory: Path, *keys: str) -> None:
    store = SQLiteStore.open(directory / "dray.db")
    for key in keys:
        await store.put(key, b"")
    await store.close()


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    directory = tmp_path / "original"
    directory.mkdir()
    asyncio.run(write(directory, "/a", "/b"))
    target = tmp_path / "copy.db"
    back_up(directory / "dray.db", target)
    return target


def restore(backup: Path, directory: Path, *options: str) -> Result:
    return CliRunner().invoke(
        program, ["restore", str(backup), "--data-dir", str(directory), *options]
    )


def test_a_restore_says_where_it_goes_on(backup: Path, tmp_path: Path) -> None:
    result = restore(backup, tmp_path / "new")
    assert result.exit_code == 0
    assert result.output == f"{tmp_path}/new/dray.db: 2 objects, goes on at revision 10000000003\n"


def test_data_that_is_there_needs_force(backup: Path, tmp_path: Path) -> None:
    result = restore(backup, tmp_path / "original")
    assert result.exit_code == 2
    assert f"{tmp_path}/original/dray.db exists; --force replaces it" in result.output
    result = restore(backup, tmp_path / "original", "--force")
    assert result.exit_code == 0
    assert f"what was there is now {tmp_path}/original/dray.db.replaced" in result.output
    assert (tmp_path / "original" / "dray.db.replaced").exists()
