"""What a call costs when it is made: the sizes of the actual values decide.

The rules are the ones of `_call_cost`, with real sizes in place of ranges, looked up in the same
three places: by overload for the libraries that bring their own, by function for Kubernetes, by
overload for the language. The first that has one wins; a call without a rule costs 1. Working out
the arguments is not included, nor is what upstream does not count as a call: `_[_]`, `_[?_]` and
`_?._` are paths, and `in` a constant list is a set.

Whatever failed counts like a value without a size, which is 1. Two rules do not survive it, and
upstream's evaluation with them: `distinct` and the sorts want a list, `flatten` wants an int.

Upstream counterparts: cel-go interpreter/runtimecost.go (costCall), ext/lists.go and ext/sets.go
(trackers), apiserver pkg/cel/library/cost.go (CallCost).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel import _types as types
from dray.cel._call_cost import LIST_COST, REGEX_FACTOR, STRING_FACTOR
from dray.cel._estimate import MAX
from dray.cel._failures import Abort, Failure
from dray.cel._library.go_types import go_type
from dray.cel._library.network import CIDR, IP
from dray.cel._limits import SELECTOR_COST_MAX
from dray.cel._values import (
    LISTS,
    MAPS,
    NONE,
    DerivedQuantity,
    Duration,
    Optional,
    Timestamp,
    UInt,
    Value,
    decode_key,
)

__all__ = ["ArgumentCharge", "Charge", "ResultCharge", "call_charge", "value_size"]

Charge: TypeAlias = Callable[[Sequence[Value], Value], int]
"""The cost of a call with these arguments, what it is called on first, and this result."""


@dataclass(frozen=True, slots=True)
class ArgumentCharge:
    """A cost that follows from the arguments, so it can be charged before the work is done."""

    fn: Callable[[Sequence[Value]], int]


@dataclass(frozen=True, slots=True)
class ResultCharge:
    """A cost that is only known with the result."""

    fn: Charge


_Rule: TypeAlias = int | ArgumentCharge | ResultCharge


def call_charge(function: str, overload: str) -> int | ArgumentCharge | ResultCharge:
    """What calls of a function cost; `overload` is empty where the types left several."""
    for rules, name in (
        (_LIBRARY_RULES, overload),
        (_KUBERNETES_OVERLOAD_RULES, overload),
        (_KUBERNETES_RULES, function),
        (_LANGUAGE_RULES, overload),
    ):
        rule = rules.get(name)
        if rule is not None:
            return rule
    return 1


def value_size(value: Value) -> int:
    """The size by which the language's rules count: of an optional, the size of what it has."""
    while type(value) is Optional and value is not NONE:
        value = value.value
    return _own_size(value)


def _own_size(value: Value) -> int:
    """The size by which the libraries' rules count: an optional is one thing."""
    if type(value) in _SIZED:
        return len(value)
    if type(value) is IP or type(value) is CIDR:
        return value.size
    return 1


_SIZED: Final = frozenset({str, bytes, *LISTS, *MAPS})

_Size: TypeAlias = Callable[[Value], int]


def _walked(size: int) -> int:
    return math.ceil(size * STRING_FACTOR)


def _walk(index: int, size: _Size, *, times: int = 1) -> ArgumentCharge:
    return ArgumentCharge(lambda arguments: _walked(size(arguments[index]) * times))


def _match(size: _Size) -> ArgumentCharge:
    def charge(arguments: Sequence[Value]) -> int:
        return _matched(size(arguments[0]), size(arguments[1]))

    return ArgumentCharge(charge)


def _matched(text_size: int, pattern_size: int) -> int:
    # One more than the text's length, so that a costly pattern costs on an empty text too.
    return _walked(1 + text_size) * math.ceil(pattern_size * REGEX_FACTOR)


def _rules(rule: _Rule, names: str) -> dict[str, _Rule]:
    return dict.fromkeys(names.split(), rule)


# Rules that came with a library's overloads

_RANGE_MAX: Final = 1_000_000
"""The longest list `lists.range` makes; beyond it, it fails."""


def _allocating(factor: float, size: int) -> int:
    product = float(size) * factor
    # Go's conversion of what exceeds its integers gives this on amd64.
    walked = int(product) if product < 2.0**64 else 2**63
    return min(walked + 1 + LIST_COST, MAX)


def _slice(_: Sequence[Value], result: Value) -> int:
    return _allocating(1, _own_size(result))


def _list_range(arguments: Sequence[Value]) -> int:
    [length] = arguments
    made = type(length) is int and 0 <= length <= _RANGE_MAX
    return _allocating(1, length if made else 1)


def _reverse(arguments: Sequence[Value]) -> int:
    [reversed_] = arguments
    return _allocating(1, len(reversed_) if type(reversed_) in LISTS else 1)


def _flatten(arguments: Sequence[Value]) -> int:
    depth = 1
    if len(arguments) > 1:
        depth = arguments[1]
        if type(depth) is not int:
            raise _crash(f"ref.Val is {_go_type(depth)}, not types.Int")
    return _allocating(float(depth) if depth >= 0 else 1, _own_size(arguments[0]))


def _compare_all(index: int) -> ArgumentCharge:
    """Every element of the list is compared with every other; the first tells their type."""

    def charge(arguments: Sequence[Value]) -> int:
        compared = arguments[index]
        if type(compared) not in LISTS:
            missing = "Contains" if type(compared) in _ADDABLE else "Add"
            raise _crash(f"{_go_type(compared)} is not traits.Lister: missing method {missing}")
        text = compared and type(compared[0]) in (str, bytes)
        return _allocating(2 + STRING_FACTOR if text else 2, len(compared) ** 2)

    return ArgumentCharge(charge)


def _sets(factor: int) -> ArgumentCharge:
    def charge(arguments: Sequence[Value]) -> int:
        first, second = arguments
        return 1 + _own_size(first) * _own_size(second) * factor

    return ArgumentCharge(charge)


def _for_sorted_types(rule: _Rule, suffix: str) -> Iterable[tuple[str, _Rule]]:
    sorted_types = (
        types.INT,
        types.UINT,
        types.DOUBLE,
        types.BOOL,
        types.DURATION,
        types.TIMESTAMP,
        types.STRING,
        types.BYTES,
    )
    return ((f"list_{sorted_.name}_{suffix}", rule) for sorted_ in sorted_types)


_LIBRARY_RULES: Final[dict[str, _Rule]] = {
    "list_slice": ResultCharge(_slice),
    "list_flatten": ArgumentCharge(_flatten),
    "list_flatten_int": ArgumentCharge(_flatten),
    "lists_range": ArgumentCharge(_list_range),
    "list_reverse": ArgumentCharge(_reverse),
    "list_distinct": _compare_all(0),
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    **dict(_for_sorted_types(_compare_all(0), "sort")),
    **dict(_for_sorted_types(_compare_all(1), "sortByAssociatedKeys")),
}


# Kubernetes' rules


def _traverse(arguments: Sequence[Value]) -> int:
    """A step for each scalar within the first argument; for text, its bytes in UTF-8 count.

    Unlike everywhere else, each text is rounded down: a short one is free.
    """
    cost = 0
    waiting = [arguments[0]]
    # Beyond the budget it does not matter how far.
    while waiting and cost <= SELECTOR_COST_MAX:
        value = waiting.pop()
        kind = type(value)
        if kind is str:
            size = len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
            cost += int(size * STRING_FACTOR)
        elif kind is bytes:
            cost += int(len(value) * STRING_FACTOR)
        elif kind in LISTS:
            waiting.extend(value)
        elif kind in MAPS:
            waiting.extend(map(decode_key, value))
            waiting.extend(value.values())
        else:
            cost += 1
    return cost


def _join(_: Sequence[Value], result: Value) -> int:
    return _walked(_own_size(result) * 2)


def _contains_ip(arguments: Sequence[Value]) -> int:
    return _walked(_own_size(arguments[0]) * 2)


def _contains_ip_text(arguments: Sequence[Value]) -> int:
    return _contains_ip(arguments) + _walked(_own_size(arguments[1]))


def _contains_cidr(arguments: Sequence[Value]) -> int:
    return _contains_ip(arguments) + _walked(_own_size(arguments[0])) + 1


def _contains_cidr_text(arguments: Sequence[Value]) -> int:
    return _contains_cidr(arguments) + _walked(_own_size(arguments[1]))


def _validate(arguments: Sequence[Value]) -> int:
    format_ = arguments[0]
    # An optional format has no `validate`, but upstream looks through it before it finds out.
    while type(format_) is Optional and format_ is not NONE:
        format_ = format_.value
    if getattr(format_, "cel_type", None) is not types.FORMAT:
        return 1
    return _matched(_own_size(arguments[1]), format_.regex_size)


def _equals(arguments: Sequence[Value]) -> int:
    """Kubernetes' own values compare in a step; for the rest the language decides."""
    first = arguments[0]
    if type(first) in _ONE_STEP or getattr(first, "cel_type", None) in _ONE_STEP_OPAQUE:
        return 1
    return _compare(arguments)


_ONE_STEP: Final = frozenset({Quantity, DerivedQuantity, Semver})
_ONE_STEP_OPAQUE: Final = frozenset({types.IP, types.CIDR, types.URL, types.FORMAT})


def _authorization_selector(arguments: Sequence[Value]) -> int:
    size = _own_size(arguments[1])
    return LIST_COST + _walked(size) + math.ceil(size * 0.5) * 50


_KUBERNETES_OVERLOAD_RULES: Final[dict[str, _Rule]] = {
    "cidr_ip": 1,
    "cidr_contains_ip_string": ArgumentCharge(_contains_ip_text),
    "cidr_contains_cidr_string": ArgumentCharge(_contains_cidr_text),
}
"""Where Kubernetes tells overloads of a function apart."""


def _compare(arguments: Sequence[Value]) -> int:
    return _walked(min(value_size(arguments[0]), value_size(arguments[1])))


_KUBERNETES_RULES: Final[dict[str, _Rule]] = {
    # The operators that skip operands are no calls to upstream, and free.
    **_rules(0, "_&&_ _||_ _?_:_ or orValue"),
    **_rules(ArgumentCharge(_traverse), "isSorted sum max min indexOf lastIndexOf includes"),
    **_rules(
        _walk(0, _own_size),
        "url lowerAscii upperAscii substring trim cidr isIP isCIDR ip quantity isQuantity"
        " semver isSemver",
    ),
    **_rules(_walk(0, _own_size, times=2), "replace split ip.isCanonical"),
    **_rules(ResultCharge(_join), "join"),
    **_rules(_match(_own_size), "find findAll"),
    **_rules(ArgumentCharge(_contains_ip), "containsIP"),
    **_rules(ArgumentCharge(_contains_cidr), "containsCIDR"),
    **_rules(ArgumentCharge(_validate), "validate"),
    **_rules(ArgumentCharge(_equals), "_==_"),
    **_rules(350_000, "check"),
    **_rules(ArgumentCharge(_authorization_selector), "fieldSelector labelSelector"),
}


# The language's own rules


def _add_text(arguments: Sequence[Value]) -> int:
    return _walked(value_size(arguments[0]) + value_size(arguments[1]))


def _in_list(arguments: Sequence[Value]) -> int:
    return value_size(arguments[1])


def _contains_text(arguments: Sequence[Value]) -> int:
    return _walked(value_size(arguments[0])) * _walked(value_size(arguments[1]))


_LANGUAGE_RULES: Final[dict[str, _Rule]] = {
    **_rules(_walk(0, value_size), "string_to_bytes bytes_to_string strings_quote string_format"),
    **_rules(_walk(1, value_size), "starts_with_string ends_with_string"),
    **_rules(ArgumentCharge(_in_list), "in_list"),
    **_rules(_match(value_size), "matches matches_string"),
    **_rules(ArgumentCharge(_contains_text), "contains_string"),
    **_rules(ArgumentCharge(_add_text), "add_string add_bytes"),
    **_rules(
        ArgumentCharge(_compare),
        "less_string greater_string less_equals_string greater_equals_string less_bytes"
        " greater_bytes less_equals_bytes greater_equals_bytes not_equals",
    ),
}


# How upstream crashes


def _crash(reason: str) -> Abort:
    return Abort(f"internal error: interface conversion: {reason}")


def _go_type(value: Value) -> str:
    if isinstance(value, Failure):
        return "*types.Err"
    return go_type(value)


_ADDABLE: Final = frozenset({int, UInt, float, str, bytes, Duration, Timestamp})
"""Types whose values know the first method of a list in Go, which is how to be added."""
