"""A contest: several ways to do the same work, timed in turns.

Machines are shared and noisy, so contestants alternate within each round, a disturbance hits all
of them alike, and the best round of each counts.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Final

__all__ = [
    "Floor",
    "best_times",
    "check_floors",
    "repeats_for",
    "run_contest",
    "seconds_per_run",
]

ROUNDS: Final = 15
ROUND_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Floor:
    """`subject` must be at least `factor` times as fast as `reference`."""

    subject: str
    reference: str
    factor: float


def run_contest(
    title: str, contestants: Mapping[str, Callable[[], object]], floors: list[Floor]
) -> bool:
    """Time everyone, print the table, and say whether all floors hold."""
    best = best_times(contestants, rounds=ROUNDS)
    print(f"\n{title}")
    for name, seconds in best.items():
        print(f"  {name:<44} {seconds * 1e6:>10.0f} µs")
    return check_floors(best, floors)


def check_floors(best: Mapping[str, float], floors: list[Floor]) -> bool:
    """Print a line for each floor, and say whether all hold."""
    held = True
    for floor in floors:
        factor = best[floor.reference] / best[floor.subject]
        holds = factor >= floor.factor
        held &= holds
        print(
            f"  {floor.subject} is {factor:.2f}x as fast as {floor.reference}: "
            f"{'holds' if holds else 'FAILS'} (floor {floor.factor:.2f}x)"
        )
    return held


def best_times(contestants: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Seconds per run of each, the best of several rounds in which they take turns."""
    repeats = {name: repeats_for(work) for name, work in contestants.items()}
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, work in contestants.items():
            best[name] = min(best[name], seconds_per_run(work, repeats[name]))
    return best


def repeats_for(work: Callable[[], object], *, round_seconds: float = ROUND_SECONDS) -> int:
    """How often to do the work for a round to take that long."""
    seconds = seconds_per_run(work, 1)
    return max(1, int(round_seconds / max(seconds, 1e-7)))


def seconds_per_run(work: Callable[[], object], repeats: int) -> float:
    """One round: the average of several runs, with no garbage collected in between."""
    gc.collect()
    gc.disable()
    try:
        start = perf_counter()
        for _ in range(repeats):
            work()
        return (perf_counter() - start) / repeats
    finally:
        gc.enable()
