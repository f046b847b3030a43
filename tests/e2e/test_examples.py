"""Every example is what its README says it is."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.e2e.transcripts import outside_sessions, sessions_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DRAY = Path(sys.executable).with_name("dray")
MISTAKES = ROOT / "examples" / "90-mistakes"

DIRECTORIES = sorted(
    path for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name[:2].isdigit()
)
TUTORIALS = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
# A command and what it prints; blocks that show only commands are not looked at.
COMMAND = re.compile(r"^```console\n\$ dray ([^\n]*)\n(?!```)(.+?)^```$", re.MULTILINE | re.DOTALL)


def dray(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DRAY, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=30
    )


@pytest.mark.parametrize(
    "page",
    [*(path / "README.md" for path in DIRECTORIES), *TUTORIALS],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_the_commands_in_a_page_print_what_it_shows(page: Path) -> None:
    text = page.read_text()
    commands = COMMAND.findall(outside_sessions(text))
    assert commands or sessions_of(text) or "```python" in text, "there is nothing to try"
    for arguments, output in commands:
        result = dray(*shlex.split(arguments))
        assert result.stdout + result.stderr == output


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda path: path.name)
def test_a_readme_speaks_of_every_manifest(directory: Path) -> None:
    text = (directory / "README.md").read_text()
    assert [path.name for path in directory.glob("*.yaml") if f"({path.name})" not in text] == []
    assert f"({directory.name}/)" in (ROOT / "examples" / "README.md").read_text()


@pytest.mark.parametrize(
    "directory", [path for path in DIRECTORIES if path != MISTAKES], ids=lambda path: path.name
)
def test_examples_are_valid_as_written(directory: Path) -> None:
    result = dray("validate", "-f", str(directory))
    assert result.returncode == 0
    assert result.stdout == "", "not even a warning"


@pytest.mark.parametrize("path", sorted(MISTAKES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_mistake_is_found_and_told_in_the_words_it_quotes(path: Path) -> None:
    (expected,) = re.findall(r"^# dray says: line (\d+): (.*)$", path.read_text(), re.MULTILINE)
    result = dray("validate", "-f", str(path))
    assert result.returncode == 1
    found = re.match(r".*?:(\d+): document 1 \(.*?\): (.*)", result.stdout)
    assert found is not None
    assert found.groups() == expected


def test_the_example_driver_conforms() -> None:
    """As its README says, with as many kills as a test has time for."""
    with tempfile.TemporaryDirectory(prefix="dray", dir="/tmp") as folder:
        coins = Path(folder) / "coins"
        for number in range(4):
            (coins / f"coin-{number}").mkdir(parents=True)
            (coins / f"coin-{number}" / "metal").write_text("gold\n")
        driver = ROOT / "examples" / "10-driver" / "coins.py"
        result = subprocess.run(
            [
                *(DRAY, "conform", "--driver", "coins.example.com", "--kills", "2"),
                *("--watch-seconds", "5", "--", sys.executable, driver),
                *("--kubeconfig", "{kubeconfig}", "--node-name", "{node}"),
                *("--registry-directory", "{registry}", "--cdi-directory", "{cdi}"),
                *("--plugin-directory", "{plugins}/coins.example.com", "--pod-uid", "{pod_uid}"),
            ],
            env={**os.environ, "COINS_DIRECTORY": str(coins)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        assert not list((Path(folder) / "purses").iterdir()), "whatever was given was taken back"


@pytest.mark.parametrize("program", ["08-api-server/crash.py", "09-node-and-devices/lifetime.py"])
def test_a_program_of_an_example_ends_well(program: str) -> None:
    result = subprocess.run(
        [sys.executable, ROOT / "examples" / program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
