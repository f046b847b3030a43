"""Quantities in expressions: `quantity("40Gi").isGreaterThan(…)`, `add`, `asInteger` and the rest.

What a quantity is, and which of upstream's two representations it has, is `dray.api.quantity`'s
business; here its methods get their CEL names. `add` and `sub` answer a DerivedQuantity, and every
function takes one.

Upstream counterpart: apiserver pkg/cel/library/quantity.go.
"""

from __future__ import annotations

from typing import Final

from dray.api.quantity import Format, Quantity
from dray.cel._failures import Failure, no_such_overload
from dray.cel._library.table import FunctionTable, Implementation, of_types
from dray.cel._values import DerivedQuantity, Value
from dray.errors import ParseError

__all__ = ["FUNCTIONS"]


def _quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except ParseError as error:
        raise Failure(error.rule) from None


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except ParseError:
        return False
    return True


def _plain(value: Value) -> Quantity | None:
    """The quantity in either form, or None for anything else."""
    if type(value) is Quantity:
        return value
    if type(value) is DerivedQuantity:
        return value.quantity
    return None


def _known(value: Value) -> Quantity:
    """What the table has already found to be a quantity."""
    quantity = _plain(value)
    assert quantity is not None
    return quantity


def _compared(function: str, value: Value, other: Value) -> int:
    right = _plain(other)
    if right is None:
        raise no_such_overload(function, value, other)
    left = _known(value)
    return (left > right) - (left < right)


def _is_greater_than(value: Value, other: Value) -> bool:
    return _compared("isGreaterThan", value, other) > 0


def _is_less_than(value: Value, other: Value) -> bool:
    return _compared("isLessThan", value, other) < 0


def _compare_to(value: Value, other: Value) -> int:
    return _compared("compareTo", value, other)


def _sign(value: Value) -> int:
    return _known(value).sign


def _is_integer(value: Value) -> bool:
    return _known(value).as_int() is not None


def _as_integer(value: Value) -> int:
    whole = _known(value).as_int()
    if whole is None:
        raise Failure("cannot convert value to integer")
    return whole


def _as_approximate_float(value: Value) -> float:
    return _known(value).as_approximate_float()


def _operand(function: str, value: Value, other: Value) -> Quantity:
    if type(other) is int:
        return Quantity.from_int(other, Format.DECIMAL_EXPONENT)
    quantity = _plain(other)
    if quantity is None:
        raise no_such_overload(function, value, other)
    return quantity


def _add(value: Value, other: Value) -> DerivedQuantity:
    return DerivedQuantity(_known(value) + _operand("add", value, other))


def _sub(value: Value, other: Value) -> DerivedQuantity:
    return DerivedQuantity(_known(value) - _operand("sub", value, other))


def _of_quantities(implementation: Implementation) -> dict[type, Implementation]:
    return of_types((Quantity, DerivedQuantity), implementation)


FUNCTIONS: Final[FunctionTable] = {
    "quantity": {str: _quantity},
    "isQuantity": {str: _is_quantity},
    "sign": _of_quantities(_sign),
    "isGreaterThan": _of_quantities(_is_greater_than),
    "isLessThan": _of_quantities(_is_less_than),
    "compareTo": _of_quantities(_compare_to),
    "isInteger": _of_quantities(_is_integer),
    "asInteger": _of_quantities(_as_integer),
    "asApproximateFloat": _of_quantities(_as_approximate_float),
    "add": _of_quantities(_add),
    "sub": _of_quantities(_sub),
}
