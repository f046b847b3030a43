"""The fault matrix: scenarios by its rows, each held to what the documentation says of its row.

A scenario is an async function of a stage, made a test by `row`. After it ran, whatever
docs/reference/failures.md shows in code in the row's last column must have been seen by the
timeline, and every number of seconds in the column before it must have been measured.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.sim.players import OTHER
from tests.sim.quiet import play
from tests.sim.stage import DRIVER, Stage

__all__ = ["COVERED", "DOCUMENT", "ROWS", "Promise", "promises", "row"]

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "failures.md"

# Rows of the matrix that concern a node; the others are for schedulers and controllers.
ROWS = frozenset(
    [
        *map(str, range(1, 15)),
        "6a",
        *map(str, range(20, 25)),
        *map(str, range(28, 33)),
        *map(str, range(40, 59)),
        *map(str, range(60, 64)),
        *map(str, range(66, 72)),
        "74",
    ]
)

# Scenarios by row, as far as their modules are imported.
COVERED: dict[str, list[str]] = {}

_LINE = re.compile(r"^\| (\d+a?) \|(.*)\|$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Scenario = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Promise:
    """What users are told of a row."""

    failure: str
    happens: str
    when: str
    seen: str

    def check(self, stage: Stage) -> None:
        """Raise AssertionError if a stage showed something else."""
        words = stage.seen.words()
        shown = _CODE.findall(self.seen)
        missing = [
            word
            for word in shown
            if not any(word.replace("<driver>", name) in words for name in (DRIVER, OTHER))
        ]
        assert not missing, f"never seen: {missing}\n{stage.seen}"
        seconds = {float(number) for number in _NUMBER.findall(self.when)}
        measured = {round(number, 2) for number in stage.times}
        assert seconds <= measured, f"never measured: {seconds - measured}, but {measured}"


@cache
def promises() -> dict[str, Promise]:
    """The documentation, by row."""
    found: dict[str, Promise] = {}
    for number, rest in _LINE.findall(DOCUMENT.read_text()):
        assert number not in found, f"row {number} is documented twice"
        cells = [cell.strip() for cell in rest.split("|")]
        assert len(cells) == 4, f"row {number} has {len(cells)} cells after its number"
        found[number] = Promise(*cells)
    return found


def row(
    number: str | int,
    *,
    disk: bool = False,
    driver: bool = True,
    detail: bool = False,
    slow: bool = False,
) -> Callable[[Scenario], Callable[[], None]]:
    """Make a scenario of this row a test. A `detail` shows a part of what users are told."""

    def decorate(scenario: Scenario) -> Callable[[], None]:
        if not detail:
            COVERED.setdefault(str(number), []).append(scenario.__name__)

        def test() -> None:
            async def run() -> None:
                async with Stage(disk=disk, driver=driver) as stage:
                    await scenario(stage)
                    if not detail:
                        promises()[str(number)].check(stage)

            play(run())

        test.__name__ = scenario.__name__
        test.__doc__ = f"Row {number}. {scenario.__doc__ or ''}".strip()
        test.__module__ = scenario.__module__
        marked = pytest.mark.row(str(number))(test)
        return pytest.mark.slow(marked) if disk or slow else marked

    return decorate
