"""Cases on which trying every combination takes forever, in turns with Kubernetes' own allocator.

Upstream makes an allocator and asks it about the one node there is, from decoded objects to an
answer; `whole` is the same for dray, with the inventory taken in anew. `search` is what one more
node costs once the inventory is there: the claims made ready, the devices laid out, the search.
Neither side compiles: expressions are compiled before anything is timed.

Upstream tries until its deadline, which is the scheduler's to choose: 10 s there, less here. What
it gives up, or takes long for, it is not asked again in every round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks.allocator_cases import HARD_CASES, HardCase
from benchmarks.allocator_go import AllocatorGo
from benchmarks.contest import repeats_for, seconds_per_run
from dray.allocator import Allocation, Allocator, Inventory, Unsatisfiable
from dray.api.core import Node
from dray.api.resource import DeviceID, ResourceClaim, ResourceSlice
from dray.testing.allocation import allocator_of

__all__ = ["main"]

DEADLINE_SECONDS: Final = 3.0
ROUNDS: Final = 10
ROUND_SECONDS: Final = 0.01
GO_SECONDS_MAX: Final = 1.0
"""How long upstream may take for all rounds of a case; there is always one."""

TARGET_SECONDS: Final = 0.005
"""What a search should take, whatever the case."""

LIMIT_SECONDS: Final = 20 * TARGET_SECONDS
"""What fails the run. A missed target is only printed: a machine may be slow or busy. A search that
does try every combination is past any limit."""


def main() -> bool:
    """Run all cases, with upstream's allocator if it can be built."""
    if not AllocatorGo.available():
        print("\nGo is not installed: hard cases are measured without upstream's allocator.")
        return _contest(None)
    with AllocatorGo(deadline_seconds=DEADLINE_SECONDS) as go:
        return _contest(go)


@dataclass
class Row:
    """What one case took."""

    case: HardCase
    steps: int
    search: float = float("inf")
    whole: float = float("inf")
    go: float = float("inf")
    go_steps: int = 0
    go_gave_up: bool = False

    @property
    def text(self) -> str:
        own = f"{self.search * 1e3:8.2f} ms {self.whole * 1e3:8.2f} ms {self.steps:>6}"
        if not self.go_steps:
            return f"  {self.case.name:<46} {own}"
        if self.go_gave_up:
            took, ratio = f"> {DEADLINE_SECONDS:g} s, gave up", "-"
        else:
            took, ratio = f"{self.go * 1e3:.2f} ms", f"{self.whole / self.go:.2f}"
        return f"  {self.case.name:<46} {own} {took:>15} {self.go_steps:>8} {ratio:>6}"


def _contest(go: AllocatorGo | None) -> bool:
    print("\nhard cases: one node, best of several rounds")
    beside = f" {'upstream':>15} {'steps':>8} {'ratio':>6}" if go is not None else ""
    print(f"  {'':<46} {'search':>11} {'whole':>11} {'steps':>6}{beside}")
    rows = []
    for case in HARD_CASES:
        rows.append(_run(case, go))
        print(rows[-1].text)
    if go is not None:
        given_up = sum(row.go_gave_up for row in rows)
        print(
            f"  upstream gave up {given_up} of {len(rows)} cases; "
            f"on the other {len(rows) - given_up} both found the same devices, or none"
        )
    return _check(rows)


def _check(rows: Sequence[Row]) -> bool:
    for row in rows:
        if row.search > TARGET_SECONDS:
            print(f"  {row.case.name} MISSES its target, {TARGET_SECONDS * 1e3:g} ms")
    slowest = max(rows, key=lambda row: row.search)
    holds = slowest.search <= LIMIT_SECONDS
    print(
        f"  the slowest search, {slowest.case.name}, takes {slowest.search * 1e3:.2f} ms: "
        f"{'holds' if holds else 'FAILS'} (limit {LIMIT_SECONDS * 1e3:g} ms)"
    )
    return holds


def _run(case: HardCase, go: AllocatorGo | None) -> Row:
    allocator, node, claims = allocator_of(case.document)
    slices = list(allocator.inventory.slices())
    search = partial(allocator.allocate, node, claims)
    whole = partial(_from_slices, slices, allocator, node, claims)
    answer = search()
    expected = _devices(answer)
    if bool(expected) != case.fits or _devices(whole()) != expected:
        raise AssertionError(f"{case.name}: unexpectedly {answer}")
    if isinstance(answer, Unsatisfiable) and answer.undecided:
        raise AssertionError(f"{case.name}: undecided")
    row = Row(case, answer.steps)
    go_repeats = 0
    if go is not None:
        # Selectors are compiled on the way, which later rounds have no need of.
        first = go.solve(case.document, repeats=1)
        row.go_steps, row.go_gave_up = first.steps, first.gave_up
        if not first.gave_up:
            if first.devices != expected:
                raise AssertionError(f"{case.name}: {expected}, but upstream {first.devices}")
            row.go = first.seconds
            go_repeats = max(1, int(ROUND_SECONDS / first.seconds))
    go_rounds = int(GO_SECONDS_MAX / (row.go * go_repeats)) if go_repeats else 0
    own_search, own_whole = _timed(search), _timed(whole)
    for turn in range(ROUNDS):
        row.search = min(row.search, own_search())
        row.whole = min(row.whole, own_whole())
        if go is not None and turn < go_rounds:
            row.go = min(row.go, go.solve(case.document, repeats=go_repeats).seconds)
    return row


def _from_slices(
    slices: Sequence[ResourceSlice],
    allocator: Allocator,
    node: Node,
    claims: Sequence[ResourceClaim],
) -> Allocation | Unsatisfiable:
    """Everything from the slices on; what is in use is known."""
    anew = Allocator(
        Inventory(allocator.features, slices),
        allocator.occupancy,
        allocator.classes,
        share_id=allocator.share_id,
    )
    return anew.allocate(node, claims)


def _devices(answer: Allocation | Unsatisfiable) -> tuple[DeviceID, ...]:
    if isinstance(answer, Unsatisfiable):
        return ()
    return tuple(
        DeviceID(one.driver, one.pool, one.device)
        for result in answer.results
        for one in result.devices.results
    )


def _timed(work: Callable[[], object]) -> Callable[[], float]:
    repeats = repeats_for(work, round_seconds=ROUND_SECONDS)
    return lambda: seconds_per_run(work, repeats)


if __name__ == "__main__":
    main()
