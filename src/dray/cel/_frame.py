"""The state of one evaluation: variables, what it has cost so far, whether to stop.

Costs are counted exactly as upstream counts them. Steps of constant cost are added without
looking at the limit; whatever loops or depends on sizes goes through `charge`, and the end of the
evaluation looks once more, so that nothing runs far beyond its budget. What lists and maps are made
of is counted apart, because upstream's costs do not see it.

Upstream counterparts: cel-go interpreter/frame.go and CostTracker in interpreter/runtimecost.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from dray.cel._failures import Abort
from dray.cel._library.bounds import CONTAINERS, STEPS_MAX, nested_weight
from dray.cel._values import Value

__all__ = ["COST_EXCEEDED", "UNSET", "Frame"]

COST_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"
_INTERRUPTED: Final = "operation interrupted"

_ITERATIONS_BETWEEN_CHECKS: Final = 100
"""How often a loop asks whether anyone still waits for the answer; upstream's number."""


class _Unset:
    """A fold's accumulator that nobody has asked for yet."""


UNSET: Final = _Unset()


_NO_SLOTS: Final[list[Value]] = []


class Frame:
    """One evaluation; steps read and write it directly, it belongs to nobody else."""

    __slots__ = (
        "_cancelled",
        "_iterations",
        "_steps_left",
        "cost",
        "limit",
        "slots",
        "variables",
    )

    def __init__(
        self,
        variables: Mapping[str, Value],
        slot_count: int,
        limit: int,
        cancelled: Callable[[], bool] | None,
        steps: int = STEPS_MAX,
    ) -> None:
        self.variables = variables
        self.slots: list[Value] = [UNSET] * slot_count if slot_count else _NO_SLOTS
        self.cost = 0
        self.limit = limit
        self._cancelled = cancelled
        self._iterations = 0
        self._steps_left = steps

    def charge(self, cost: int) -> None:
        self.cost += cost
        if self.cost > self.limit:
            raise Abort(COST_EXCEEDED)

    def look_into(self, values: Iterable[Value]) -> None:
        """A call is about to look at all there is in these values.

        What a list or map has itself is paid for by cost; what is in its parts is counted here.
        """
        for value in values:
            if type(value) in CONTAINERS:
                self.spend(nested_weight(value, self._steps_left))

    def spend(self, steps: int) -> None:
        """Work is done that costs do not see."""
        self._steps_left -= steps
        if self._steps_left < 0:
            raise Abort(COST_EXCEEDED)

    def iterate(self) -> None:
        """One round of a loop is over."""
        if self.cost > self.limit:
            raise Abort(COST_EXCEEDED)
        if self._cancelled is not None:
            self._iterations += 1
            if self._iterations % _ITERATIONS_BETWEEN_CHECKS == 0 and self._cancelled():
                raise Abort(_INTERRUPTED)
