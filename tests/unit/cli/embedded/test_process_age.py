"""How long processes have been running."""

from __future__ import annotations

import os
from pathlib import Path

from dray.cli.embedded.process_age import process_seconds


def proc(folder: Path, stat: str) -> Path:
    (folder / "uptime").write_text("1000.50 4000.00\n")
    (folder / "7").mkdir()
    (folder / "7" / "stat").write_text(stat)
    return folder


def test_the_kernel_says_when_a_process_began(tmp_path: Path) -> None:
    ticks = 990 * os.sysconf("SC_CLK_TCK")
    fields = " ".join(["S", *["0"] * 18, str(ticks), "0"])
    assert process_seconds(7, proc=proc(tmp_path, f"7 (a) b) {fields}\n")) == 10.5


def test_what_cannot_be_known_is_none(tmp_path: Path) -> None:
    assert process_seconds(7, proc=tmp_path) is None
    assert process_seconds(7, proc=proc(tmp_path, "7 (a) S 1\n")) is None


def test_this_process_began_a_moment_ago() -> None:
    seconds = process_seconds()
    assert seconds is not None
    assert 0 < seconds < 24 * 3600
