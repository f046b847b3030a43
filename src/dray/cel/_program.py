"""A compiled expression that can be evaluated, and what came of one evaluation.

A Program is immutable and may be shared. Evaluating it is bounded by the cost it may have.

Upstream counterpart: cel-go cel/program.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dray.cel._failures import Abort, Failure
from dray.cel._frame import COST_EXCEEDED, Frame
from dray.cel._library.bounds import STEPS_MAX
from dray.cel._limits import SELECTOR_COST_MAX
from dray.cel._planner import Plan
from dray.cel._values import Value

__all__ = ["Evaluation", "Program"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an expression gave: a value, or the text of what went wrong; and what it cost.

    `aborted` says that the evaluation was ended rather than that the expression failed. One that
    exceeds its budget costs one more than that: it is not known what the rest would have cost.
    """

    value: Value
    failure: str | None
    cost: int
    aborted: bool = False


class Program:
    """The steps of one expression."""

    __slots__ = ("_slot_count", "_step")

    def __init__(self, plan: Plan) -> None:
        self._step = plan.step
        self._slot_count = plan.slot_count

    def evaluate(
        self,
        variables: Mapping[str, Value],
        *,
        cost_limit: int = SELECTOR_COST_MAX,
        cancelled: Callable[[], bool] | None = None,
    ) -> Evaluation:
        """Evaluate; `cancelled` is asked in long loops whether to give up."""
        frame = Frame(variables, self._slot_count, cost_limit, cancelled)
        value, failure, aborted = None, None, False
        try:
            value = self._step(frame)
        except Failure as error:
            failure = str(error)
        except Abort as error:
            failure, aborted = str(error), True
        if frame.cost > frame.limit:
            # Whatever else went wrong, it was after the budget was spent; so was what it cost.
            return Evaluation(None, COST_EXCEEDED, frame.limit + 1, aborted=True)
        return Evaluation(value, failure, frame.cost, aborted)

    def run(
        self,
        variables: Mapping[str, Value],
        *,
        cancelled: Callable[[], bool] | None = None,
        share: int = 1,
    ) -> Value:
        """The value alone, within the usual limit or a share of it; raises a Failure or an Abort.

        `share` is how many programs the limit is for.
        """
        limit, steps = SELECTOR_COST_MAX, STEPS_MAX
        if share > 1:
            limit, steps = limit // share, steps // share
        frame = Frame(variables, self._slot_count, limit, cancelled, steps)
        try:
            value = self._step(frame)
        except (Failure, Abort):
            if frame.cost > frame.limit:
                raise Abort(COST_EXCEEDED) from None
            raise
        if frame.cost > frame.limit:
            raise Abort(COST_EXCEEDED)
        return value
