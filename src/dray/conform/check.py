"""One check: a sentence, a coroutine that holds a driver to it, and how it says no.

A check raises Violation when the sentence is not true, NotApplicable when it cannot be asked.
Checks are listed by their modules in the order in which they run; each leaves nothing prepared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dray.errors import DrayError

if TYPE_CHECKING:
    from dray.conform.bench import Bench

__all__ = ["Check", "Checks", "NotApplicable", "Violation"]


class Violation(DrayError):
    """The driver did something else than the sentence says."""


class NotApplicable(DrayError):
    """The check cannot be asked of this driver, or in this run."""


@dataclass(frozen=True, slots=True)
class Check:
    """A sentence and what proves it."""

    area: str
    claim: str
    rule: str
    run: Callable[[Bench], Awaitable[None]]
    must: bool = True


class Checks:
    """The checks of one area, in order."""

    def __init__(self, area: str) -> None:
        self.area = area
        self.listed: list[Check] = []

    def __call__(
        self, claim: str, *, rule: str = "", must: bool = True
    ) -> Callable[[Callable[[Bench], Awaitable[None]]], Callable[[Bench], Awaitable[None]]]:
        """Add the decorated coroutine under its sentence."""

        def add(run: Callable[[Bench], Awaitable[None]]) -> Callable[[Bench], Awaitable[None]]:
            self.listed.append(Check(self.area, claim, rule, run, must))
            return run

        return add
