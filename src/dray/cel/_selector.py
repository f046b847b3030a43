"""A selector that can be asked about devices.

Upstream counterpart: DeviceMatches in dynamic-resource-allocation cel/compile.go.
"""

from __future__ import annotations

from dray.cel._compiler import Compilation
from dray.cel._environment import DEVICE_VARIABLE
from dray.cel._failures import Abort, Failure
from dray.cel._program import Program
from dray.cel._types import Type
from dray.cel._values import LISTS, Value, type_of
from dray.errors import CELError

__all__ = ["Selector", "no_bool"]


class Selector:
    """A compiled selector: whether a device fits."""

    __slots__ = ("_program",)

    def __init__(self, program: Program) -> None:
        self._program = program

    @staticmethod
    def of(compilation: Compilation) -> Selector:
        assert compilation.program is not None, compilation.error
        return Selector(compilation.program)

    def matches(self, device: Value) -> bool:
        """Whether the device fits; `device` comes from `device_value`."""
        try:
            value = self._program.run({DEVICE_VARIABLE: device})
        except (Failure, Abort) as error:
            raise CELError(str(error)) from None
        if value is True or value is False:
            return bool(value)
        raise CELError(no_bool(value))


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
