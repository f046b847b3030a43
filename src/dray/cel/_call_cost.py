"""What calling a function costs, and how large its result may be.

One rule per function or overload, in the three places upstream looks, in its order: rules that
came with a library's overloads, Kubernetes' rules by function name, CEL's own by overload. The
first that has an answer wins; a call without a rule costs 1. The cost of working out the
arguments is not included.

Upstream counterparts: cel-go ext/lists.go and ext/sets.go (estimators), apiserver
pkg/cel/library/cost.go (EstimateCallCost), cel-go checker/cost.go (functionCost).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from dray.cel import _types as types
from dray.cel._estimate import MAX, NOTHING, ONE, UNKNOWN, Range
from dray.cel._nodes import Literal, Node
from dray.cel._types import Kind, Type

__all__ = [
    "LIST_COST",
    "REGEX_FACTOR",
    "STRING_FACTOR",
    "CallCost",
    "Called",
    "Operand",
    "Rule",
    "call_cost",
]

STRING_FACTOR: Final = 0.1
"""Cost of one character when a string is walked once."""

REGEX_FACTOR: Final = 0.25
"""Cost of one character of a pattern, for each unit of the string it is matched against."""

LIST_COST: Final = 10
_FORMAT_SIZE_MAX: Final = 64
_FORMAT_REGEX_SIZE_MAX: Final = 128


class Operand(NamedTuple):
    """A call's target or argument: its type, its size as far as the tree tells it, its path.

    `path_size` answers the size of what a path leads to, given steps beyond this operand.
    """

    node: Node
    type: Type
    size: Range | None
    path_size: Callable[..., Range | None]

    @property
    def known_size(self) -> Range:
        return self.size or self.path_size() or UNKNOWN

    @property
    def computed_size(self) -> Range:
        return self.size or UNKNOWN


class CallCost(NamedTuple):
    cost: Range
    result_size: Range | None = None


class Called(NamedTuple):
    """One overload of a function with what it is called on and with."""

    function: str
    overload: str
    target: Operand | None
    arguments: list[Operand]

    @property
    def receiver(self) -> Operand:
        assert self.target is not None
        return self.target


Rule: TypeAlias = Callable[[Called], CallCost | None]


def call_cost(call: Called) -> CallCost:
    for rule in (
        _LIBRARY_RULES.get(call.overload),
        _KUBERNETES_RULES.get(call.function),
        _LANGUAGE_RULES.get(call.overload),
    ):
        if rule is not None:
            answer = rule(call)
            if answer is not None:
                return answer
    return CallCost(ONE)


# Rules that came with a library's overloads


def _whole_number(operand: Operand, default: int) -> int:
    node = operand.node
    if isinstance(node, Literal) and type(node.value) is int:
        return max(node.value, 0)
    return default


def _allocating(factor: float, size: Range) -> CallCost:
    cost = size.times_factor(factor).plus(ONE).plus(Range(LIST_COST, LIST_COST))
    return CallCost(cost, size)


def _slice(call: Called) -> CallCost | None:
    start = _whole_number(call.arguments[0], 0)
    end = _whole_number(call.arguments[1], call.receiver.known_size.max)
    # Upstream's difference is unsigned: a slice that ends before it starts is enormous.
    length = (end - start) % 2**64
    return _allocating(1, Range(length, length))


def _flatten(call: Called) -> CallCost | None:
    depth = _whole_number(call.arguments[0], MAX) if call.arguments else 1
    return _allocating(float(depth), call.receiver.known_size)


def _list_range(call: Called) -> CallCost | None:
    if call.target is not None:
        return None
    length = _whole_number(call.arguments[0], MAX)
    return _allocating(1, Range(length, length))


def _reverse(call: Called) -> CallCost | None:
    return _allocating(1, call.receiver.known_size)


def _distinct(call: Called) -> CallCost | None:
    return _allocating(2.0, call.receiver.known_size.times(call.receiver.known_size))


def _sort(call: Called) -> CallCost | None:
    """Sorting compares every element, or with sortBy every key, with every other."""
    size = (call.arguments[0] if call.arguments else call.receiver).known_size
    compares_text = call.overload.startswith(("list_string_", "list_bytes_"))
    return _allocating(2.0 + STRING_FACTOR if compares_text else 2.0, size.times(size))


def _sets(factor: float) -> Rule:
    def rule(call: Called) -> CallCost | None:
        first, second = call.arguments
        pairs = first.known_size.times(second.known_size)
        return CallCost(pairs.times_factor(factor).plus(ONE))

    return rule


_SORTED_TYPES: Final = (
    types.INT,
    types.UINT,
    types.DOUBLE,
    types.BOOL,
    types.DURATION,
    types.TIMESTAMP,
    types.STRING,
    types.BYTES,
)
_LIBRARY_RULES: Final[dict[str, Rule]] = {
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _list_range,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    **{f"list_{sorted_.name}_sort": _sort for sorted_ in _SORTED_TYPES},
    **{f"list_{sorted_.name}_sortByAssociatedKeys": _sort for sorted_ in _SORTED_TYPES},
}


# Kubernetes' rules


def _fixed(cost: int) -> Rule:
    answer = CallCost(Range(cost, cost))
    return lambda _call: answer


def _walk_list(call: Called) -> CallCost | None:
    if call.target is None:
        return None
    each = ONE
    if call.receiver.type.parameters:
        element = call.receiver.type.parameters[0]
        if element.kind in (Kind.STRING, Kind.BYTES):
            size = call.receiver.path_size("@items") or UNKNOWN
            each = each.plus(size.times_factor(STRING_FACTOR))
        return CallCost(call.receiver.known_size.times(each))
    if call.overload == "list_includes_dyn_dyn":
        return CallCost(call.receiver.known_size)
    return CallCost(call.receiver.known_size.times_factor(STRING_FACTOR))


def _walk_argument(factor: float, *, sized: bool = False) -> Rule:
    def rule(call: Called) -> CallCost | None:
        if not call.arguments:
            return None
        size = call.arguments[0].known_size
        return CallCost(size.times_factor(factor), size if sized else None)

    return rule


def _walk_target(call: Called) -> CallCost | None:
    if call.target is None:
        return None
    size = call.receiver.known_size
    return CallCost(size.times_factor(STRING_FACTOR), size)


def _replace(call: Called) -> CallCost | None:
    if call.target is None:
        return None
    size = call.receiver.known_size
    old = call.arguments[0].known_size
    new = call.arguments[1].known_size
    if old.min == 0:
        most, kept_most = min(size.max + 1, MAX), size.max
    elif new.max <= old.min:
        most, kept_most = 0, size.max
    else:
        most, kept_most = _times_replaced(size.max, old.min), 0
    if old.max == 0:
        least, kept_least = min(size.min + 1, MAX), size.min
    elif old.max <= new.min:
        least, kept_least = 0, size.min
    else:
        least, kept_least = _times_replaced(size.min, old.max), 0
    result = Range(least, most).times(new).plus(Range(kept_least, kept_most))
    return CallCost(size.times_factor(2 * STRING_FACTOR), result)


def _times_replaced(size: int, replaced: int) -> int:
    """How many parts of this size there are; Go's conversion of 2^64 wraps on this platform."""
    quotient = math.ceil(float(size) / float(replaced))
    return quotient if quotient < 2**64 else 2**63


def _split(call: Called) -> CallCost | None:
    if call.target is None:
        return None
    size = call.receiver.known_size
    most = size.max
    if len(call.arguments) > 1:
        node = call.arguments[1].node
        if isinstance(node, Literal) and type(node.value) is int:
            # A negative limit means "all"; upstream's conversion to unsigned makes it enormous.
            most = node.value % 2**64
    return CallCost(size.times_factor(2 * STRING_FACTOR), Range(0, most))


def _join(call: Called) -> CallCost | None:
    if call.target is None:
        return None
    count = call.receiver.known_size
    size = NOTHING
    if call.receiver.type.parameters:
        size = count.times(call.receiver.path_size("@items") or UNKNOWN)
    if call.arguments:
        separators = Range(max(count.min - 1, 0), max(count.max - 1, 0))
        size = size.plus(call.arguments[0].known_size.times(separators))
    return CallCost(size.times_factor(STRING_FACTOR), size)


def _find(call: Called) -> CallCost | None:
    if call.target is None or not call.arguments:
        return None
    size = call.receiver.known_size
    walk = size.plus(ONE).times_factor(STRING_FACTOR)
    pattern = call.arguments[0].known_size.times_factor(REGEX_FACTOR)
    return CallCost(walk.times(pattern), Range(0, size.max))


def _ip(call: Called) -> CallCost | None:
    if call.overload == "cidr_ip":
        return CallCost(ONE)
    return _walk_argument(STRING_FACTOR)(call)


_ADDRESS_SIZE: Final = Range(4, 16)


def _contains(call: Called) -> CallCost | None:
    """Comparing addresses byte by byte; a text must be parsed first."""
    if not call.arguments:
        return None
    cost = _ADDRESS_SIZE.plus(_ADDRESS_SIZE).times_factor(STRING_FACTOR)
    if call.overload.startswith("cidr_contains_cidr"):
        cost = cost.plus(_ADDRESS_SIZE.times_factor(STRING_FACTOR)).plus(ONE)
    if call.overload in ("cidr_contains_ip_string", "cidr_contains_cidr_string"):
        cost = cost.plus(call.arguments[0].known_size.times_factor(STRING_FACTOR))
    return CallCost(cost)


def _validate(call: Called) -> CallCost | None:
    if not call.arguments:
        return None
    walk = call.arguments[0].known_size.times_factor(STRING_FACTOR)
    return CallCost(walk.times_factor(_FORMAT_REGEX_SIZE_MAX * REGEX_FACTOR))


def _equals(call: Called) -> CallCost | None:
    """Kubernetes' own values compare in a step; for the rest the language decides."""
    first, second = call.arguments
    if first.type.name != second.type.name:
        return None
    compared = first.type
    if compared in (types.IP, types.CIDR, types.QUANTITY, types.SEMVER):
        return CallCost(ONE)
    if compared == types.FORMAT:
        return CallCost(Range(1, _FORMAT_SIZE_MAX).times_factor(STRING_FACTOR))
    if compared == types.URL:
        size = second.size or ONE
        return CallCost(Range(1, size.max).times_factor(STRING_FACTOR))
    if compared.name.startswith("kubernetes.authorization."):
        return CallCost(ONE)
    return None


def _authorization_selector(call: Called) -> CallCost | None:
    size = call.arguments[0].known_size
    parsed = size.times_factor(STRING_FACTOR)
    requirements = size.times_factor(0.5).times_factor(50.0)
    return CallCost(Range(LIST_COST, LIST_COST).plus(parsed).plus(requirements))


def _rules(rule: Rule, names: str) -> dict[str, Rule]:
    return dict.fromkeys(names.split(), rule)


_KUBERNETES_RULES: Final[dict[str, Rule]] = {
    **_rules(_walk_list, "isSorted sum max min indexOf lastIndexOf includes"),
    **_rules(_walk_argument(STRING_FACTOR, sized=True), "url"),
    **_rules(_walk_target, "lowerAscii upperAscii substring trim"),
    **_rules(_replace, "replace"),
    **_rules(_split, "split"),
    **_rules(_join, "join"),
    **_rules(_find, "find findAll"),
    **_rules(
        _walk_argument(STRING_FACTOR),
        "cidr isIP isCIDR quantity isQuantity semver isSemver",
    ),
    **_rules(_ip, "ip"),
    **_rules(_walk_argument(2 * STRING_FACTOR), "ip.isCanonical"),
    **_rules(_contains, "containsIP containsCIDR"),
    **_rules(_validate, "validate"),
    **_rules(_equals, "_==_"),
    **_rules(_fixed(350_000), "check"),
    **_rules(_authorization_selector, "fieldSelector labelSelector"),
    **_rules(
        _fixed(1),
        "masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast"
        " isLinkLocalUnicast isGlobalUnicast format.named sign asInteger isInteger"
        " asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch"
        " getScheme getHostname getHost getPort getEscapedPath getQuery"
        " serviceAccount path group resource subresource namespace name allowed reason error"
        " errored",
    ),
}


# The language's own rules


def _format(call: Called) -> CallCost | None:
    return CallCost(call.receiver.computed_size.times_factor(STRING_FACTOR))


def _string_to_bytes(call: Called) -> CallCost | None:
    size = call.arguments[0].computed_size
    # Four bytes a character at most; upstream's product is unsigned and may wrap.
    result = Range(size.min, size.max * 4 % 2**64)
    return CallCost(size.times_factor(STRING_FACTOR), result)


def _bytes_to_string(call: Called) -> CallCost | None:
    size = call.arguments[0].computed_size
    return CallCost(size.times_factor(STRING_FACTOR), Range(size.min // 4, size.max))


def _quote(call: Called) -> CallCost | None:
    size = call.arguments[0].computed_size
    result = Range((size.min + 2) % 2**64, (size.max * 2 + 2) % 2**64)
    return CallCost(size.times_factor(STRING_FACTOR), result)


def _affix(call: Called) -> CallCost | None:
    return CallCost(call.arguments[0].computed_size.times_factor(STRING_FACTOR))


def _in_list(call: Called) -> CallCost | None:
    return CallCost(call.arguments[1].computed_size.times_factor(1))


def _matches(call: Called) -> CallCost | None:
    text, pattern = (
        (call.arguments[0], call.arguments[1])
        if call.target is None
        else (call.receiver, call.arguments[0])
    )
    # One more than the text's length, so that a costly pattern costs on an empty text too.
    walk = text.computed_size.plus(ONE).times_factor(STRING_FACTOR)
    return CallCost(walk.times(pattern.computed_size.times_factor(REGEX_FACTOR)))


def _contains_text(call: Called) -> CallCost | None:
    walk = call.receiver.computed_size.times_factor(STRING_FACTOR)
    return CallCost(walk.times(call.arguments[0].computed_size.times_factor(STRING_FACTOR)))


def _add_text(call: Called) -> CallCost | None:
    size = call.arguments[0].computed_size.plus(call.arguments[1].computed_size)
    return CallCost(size.times_factor(STRING_FACTOR), size)


def _add_list(call: Called) -> CallCost | None:
    size = call.arguments[0].computed_size.plus(call.arguments[1].computed_size)
    return CallCost(ONE, size)


def _compare(call: Called) -> CallCost | None:
    most = min(call.arguments[0].computed_size.max, call.arguments[1].computed_size.max)
    return CallCost(Range(1 if most > 0 else 0, most).times_factor(STRING_FACTOR))


_LANGUAGE_RULES: Final[dict[str, Rule]] = {
    "string_format": _format,
    "string_to_bytes": _string_to_bytes,
    "bytes_to_string": _bytes_to_string,
    "strings_quote": _quote,
    "starts_with_string": _affix,
    "ends_with_string": _affix,
    "in_list": _in_list,
    "matches": _matches,
    "matches_string": _matches,
    "contains_string": _contains_text,
    "add_string": _add_text,
    "add_bytes": _add_text,
    "add_list": _add_list,
    **_rules(
        _compare,
        "less_string greater_string less_equals_string greater_equals_string less_bytes"
        " greater_bytes less_equals_bytes greater_equals_bytes equals not_equals",
    ),
}
