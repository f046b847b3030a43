"""Semantic versions (semver.org 2.0.0): what a device's version attribute holds.

Three readings, because upstream has three. Validation accepts a text by its grammar alone
(`is_semver`). Evaluation parses it into numbers, and a number past 64 bits that validation let
through fails there (`Semver.parse`). Expressions may ask for a forgiving parse that drops a leading
v, fills up missing numbers and strips leading zeros (`Semver.parse_tolerant`).

Order and equality are precedence: build metadata does not count, a pre-release comes before its
release. Two equal versions may therefore print differently.

Upstream counterparts: github.com/blang/semver/v4, the pattern in resource validation, and the
normalising parse of the CEL semver library.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from dray.errors import ParseError, quote, shorten

__all__ = ["Semver", "is_semver"]

# A version attribute has at most 64 bytes, and a fleet has few distinct versions.
REMEMBERED_TEXTS_MAX: Final = 4096
REMEMBERED_CHARACTERS_MAX: Final = 64

_UINT64_MAX: Final = 2**64 - 1

_NUMBER: Final = "(?:0|[1-9][0-9]*+)"
_IDENTIFIER: Final = "(?:[0-9]*+[a-zA-Z-][0-9a-zA-Z-]*+|0|[1-9][0-9]*+)"
_BUILD: Final = "[0-9a-zA-Z-]++"
_GRAMMAR: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    rf"(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*+)?+"
    rf"(?:\+{_BUILD}(?:\.{_BUILD})*+)?+"
)

_NUMERIC: Final = re.compile("[0-9]*")
_ALPHANUMERIC: Final = re.compile("[0-9a-zA-Z-]*")

# Numeric identifiers come before alphanumeric ones, and compare as numbers.
_Rank: TypeAlias = tuple[int, int, str]


def is_semver(text: str) -> bool:
    """Whether the text follows the grammar, however large its numbers."""
    return _GRAMMAR.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, order=True)
class Semver:
    """One version. Pre-release and build identifiers are kept as written."""

    major: int = field(compare=False)
    minor: int = field(compare=False)
    patch: int = field(compare=False)
    prerelease: tuple[str, ...] = field(default=(), compare=False)
    build: tuple[str, ...] = field(default=(), compare=False)
    # Releases sort after every pre-release of theirs, hence the flag before the identifiers.
    _precedence: tuple[int, int, int, bool, tuple[_Rank, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ranks = tuple(_rank(identifier) for identifier in self.prerelease)
        precedence = (self.major, self.minor, self.patch, not ranks, ranks)
        object.__setattr__(self, "_precedence", precedence)

    @staticmethod
    def parse(text: str) -> Semver:
        """The version a text stands for; ParseError carries upstream's rule."""
        return _parse_remembered(text) if len(text) <= REMEMBERED_CHARACTERS_MAX else _parse(text)

    @staticmethod
    def parse_tolerant(text: str) -> Semver:
        """Like `parse`, after dropping one leading v, leading zeros and adding missing numbers."""
        parts = [_strip_zeros(part) for part in text.removeprefix("v").split(".", 2)]
        if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
            raise ParseError(text, "short version cannot contain PreRelease/Build meta data")
        return Semver.parse(".".join(parts + ["0"] * (3 - len(parts))))

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.prerelease:
            text += "-" + ".".join(self.prerelease)
        if self.build:
            text += "+" + ".".join(self.build)
        return text


def _parse(text: str) -> Semver:
    if not text:
        raise ParseError(text, "Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ParseError(text, "No Major.Minor.Patch elements found")
    major = _number(text, "major", parts[0])
    minor = _number(text, "minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    patch_text, dash, prerelease = rest.partition("-")
    patch = _number(text, "patch", patch_text)
    identifiers = tuple(prerelease.split(".")) if dash else ()
    metadata = tuple(build.split(".")) if plus else ()
    for identifier in identifiers:
        _check_prerelease(text, identifier)
    for item in metadata:
        if not item:
            raise ParseError(text, "Build meta data is empty")
        if not _ALPHANUMERIC.fullmatch(item):
            raise ParseError(text, f"Invalid character(s) found in build meta data {_shown(item)}")
    return Semver(major, minor, patch, identifiers, metadata)


_parse_remembered: Final = lru_cache(maxsize=REMEMBERED_TEXTS_MAX)(_parse)


def _number(text: str, name: str, digits: str) -> int:
    if not _NUMERIC.fullmatch(digits):
        raise ParseError(text, f"Invalid character(s) found in {name} number {_shown(digits)}")
    if len(digits) > 1 and digits[0] == "0":
        rule = f"{name.capitalize()} number must not contain leading zeroes {_shown(digits)}"
        raise ParseError(text, rule)
    return _uint64(text, digits)


def _check_prerelease(text: str, identifier: str) -> None:
    if not identifier:
        raise ParseError(text, "Prerelease is empty")
    if _NUMERIC.fullmatch(identifier):
        if len(identifier) > 1 and identifier[0] == "0":
            rule = "Numeric PreRelease version must not contain leading zeroes " + _shown(
                identifier
            )
            raise ParseError(text, rule)
        _uint64(text, identifier)
    elif not _ALPHANUMERIC.fullmatch(identifier):
        raise ParseError(text, f"Invalid character(s) found in prerelease {_shown(identifier)}")


def _uint64(text: str, digits: str) -> int:
    if not digits:
        raise ParseError(text, 'strconv.ParseUint: parsing "": invalid syntax')
    # The length first: Python refuses to convert very long digits.
    if len(digits) > 20 or int(digits) > _UINT64_MAX:
        raise ParseError(text, f"strconv.ParseUint: parsing {_shown(digits)}: value out of range")
    return int(digits)


def _rank(identifier: str) -> _Rank:
    if _NUMERIC.fullmatch(identifier):
        return (0, int(identifier), "")
    return (1, 0, identifier)


def _strip_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1] in tuple("0123456789") else f"0{stripped}"


def _shown(text: str) -> str:
    return quote(shorten(text))
