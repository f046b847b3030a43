"""A selector without some of its conditions, as its author would have written it.

A condition goes with one `&&` beside it, with the parentheses around it, and with the `cel.bind`
that was there for it alone. Text is cut where it is clear what belongs together, and the outcome
has to have the remaining conditions and no others. Where that fails, a comment between conditions
for one, `true` takes the place of what is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from dray.allocator.explain.changes import EVERYTHING
from dray.cel import Conjunct, Selector, conjuncts

__all__ = ["without"]

_BIND: Final = re.compile(r"cel\s*\.\s*bind\s*\Z")


def without(
    selector: Selector, parts: Sequence[Conjunct], compiled: Callable[[str], Selector | None]
) -> str | None:
    """The expression without some conjuncts; None if their place is not known."""
    expression = selector.expression
    if any(not expression.startswith(part.text, part.offset) for part in parts):
        return None
    staying = [part.text for part in conjuncts(selector) if part not in parts]
    if not staying:
        return EVERYTHING
    # The last goes first, so that those before it stay where they are.
    going = sorted(parts, key=lambda part: -part.offset)
    for unwrapped in (staying, ()):
        text: str | None = expression
        for part in going:
            text = _cut(text, part, unwrapped) if text is not None else None
        new = compiled(text) if text else None
        if text and new is not None and [part.text for part in conjuncts(new)] == staying:
            return text
    for part in going:
        end = part.offset + len(part.text)
        expression = f"{expression[: part.offset]}{EVERYTHING}{expression[end:]}"
    return expression


def _cut(text: str, part: Conjunct, staying: Sequence[str]) -> str | None:
    """The text without one conjunct; None where something unexpected is beside it."""
    before, after = text[: part.offset], text[part.offset + len(part.text) :]
    binds = list(part.binds)
    while True:
        left, right = before.rstrip(), after.lstrip()
        if left.endswith("(") and right.startswith(")"):
            before, after = left[:-1], right[1:]
        elif left.endswith("&&"):
            return _unwrapped(left[:-2].rstrip(), after, staying)
        elif right.startswith("&&"):
            return _unwrapped(before, right[2:].lstrip(), staying)
        elif left.endswith(",") and right.startswith(")") and binds:
            name = _BIND.search(text[: binds.pop().offset])
            if name is None:
                return None
            before, after = text[: name.start()], right[1:]
        else:
            return None


def _unwrapped(before: str, after: str, staying: Sequence[str]) -> str:
    """The text, where one conjunct is alone in parentheses now, without these."""
    for inner in (form for one in staying for form in (one, f"({one})")):
        left, right = before.removesuffix(inner).rstrip(), after.lstrip()
        if before.endswith(inner) and left.endswith("(") and right.startswith(")"):
            return f"{left[:-1]}{inner}{right[1:]}"
        left, right = before.rstrip(), after.removeprefix(inner).lstrip()
        if after.startswith(inner) and left.endswith("(") and right.startswith(")"):
            return f"{left[:-1]}{inner}{right[1:]}"
    return f"{before}{after}"
