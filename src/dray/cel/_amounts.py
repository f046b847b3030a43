"""Constants that are no quantity or no version, and what was probably meant.

`quantity("40GB")` compiles, and fails on every device. The same constants are what a hint must
not suggest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._spans import Spans
from dray.errors import ParseError, quote, shorten

__all__ = ["WrongAmount", "amount_in", "has_wrong_amounts", "version_in", "wrong_amounts"]

_NOUNS: Final = {"quantity": "quantity", "semver": "semantic version"}
_UNITS: Final = {
    **{f"{unit}b": unit.upper().replace("K", "k") for unit in "kmgtp"},
    **{f"{unit}ib": f"{unit.upper()}i" for unit in "kmgtp"},
    **{f"{unit}i": f"{unit.upper()}i" for unit in "kmgtp"},
    "k": "k",
    "g": "G",
    "t": "T",
    "p": "P",
}


@dataclass(frozen=True, slots=True)
class WrongAmount:
    """A constant, what is wrong with it, and what to write for it, if that is known."""

    text: str
    token: int  # of the text in quotes
    meant: str | None


def wrong_amounts(spans: Spans, error: str | None = None) -> Iterator[WrongAmount]:
    """The constants that fail, or those that fail with this error."""
    for index in range(len(spans.tokens) - 3):
        maker, literal = spans.word(index), spans.word(index + 2)
        if maker not in _NOUNS or spans.kind(index + 2) != "STRING":
            continue
        if spans.word(index + 1) != "(" or spans.word(index + 3) != ")" or literal[:1] not in "\"'":
            continue
        text = literal[1:-1]
        try:
            (Quantity if maker == "quantity" else Semver).parse(text)
        except ParseError as problem:
            if error is None or error in (problem.rule, str(problem)) or error in problem.rule:
                meant = amount_in(text) if maker == "quantity" else version_in(text)
                said = f"{quote(shorten(text))} is no {_NOUNS[maker]}"
                yield WrongAmount(f"{said}{_advice(maker, text, meant)}", index + 2, meant)


def has_wrong_amounts(expression: str) -> bool:
    return next(wrong_amounts(Spans(expression)), None) is not None


def amount_in(text: str) -> str | None:
    """The quantity somebody means who writes this, if it is clear."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]{0,3})\s*", text)
    if found is None:
        return None
    amount = found[1] + (_UNITS.get(found[2].lower(), found[2]) if found[2] else "")
    try:
        Quantity.parse(text)
    except ParseError:
        try:
            Quantity.parse(amount)
        except ParseError:
            return None
        return amount
    return text


def version_in(text: str) -> str | None:
    """The version somebody means who writes this, if it is clear."""
    try:
        return str(Semver.parse_tolerant(text))
    except ParseError:
        return None


def _advice(maker: str, text: str, meant: str | None) -> str:
    if meant is not None:
        return f': write "{meant}"'
    if maker == "semver":
        return ': three numbers, such as "1.2.3"'
    if re.fullmatch(r"\s*[0-9.]+\s*[A-Za-z]+\s*", text):
        return ": units are k M G T and Ki Mi Gi Ti"
    return ': an amount and a unit, such as "40Gi"'
