"""Constants that a conjunct compares places with, and the same in the type a device has.

`version == "1.2.3"` never holds, because a version is no text; `version == semver("1.2.3")` may.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dray.api.semver import Semver
from dray.cel._amounts import version_in
from dray.cel._conjuncts import Conjunct
from dray.cel._failing import children
from dray.cel._nodes import Call, ListLiteral, Literal, Node
from dray.cel._readings import reference_of
from dray.cel._references import Reference
from dray.cel._rewrites import Edit, spans_edit
from dray.cel._spans import Spans
from dray.cel._values import LISTS, Constant
from dray.errors import quote

__all__ = ["literals", "retyped"]

_OPERATORS: Final = {
    "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_==_": "==", "_!=_": "!=",
}  # fmt: skip
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NODES_MAX: Final = 2000


def literals(conjunct: Conjunct) -> Iterator[tuple[Reference, Constant, int]]:
    """Every place that is compared with a constant, the constant, and its offset."""
    for _, _, reference, constants in _comparisons(conjunct):
        for literal in constants:
            yield reference, literal.value, literal.offset


def retyped(conjunct: Conjunct, spans: Spans, reference: Reference, kind: type) -> Iterator[Edit]:
    """What to exchange so that the place is compared with constants of this type."""
    for call, left, place, constants in _comparisons(conjunct):
        operator = spans.at(call.offset)
        if place != reference or operator is None:
            continue
        low, high = spans.comparison(operator)
        texts = [spans.text(low, operator), spans.text(operator + 1, high)]
        path = texts[0] if left == 1 else texts[1]
        sign = _OPERATORS.get(call.function, "in")
        sign = sign if left == 1 else _MIRRORED.get(sign, sign)
        if len(constants) == 1 and constants[0].value is None:
            if sign in ("==", "!="):
                absence = "!" if sign == "==" else ""
                yield spans_edit(spans, low, high, f"{absence}has({path})")
            continue
        written = [_written(one.value, kind) for one in constants]
        if kind in LISTS and sign == "==":
            constant = texts[1] if left == 1 else texts[0]
            yield spans_edit(spans, low, high, f"{constant} in {path}")
        elif any(one is None for one in written):
            continue
        elif kind is Semver and sign not in ("==", "in"):
            text = f"{path}.compareTo({written[0]}) {sign} 0"
            yield spans_edit(spans, low, high, text)
        else:
            for literal, text_or_none in zip(constants, written, strict=True):
                token = spans.at(literal.offset)
                if token is not None and text_or_none is not None:
                    yield spans_edit(spans, token, token + 1, text_or_none)


def _comparisons(
    conjunct: Conjunct,
) -> Iterator[tuple[Call, int, Reference, list[Literal]]]:
    """Comparisons of a place with constants; 1 if the place is on the left, 0 if on the right."""
    if len(conjunct.whole.types) > _NODES_MAX:
        return
    waiting: list[Node] = [conjunct.node]
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(list(children(node))))
        if not isinstance(node, Call) or len(node.arguments) != 2:
            continue
        first, second = node.arguments
        if node.function == "@in" and isinstance(second, ListLiteral):
            constants = [one for one in second.elements if isinstance(one, Literal)]
            sides = [(1, first, constants)] if len(constants) == len(second.elements) else []
        elif node.function in _OPERATORS:
            sides = [
                (left, thing, [other])
                for left, thing, other in ((1, first, second), (0, second, first))
                if isinstance(other, Literal)
            ]
        else:
            continue
        for left, thing, constants in sides:
            if isinstance(thing, Call) and thing.function == "orValue" and thing.target is not None:
                thing = thing.target
            reference = reference_of(thing, conjunct.binds)
            if reference is not None and constants:
                yield node, left, reference, constants


def _written(value: Constant, kind: type) -> str | None:
    """A constant as a constant of another type, if it can be one."""
    if kind is Semver:
        version = version_in(str(value)) if isinstance(value, str | int | float) else None
        return None if version is None or isinstance(value, bool) else f'semver("{version}")'
    if kind is str:
        return quote(str(value)) if type(value) in (int, float, str) else None
    if kind is bool:
        return {"true": "true", "false": "false", "1": "true", "0": "false"}.get(str(value).lower())
    if kind is int:
        text = str(value)
        return text if not isinstance(value, bool) and text.removeprefix("-").isdecimal() else None
    return None
