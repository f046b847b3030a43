"""Parts of nodes that commands share."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.cli.node_parts import cdi_directory, open_runtime
from dray.clock import SystemClock
from dray.entropy import SystemEntropy


@pytest.mark.parametrize("name", ["process", "cri"])
def test_devices_of_bundled_drivers_are_looked_up_by_every_runtime(
    tmp_path: Path, name: str
) -> None:
    cdi = tmp_path / "cdi"
    cdi.mkdir()
    (cdi / "broken.json").write_text("{")

    async def body() -> None:
        async with open_runtime(
            name, tmp_path, cdi, "unix:///nowhere", SystemClock(), SystemEntropy()
        ) as runtime:
            files = runtime._devices  # type: ignore[attr-defined]  # both have them
            assert str(cdi / "broken.json") in files.problems

    asyncio.run(body())


def test_drivers_write_where_the_runtime_looks() -> None:
    root = Path("/root/dray")
    assert cdi_directory(None, "process", root) == root / "cdi"
    assert cdi_directory(None, "cri", root) == Path("/var/run/cdi")
    assert cdi_directory(Path("/given"), "cri", root) == Path("/given")
    assert cdi_directory(Path("given"), "process", root).is_absolute()
