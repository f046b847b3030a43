"""The copy of the fleet file: when there is one, and what is in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dray.cli.embedded.kept_fleet import find_fleet, keep_fleet
from dray.errors import ConfigurationError


def test_the_last_file_is_kept(tmp_path: Path) -> None:
    data, fleet = tmp_path / "data", tmp_path / "fleet.yaml"
    data.mkdir()
    assert find_fleet(data) is None
    for text in ("nodes: [{name: a}]", "nodes: [{name: b}]"):
        fleet.write_text(text)
        keep_fleet(data, fleet)
        kept = find_fleet(data)
        assert kept is not None
        assert kept.read_text() == text


def test_the_copy_itself_stays(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("nodes: [{name: a}]")
    keep_fleet(tmp_path, fleet)
    copy = find_fleet(tmp_path)
    keep_fleet(tmp_path, copy)
    assert copy is not None
    assert copy.read_text() == "nodes: [{name: a}]"


def test_a_start_without_a_file_that_can_be_read_again_keeps_none(tmp_path: Path) -> None:
    fleet, pipe = tmp_path / "fleet.yaml", tmp_path / "pipe"
    fleet.write_text("nodes: [{name: a}]")
    os.mkfifo(pipe)
    for other in (None, pipe):
        keep_fleet(tmp_path, fleet)
        keep_fleet(tmp_path, other)
        assert find_fleet(tmp_path) is None
    assert fleet.exists()


def test_a_copy_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("nodes: []")
    with pytest.raises(
        ConfigurationError, match=r"up\.fleet\.yaml cannot be written: No such file"
    ):
        keep_fleet(tmp_path / "nowhere", fleet)
