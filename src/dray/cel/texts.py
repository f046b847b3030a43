"""Texts judged as expressions judge them, for whoever has a pattern or a format but no expression.

Schemas of custom resources have both. Patterns are Go's, matched by RE2 in time that grows with
the text alone.
"""

from __future__ import annotations

from dray.cel._failures import Failure
from dray.cel._library.formats import FUNCTIONS as _FORMAT_FUNCTIONS
from dray.cel._library.regexes import FUNCTIONS as _REGEX_FUNCTIONS
from dray.cel._regex import PatternError, validate_pattern
from dray.cel._values import NONE

__all__ = ["fits_format", "matches", "pattern_problem"]

_matches = _REGEX_FUNCTIONS["matches"][str]
_format_named = _FORMAT_FUNCTIONS["format.named"][str]


def pattern_problem(pattern: str) -> str | None:
    """Why Go would not compile the pattern, in its words; None if it would."""
    try:
        validate_pattern(pattern)
    except PatternError as error:
        return str(error)
    return None


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is found in the text; a pattern that does not compile is in none."""
    try:
        return bool(_matches(text, pattern))
    except Failure:
        return False


def fits_format(text: str, name: str) -> bool:
    """Whether the text is in this format of the expressions' library: uri, uuid, byte, date."""
    form = _format_named(name)
    return form is not NONE and not form.value.check(text)
