"""Differences from the real server that are meant: differences.toml, with their reasons."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from tests.interop.compare import Difference
from tests.interop.recording import Recorded
from tests.interop.script import Step

__all__ = [
    "Deliberate",
    "DeliberateCommand",
    "deliberate",
    "deliberate_commands",
    "undeliberate",
]

FILE = Path(__file__).parent / "differences.toml"


@dataclass(frozen=True, slots=True)
class Deliberate:
    """One way in which dray differs on purpose: what, why, and where it shows (patterns)."""

    what: str
    why: str
    where: str
    script: str = "*"
    step: str = "*"
    expected: str = "*"
    got: str = "*"

    def covers(self, script: Recorded, step: Step, difference: Difference) -> bool:
        return (
            fnmatch(script.name, self.script)
            and fnmatch(step.title, self.step)
            and fnmatch(difference.where, self.where)
            and fnmatch(str(difference.expected), self.expected)
            and fnmatch(str(difference.got), self.got)
        )


@dataclass(frozen=True, slots=True)
class DeliberateCommand:
    """A kubectl command that prints something else on purpose: what, why, and which (a pattern)."""

    what: str
    why: str
    command: str


@cache
def deliberate_commands() -> tuple[DeliberateCommand, ...]:
    entries = tomllib.loads(FILE.read_text()).get("kubectl", [])
    return tuple(DeliberateCommand(**entry) for entry in entries)


@cache
def deliberate() -> tuple[Deliberate, ...]:
    return tuple(Deliberate(**entry) for entry in tomllib.loads(FILE.read_text())["difference"])


def undeliberate(script: Recorded, step: Step, found: list[Difference]) -> list[Difference]:
    """The differences that are not meant."""
    real = [
        one for one in found if not any(meant.covers(script, step, one) for meant in deliberate())
    ]
    if found and found[0].where == "code" and found[0] not in real:
        # With another code go other words.
        return []
    return real
