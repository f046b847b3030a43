"""The demo: it goes as told, with kubectl and without, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "00-demo" / "demo.py"
# Ended, and not yet buried by init, which takes its time on some machines.
ZOMBIE = "Z"
PLAIN_OUTPUT = re.compile(r"[^\x1b]*")

# It takes ten seconds or so; a machine that runs all tests at once needs more.
SECONDS_MAX = 120


def start(**environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, DEMO],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )


def folder_of(output: str) -> str:
    """Where the demo kept its cluster."""
    found = re.search(r"--data-dir (/tmp/dray-demo-\w+)/data", output)
    assert found is not None, output
    return found[1]


def running() -> set[tuple[str, str]]:
    """All processes there are."""
    return processes_of("")


def processes_of(folder: str) -> set[tuple[str, str]]:
    """What runs with this folder in its command line, and children of those: containers.

    By number and time of start, so that the next of a number is not mistaken for the last.
    """
    commands, parents, starts = {}, {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            commands[path.name] = (path / "cmdline").read_bytes()
            words = (path / "stat").read_text().rpartition(")")[2].split()
            if words[0] != ZOMBIE:
                parents[path.name], starts[path.name] = words[1], words[19]
    own = {pid for pid in starts if folder.encode() in commands[pid]}
    return {(pid, start) for pid, start in starts.items() if pid in own or parents[pid] in own}


@pytest.fixture
def path_without_kubectl(tmp_path: Path) -> str:
    """Everything that the demo and its pods may need, and no kubectl."""
    for name in ("sh", "env", "sort", "sleep"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    return str(tmp_path)


def assert_all_as_told(output: str, code: int) -> None:
    assert code == 0, output
    assert "All as told" in output
    assert PLAIN_OUTPUT.fullmatch(output), "colours are for terminals"
    folder = folder_of(output)
    assert not Path(folder).exists()
    assert not processes_of(folder)


def test_the_demo_goes_as_told() -> None:
    process = start()
    output, _ = process.communicate(timeout=SECONDS_MAX)
    assert_all_as_told(output, process.returncode)


def test_the_demo_goes_as_told_without_kubectl(path_without_kubectl: str) -> None:
    process = start(PATH=path_without_kubectl)
    output, _ = process.communicate(timeout=SECONDS_MAX)
    assert "kubectl is not on the path" in output
    assert_all_as_told(output, process.returncode)


@pytest.mark.parametrize(
    ("line", "number"),
    [
        pytest.param("$ dray up", signal.SIGINT, id="while-it-starts"),
        pytest.param("pod/notebook-1 created", signal.SIGTERM, id="while-pods-run"),
        pytest.param("$ kill -9", signal.SIGINT, id="while-the-cluster-is-dead"),
    ],
)
def test_an_interrupted_demo_leaves_nothing_behind(line: str, number: signal.Signals) -> None:
    process = start()
    assert process.stdout is not None
    output = ""
    for said in process.stdout:
        output += said
        if line in said:
            break
    before = processes_of(folder_of(output))
    process.send_signal(number)
    rest, _ = process.communicate(timeout=SECONDS_MAX)
    output += rest
    assert before or "dray up" in line, "there was something to leave behind"
    assert process.returncode == 130, output
    assert "Interrupted" in output
    assert "Traceback" not in output
    assert not Path(folder_of(output)).exists()
    assert not processes_of(folder_of(output))
    assert not before & running(), "neither it nor what its pods ran"


def test_a_demo_that_goes_otherwise_says_so(tmp_path: Path) -> None:
    """Here kubectl fails."""
    fake = tmp_path / "kubectl"
    fake.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    fake.chmod(0o755)
    process = start(PATH=f"{tmp_path}:{os.environ['PATH']}")
    output, _ = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 1, output
    assert "This is not how it should go: kubectl apply -f" in output
    assert "broken" in output
    assert not Path(folder_of(output)).exists()
    assert not processes_of(folder_of(output))
