"""A selector that can be asked about devices.

Upstream counterpart: DeviceMatches in dynamic-resource-allocation cel/compile.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Final

from dray.cel._codegen import SURPRISES, Function, generate
from dray.cel._compiler import Compilation
from dray.cel._device import DeviceView
from dray.cel._environment import DEVICE_VARIABLE
from dray.cel._failures import Abort, Failure
from dray.cel._logic import Logic, take_apart
from dray.cel._projections import reader
from dray.cel._references import Reference, references
from dray.cel._results import as_bool
from dray.cel._types import Kind
from dray.cel._values import Value
from dray.errors import CELError

__all__ = ["Selector"]

ASKED_BEFORE_CODE_IS_MADE: Final = 32
"""Making code takes as long as asking the exact program some hundred times, and is worth it for a
selector that is asked about a node's devices and not only about one."""


class Selector:
    """A compiled selector: whether a device fits."""

    def __init__(self, compilation: Compilation) -> None:
        """Of a compilation that went well; CELError says why another did not."""
        if compilation.error is not None:
            raise CELError(compilation.error.detail, source=compilation.expression)
        assert compilation.program is not None
        assert compilation.checked is not None
        self.compilation = compilation
        self._program = compilation.program
        self._checked = compilation.checked
        self._code: Function | None = None
        self._asked = 0

    @property
    def expression(self) -> str:
        return self.compilation.expression

    @cached_property
    def references(self) -> frozenset[Reference]:
        """What of a device the answer depends on."""
        return references(self._checked)

    @cached_property
    def code(self) -> Function | None:
        """The expression as Python code; None where there is none."""
        return generate(self._checked)

    @cached_property
    def logic(self) -> Logic | None:
        """The selector taken apart, to be asked about many devices.

        None if the whole may be an optional: upstream takes `optional.of(true)` for true, but not
        as a part.
        """
        whole = self._checked.type(self._checked.root)
        return take_apart(self._checked) if whole.kind is Kind.BOOL else None

    def projection(self, device: DeviceView) -> Hashable:
        """What the selector sees of a device: it answers alike for devices that look alike."""
        if device.failure is not None:
            return device.failure
        return tuple(read(device.value) for read in self._readers)

    @cached_property
    def _readers(self) -> tuple[Callable[[Value], Hashable], ...]:
        return tuple(reader(reference) for reference in sorted(self.references, key=str))

    def matches(self, device: DeviceView, *, cancelled: Callable[[], bool] | None = None) -> bool:
        """Whether the device fits; a CELError with upstream's text if there is no answer."""
        if device.failure is not None:
            raise CELError(device.failure, source=self.expression)
        if self._code is not None:
            try:
                value = self._code(device.value)
            except SURPRISES:
                pass
            else:
                if value is True or value is False:
                    return bool(value)
        elif self._asked <= ASKED_BEFORE_CODE_IS_MADE:
            self._asked += 1
            if self._asked > ASKED_BEFORE_CODE_IS_MADE:
                self._code = self.code
        return self.matches_exactly(device, cancelled=cancelled)

    def matches_exactly(
        self, device: DeviceView, *, cancelled: Callable[[], bool] | None = None
    ) -> bool:
        """As `matches`, always by the exact program."""
        if device.failure is not None:
            raise CELError(device.failure, source=self.expression)
        try:
            value = self._program.run({DEVICE_VARIABLE: device.value}, cancelled=cancelled)
            return value if value is True or value is False else as_bool(value)
        except (Failure, Abort) as error:
            raise CELError(str(error), source=self.expression) from None
