"""Who has a data directory."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dray.cli.embedded.instance import FILE_NAME, Hold, Instance, find_instance
from dray.clock import SystemClock
from dray.errors import ConfigurationError


def take(directory: Path) -> Hold:
    return asyncio.run(Hold.take(directory, SystemClock()))


def test_nobody_has_a_directory_that_nobody_took(tmp_path: Path) -> None:
    assert find_instance(tmp_path) is None
    assert find_instance(tmp_path / "nowhere") is None


def test_whoever_takes_a_directory_is_found(tmp_path: Path) -> None:
    hold = take(tmp_path)
    assert find_instance(tmp_path) == Instance(pid=os.getpid())
    said = Instance(pid=os.getpid(), url="https://127.0.0.1:1", kubeconfig="/k", version="1")
    hold.announce(said)
    assert find_instance(tmp_path) == said
    hold.announce(Instance(pid=7))
    assert find_instance(tmp_path) == Instance(pid=7), "a shorter text leaves nothing behind"
    hold.release()
    assert find_instance(tmp_path) is None
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_a_second_is_refused_with_the_pid_and_what_to_do(tmp_path: Path) -> None:
    hold = take(tmp_path)
    hold.announce(Instance(pid=os.getpid(), url="https://127.0.0.1:6443"))
    with pytest.raises(ConfigurationError) as refusal:
        take(tmp_path)
    text = str(refusal.value)
    assert f"process {os.getpid()} at https://127.0.0.1:6443" in text
    assert f"dray down --data-dir {tmp_path}" in text
    hold.release()
    take(tmp_path).release()


def test_whoever_was_killed_has_nothing(tmp_path: Path) -> None:
    script = (
        "import asyncio, os, signal, sys; from pathlib import Path;"
        "from dray.cli.embedded.instance import Hold; from dray.clock import SystemClock;"
        "hold = asyncio.run(Hold.take(Path(sys.argv[1]), SystemClock()));"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], check=False)
    assert done.returncode == -9
    assert find_instance(tmp_path) is None


def test_a_file_of_nonsense_names_nobody(tmp_path: Path) -> None:
    hold = take(tmp_path)
    (tmp_path / FILE_NAME).write_text("nonsense")
    assert find_instance(tmp_path) == Instance(pid=0)
    with pytest.raises(ConfigurationError, match="another process"):
        take(tmp_path)
    hold.release()


def test_a_directory_that_is_not_there_cannot_be_taken(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        take(tmp_path / "nowhere")
