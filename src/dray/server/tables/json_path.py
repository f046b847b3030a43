r"""JSONPath as the columns of custom resources write it: `.spec.parts[?(@.type=="A")].name`.

A path is a chain of steps; each takes a list of values and gives a list of values. A step that does
not fit what it meets (an index beyond the end, a filter over a number, a comparison of unlike
values) makes the whole path find nothing: a column then stays empty.

Understood are members (`.a`, `['a']`, with `\.` for a dot in a name), indexes and slices
(`[0]`, `[-1]`, `[1:3]`, `[::2]`), everything (`[*]`, `.*`), descent (`..a`), unions (`['a','b']`)
and filters by existence or comparison. Upstream counterpart: client-go util/jsonpath.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from dray.errors import ParseError

__all__ = ["JSONPath"]

_Values: TypeAlias = list[Any]
_Step: TypeAlias = Callable[[_Values], _Values]

# Definitions are written by people: real paths have a handful of steps and two levels of filters.
STEPS_MAX: Final = 100
FILTERS_MAX: Final = 8

# Descent multiplies; nobody reads a cell of this many values.
VALUES_MAX: Final = 10_000

_BLANKS: Final = " \t\r\n"
_FIELD: Final = re.compile(r"(?:\\.|[^\\\s.,\[\]$@{}()=!<>])+")
_QUOTED: Final = re.compile(r"""'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)\"""")
_ESCAPE: Final = re.compile(r"\\(.)")
_KEY: Final = re.compile(r"'([^']*)'")
_INDEX: Final = re.compile(r"(?:-?[0-9]{1,9})?")
_SLICE: Final = re.compile(r"(-?[0-9]{1,9})?:(-?[0-9]{1,9})?(?::(-?[0-9]{1,9})?)?")
_NUMBER: Final = re.compile(r"[-+]?[0-9]{1,18}(\.[0-9]{1,18})?")
_OPERATOR: Final = re.compile(r"==|!=|<=|>=|<|>")


class _Mismatch(Exception):
    """A step does not fit the value it met."""


class JSONPath:
    """A path that was understood."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str, steps: list[_Step]) -> None:
        self.text = text
        self._steps = tuple(steps)

    @staticmethod
    def parse(text: str) -> JSONPath:
        """The path in a text, with or without braces around it. Raises ParseError."""
        inner = text.strip(_BLANKS)
        if inner.startswith("{") and inner.endswith("}"):
            inner = inner[1:-1]
        parser = _Parser(text, inner)
        steps = parser.steps()
        parser.expect_end()
        return JSONPath(text, steps)

    def find(self, document: Any) -> list[Any]:
        """Every value the path leads to; none if it does not fit the document."""
        try:
            return _walk(self._steps, [document])
        except _Mismatch:
            return []


def _walk(steps: tuple[_Step, ...] | list[_Step], values: _Values) -> _Values:
    for step in steps:
        values = step(values)
        if len(values) > VALUES_MAX:
            raise _Mismatch
    return values


# Reading ---------------------------------------------------------------------------------------


class _Parser:
    def __init__(self, whole: str, text: str) -> None:
        self._whole = whole
        self._text = text
        self._at = 0
        self._filters = 0

    def steps(self, *, operand: bool = False) -> list[_Step]:
        """Steps up to the end, or in a filter up to an operator or a parenthesis."""
        found: list[_Step] = []
        self._skip_blanks()
        self._take("@") or self._take("$")
        while not self._done() and not (operand and self._peek() in " )=!<>"):
            found.append(self._step())
            if not operand:
                self._skip_blanks()
            if len(found) > STEPS_MAX:
                raise self._refusal(f"more than {STEPS_MAX} steps")
        return found

    def expect_end(self) -> None:
        self._skip_blanks()
        if not self._done():
            raise self._refusal("something follows its end")

    def _step(self) -> _Step:
        if self._take(".."):
            # The name that follows is a step of its own.
            if not self._done() and self._peek() not in ".[":
                self._at -= 1
            return _descend
        if self._take("."):
            name = self._field()
            return _every if name == "*" else _member(name)
        if self._take("["):
            return self._bracket()
        raise self._refusal(f"{self._text[self._at]!r} begins no step")

    def _field(self) -> str:
        """A name, which may be empty: no object has such a member."""
        match = _FIELD.match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match[0].replace("\\", "")

    def _bracket(self) -> _Step:
        if self._take("?("):
            return self._filter()
        end = self._text.find("]", self._at)
        if end < 0:
            raise self._refusal("a ] is missing")
        choices = self._text[self._at : end].split(",")
        if len(choices) > STEPS_MAX:
            raise self._refusal(f"more than {STEPS_MAX} choices")
        steps = [self._choice(choice.strip(" ") if choices[1:] else choice) for choice in choices]
        self._at = end + 1
        return steps[0] if len(steps) == 1 else _union(steps)

    def _choice(self, text: str) -> _Step:
        if text == "*":
            return _every
        if match := _KEY.fullmatch(text):
            # What stands in quotes is a path too: a dot in a name wants its backslash there too.
            inner = _Parser(self._whole, f".{match[1]}")
            steps = inner.steps()
            inner.expect_end()
            return partial(_walk, steps)
        if match := _INDEX.fullmatch(text):
            return _index(int(match[0] or "0"))
        if match := _SLICE.fullmatch(text):
            return _slice(*(int(part) if part else None for part in match.groups()))
        raise self._refusal(f"{text!r} is neither an index nor a name in quotes")

    def _filter(self) -> _Step:
        self._filters += 1
        if self._filters > FILTERS_MAX:
            raise self._refusal(f"more than {FILTERS_MAX} filters")
        left = self._operand()
        self._skip_blanks()
        operator = _OPERATOR.match(self._text, self._at)
        if operator is None:
            self._close_filter()
            return _exists(left)
        self._at = operator.end()
        right = self._operand()
        self._close_filter()
        return _compare(operator[0], left, right)

    def _close_filter(self) -> None:
        if not (self._blanks_then(")") and self._blanks_then("]")):
            raise self._refusal("a )] is missing")

    def _operand(self) -> list[_Step]:
        self._skip_blanks()
        if match := _QUOTED.match(self._text, self._at):
            self._at = match.end()
            return [_constant(_unquote(match))]
        if match := _NUMBER.match(self._text, self._at):
            self._at = match.end()
            return [_constant(float(match[0]) if match[1] else int(match[0]))]
        for word, value in (("true", True), ("false", False)):
            if self._take(word):
                return [_constant(value)]
        if not self._done() and self._peek() in "@$.":
            return self.steps(operand=True)
        raise self._refusal("a filter compares a path, a text, a number, true or false")

    def _take(self, text: str) -> bool:
        taken = self._text.startswith(text, self._at)
        if taken:
            self._at += len(text)
        return taken

    def _blanks_then(self, text: str) -> bool:
        self._skip_blanks()
        return self._take(text)

    def _skip_blanks(self) -> None:
        while not self._done() and self._peek() in _BLANKS:
            self._at += 1

    def _peek(self) -> str:
        return self._text[self._at]

    def _done(self) -> bool:
        return self._at >= len(self._text)

    def _refusal(self, rule: str) -> ParseError:
        return ParseError(self._whole, f"is no JSONPath: {rule} (character {self._at + 1})")


def _unquote(match: re.Match[str]) -> str:
    return _ESCAPE.sub(r"\1", match[1] if match[1] is not None else match[2])


# Steps -----------------------------------------------------------------------------------------


def _constant(value: Any) -> _Step:
    return lambda values: [value for _ in values]


def _member(name: str) -> _Step:
    return lambda values: [
        value[name] for value in values if isinstance(value, dict) and name in value
    ]


def _every(values: _Values) -> _Values:
    return [part for value in values for part in _parts(value)]


def _parts(value: Any) -> _Values:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _descend(values: _Values) -> _Values:
    """Every object and list that is not empty, an outer one before what is in it."""
    found: _Values = []
    rest = list(reversed(values))
    while rest:
        value = rest.pop()
        parts = _parts(value)
        if parts:
            found.append(value)
            if len(found) > VALUES_MAX:
                raise _Mismatch
            rest.extend(reversed(parts))
    return found


def _index(index: int) -> _Step:
    def step(values: _Values) -> _Values:
        found = []
        for value in _lists(values):
            if not -len(value) <= index < len(value):
                raise _Mismatch
            found.append(value[index])
        return found

    return step


def _slice(start: int | None, stop: int | None, step: int | None) -> _Step:
    def take(values: _Values) -> _Values:
        if step is not None and step <= 0:
            raise _Mismatch
        found: _Values = []
        for value in _lists(values):
            length = len(value)
            first = 0 if start is None else start + length if start < 0 else start
            last = length if stop is None else stop + length if stop < 0 else stop
            if first == last:
                return []
            if not (0 <= first < length and 0 <= last <= length and first <= last):
                raise _Mismatch
            found += value[first : last : step or 1]
        return found

    return take


def _lists(values: _Values) -> list[list[Any]]:
    """Without nulls; anything else that is no list does not fit."""
    found = [value for value in values if value is not None]
    if not all(isinstance(value, list) for value in found):
        raise _Mismatch
    return found


def _union(choices: list[_Step]) -> _Step:
    return lambda values: [found for choice in choices for found in choice(values)]


def _exists(path: list[_Step]) -> _Step:
    def step(values: _Values) -> _Values:
        return [item for item in _items(values) if _found(path, item)]

    return step


def _found(path: list[_Step], item: Any) -> bool:
    try:
        return bool(_walk(path, [item]))
    except _Mismatch:
        return False


def _compare(operator: str, left: list[_Step], right: list[_Step]) -> _Step:
    holds = _OPERATIONS[operator]

    def step(values: _Values) -> _Values:
        found = []
        for item in _items(values):
            pair = _walk(left, [item]), _walk(right, [item])
            if not all(pair):
                continue
            (one, *more), (other, *others) = pair
            if more or others or not _alike(one, other):
                raise _Mismatch
            if holds(one, other):
                found.append(item)
        return found

    return step


def _items(values: _Values) -> _Values:
    if not all(isinstance(value, list) for value in values):
        raise _Mismatch
    return [item for value in values for item in value]


def _alike(one: Any, other: Any) -> bool:
    return type(one) is type(other) and isinstance(one, (str, int, float))


_OPERATIONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda one, other: bool(one == other),
    "!=": lambda one, other: bool(one != other),
    "<": lambda one, other: bool(one < other),
    ">": lambda one, other: bool(one > other),
    "<=": lambda one, other: bool(one <= other),
    ">=": lambda one, other: bool(one >= other),
}
