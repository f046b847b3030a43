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

__all__ = ["Deliberate", "deliberate", "is_deliberate"]

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


@cache
def deliberate() -> tuple[Deliberate, ...]:
    return tuple(Deliberate(**entry) for entry in tomllib.loads(FILE.read_text())["difference"])


def is_deliberate(script: Recorded, step: Step, difference: Difference) -> bool:
    return any(one.covers(script, step, difference) for one in deliberate())
