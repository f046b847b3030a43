"""The points between which a process may die while it works on a claim; tests make it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

__all__ = ["OnStep", "Step", "pass_by"]


class Step(Enum):
    """What was just done."""

    INTENT_RECORDED = "intent recorded"
    DEVICE_PREPARED = "device prepared"
    CDI_WRITTEN = "CDI written"
    COMMITTED = "committed"
    COMMIT_WITHDRAWN = "commit withdrawn"
    CDI_REMOVED = "CDI removed"
    DEVICE_UNPREPARED = "device unprepared"
    ENTRY_REMOVED = "entry removed"


# Hears of each step, with the claim's UID. What it raises ends the work there and then.
OnStep: TypeAlias = Callable[[Step, str], None]


def pass_by(step: Step, uid: str) -> None:
    """Go on."""
