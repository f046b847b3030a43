"""Slips of syntax: what other languages write and CEL does not, and what to write instead.

Recognised by the text around the place of a syntax error. The edits are guesses, for the caller
to try; they are made of the text alone, because a text with such a slip may have no tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dray.cel._rewrites import Edit
from dray.cel._spans import Spans
from dray.errors import quote

__all__ = ["Slip", "slip"]

_WORD_OPERATORS: Final = {
    "and": "&&", "or": "||", "is": "==", "eq": "==", "ne": "!=", "equals": "==",
    "gt": ">", "lt": "<", "ge": ">=", "le": "<=",
}  # fmt: skip
_METHODS: Final = {
    "like": "matches", "matches": "matches", "contains": "contains", "startswith": "startsWith",
    "endswith": "endsWith", "includes": "includes",
}  # fmt: skip
_TEXT: Final = r"\"[^\"]*\"|'[^']*'"
_PATH: Final = r"[\w.]+(?:\[(?:\"[^\"]*\"|'[^']*')\][\w.]*)*"
_CURLY: Final = "\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"


@dataclass(frozen=True, slots=True)
class Slip:
    """What to write, and if that is clear the edits that write it."""

    text: str
    edits: tuple[Edit, ...] = ()


def slip(spans: Spans, message: str, offset: int) -> Slip | None:
    """What went wrong at the place of a syntax error, if it is a known slip."""
    source = spans.source
    if "token recognition error" in message:
        return _unreadable(source, offset)
    found = (
        _conditional(source)
        or _word(source, message, offset)
        or _optional(source, message, offset)
        or _brackets(source, message, offset)
        or _other(source, offset)
    )
    if found is not None:
        return found
    if "'<EOF>'" in message and spans.tokens:
        last = spans.tokens[-1].text
        if not last[0].isalnum() and last[0] not in "\"'_)]":
            return Slip(f"something is missing after {last}")
    return None


def _unreadable(source: str, offset: int) -> Slip | None:
    """A character that no token begins with."""
    first, rest = source[offset : offset + 1], source[offset:]
    before = source[max(offset - 2, 0) : offset].rstrip()
    if first == "=":
        pattern = re.match(rf"=~\s*({_TEXT})", rest)
        if pattern is not None:
            start = len(source[:offset].rstrip())
            edit = Edit(start, offset + pattern.end(), f".matches({pattern[1]})")
            return Slip(f"write .matches({pattern[1]})", (edit,))
        if before.endswith("="):
            return Slip("write == , not ===", (Edit(offset, offset + 1, ""),))
        return Slip("write == to compare", (Edit(offset, offset + 1, "=="),))
    if first and first in "&|":
        return Slip(f"write {first * 2}", (Edit(offset, offset + 1, first * 2),))
    if first and first in _CURLY:
        edits = tuple(
            Edit(index, index + 1, '"') for index, char in enumerate(source) if char in _CURLY
        )
        return Slip('write plain quotes: "…"', edits)
    if first and first in "\"'":
        return _quoted(source, offset)
    if first == ";":
        return Slip("an expression has no ; at its end", (Edit(offset, offset + 1, ""),))
    if first == "#":
        return Slip("a comment begins with //", (Edit(offset, offset + 1, "//"),))
    return None


def _quoted(source: str, offset: int) -> Slip:
    mark = source[offset]
    literal = re.match(rf"{mark}((?:\\.|[^\\{mark}\n])*){mark}", source[offset:])
    if literal is not None and "\\" in literal[1]:
        edit = Edit(offset, offset, "r")
        return Slip("a backslash is written \\\\, or the text as r" + f"{mark}…{mark}", (edit,))
    return Slip(f"the text that begins here has no closing {mark}")


def _conditional(source: str) -> Slip | None:
    found = re.fullmatch(r"\s*if\s+(.+?)\s+then\s+(.+?)\s+else\s+(.+)", source, re.DOTALL)
    if found is not None:
        text = f"{found[1]} ? {found[2]} : {found[3]}"
        return Slip("a choice is written … ? … : …", (Edit(0, len(source), text),))
    if re.match(r"\s*if\b", source):
        return Slip("a choice is written … ? … : …")
    return None


def _word(source: str, message: str, offset: int) -> Slip | None:
    """Operators that are words elsewhere."""
    word = re.match(r"\w+", source[offset:])
    written = word[0] if word else ""
    lower = written.lower()
    if lower == "not":
        found = re.match(r"not\s+in\s*(\[[^]]*\])", source[offset:], re.IGNORECASE)
        path = re.search(rf"({_PATH})\s*$", source[:offset])
        if found is not None and path is not None:
            text = f"!({path[1]} in {found[1]})"
            edit = Edit(path.start(1), offset + found.end(), text)
            return Slip("write !(… in […])", (edit,))
        if re.match(r"not\s+in\b", source[offset:], re.IGNORECASE):
            return Slip("write !(… in […])")
    replacement = _WORD_OPERATORS.get(lower)
    unexpected = "mismatched input" in message or "extraneous input" in message
    if replacement is not None and unexpected:
        edit = Edit(offset, offset + len(written), replacement)
        return Slip(f"write {replacement} instead of {written}", (edit,))
    negation = re.search(r"\bnot(\s*)$", source[:offset], re.IGNORECASE)
    if negation is not None:
        edit = Edit(negation.start(), offset, "!")
        return Slip("write ! instead of not", (edit,))
    method = _METHODS.get(lower)
    if method is not None and unexpected:
        argument = re.match(rf"\w+\s+({_TEXT})", source[offset:])
        note = ", which takes a regular expression" if method == "matches" else ""
        said = f"write .{method}(…) instead of {written}{note}"
        # What `like` is written with are patterns of another kind.
        if argument is None or lower == "like":
            return Slip(said)
        start = len(source[:offset].rstrip())
        edit = Edit(start, offset + argument.end(), f".{method}({argument[1]})")
        return Slip(said, (edit,))
    if lower in ("in", "true", "false", "null") and source[:offset].endswith("."):
        edit = Edit(offset - 1, offset + len(written), f'["{written}"]')
        return Slip(f'{written} cannot follow a dot: write ["{written}"]', (edit,))
    return None


def _optional(source: str, message: str, offset: int) -> Slip | None:
    """`a?.b`, `a.b?.orValue(c)`, `a.?["b"]`, `a ?? b`"""
    if source[max(offset - 1, 0) : offset + 1] == "??":
        return Slip("a default is written .?name.orValue(default)")
    if source[offset : offset + 1] == "[" and source[:offset].endswith(".?"):
        edit = Edit(offset - 2, offset + 1, "[?")
        return Slip('write [?"name"]', (edit,))
    if "expecting ':'" not in message:
        return None
    default = re.search(r"\.(\w+)\?\.orValue\(", source)
    if default is not None:
        edit = Edit(default.start(), default.end(), f".?{default[1]}.orValue(")
        return Slip("the ? comes before the name: .?name.orValue(default)", (edit,))
    chained = re.search(r"\?\.(?=\w)", source)
    if chained is not None:
        edit = Edit(chained.start(), chained.end(), ".?")
        return Slip("the ? comes after the dot: .?name", (edit,))
    return Slip("a choice has two sides: … ? … : …")


def _brackets(source: str, message: str, offset: int) -> Slip | None:
    here = source[offset : offset + 1]
    if "extraneous input" in message and here and here in ")]}":
        edit = Edit(offset, offset + 1, "")
        return Slip(f"there is a {here} too many here", (edit,))
    if here == "," and (opened := re.search(r"\bin\s*(\()[^()]*$", source[:offset])):
        said = 'a list is written in square brackets: in ["a", "b"]'
        closing = source.find(")", offset)
        start = opened.start(1)
        edits = (Edit(start, start + 1, "["), Edit(closing, closing + 1, "]"))
        return Slip(said, edits if closing > 0 else ())
    if "'<EOF>'" not in message:
        return None
    noun, mark = "", ""
    if re.search(r"missing '\)'|expecting '\)'", message):
        noun, mark = "parenthesis", "("
    elif "missing ']'" in message or "expecting {']'" in message:
        noun, mark = "square bracket", "["
    if not noun:
        return None
    opening = _unclosed(source, mark)
    where = "" if opening is None else f": the {mark} at column {opening + 1}"
    if opening is None or "\n" in source[: opening + 1]:
        where = ""
    end = len(source.rstrip())
    if opening is not None and mark == "[":
        # The key ends where its text does; what follows belongs outside.
        key = re.match(rf"\[\s*(?:{_TEXT})", source[opening:])
        if key is not None and source[opening + key.end() : opening + key.end() + 1] == ".":
            end = opening + key.end()
    return Slip(f"a {noun} is not closed{where}", (Edit(end, end, ")" if mark == "(" else "]"),))


def _unclosed(source: str, mark: str) -> int | None:
    """The bracket of this kind that has no partner; None if that is not clear."""
    closing = {"(": ")", "[": "]"}[mark]
    bare = re.sub(_TEXT, lambda found: "_" * len(found[0]), source)
    waiting = []
    for index, character in enumerate(bare):
        if character == mark:
            waiting.append(index)
        elif character == closing and waiting:
            waiting.pop()
    return waiting[-1] if waiting else None


def _other(source: str, offset: int) -> Slip | None:
    if source[max(offset - 1, 0) : offset + 1] == "<>":
        return Slip("write != instead of <>", (Edit(offset - 1, offset + 1, "!="),))
    unit = re.match(r"[A-Za-z]{1,3}\b", source[offset:])
    number = re.search(r"(?<![\w.])[0-9.]+$", source[:offset])
    if unit is not None and number is not None:
        amount = number[0] + unit[0]
        edit = Edit(number.start(), offset + unit.end(), quote(amount))
        return Slip(f"an amount with a unit is a text: {quote(amount)}", (edit,))
    return None
