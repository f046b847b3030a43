"""Texts that are nearly expressions, drawn from a random source.

Three ways to make one: pieces of the grammar in any order, a recorded expression with a few
changes (pieces lost, doubled, swapped, taken from another one), and a fresh one from the oracle's
generator. Whoever owns the source decides what chance is: a seed, hypothesis, or the bytes of a
coverage-guided fuzzer.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from functools import lru_cache
from pathlib import Path

from dray.cel import DeviceView
from tests.conformance.cel.answers import view_of
from tests.oracle.cel.devices import FIXED, devices
from tests.oracle.cel.evaluations import EvaluationGenerator, in_full, quirks

__all__ = ["generated", "mutated", "recorded", "soup", "views"]

RECORDINGS = Path(__file__).parents[1] / "conformance" / "cel"
RECORDED = ("compilations", "evaluations", "spec")

DEVICES = 12
"""Enough for each kind of value to be in each attribute that expressions mention."""

CHANGES = (1, 1, 1, 2, 2, 4)
"""How many; most texts with more than one are no expressions any more."""

PIECES_MAX = 40
LENGTH_MAX = 1500
"""Characters of a mutated text: doubling a piece again and again tests nothing but patience."""

_POISONED = {"driver": "d.com", "attributes": {"model": {"string": "a"}, "poison": {}}}
_PIECES: tuple[str, ...] = (
    *"()[]{}.,?:!-+*/%<>",
    *(" && ", " || ", " == ", " != ", " <= ", " >= ", " in ", " ? ", " : ", ".?", "[?", "!", "-"),
    *("true", "false", "null", "0", "1", "-1", "3u", "1.5", "1e308", "9223372036854775807", "0x1F"),
    *('"a"', "'fish'", "b'x'", 'r"\\d"', '"""x"""', '""', '"\\u00e9"', '"%s"', '"1Gi"', '"1.2.3"'),
    *("device", "D", "K", "D.model", "D.ints", "D.strings", "D.version", "D.flag", "D.any", "D.?x"),
    *("K.memory", "device.driver", "device.allowMultipleAllocations", "x", "y", "acc", "`in`"),
    *("has(D.x)", ".all(x, ", ".exists(x, ", ".exists_one(x, ", ".map(x, ", ".filter(x, "),
    *(".all(x, y, ", ".transformMap(x, y, ", "cel.bind(x, ", ".optMap(x, ", ".optFlatMap(x, "),
    *(".orValue(", ".or(", ".hasValue()", ".value()", "optional.of(", "optional.none()", "dyn("),
    *("size(", ".size()", "type(", "int(", "string(", "quantity(", "semver(", "duration("),
    *("timestamp(", ".matches(", ".startsWith(", ".format([", ".replace(", ".split(", ".join("),
    *(".isGreaterThan(", ".compareTo(", ".asInteger()", ".sort()", ".flatten()", ".slice(0, "),
    *(".includes(", "sets.contains(", "lists.range(", "math.greatest(", "ip(", "cidr(", "url("),
    *("google.protobuf.Int64Value{value: ", "google.protobuf.Struct{fields: {", "//c\n", "\n", "é"),
)
_CHARACTERS = "()[]{}.,?:!-+*/%<>=&|\"'\\`_ abxyDu0123456789\n\t\x00é世𝄞\ud800"
_TOKEN = re.compile(r"""\s+|\w+|"[^"]*"|'[^']*'|[<>=!]=|&&|\|\||.""", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ALIKE = (
    ("==", "!=", "<", "<=", ">", ">=", "in"),
    ("+", "-", "*", "/", "%"),
    ("&&", "||"),
    ("0", "1", "2", "-7", "1u", "3u", "0.5", "1e3", "9223372036854775807", "100"),
    ('""', '"a"', "'fish'", '"1Gi"', '"1.2.3"', '"d.com"', '"e.org"', '"10.0.0.1"', 'b"x"'),
    ("model", "count", "flag", "version", "ints", "strings", "versions", "any", "x", "str", "nope"),
    ("memory", "m", "cores", "mem"),
    ("true", "false", "null", "device.driver", "[]", "{}", "dyn(1)", "D.any", "optional.none()"),
    ("all", "exists", "exists_one", "filter", "map", "transformList", "transformMap"),
    ("isGreaterThan", "isLessThan", "compareTo", "equals", "add", "sub"),
    ("startsWith", "endsWith", "contains", "matches", "find", "indexOf", "includes", "split"),
    ("size", "sum", "min", "max", "sort", "reverse", "distinct", "isSorted", "flatten", "join"),
    ("int", "uint", "double", "string", "bytes", "bool", "dyn", "type", "size", "duration"),
    ("quantity", "semver", "isQuantity", "isSemver", "url", "ip", "cidr", "timestamp"),
)
"""Pieces that may stand for each other, so that what comes of it is often still an expression."""


@lru_cache(1)
def recorded() -> tuple[str, ...]:
    """Every expression of the recordings and of the oracle's list, each once."""
    found = {question["expression"] for question in quirks()}
    for name in RECORDED:
        with gzip.open(RECORDINGS / f"{name}.jsonl.gz", "rt") as lines:
            found |= {case["expression"] for case in map(json.loads, lines) if "expression" in case}
    return tuple(sorted(found))


def views(source: random.Random, count: int = DEVICES) -> list[DeviceView]:
    """Devices that have what most expressions mention; one of them cannot be read."""
    made = [FIXED[0], _POISONED, *FIXED[1:], *devices(source, count)]
    return [view_of(json.dumps(device)) for device in made[:count]]


def soup(source: random.Random) -> str:
    """Pieces of the grammar in any order."""
    pieces = [source.choice(_PIECES) for _ in range(source.randint(1, PIECES_MAX))]
    text = "".join(pieces)
    if source.random() < 0.5:
        text = _closed(text)
    return in_full(text)


def generated(source: random.Random) -> str:
    """A fresh expression, most of them well-typed."""
    generator = _generator()
    generator._random = source
    generator._locals = []
    return in_full(generator._expression())


def mutated(source: random.Random) -> str:
    """A recorded expression with a few changes."""
    text = source.choice(recorded())
    for _ in range(source.choice(CHANGES)):
        text = _changed(source, text)[:LENGTH_MAX]
    return text


@lru_cache(1)
def _generator() -> EvaluationGenerator:
    return EvaluationGenerator(0)


def _closed(text: str) -> str:
    """The text with the brackets closed that it opens."""
    opened: list[str] = []
    for character in text:
        if character in _CLOSING:
            opened.append(_CLOSING[character])
        elif opened and character == opened[-1]:
            opened.pop()
    return text + "".join(reversed(opened))


def _changed(source: random.Random, text: str) -> str:
    pieces: list[str] = _TOKEN.findall(text)
    if not pieces:
        return source.choice(_PIECES)
    at = source.randrange(len(pieces))
    low, high = _part(pieces, at)
    if source.random() < 0.6:
        at = source.choice([index for index, one in enumerate(pieces) if _alike(one)] or [at])
        pieces[at] = in_full(source.choice(_alike(pieces[at]) or _PIECES))
        return "".join(pieces)
    match source.randrange(9):
        case 0:
            pieces[at] = ""
        case 1:
            pieces[at] = source.choice(_PIECES)
        case 2:
            pieces[at] += source.choice(_PIECES)
        case 3:
            pieces[low:high] = [source.choice(_PIECES)]
        case 4:
            other: list[str] = _TOKEN.findall(source.choice(recorded())) or [""]
            start, end = _part(other, source.randrange(len(other)))
            pieces[low:high] = other[start:end]
        case 5:
            pieces[high:high] = pieces[low:high]
        case 6:
            other_at = source.randrange(len(pieces))
            pieces[at], pieces[other_at] = pieces[other_at], pieces[at]
        case 7:
            place = source.randrange(len(text) + 1)
            return text[:place] + source.choice(_CHARACTERS) + text[place + source.randint(0, 1) :]
        case _:
            operator = source.choice([" && ", " || ", " == ", " in ", " ? true : "])
            pieces.append(operator + source.choice(recorded()))
    return "".join(pieces)


def _alike(piece: str) -> tuple[str, ...]:
    kind = '""' if piece[0] in "\"'" else "0" if piece[0].isdecimal() else piece
    return next((group for group in _ALIKE if kind in group), ())


def _part(pieces: list[str], at: int) -> tuple[int, int]:
    """The piece, or if it opens a bracket all up to where that is closed."""
    if pieces[at] not in _CLOSING:
        return at, at + 1
    depth = 0
    for index in range(at, len(pieces)):
        depth += pieces[index] in _CLOSING
        depth -= pieces[index] in _CLOSING.values()
        if depth == 0:
            return at, index + 1
    return at, len(pieces)
