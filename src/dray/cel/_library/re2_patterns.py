r"""A pattern of Go's in words that RE2's C++ edition understands.

The two speak the same language but for a few words: Go reads names of Unicode classes in any case
and knows their long forms (`\p{Letter}`), and it lets two groups share a name. Groups lose their
names here, for nobody asks what a group has matched. The pattern must be one Go accepts; nothing is
checked again.

Classes that RE2 lacks or draws otherwise are spelled out from Python's tables. Both those and RE2's
may be of another edition of Unicode than Go's. Spelled out in a negated form, a class takes part in
`(?i)`, so that it gains a few characters whose other case is not in it.

Upstream counterpart: Go's regexp/syntax and unicode.CategoryAliases.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from typing import Final

__all__ = ["in_re2_words"]

_ALIASES: Final = {
    "Closepunctuation": "Pe",
    "Cntrl": "Cc",
    "Combiningmark": "M",
    "Connectorpunctuation": "Pc",
    "Control": "Cc",
    "Currencysymbol": "Sc",
    "Dashpunctuation": "Pd",
    "Decimalnumber": "Nd",
    "Digit": "Nd",
    "Enclosingmark": "Me",
    "Finalpunctuation": "Pf",
    "Format": "Cf",
    "Initialpunctuation": "Pi",
    "Letter": "L",
    "Letternumber": "Nl",
    "Lineseparator": "Zl",
    "Lowercaseletter": "Ll",
    "Mark": "M",
    "Mathsymbol": "Sm",
    "Modifierletter": "Lm",
    "Modifiersymbol": "Sk",
    "Nonspacingmark": "Mn",
    "Number": "N",
    "Openpunctuation": "Ps",
    "Otherletter": "Lo",
    "Othernumber": "No",
    "Otherpunctuation": "Po",
    "Othersymbol": "So",
    "Paragraphseparator": "Zp",
    "Privateuse": "Co",
    "Punct": "P",
    "Punctuation": "P",
    "Separator": "Z",
    "Spaceseparator": "Zs",
    "Spacingmark": "Mc",
    "Surrogate": "Cs",
    "Symbol": "S",
    "Titlecaseletter": "Lt",
    "Uppercaseletter": "Lu",
}
_CASED: Final = frozenset({"Lu", "Ll", "Lt"})
_SPELLED_OUT: Final[dict[str, Callable[[str], bool]]] = {
    "Ascii": str.isascii,
    "Assigned": lambda character: unicodedata.category(character) != "Cn",
    **dict.fromkeys(("C", "Other"), lambda character: unicodedata.category(character)[0] == "C"),
    **dict.fromkeys(
        ("Casedletter", "Lc"), lambda character: unicodedata.category(character) in _CASED
    ),
    **dict.fromkeys(
        ("Cn", "Unassigned"), lambda character: unicodedata.category(character) == "Cn"
    ),
}

_DIFFERENT: Final = re.compile(r"\\[pP]|\(\?P?<")
_TOKEN: Final = re.compile(
    r"\\Q(?:.*?)(?:\\E|\Z)"  # up to the end of a quotation nothing has a meaning
    r"|\\[pP](?:\{(?P<name>[^}]*)\}|(?P<letter>.))"
    r"|\\."
    r"|(?P<group>\(\?P?<[^>]*>)"
    r"|(?P<posix>\[:\^?[a-z]+:\])"
    r"|(?P<open>\[\^?\]?)"
    r"|.",
    re.DOTALL,
)


def in_re2_words(pattern: str) -> str:
    if not _DIFFERENT.search(pattern):
        return pattern
    return "".join(_words(pattern))


def _words(pattern: str) -> Iterator[str]:
    in_class = False
    position = 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        assert token is not None
        if in_class and token["open"]:
            # Only a bracket that opens a class takes what follows along.
            yield "["
            position += 1
            continue
        if not in_class and token["posix"]:
            # Outside of a class this is the start of one.
            in_class = True
            yield "["
            position += 1
            continue
        position = token.end()
        name = token["name"] if token["name"] is not None else token["letter"]
        if name is not None:
            yield _unicode_class(name, negated=token[0][1] == "P", in_class=in_class)
        elif token["group"] and not in_class:
            yield "("
        else:
            yield token[0]
            in_class = bool(token["open"]) or (in_class and token[0] != "]")


def _unicode_class(name: str, *, negated: bool, in_class: bool) -> str:
    if name.startswith("^"):
        negated, name = not negated, name[1:]
    # Go's names: separators dropped, then a capital and small letters.
    name = re.sub(r"[_\- ]", "", name).capitalize()
    if name in _SPELLED_OUT:
        ranges = _ranges(name, negated=negated)
        return ranges if in_class else f"[{ranges}]"
    return f"\\{'P' if negated else 'p'}{{{_ALIASES.get(name, name)}}}"


@cache
def _ranges(name: str, *, negated: bool) -> str:
    """The characters of a class, or all others, as ranges to stand in a class."""
    belongs = _SPELLED_OUT[name]
    pieces = []
    for member, run in groupby(range(sys.maxunicode + 1), lambda code: belongs(chr(code))):
        if member is negated:
            continue
        codes = list(run)
        pieces.append(f"\\x{{{codes[0]:x}}}-\\x{{{codes[-1]:x}}}")
    return "".join(pieces)
