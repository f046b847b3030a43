"""One agent per root directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dray.agent.root_lock import FILE_NAME, lock_root
from dray.errors import ConfigurationError


def test_a_second_agent_is_told_who_has_the_root(tmp_path: Path) -> None:
    with (
        lock_root(tmp_path),
        pytest.raises(ConfigurationError, match=rf"{tmp_path}: process {os.getpid()};"),
        lock_root(tmp_path),
    ):
        pass


def test_a_root_is_free_once_its_agent_has_ended(tmp_path: Path) -> None:
    with lock_root(tmp_path):
        pass
    (tmp_path / FILE_NAME).write_text("4194304\nlonger than any pid that there is\n")
    with lock_root(tmp_path):
        assert (tmp_path / FILE_NAME).read_text() == f"{os.getpid()}\n"


def test_an_agent_that_has_not_said_who_it_is_has_the_root_all_the_same(tmp_path: Path) -> None:
    with lock_root(tmp_path):
        (tmp_path / FILE_NAME).write_text("")
        with pytest.raises(ConfigurationError, match="only just started"), lock_root(tmp_path):
            pass


def test_a_root_that_cannot_be_locked_is_an_error_of_the_settings(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationError, match="cannot be opened: No such file"),
        lock_root(tmp_path / "nowhere"),
    ):
        pass
