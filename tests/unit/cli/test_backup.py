from __future__ import annotations

import asyncio
import re
from pathlib import Path

from click.testing import CliRunner

from dray.cli.program import program
from dray.errors import StoreUnavailable
from dray.store.sqlite import SQLiteStore


async def write(directory: Path, *keys: str) -> None:
    store = SQLiteStore.open(directory / "dray.db")
    for key in keys:
        await store.put(key, b"")
    await store.close()


def test_a_backup_says_what_is_in_it(tmp_path: Path) -> None:
    asyncio.run(write(tmp_path, "/a", "/b"))
    target = tmp_path / "copy.db"
    result = CliRunner().invoke(program, ["backup", str(target), "--data-dir", str(tmp_path)])
    assert result.exit_code == 0
    assert re.fullmatch(rf"{target}: revision 3, 2 objects, \d+ bytes\n", result.output)
    assert target.exists()


def test_a_backup_finds_the_data_where_servers_keep_it(tmp_path: Path) -> None:
    data = tmp_path / ".local" / "share" / "dray"
    data.mkdir(parents=True)
    asyncio.run(write(data, "/a"))
    result = CliRunner().invoke(
        program, ["backup", str(tmp_path / "copy.db")], env={"HOME": str(tmp_path)}
    )
    assert result.exit_code == 0


def test_a_backup_of_nothing_names_the_place(tmp_path: Path) -> None:
    result = CliRunner().invoke(program, ["backup", "x.db", "--data-dir", str(tmp_path)])
    assert isinstance(result.exception, StoreUnavailable)
    assert f"{tmp_path}/dray.db does not exist" in str(result.exception)
