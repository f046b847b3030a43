"""Lists of a job's indexes, written as `1,3-5,7`.

Upstream counterparts: validateIndexesFormat and validateFailedIndexesNotOverlapCompleted in
pkg/apis/batch/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dray.errors import ParseError, quote

__all__ = ["count_indexes", "first_overlap"]

# No more digits than a 64-bit number has; a minus would separate two numbers.
_NUMBER: Final = re.compile(r"\+?0*([0-9]{1,19})", re.ASCII)
_INT64_LIMIT: Final = 2**63


def count_indexes(text: str, completions: int) -> int:
    """How many indexes are listed. Raises ParseError if the list is not one of this job's."""
    total = 0
    last: int | None = None
    for interval in text.split(",") if text else ():
        first, end = _interval(interval, completions)
        if last is not None and last >= first:
            raise ParseError(text, _unordered(last, first))
        total += end - first + 1
        last = end
    return total


def first_overlap(completed: str, failed: str, completions: int) -> int | None:
    """An index that is in both lists; intervals that cannot be read are passed over."""
    lefts, rights = _readable(completed, completions), _readable(failed, completions)
    left, right = next(lefts, None), next(rights, None)
    while left is not None and right is not None:
        if left[0] <= right[1] and right[0] <= left[1]:
            return max(left[0], right[0])
        if left[0] <= right[0]:
            left = next(lefts, None)
        else:
            right = next(rights, None)
    return None


def _readable(text: str, completions: int) -> Iterator[tuple[int, int]]:
    for interval in text.split(",") if text else ():
        try:
            yield _interval(interval, completions)
        except ParseError:
            continue


def _interval(text: str, completions: int) -> tuple[int, int]:
    parts = text.split("-")
    if len(parts) > 2:
        raise ParseError(
            text,
            f"the fragment {quote(text)} violates the requirement that an index interval can have"
            " at most two parts separated by '-'",
        )
    first = _index(parts[0], completions)
    if len(parts) == 1:
        return first, first
    last = _index(parts[1], completions)
    if first >= last:
        raise ParseError(text, _unordered(first, last))
    return first, last


def _index(text: str, completions: int) -> int:
    number = _NUMBER.fullmatch(text)
    if number is None or int(number[1]) >= _INT64_LIMIT:
        raise ParseError(text, f"cannot convert string to integer for index: {quote(text)}")
    index = int(number[1])
    if index >= completions:
        raise ParseError(text, f"too large index: {quote(text)}")
    return index


def _unordered(previous: int, current: int) -> str:
    return f"non-increasing order, previous: {previous}, current: {current}"
