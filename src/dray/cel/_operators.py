"""Operators that are no plain calls: they evaluate only some operands, or take errors for values.

`&&` and `||` let the dominant value win over an error on either side. `==` and `!=` take any two
values. `x in [a, b]` with constants is a lookup in a set, at no cost. `or` and `orValue` look at
the alternative only when there is no value.

Upstream counterparts: evalAnd, evalOr, evalEq and evalSetMembership in cel-go
interpreter/interpretable.go and decorators.go, evalOptionalOr in cel/library.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from dray.cel._attributes import Step, unhashable
from dray.cel._calls import both
from dray.cel._failures import Failure
from dray.cel._frame import Frame
from dray.cel._library.conversions import convert
from dray.cel._library.equality import equal
from dray.cel._runtime_cost import ArgumentCharge, call_charge
from dray.cel._values import NONE, Key, Optional, UInt, Unhashable, Value, encode_key

__all__ = [
    "OPERATORS",
    "differ",
    "member_set",
    "membership",
    "membership_step",
    "or_step",
    "or_value_step",
    "text_comparison_step",
]


def _and_step(terms: list[Step]) -> Step:
    return _logical_step(terms, dominant=False)


def _or_all_step(terms: list[Step]) -> Step:
    return _logical_step(terms, dominant=True)


def _logical_step(terms: list[Step], *, dominant: bool) -> Step:
    """`&&` and `||`: the dominant value wins over errors, whichever side it is on."""
    submissive = not dominant
    left, right = terms

    def decide(frame: Frame) -> Value:
        failure: Failure | None = None
        try:
            value = left(frame)
            if value is dominant:
                return dominant
            if value is not submissive:
                failure = Failure("no such overload")
        except Failure as error:
            failure = error
        try:
            value = right(frame)
            if value is dominant:
                return dominant
            if value is not submissive and failure is None:
                failure = Failure("no such overload")
        except Failure as error:
            failure = failure or error
        if failure is not None:
            try:
                raise failure
            finally:
                # Its traceback holds this frame: a name for it here would be a cycle.
                del failure
        return submissive

    return decide


def _equal_step(operands: list[Step]) -> Step:
    return _comparison_step("_==_", "equals", operands, equal)


def _not_equal_step(operands: list[Step]) -> Step:
    return _comparison_step("_!=_", "not_equals", operands, differ)


def _comparison_step(
    function: str, overload: str, operands: list[Step], exact: Callable[[Value, Value], bool]
) -> Step:
    left, right = operands
    charge = call_charge(function, overload)
    assert isinstance(charge, ArgumentCharge)
    price = charge.fn
    same = exact is equal

    def compare(frame: Frame) -> Value:
        one, other, failure = both(left, right, frame)
        if type(one) is str and type(other) is str:
            # By far the commonest: a tenth of the shorter text, rounded up.
            frame.cost += (min(len(one), len(other)) + 9) // 10
            return (one == other) is same
        frame.look_into((one, other))
        frame.charge(price((one, other)))
        if failure is not None:
            try:
                raise failure
            finally:
                del failure, one, other
        return exact(one, other)

    return compare


def text_comparison_step(function: str, operand: Step, text: str) -> Step:
    """`operand == text`, or `!=`, for a text that is written out: what most selectors do."""
    exact = equal if function == "_==_" else differ
    charge = call_charge(function, "equals" if exact is equal else "not_equals")
    assert isinstance(charge, ArgumentCharge)
    price = charge.fn
    same = exact is equal
    most = len(text)

    def compare(frame: Frame) -> Value:
        try:
            one = operand(frame)
        except Failure as error:
            frame.charge(price((error, text)))
            raise
        if type(one) is str:
            size = len(one)
            frame.cost += ((min(most, size)) + 9) // 10
            return (one == text) is same
        frame.look_into((one,))
        frame.charge(price((one, text)))
        return exact(one, text)

    return compare


def differ(left: Value, right: Value) -> bool:
    """`left != right`."""
    # Upstream asks whether equality is true, so that a failing comparison is a difference.
    try:
        return not equal(left, right)
    except Failure:
        return True


def _not_strictly_false_step(operands: list[Step]) -> Step:
    (operand,) = operands

    def holds(frame: Frame) -> Value:
        frame.cost += 1
        try:
            return operand(frame) is not False
        except Failure:
            return True

    return holds


OPERATORS: Final[dict[str, Callable[[list[Step]], Step]]] = {
    "_&&_": _and_step,
    "_||_": _or_all_step,
    "_==_": _equal_step,
    "_!=_": _not_equal_step,
    "@not_strictly_false": _not_strictly_false_step,
}


def or_step(optional: Step, alternative: Step) -> Step:
    def choose(frame: Frame) -> Value:
        value = optional(frame)
        if type(value) is not Optional:
            raise Failure("no such overload")
        return alternative(frame) if value is NONE else value

    return choose


def or_value_step(optional: Step, alternative: Step) -> Step:
    def choose(frame: Frame) -> Value:
        value = optional(frame)
        if type(value) is not Optional:
            raise Failure("no such overload")
        return alternative(frame) if value is NONE else value.value

    return choose


_SET_TYPES: Final = frozenset({bool, int, UInt, float, str})


def member_set(members: Value) -> frozenset[Key] | None:
    """The elements as keys, with the numbers that equal them; None if some cannot be keys."""
    keys: set[Key] = set()
    for member in members:
        if type(member) not in _SET_TYPES:
            return None
        keys.update(map(encode_key, _equals(member)))
    return frozenset(keys)


def _equals(member: Value) -> Iterable[Value]:
    yield member
    kinds = {int: ("double", "uint"), UInt: ("double", "int"), float: ("int", "uint")}
    for function in kinds.get(type(member), ()):
        try:
            other = convert(function, member)
        except Failure:
            continue
        if type(member) is not float or other == member:
            yield other


def membership(members: frozenset[Key]) -> Callable[[Value], bool]:
    """Whether a value is among the members."""
    texts = frozenset(member for member in members if type(member) is str)

    def contains(value: Value) -> bool:
        if type(value) is str:
            return value in texts
        try:
            return encode_key(value) in members
        except Unhashable as error:
            raise unhashable(error) from None

    return contains


def membership_step(operand: Step, members: frozenset[Key]) -> Step:
    contains = membership(members)
    return lambda frame: contains(operand(frame))
