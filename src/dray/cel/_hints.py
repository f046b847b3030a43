"""What to write instead: hints for expressions that are refused, or fail on devices.

Kubernetes' errors say what is wrong in the words of a parser or a type checker. The mistakes behind
them are few, and most can be recognised by the error and the tokens around its place: `=` for `==`,
`and` for `&&`, a capacity compared with `>`, an attribute read without its domain.

`hints` is for a compilation, and for the devices it is meant for; `hints_for_error` for one device
that an accepted selector fails on. Neither raises; a hint is a guess, and nothing depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from dray.cel._advice import Advice, advice
from dray.cel._amounts import has_wrong_amounts, wrong_amounts
from dray.cel._compiler import Compilation, compile_selector
from dray.cel._device import DeviceView
from dray.cel._device_hints import absent, absent_hints, error_hints, type_hints, value_hints
from dray.cel._environment import Environment
from dray.cel._hint import Hint
from dray.cel._limits import EXPRESSION_LENGTH_MAX, SELECTOR_COST_MAX
from dray.cel._references import Reference
from dray.cel._rewrites import Edit, Rewriter, apply, environment_of, spans_edit
from dray.cel._selector import Selector
from dray.cel._spans import Spans, one_line
from dray.cel._vocabulary import Vocabulary
from dray.errors import quote, shorten

__all__ = ["Hint", "absent_references", "hints", "hints_for_error"]

_HINTS_MAX: Final = 3
"""One expression rarely has more than one mistake, and nobody tries the fourth suggestion."""

_MENDED_MAX: Final = 12
"""Mistakes of one expression that are mended one after another; each takes a compilation."""

_TEXT_CHARACTERS_MAX: Final = 320
_WRITE_THIS: Final = "write it like this"


def hints(compilation: Compilation, views: Sequence[DeviceView] = ()) -> tuple[Hint, ...]:
    """What to do about an expression: one that is refused, or one these devices do not fit."""
    vocabulary = Vocabulary(views)
    if compilation.error is not None:
        found = _refused(compilation, vocabulary)
    else:
        found = _accepted(compilation, vocabulary, views)
    return _first(found)


def hints_for_error(
    selector: Selector, view: DeviceView, error: str, others: Sequence[DeviceView] = ()
) -> tuple[Hint, ...]:
    """What to do about an error on one device; `others` are the devices around it."""
    literals = _constants(selector.compilation, error)
    return _first(literals) or _first(error_hints(selector, view, error, others))


def absent_references(selector: Selector, views: Sequence[DeviceView]) -> tuple[Reference, ...]:
    """The attributes and capacities a selector reads and none of these devices has."""
    return absent(selector, Vocabulary(views))


def _first(found: Iterator[Hint]) -> tuple[Hint, ...]:
    kept: dict[str, Hint] = {}
    for hint in found:
        kept.setdefault(hint.text, hint)
        if len(kept) >= _HINTS_MAX:
            break
    return tuple(kept.values())


# Refused ---------------------------------------------------------------------------------------


def _refused(compilation: Compilation, vocabulary: Vocabulary) -> Iterator[Hint]:
    """One mistake after another, as far as each can be mended; the last hint has the result."""
    if len(compilation.expression) > EXPRESSION_LENGTH_MAX:
        return
    environment = environment_of(compilation)
    current = compilation
    said: list[str] = []
    mended: str | None = None
    for _ in range(_MENDED_MAX):
        found = advice(current, vocabulary)
        if found is None:
            break
        after = _mended(current, found, environment)
        if after is None:
            said.append(found.text if not found.edits else found.fallback or found.text)
            break
        said.append(found.text)
        current = after
        if after.ok:
            said += [wrong.text for wrong in wrong_amounts(Spans(after.expression))]
            mended = _with_right_amounts(after, environment)
            if mended is None:
                said[-1] = found.fallback or said[-1]
            break
    # The same mistake made twice is told once.
    shown = list(dict.fromkeys(said))[:_HINTS_MAX]
    for index, text in enumerate(shown):
        if len(text) > _TEXT_CHARACTERS_MAX:
            text = _WRITE_THIS if mended else shorten(text, characters_max=_TEXT_CHARACTERS_MAX)
        yield Hint(text, None, mended if index == len(shown) - 1 else None)


def _with_right_amounts(compilation: Compilation, environment: Environment) -> str | None:
    """The expression with constants that do not fail; None if a server would refuse it still."""
    spans = Spans(compilation.expression)
    edits = [
        spans_edit(spans, wrong.token, wrong.token + 1, quote(wrong.meant))
        for wrong in wrong_amounts(spans)
        if wrong.meant is not None
    ]
    after = compile_selector(apply(spans.source, edits), environment)
    if not after.ok or after.max_cost > SELECTOR_COST_MAX or has_wrong_amounts(after.expression):
        return None
    return after.expression


def _mended(before: Compilation, found: Advice, environment: Environment) -> Compilation | None:
    """What comes of the edits; None if there are none, or the mistake is still there."""
    if not found.edits:
        return None
    text = apply(Spans(before.expression).source, found.edits)
    if len(text.encode("utf-8", "surrogatepass")) > EXPRESSION_LENGTH_MAX:
        return None
    after = compile_selector(text, environment)
    if after.ok or not after.issues:
        return after if after.ok else None
    return after if after.issues[0] != before.issues[0] else None


# Accepted --------------------------------------------------------------------------------------


def _accepted(
    compilation: Compilation, vocabulary: Vocabulary, views: Sequence[DeviceView]
) -> Iterator[Hint]:
    if compilation.max_cost > SELECTOR_COST_MAX:
        yield from _too_costly(compilation)
    yield from _constants(compilation, None)
    if vocabulary.device_count:
        selector = Selector(compilation)
        yield from absent_hints(selector, vocabulary, views)
        yield from type_hints(selector, vocabulary, views)
        yield from value_hints(selector, vocabulary, views)


def _too_costly(compilation: Compilation) -> Iterator[Hint]:
    """Comparisons whose cost upstream does not know, and loops."""
    spans = Spans(compilation.expression)
    checked = compilation.checked
    assert checked is not None
    found = False
    for index, token in enumerate(spans.tokens):
        if token.kind in ("==", "!="):
            left, right = (one_line(text) for text in spans.operands(index))
            text = f"{left} {right}"
            for maker in ("quantity", "semver"):
                if token.kind == "!=" and f"{maker}(" in text:
                    found = True
                    low, high = spans.comparison(index)
                    whole = f"{left}.compareTo({right}) != 0"
                    edit = spans_edit(spans, low, high, whole)
                    said = f"the cost of != between {_MADE[maker]} is unknown: write {whole}"
                    yield Hint(said, None, _accepted_with(compilation, edit))
            if "optional." in text or re.search(r"\.\?\w+$|\[\?[^]]*\]$", left):
                found = True
                yield Hint(
                    "the cost of comparing optionals is unknown: compare .orValue(default) instead"
                )
            elif left.startswith("type(") and right.startswith("type("):
                found = True
                yield Hint("the cost of comparing two type(…) is unknown: name one, as in == int")
        elif token.text == "join" and spans.kind(index + 1) == "(":
            found = True
            yield Hint("the cost of join is unknown: compare the items instead")
    if not found:
        yield Hint(
            "loops over all attributes, and loops in loops, cost the most: read attributes by name"
        )


_MADE: Final = {"quantity": "quantities", "semver": "versions"}


def _constants(compilation: Compilation, error: str | None) -> Iterator[Hint]:
    """Constants that are no quantity or no version: such a selector fails on every device."""
    spans = Spans(compilation.expression)
    for wrong in wrong_amounts(spans, error):
        expression = None
        if wrong.meant is not None:
            edit = spans_edit(spans, wrong.token, wrong.token + 1, quote(wrong.meant))
            expression = _accepted_with(compilation, edit)
        yield Hint(wrong.text, None, expression)


def _accepted_with(compilation: Compilation, edit: Edit) -> str | None:
    after = Rewriter(Selector(compilation), ()).accepted([edit])
    return None if after is None else after.expression
