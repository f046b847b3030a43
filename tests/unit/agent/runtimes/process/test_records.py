from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dray.agent.runtimes.process.records import (
    ContainerRecord,
    Damaged,
    SandboxRecord,
    StateDirectory,
)
from dray.testing.runtime_suite import POD

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SANDBOX = SandboxRecord("s", POD, 0, "host", "/logs", NOW, annotations={"a": "b"})
CONTAINER = ContainerRecord("process://c", "s", POD, "app", 0, "image", NOW, "/logs/0.log", 15)


def test_what_was_written_is_found_again(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path)
    state.write_sandbox(SANDBOX)
    directory = state.write_container("c", CONTAINER, {"argv": ["true"]})
    again = StateDirectory(tmp_path)
    assert list(again.sandboxes()) == [SANDBOX]
    assert list(again.containers()) == [(directory, CONTAINER)]
    again.remove_container(directory)
    again.remove_container(directory)
    again.remove_sandbox("s")
    again.remove_sandbox("s")
    assert [*again.sandboxes(), *again.containers()] == []


def test_a_container_that_is_made_again_is_as_it_was_made_last(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path)
    state.write_container("c", CONTAINER, {"argv": ["false"]})
    directory = state.write_container("c", CONTAINER, {"argv": ["true"]})
    assert "true" in (directory / "launch.json").read_text()
    assert len(list(state.containers())) == 1


@pytest.mark.parametrize("suffix", [".making", ".removing"])
def test_what_a_crash_left_half_done_is_removed(tmp_path: Path, suffix: str) -> None:
    state = StateDirectory(tmp_path)
    half = tmp_path / "containers" / f"c{suffix}"
    half.mkdir()
    (half / "launch.json").write_text("{}")
    assert list(state.containers()) == []
    assert not half.exists()


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b'{"id": 5}'])
def test_what_is_damaged_is_set_aside_and_told_of(tmp_path: Path, data: bytes) -> None:
    state = StateDirectory(tmp_path)
    state.write_sandbox(SANDBOX)
    directory = state.write_container("c", CONTAINER, {})
    (directory / "container.json").write_bytes(data)
    (tmp_path / "sandboxes" / "s.json").write_bytes(data)
    (found,) = state.containers()
    assert isinstance(found, Damaged)
    assert found.directory.name == "c.damaged-0"
    assert [*state.containers(), *state.sandboxes()] == []
    assert (tmp_path / "sandboxes" / "s.json.damaged-0").exists()


def test_nobody_else_reads_what_a_container_is_given(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path).write_container("c", CONTAINER, {"env": [["KEY", "x"]]})
    assert directory.stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in directory.iterdir())
