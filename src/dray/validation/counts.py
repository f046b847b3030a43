"""Numbers that count something: never negative, some of them given as a percentage instead.

A percentage is text like `25%`; other text is refused, but where rules go on to compare it they
take the number it spells, or zero. Upstream counterparts: ValidateNonnegativeField in
pkg/apis/core/validation, ValidatePositiveIntOrPercent and IsNotMoreThan100Percent in
pkg/apis/apps/validation.
"""

from __future__ import annotations

import re
from typing import Final

from dray.validation.findings import Findings
from dray.validation.meta import NOT_NEGATIVE

__all__ = [
    "CountOrPercent",
    "check_at_most_all",
    "check_count_or_percent",
    "check_not_decremented",
    "check_not_negative",
    "number_of",
]

CountOrPercent = int | str | None

_PERCENT: Final = re.compile(r"[0-9]+%", re.ASCII)
_NUMBER: Final = re.compile(r"([+-]?)0*([0-9]+)", re.ASCII)
_NOT_PERCENT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%'"
    " (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)

# Digits beyond these make a number too big whatever they are, and take long to read.
_DIGITS_MAX: Final = 20


def check_not_negative(found: Findings, value: int | None, path: str) -> None:
    """A count; one that is absent is somebody else's business."""
    if value is not None and value < 0:
        found.invalid(path, value, NOT_NEGATIVE)


def check_not_decremented(found: Findings, new: int | None, old: int | None, path: str) -> None:
    """A count that only ever grows, once it is there."""
    if old is not None and (new is None or new < old):
        found.invalid(path, new or 0, "cannot be decremented")


def check_count_or_percent(found: Findings, value: CountOrPercent, path: str) -> None:
    if not isinstance(value, str):
        check_not_negative(found, value, path)
    elif not _PERCENT.fullmatch(value):
        found.invalid(path, value, _NOT_PERCENT)


def check_at_most_all(found: Findings, value: CountOrPercent, path: str) -> None:
    """No more than there are; a plain number may be as big as it likes."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and number_of(value) > 100:
        found.invalid(path, value, "must not be greater than 100%")


def number_of(value: CountOrPercent) -> int:
    """The count, or the percentage without its sign; zero for what is neither."""
    if not isinstance(value, str):
        return value or 0
    number = _NUMBER.fullmatch(value.removesuffix("%") if _PERCENT.fullmatch(value) else value)
    return int(number[1] + number[2][:_DIGITS_MAX]) if number else 0
