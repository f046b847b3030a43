"""Which part of an expression's text a node was written as.

Nodes know where they are (an operator, a dot, a parenthesis) but not where they begin and end, and
macros are gone from the tree. People should see what they wrote, so the text is cut along its
tokens: between matching brackets, at operators, around calls.

Everything here is a range of tokens, `low` included and `high` not. A text that is not made of
tokens has none, and no part of it is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dray.cel._lexer import ESCAPED_IDENTIFIER, IDENTIFIER, Token, tokens

__all__ = ["Spans", "one_line"]

_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_RELATIONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
_OUTSIDE: Final = frozenset({"&&", "||", "?", ":", ",", *_RELATIONS, *_CLOSING})
_AFTER: Final = frozenset({"&&", "||", "?", ":", ",", *_RELATIONS, *_CLOSING.values()})
_DIVIDING: Final = frozenset({"&&", "||", "?", ":", ","})
_WORDS: Final = frozenset({IDENTIFIER, ESCAPED_IDENTIFIER})


class Spans:
    """The tokens of a text, with the brackets that belong together."""

    def __init__(self, text: str) -> None:
        # As the compiler reads it, so that offsets are the same.
        self.source: Final = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        found = tokens(self.source)
        self.tokens: Final[list[Token]] = [] if found is None else found[:-1]
        self._by_offset = {token.offset: index for index, token in enumerate(self.tokens)}
        self._partners = _partners(self.tokens)

    def at(self, offset: int) -> int | None:
        """The token that begins at an offset."""
        return self._by_offset.get(offset)

    def kind(self, index: int) -> str:
        """The kind of a token, empty where there is none."""
        return self.tokens[index].kind if 0 <= index < len(self.tokens) else ""

    def word(self, index: int) -> str:
        """The text of a token, empty where there is none."""
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def partner(self, index: int) -> int | None:
        """The bracket that belongs to the one here."""
        return self._partners.get(index)

    def text(self, low: int, high: int) -> str:
        """The source from the first to the last token of a range, comments and all."""
        if low >= high:
            return ""
        last = self.tokens[high - 1]
        return self.source[self.tokens[low].offset : last.offset + len(last.text)]

    def trimmed(self, low: int, high: int) -> tuple[int, int]:
        """The range without the parentheses around all of it."""
        while low < high and self.kind(low) == "(" and self.partner(low) == high - 1:
            low, high = low + 1, high - 1
        return low, high

    def arguments(self, parenthesis: int) -> list[tuple[int, int]]:
        """The arguments of the call whose opening parenthesis is here."""
        closing = self.partner(parenthesis)
        if closing is None:
            return []
        found = []
        low = index = parenthesis + 1
        while index < closing:
            if self.kind(index) == ",":
                found.append((low, index))
                low = index + 1
            index = (
                self._partners.get(index, index) if self.kind(index) in _CLOSING else index
            ) + 1
        if low < closing or found:
            found.append((low, closing))
        return found

    def operands(self, operator: int) -> tuple[str, str]:
        """What a comparison has on its left and on its right."""
        low, high = self.comparison(operator)
        return self.text(low, operator), self.text(operator + 1, high)

    def comparison(self, operator: int) -> tuple[int, int]:
        """The range of a comparison, from its left operand to its right."""
        low = operator
        while low > 0 and (self.kind(low - 1) not in _OUTSIDE or self._optional(low - 1)):
            partner = self._partners.get(low - 1)
            low = low - 1 if partner is None else min(partner, low - 1)
        high = operator + 1
        while high < len(self.tokens) and (self.kind(high) not in _AFTER or self._optional(high)):
            partner = self._partners.get(high)
            high = (high if partner is None else max(partner, high)) + 1
        return low, high

    def conditions(self, index: int) -> Iterator[tuple[int, int]]:
        """The conditions a token is a part of, innermost first.

        A condition stands between logical operators, in parentheses that only group, or as the
        body of a `cel.bind`; arguments and indexes are none.
        """
        while True:
            opening = self._opening(index)
            start = 0 if opening is None else self._condition_start(opening, index)
            closing = None if opening is None else self.partner(opening)
            if start is not None:
                end = len(self.tokens) if closing is None else closing
                segment = self._segment(index, start, end)
                yield segment
                if (start, end) != segment:
                    yield start, end
            if opening is None:
                return
            index = opening

    def chooses(self, low: int, high: int) -> bool:
        """Whether a range is made of alternatives: `||` or `?:` outside of any brackets."""
        index = low
        while index < high:
            if self.kind(index) == "||" or (self.kind(index) == "?" and not self._optional(index)):
                return True
            index = max(self._partners.get(index, index), index) + 1
        return False

    def _opening(self, index: int) -> int | None:
        """The innermost bracket around a token."""
        for candidate in reversed(range(index)):
            partner = self._partners.get(candidate)
            if partner is not None and partner > index:
                return candidate
        return None

    def _condition_start(self, opening: int, index: int) -> int | None:
        """Where the condition begins that a bracket holds around a token; None if it holds none."""
        if self.kind(opening) != "(":
            return None
        if self.kind(opening - 1) not in {*_WORDS, ")", "]"}:
            return opening + 1
        if [self.word(at) for at in range(opening - 3, opening)] != ["cel", ".", "bind"]:
            return None
        arguments = self.arguments(opening)
        body = arguments[2][0] if len(arguments) == 3 else len(self.tokens)
        return body if body <= index else None

    def _segment(self, index: int, first: int, end: int) -> tuple[int, int]:
        low = index
        while low > first and not self._divides(low - 1):
            partner = self._partners.get(low - 1)
            low = low - 1 if partner is None else min(partner, low - 1)
        high = index
        while high < end and not self._divides(high):
            high = max(self._partners.get(high, high), high) + 1
        return low, high

    def _divides(self, index: int) -> bool:
        return self.kind(index) in _DIVIDING and not self._optional(index)

    def _optional(self, index: int) -> bool:
        """Whether this is the `?` of `.?name` and not that of a condition."""
        return self.kind(index) == "?" and self.kind(index - 1) == "."

    def path_before(self, index: int) -> int:
        """Where the path or call begins that ends just before this token: `a.b["c"].d(e)`."""
        low = index
        while low > 0:
            kind = self.kind(low - 1)
            if kind in (")", "]"):
                partner = self.partner(low - 1)
                if partner is None:
                    break
                low = partner
            elif kind in _WORDS:
                low -= 1
            else:
                break
            if self.kind(low - 1) == "." or self._optional(low - 1):
                low -= 1 if self.kind(low - 1) == "." else 2
            elif self.kind(low) in ("(", "["):
                # What is called or indexed comes right before its bracket.
                if self.kind(low - 1) not in {*_WORDS, ")", "]"}:
                    break
            else:
                break
        return low


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def _partners(found: list[Token]) -> dict[int, int]:
    partners: dict[int, int] = {}
    waiting: list[int] = []
    for index, token in enumerate(found):
        if token.kind in _CLOSING:
            waiting.append(index)
        elif token.kind in _CLOSING.values():
            if not waiting or _CLOSING[found[waiting[-1]].kind] != token.kind:
                return partners
            opening = waiting.pop()
            partners[opening], partners[index] = index, opening
    return partners
