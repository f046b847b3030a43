"""A derived attribute: a value that an expression computes from what a device has.

All derived attributes of a claim share one budget, so an evaluation says what it cost, and the next
takes what is left.

Upstream counterpart: EvaluateDerivedAttribute in dynamic-resource-allocation cel/compile.go.
"""

from __future__ import annotations

from collections.abc import Callable

from dray.api.resource import DeviceAttribute
from dray.cel._compiler import Compilation
from dray.cel._device import DeviceView
from dray.cel._environment import DEVICE_VARIABLE
from dray.cel._failures import Failure
from dray.cel._limits import SELECTOR_COST_MAX
from dray.cel._results import as_attribute
from dray.errors import CELError

__all__ = ["DerivedAttribute"]


class DerivedAttribute:
    """A compiled expression that gives an attribute."""

    def __init__(self, compilation: Compilation) -> None:
        """Of a compilation that went well; CELError says why another did not."""
        if compilation.error is not None:
            raise CELError(compilation.error.detail, source=compilation.expression)
        assert compilation.program is not None
        self.compilation = compilation
        self._program = compilation.program

    @property
    def expression(self) -> str:
        return self.compilation.expression

    def evaluate(
        self,
        device: DeviceView,
        *,
        cost_limit: int = SELECTOR_COST_MAX,
        cancelled: Callable[[], bool] | None = None,
    ) -> tuple[DeviceAttribute, int]:
        """The attribute and what it cost; a CELError with upstream's text if there is none."""
        if device.failure is not None:
            raise CELError(device.failure, source=self.expression)
        evaluation = self._program.evaluate(
            {DEVICE_VARIABLE: device.value}, cost_limit=cost_limit, cancelled=cancelled
        )
        if evaluation.failure is not None:
            raise CELError(evaluation.failure, source=self.expression)
        try:
            return as_attribute(evaluation.value), evaluation.cost
        except Failure as failure:
            raise CELError(str(failure), source=self.expression) from None
