"""Calls of functions: evaluate the operands, charge for the call, find the implementation, call it.

Which implementation is meant follows from the type the first operand has at run time; where the
types were known when the expression was checked, they are the same. A failing operand does not
keep upstream from evaluating the other one of a binary operator, nor from charging for the call,
and so it is here.

Upstream counterparts: evalUnary, evalBinary and evalVarArgs in cel-go interpreter/interpretable.go,
dispatch in common/decls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from dray.cel._attributes import Step
from dray.cel._failures import Abort, Failure, no_such_overload
from dray.cel._frame import Frame
from dray.cel._library.functions import FUNCTIONS, OVERLOADS
from dray.cel._library.table import Implementation
from dray.cel._runtime_cost import ArgumentCharge, ResultCharge, call_charge
from dray.cel._values import LISTS, Duration, MutableList, Timestamp, Value

__all__ = [
    "CONSTRUCTORS",
    "LOOK_INTO_ALL",
    "both",
    "call_step",
    "constant_call_step",
    "dispatched",
]

_SEQUENTIAL: Final = frozenset(
    {
        "add", "compareTo", "containsCIDR", "containsIP", "findAll", "flatten", "getDate",
        "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours",
        "getMilliseconds", "getMinutes", "getMonth", "getSeconds", "indexOf", "isGreaterThan",
        "isLessThan", "isSemver", "join", "lastIndexOf", "semver", "split", "sub", "substring",
    }
)  # fmt: skip
"""Functions that upstream dispatches as if they took any number of operands, when it has to choose
among overloads: it then stops at the first operand that fails."""

_BY_TRAIT: Final = frozenset(
    {"-_", "_%_", "_*_", "_+_", "_-_", "_/_", "_<_", "_<=_", "_>_", "_>=_", "matches", "size",
     "sort", "@sortByAssociatedKeys"}
)  # fmt: skip
"""Functions that upstream finds by what a value can do, and that fail in other words."""

LOOK_INTO_ALL: Final = frozenset(
    {
        "@in", "distinct", "flatten", "format", "includes", "indexOf", "isSorted", "lastIndexOf",
        "max", "min", "sets.contains", "sets.equivalent", "sets.intersects", "sum",
    }
)  # fmt: skip
"""Functions that look at all there is in their operands, however deep."""

_RECEIVERS: Final = frozenset({str, Timestamp, Duration})
"""Types that upstream asks themselves when it finds no function for them."""

_Before: TypeAlias = Callable[[Sequence[Value]], int]
_After: TypeAlias = Callable[[Sequence[Value], Value], int]


def call_step(
    function: str,
    overload: str,
    operands: list[Step],
    implementation: Implementation | None = None,
    *,
    in_order: bool = False,
) -> Step:
    """The step that calls `function`; `implementation` is for the few that take any type.

    `in_order` is for calls that upstream makes over, and that then stop at the first operand that
    fails.
    """
    called = implementation or dispatched(function, overload, count=len(operands))
    charge = call_charge(function, overload)
    looks = function in LOOK_INTO_ALL
    if looks and isinstance(charge, int):
        charge = _constant(charge)
    sequential = in_order or function == "format" or (not overload and function in _SEQUENTIAL)
    if isinstance(charge, ResultCharge) or len(operands) > 2 or sequential:
        after = charge.fn if isinstance(charge, ResultCharge) else None
        before = _charger(charge)
        stops = len(operands) > 2 or sequential
        formats = function == "format"
        return _sequential(
            called, operands, before, after, stops=stops, looks=looks, formats=formats
        )
    if not operands:
        return _nullary(called, charge)
    if len(operands) == 1:
        return _unary(called, operands[0], charge, looks=looks)
    if function == "_+_":
        charge = charge if isinstance(charge, ArgumentCharge) else _constant(charge)
        return _binary(called, operands[0], operands[1], charge, looks=False, copies=True)
    return _binary(called, operands[0], operands[1], charge, looks=looks)


CONSTRUCTORS: Final = frozenset({"cidr", "ip", "quantity", "semver", "url"})
"""Functions that make a value of a short text, which need not be made again for each device."""


def constant_call_step(function: str, overload: str, operands: list[Value]) -> Step | None:
    """The step of a constructor called with constants; None if it has no value for them."""
    charge = call_charge(function, overload)
    if isinstance(charge, ResultCharge):
        return None
    cost = charge if isinstance(charge, int) else charge.fn(operands)
    try:
        value = dispatched(function, overload)(*operands)
    except (Failure, Abort):
        return None

    def step(frame: Frame) -> Value:
        frame.cost += cost
        return value

    return step


def _charger(charge: int | ArgumentCharge | ResultCharge) -> _Before | None:
    if isinstance(charge, ArgumentCharge):
        return charge.fn
    return _constant(charge).fn if isinstance(charge, int) else None


def _constant(cost: int) -> ArgumentCharge:
    return ArgumentCharge(lambda _: cost)


def dispatched(function: str, overload: str = "", *, count: int | None = None) -> Implementation:
    """The function for values of any types: it finds the implementation, or fails as upstream.

    `count` says how many values it will be given, where that is known.
    """
    if overload in OVERLOADS:
        return OVERLOADS[overload]
    by_type = FUNCTIONS[function]
    for_any = by_type.get(object)
    if for_any is not None and len(by_type) == 1:
        return for_any
    find = by_type.get

    def call(*operands: Value) -> Value:
        implementation = find(type(operands[0]), for_any)
        if implementation is None:
            raise _not_found(function, operands)
        return implementation(*operands)

    def call_with_two(one: Value, other: Value) -> Value:
        implementation = find(type(one), for_any)
        if implementation is None:
            raise _not_found(function, (one, other))
        return implementation(one, other)

    return call_with_two if count == 2 else call


def _not_found(function: str, operands: Sequence[Value]) -> Failure:
    if function not in _BY_TRAIT:
        return no_such_overload(function, *operands)
    if type(operands[0]) in _RECEIVERS:
        return Failure("no such overload")
    return Failure(f"no such overload: {function}")


def _nullary(call: Implementation, charge: int | ArgumentCharge) -> Step:
    cost = charge if isinstance(charge, int) else charge.fn(())

    def step(frame: Frame) -> Value:
        frame.cost += cost
        return call()

    return step


def _unary(
    call: Implementation, operand: Step, charge: int | ArgumentCharge, *, looks: bool
) -> Step:
    if isinstance(charge, int):
        cost = charge

        def step(frame: Frame) -> Value:
            frame.cost += cost
            return call(operand(frame))

        return step
    price = charge.fn

    def priced(frame: Frame) -> Value:
        try:
            value = operand(frame)
        except Failure as error:
            frame.charge(price((error,)))
            raise
        if looks:
            frame.look_into((value,))
        frame.charge(price((value,)))
        return call(value)

    return priced


def _binary(
    call: Implementation,
    left: Step,
    right: Step,
    charge: int | ArgumentCharge,
    *,
    looks: bool,
    copies: bool = False,
) -> Step:
    if isinstance(charge, int):
        cost = charge

        def step(frame: Frame) -> Value:
            frame.cost += cost
            try:
                one = left(frame)
            except Failure:
                _discard(right, frame)
                raise
            return call(one, right(frame))

        return step
    price = charge.fn

    def priced(frame: Frame) -> Value:
        one, other, failure = both(left, right, frame)
        if looks:
            frame.look_into((one, other))
        if copies and type(one) in LISTS and type(other) in LISTS:
            # Upstream keeps the two and copies nothing, at a cost of one.
            frame.spend(len(other) + (0 if type(one) is MutableList else len(one)))
        frame.charge(price((one, other)))
        if failure is not None:
            try:
                raise failure
            finally:
                # Its traceback holds this frame: names for it here would be a cycle.
                del failure, one, other
        return call(one, other)

    return priced


def both(left: Step, right: Step, frame: Frame) -> tuple[Value, Value, Failure | None]:
    """The values of two operands, in whose place a failure may stand, and the failure that counts.

    Upstream evaluates both before it looks at either.
    """
    failure: Failure | None = None
    try:
        one = left(frame)
    except Failure as error:
        one = failure = error
    try:
        other = right(frame)
    except Failure as error:
        other = error
        failure = failure or error
    try:
        return one, other, failure
    finally:
        # A failure's traceback holds this frame: names for it here would be a cycle.
        del one, other, failure


def _discard(step: Step, frame: Frame) -> None:
    """Evaluate for the cost alone: another operand has failed already."""
    try:
        step(frame)
    except Failure:
        return


def _sequential(
    call: Implementation,
    operands: list[Step],
    before: _Before | None,
    after: _After | None,
    *,
    stops: bool,
    looks: bool,
    formats: bool,
) -> Step:
    """Operands in order; only a call that got them all is charged. `stops` says that the first one
    to fail is the end of it.
    """
    last = len(operands) - 1

    def step(frame: Frame) -> Value:
        values: list[Value] = []
        failure: Failure | None = None
        for index, operand in enumerate(operands):
            try:
                values.append(operand(frame))
            except Failure as error:
                if stops and index < last:
                    raise
                values.append(error)
                failure = failure or error
        if looks:
            frame.look_into(values)
        if before is not None:
            frame.charge(before(values))
        if failure is not None:
            if after is not None:
                frame.charge(after(values, failure))
            try:
                raise failure
            finally:
                del failure, values
        if after is None:
            value = call(*values)
            if formats:
                frame.spend(len(value))
            return value
        try:
            value = call(*values)
        except Failure as error:
            frame.charge(after(values, error))
            raise
        frame.charge(after(values, value))
        return value

    return step
