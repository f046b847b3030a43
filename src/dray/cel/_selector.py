"""A selector that can be asked about devices.

Upstream counterpart: DeviceMatches in dynamic-resource-allocation cel/compile.go.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from dray.cel._compiler import Compilation
from dray.cel._device import DeviceView
from dray.cel._environment import DEVICE_VARIABLE
from dray.cel._failures import Abort, Failure
from dray.cel._references import Reference, references
from dray.cel._types import Type
from dray.cel._values import LISTS, Value, type_of
from dray.errors import CELError

__all__ = ["Selector", "no_bool"]


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

    @property
    def expression(self) -> str:
        return self.compilation.expression

    @cached_property
    def references(self) -> frozenset[Reference]:
        """What of a device the answer depends on."""
        return references(self._checked)

    def matches(self, device: DeviceView, *, cancelled: Callable[[], bool] | None = None) -> bool:
        """Whether the device fits; a CELError with upstream's text if there is no answer."""
        if device.failure is not None:
            raise CELError(device.failure, source=self.expression)
        try:
            value = self._program.run({DEVICE_VARIABLE: device.value}, cancelled=cancelled)
        except (Failure, Abort) as error:
            raise CELError(str(error), source=self.expression) from None
        if value is True or value is False:
            return bool(value)
        raise CELError(no_bool(value), source=self.expression)


def no_bool(value: Value) -> str:
    """What upstream says when a selector's value is none it can use."""
    name = type_of(value).name
    return f"CEL result of type {name} could not be converted to bool: {_why_not(value, name)}"


def _why_not(value: Value, name: str) -> str:
    kind = type(value)
    if kind is str:
        return "unsupported native conversion from string to 'bool'"
    if kind in LISTS:
        return "type conversion error from list to 'bool'"
    if kind is Type:
        return "type conversion not supported for 'type'"
    return f"unsupported type conversion from '{name}' to bool"
