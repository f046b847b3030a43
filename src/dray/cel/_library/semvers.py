"""Semantic versions in expressions: `semver("1.2.3")`, `major`, `compareTo` and the rest.

Parsing and precedence are `dray.api.semver`'s business; here they get their CEL names.

Upstream counterpart: apiserver pkg/cel/library/semverlib.go.
"""

from __future__ import annotations

from typing import Final

from dray.api.semver import Semver
from dray.cel._failures import Failure, no_such_overload
from dray.cel._library.table import FunctionTable
from dray.cel._values import INT_MAX, Value
from dray.errors import ParseError

__all__ = ["FUNCTIONS"]


def _semver(text: str, *normalize: Value) -> Semver:
    try:
        return _parsed("semver", text, normalize)
    except ParseError as error:
        raise Failure(error.rule) from None


def _is_semver(text: str, *normalize: Value) -> bool:
    try:
        _parsed("isSemver", text, normalize)
    except ParseError:
        return False
    return True


def _parsed(function: str, text: str, normalize: tuple[Value, ...]) -> Semver:
    if not normalize:
        return Semver.parse(text)
    if len(normalize) > 1 or type(normalize[0]) is not bool:
        raise no_such_overload(function, text, *normalize)
    return Semver.parse_tolerant(text) if normalize[0] else Semver.parse(text)


def _major(version: Semver) -> int:
    return _signed(version.major)


def _minor(version: Semver) -> int:
    return _signed(version.minor)


def _patch(version: Semver) -> int:
    return _signed(version.patch)


def _signed(number: int) -> int:
    """Upstream's conversion of an unsigned number: the upper half wraps around."""
    return number if number <= INT_MAX else number - 2**64


def _compared(function: str, version: Semver, other: Value) -> int:
    if type(other) is not Semver:
        raise no_such_overload(function, version, other)
    return (version > other) - (version < other)


def _is_greater_than(version: Semver, other: Value) -> bool:
    return _compared("isGreaterThan", version, other) > 0


def _is_less_than(version: Semver, other: Value) -> bool:
    return _compared("isLessThan", version, other) < 0


def _compare_to(version: Semver, other: Value) -> int:
    return _compared("compareTo", version, other)


FUNCTIONS: Final[FunctionTable] = {
    "semver": {str: _semver},
    "isSemver": {str: _is_semver},
    "major": {Semver: _major},
    "minor": {Semver: _minor},
    "patch": {Semver: _patch},
    "isGreaterThan": {Semver: _is_greater_than},
    "isLessThan": {Semver: _is_less_than},
    "compareTo": {Semver: _compare_to},
}
