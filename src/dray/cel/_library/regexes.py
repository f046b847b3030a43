"""`matches`, `find` and `findAll`: patterns against texts, in time linear in the text.

The patterns are Go's, which are RE2's, and RE2 itself does the matching. It is only loaded when a
pattern is first used. A pattern that Go would refuse is refused with Go's words; so is one that
RE2 would need more than MEMORY_MAX for, because RE2 matches bytes where Go matches characters: a
class of thousands of characters takes a thousand instructions instead of one. Bytes of a text that
are no UTF-8 match nothing.

Upstream counterparts: Match in cel-go common/types/string.go, apiserver pkg/cel/library/regex.go,
Go's Regexp.FindAllString.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, Final

from dray.cel._failures import Failure, no_such_overload
from dray.cel._library.go_text import from_bytes, to_bytes
from dray.cel._library.re2_patterns import in_re2_words
from dray.cel._library.table import FunctionTable
from dray.cel._regex import PatternError, validate_pattern
from dray.cel._values import Value
from dray.errors import InternalError

__all__ = ["FUNCTIONS", "MEMORY_MAX"]

MEMORY_MAX: Final = 32 << 20
"""What one pattern may take, in bytes: enough for a thousand letters of any script, Go's largest
repetition. Reading that takes half a second; a budget for several of them would let one expression
hold up everybody for long."""

_MEMORY_USUAL: Final = 8 << 20
"""What nearly every pattern does with, up to names of 253 letters of any script."""

_USUAL_PATTERNS: Final = 128
_LARGE_PATTERNS: Final = 8
"""How many patterns are remembered: about a gigabyte of them, if all were as large as can be."""

_PATTERN_CHARACTERS_MAX: Final = 100_000
"""Ten times what an expression can write out; a longer one can only have been put together."""


def _matches(text: Value, pattern: Value) -> Value:
    if type(pattern) is not str:
        raise Failure("no such overload")
    return _search(_compiled(pattern), to_bytes(text), 0) is not None


def _find(text: Value, pattern: Value) -> Value:
    if type(pattern) is not str:
        raise no_such_overload("find", text, pattern)
    data = to_bytes(text)
    found = _search(_compiled(pattern, "Illegal regex: "), data, 0)
    return "" if found is None else from_bytes(data[slice(*found)])


def _find_all(text: Value, pattern: Value, *limits: Value) -> Value:
    if type(pattern) is not str or not all(type(limit) is int for limit in limits):
        raise no_such_overload("findAll", text, pattern, *limits)
    compiled = _compiled(pattern, "Illegal regex: ")
    data = to_bytes(text)
    limit = limits[0] if limits else -1
    results: list[str] = []
    position, previous_end = 0, -1
    while position <= len(data) and len(results) != limit:
        found = _search(compiled, data, position)
        if found is None:
            break
        start, end = found
        # An empty match right after another match does not count.
        if start != end or start != previous_end:
            results.append(from_bytes(data[start:end]))
        previous_end = end
        position = end if end > position else _boundary(data, position + 1)
    return results


def _search(compiled: Any, data: bytes, position: int) -> tuple[int, int] | None:
    """Where the first match from a position on starts and ends."""
    while (found := compiled.search(data, position)) is not None:
        start, end = found.span()
        # To RE2 there is no end of a word between the bytes of a character, so that `\B` matches.
        boundary = _boundary(data, start)
        if boundary == start:
            return start, end
        position = boundary
    return None


def _boundary(data: bytes, position: int) -> int:
    """The first position from this one on at which no character is cut in two."""
    while position < len(data) and data[position] & 0xC0 == 0x80:
        position += 1
    return position


# Patterns

_TOO_LARGE: Final = object()


def _compiled(pattern: str, complaint: str = "") -> Any:
    """The pattern ready for use; raises a Failure that begins with the complaint."""
    found = _usual(pattern)
    if found is _TOO_LARGE:
        found = _large(pattern)
    if found is _TOO_LARGE:
        found = str(PatternError("expression too large", pattern))
    if isinstance(found, str):
        raise Failure(complaint + found)
    return found


@lru_cache(_USUAL_PATTERNS)
def _usual(pattern: str) -> Any:
    """The pattern ready for use, or why there is none: that too is worth remembering."""
    if len(pattern) > _PATTERN_CHARACTERS_MAX:
        return _TOO_LARGE
    try:
        validate_pattern(pattern)
    except PatternError as error:
        return str(error)
    return _made(pattern, _MEMORY_USUAL)


@lru_cache(_LARGE_PATTERNS)
def _large(pattern: str) -> Any:
    if len(pattern) > _PATTERN_CHARACTERS_MAX:
        return _TOO_LARGE
    return _made(pattern, MEMORY_MAX)


def _made(pattern: str, memory: int) -> Any:
    engine = _engine()
    options = engine.Options()
    options.max_mem = memory
    options.log_errors = False
    options.never_capture = True
    try:
        # Not `compile`, which remembers patterns on its own, whatever their size.
        return engine._Regexp(to_bytes(in_re2_words(pattern)), options)  # noqa: SLF001
    except engine.error as error:
        problem = error.args[0]
        shown = problem.decode(errors="replace") if isinstance(problem, bytes) else str(problem)
        return _TOO_LARGE if "too large" in shown else str(PatternError(shown, pattern))


@cache
def _engine() -> Any:
    try:
        import re2  # type: ignore[import-untyped]  # noqa: PLC0415 (has no annotations; loaded late)
    except ImportError as error:
        raise InternalError(
            "matching patterns needs RE2: install the package google-re2"
        ) from error
    return re2


FUNCTIONS: Final[FunctionTable] = {
    "matches": {str: _matches},
    "find": {str: _find},
    "findAll": {str: _find_all},
}
