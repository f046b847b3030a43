"""What a conjunct wants, in words: `memory is 24Gi, wanted ≥ 40Gi`.

Most conditions compare one thing of a device with a constant, in one of a few shapes: `x == c`,
`c < x`, `x in [c, d]`, `x.compareTo(quantity(c)) >= 0`, `has(x)`, `!x`. Those are recognised in the
tree, also behind variables of `cel.bind`, with `orValue` around the thing, with `!` before it, and
as alternatives for the same thing. Whatever else a conjunct is, it is quoted with what it read.

Words only: nothing here decides anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

from dray.cel._conjuncts import Conjunct, Decision
from dray.cel._device import DeviceView
from dray.cel._environment import DEVICE_VARIABLE
from dray.cel._nodes import Call, Comprehension, Identifier, ListLiteral, Literal, Node, Select
from dray.cel._readings import MISSING, look, name_of, read, reference_of, show
from dray.cel._references import MAPS_BY_DOMAIN, Reference
from dray.cel._spans import Spans, one_line
from dray.errors import shorten

__all__ = ["Requirement", "describe", "quoted", "requirement"]

_QUOTED_CHARACTERS_MAX: Final = 100
"""Of a conjunct that is quoted: a line of a terminal, with its values."""

_CHOICES_SHOWN_MAX: Final = 6
_DEPTH_MAX: Final = 8
"""How many `!` and `||` are looked through; people write one or two."""

_KEPT_MAX: Final = 256
"""Conjuncts whose words are kept: each is asked about thousands of devices in a row."""

_MIRRORED: Final = {"_<_": "_>_", "_<=_": "_>=_", "_>_": "_<_", "_>=_": "_<=_"}
_NEGATED: Final = {
    "_<_": "_>=_", "_<=_": "_>_", "_>_": "_<=_", "_>=_": "_<_", "_==_": "_!=_", "_!=_": "_==_",
}  # fmt: skip
_SIGNS: Final = {
    "_<_": "< ",
    "_<=_": "≤ ",
    "_>_": "> ",
    "_>=_": "≥ ",
    "_==_": "",
    "_!=_": "anything but ",
}

_SIGNS_OF_COMPARISONS: Final[dict[tuple[str, int], str]] = {
    ("_>_", 0): "_>_", ("_==_", 1): "_>_", ("_>=_", 1): "_>_",
    ("_<_", 0): "_<_", ("_==_", -1): "_<_", ("_<=_", -1): "_<_",
    ("_>=_", 0): "_>=_", ("_!=_", -1): "_>=_", ("_>_", -1): "_>=_",
    ("_<=_", 0): "_<=_", ("_!=_", 1): "_<=_", ("_<_", 1): "_<=_",
    ("_==_", 0): "_==_", ("_!=_", 0): "_!=_",
}  # fmt: skip
"""`compareTo` answers -1, 0 or 1; what comparing that answer with a number comes to."""

_TESTS: Final = {
    "startsWith": "to start with",
    "endsWith": "to end with",
    "contains": "to contain",
    "matches": "to match",
    "includes": "to include",
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing of a device, or computed from it, and what it should be.

    `reference` is None for what is computed; `text` is then how the expression writes it.
    `default` is what stands for a missing value. `kind` is the type of the constant it is
    compared with, where there is one.
    """

    node: Node
    reference: Reference | None
    text: str
    wanted: str
    default: str | None = None
    kind: type | None = None
    choices: tuple[str, ...] = ()  # of alternatives, what each of them wants


@lru_cache(_KEPT_MAX)
def requirement(conjunct: Conjunct) -> Requirement | None:
    """What the conjunct wants, if it has one of the known shapes."""
    return _Reader(conjunct).read(conjunct.node, negated=False, depth=0)


def describe(decision: Decision, view: DeviceView) -> str:
    """One line: what the device has, and what the conjunct wanted."""
    conjunct = decision.conjunct
    driver = view.value["driver"] if view.value is not None else ""
    found = requirement(conjunct)
    if found is not None and view.value is not None:
        shown = _measured(conjunct, found, view)
        if shown is not None:
            name = _abbreviated(conjunct, found.text, driver)
            if found.reference is not None:
                name = name_of(found.reference, driver)
            return f"{name} {_verb(found.reference)} {shown}, wanted {found.wanted}"
    readings = ", ".join(
        f"{name_of(reading.reference, driver)} {_verb(reading.reference)} {reading.shown}"
        for reading in decision.readings
    )
    outcome = "fails" if decision.verdict == "error" else f"is {decision.verdict}"
    said = f"{quoted(_abbreviated(conjunct, conjunct.text, driver))} {outcome}"
    return f"{said}: {readings}" if readings else said


def quoted(text: str) -> str:
    """A conjunct's text on one line, and not too long."""
    return shorten(one_line(text), characters_max=_QUOTED_CHARACTERS_MAX)


def _abbreviated(conjunct: Conjunct, text: str, driver: str) -> str:
    """The text with plain names for what it reads, where that leaves no doubt."""
    names = [name_of(reference, driver) for reference in conjunct.references]
    if len(set(names)) < len(names):
        return text
    for reference, name in zip(conjunct.references, names, strict=True):
        if reference.name is not None and reference.domain == driver:
            text = re.sub(rf"{re.escape(str(reference))}(?!\w)", name, text)
    return text


def _measured(conjunct: Conjunct, found: Requirement, view: DeviceView) -> str | None:
    """What the device has of the thing; None if that cannot be said."""
    if found.reference is None:
        came = conjunct.program_of(found.node).evaluate({DEVICE_VARIABLE: view.value})
        return None if came.failure is not None else show(came.value)
    reading = read(view, found.reference)
    if reading.missing and found.default is not None:
        return f"{MISSING} and taken as {found.default}"
    if _is_domain(found.reference) and not look(view, found.reference)[0]:
        return MISSING
    return reading.shown


def _verb(reference: Reference | None) -> str:
    plural = reference is not None and reference.field == MAPS_BY_DOMAIN[0]
    return "are" if plural and reference is not None and reference.name is None else "is"


def _is_domain(reference: Reference) -> bool:
    return reference.field in MAPS_BY_DOMAIN and reference.name is None


@dataclass(frozen=True, slots=True)
class _Constant:
    shown: str
    kind: type


_Subject: TypeAlias = tuple[Node, Reference | None, str, str | None]
"""A node, the place it names, how it is written, and what stands for it when it is missing."""


class _Reader:
    """Recognises the shapes in one conjunct."""

    def __init__(self, conjunct: Conjunct) -> None:
        self._conjunct = conjunct
        self._spans: Spans | None = None

    def read(self, node: Node, *, negated: bool, depth: int) -> Requirement | None:
        if depth > _DEPTH_MAX:
            return None
        match node:
            case Call(function="!_", arguments=(operand,)):
                return self.read(operand, negated=not negated, depth=depth + 1)
            case Call(function="_||_") if not negated:
                return self._alternatives(node, depth)
            case Call(function="_&&_") if negated:
                return None
            case Call(function=operator, arguments=(left, right)) if operator in _NEGATED:
                shown = _NEGATED[operator] if negated else operator
                return self._comparison(node, shown, left, right)
            case Call(function="@in", arguments=(member, container)):
                return self._membership(member, container, negated=negated)
            case Select(test_only=True):
                plain = Select(node.id, node.offset, node.operand, node.field, test_only=False)
                return self._presence(plain, negated=negated)
            case Call(function="hasValue", target=Call() as target):
                return self._presence(target, negated=negated)
            case Call(target=target, arguments=(argument,)) if target is not None:
                return self._test(node, target, argument, negated=negated)
            case _:
                subject = self._subject(node, None)
                if subject is None or subject[1] is None:
                    return None
                return _wanting(subject, "false" if negated else "true", bool)

    def _alternatives(self, node: Call, depth: int) -> Requirement | None:
        """`x == a || x == b`: one thing, and several ways to be right."""
        found: list[Requirement] = []
        for operand in node.arguments:
            one = self.read(operand, negated=False, depth=depth + 1)
            if one is None or one.reference is None:
                return None
            found.append(one)
        first = found[0]
        if any((one.reference, one.default) != (first.reference, first.default) for one in found):
            return None
        wanted = " or ".join(one.wanted for one in found)
        choices = tuple(choice for one in found for choice in (one.choices or (one.wanted,)))
        if len(choices) > _CHOICES_SHOWN_MAX:
            shown = " or ".join(choices[:_CHOICES_SHOWN_MAX])
            wanted = f"{shown} or … {len(choices) - _CHOICES_SHOWN_MAX} more"
        return replace(first, wanted=wanted, kind=None, choices=choices)

    def _comparison(self, node: Call, operator: str, left: Node, right: Node) -> Requirement | None:
        compared = self._compared(operator, left, right)
        if compared is None:
            mirrored = _MIRRORED.get(operator, operator)
            compared = self._compared(mirrored, right, left)
        if compared is not None:
            return compared
        for thing, other, sign, side in (
            (left, right, operator, 0),
            (right, left, _MIRRORED.get(operator, operator), 1),
        ):
            constant = self._constant(other)
            if constant is None:
                continue
            subject = self._subject(thing, self._operand_text(node, side))
            if subject is None:
                return None
            kind = constant.kind
            if constant.kind is bool and operator in ("_==_", "_!=_"):
                flipped = operator == "_!=_"
                wanted = {"true": "false", "false": "true"}[constant.shown] if flipped else ""
                return _wanting(subject, wanted or constant.shown, kind)
            return _wanting(subject, f"{_SIGNS[sign]}{constant.shown}", kind)
        return None

    def _compared(self, operator: str, call: Node, number: Node) -> Requirement | None:
        """`a.compareTo(b) >= 0`"""
        match call, number:
            case (
                Call(function="compareTo", target=target, arguments=(argument,)),
                Literal(value=int() as answer),
            ) if target is not None:
                sign = _SIGNS_OF_COMPARISONS.get((operator, answer))
                return self._ordered(call, target, argument, sign) if sign else None
        return None

    def _ordered(self, call: Call, target: Node, argument: Node, sign: str) -> Requirement | None:
        constant, thing = self._constant(argument), target
        if constant is None:
            constant, thing = self._constant(target), argument
            sign = _MIRRORED.get(sign, sign)
        if constant is None:
            return None
        subject = self._subject(thing, self._call_text(call, thing is target))
        return None if subject is None else _wanting(subject, f"{_SIGNS[sign]}{constant.shown}")

    def _membership(self, member: Node, container: Node, *, negated: bool) -> Requirement | None:
        match member:
            case Literal(value=str() as key):
                place = reference_of(container, self._conjunct.binds)
                if place is not None and place.field in MAPS_BY_DOMAIN and place.name is None:
                    longer = (
                        replace(place, domain=key)
                        if place.domain is None
                        else replace(place, name=key)
                    )
                    return Requirement(container, longer, "", _presence(longer, negated=negated))
        if isinstance(container, ListLiteral):
            choices = [self._constant(element) for element in container.elements]
            if not choices or any(choice is None for choice in choices):
                return None
            subject = self._subject(member, None)
            if subject is None or subject[1] is None:
                return None
            known = [choice for choice in choices if choice is not None]
            kinds = {choice.kind for choice in known}
            listed = _listed([choice.shown for choice in known])
            if negated:
                return _wanting(subject, f"anything but {listed}")
            wanted = f"one of {listed}" if known[1:] else listed
            return _wanting(subject, wanted, kinds.pop() if len(kinds) == 1 else None)
        constant = self._constant(member)
        subject = self._subject(container, None)
        if constant is None or subject is None or subject[1] is None:
            return None
        return _wanting(subject, f"{'not ' if negated else ''}to include {constant.shown}")

    def _presence(self, node: Node, *, negated: bool) -> Requirement | None:
        reference = reference_of(node, self._conjunct.binds)
        if reference is None or reference.name is None:
            return None
        return Requirement(node, reference, "", _presence(reference, negated=negated))

    def _test(
        self, call: Call, target: Node, argument: Node, *, negated: bool
    ) -> Requirement | None:
        function = call.function
        if function in ("isGreaterThan", "isLessThan"):
            sign = "_>_" if function == "isGreaterThan" else "_<_"
            return self._ordered(call, target, argument, _NEGATED[sign] if negated else sign)
        if function == "orValue":
            subject = self._subject(call, None)
            return subject and _wanting(subject, "false" if negated else "true", bool)
        constant = self._constant(argument)
        if function not in _TESTS or constant is None:
            return None
        subject = self._subject(target, self._call_text(call, True))
        if subject is None:
            return None
        return _wanting(subject, f"{'not ' if negated else ''}{_TESTS[function]} {constant.shown}")

    # Parts

    def _subject(self, node: Node, text: str | None) -> _Subject | None:
        """What a condition is about: a place of the device, or what is computed from some."""
        default: str | None = None
        inner = node
        match node:
            case Call(function="orValue", target=target, arguments=(other,)) if target is not None:
                constant = self._constant(other)
                if constant is not None:
                    inner, default = target, constant.shown
            case Call(function="value", target=target, arguments=()) if target is not None:
                inner = target
        reference = reference_of(inner, self._conjunct.binds)
        if reference is not None and not _is_domain(reference):
            return node, reference, "", default
        if not text:
            return None
        return node, None, one_line(text), None

    def _constant(self, node: Node) -> _Constant | None:
        """What a part without anything of the device comes to."""
        match node:
            case Literal(value=value):
                return _Constant(show(value), type(value))
            case Call(
                function=function, target=None, arguments=(Literal(value=str() as text), *_)
            ) if function in ("quantity", "semver"):
                return _Constant(shorten(text), object)
            case Identifier() | Select() | Comprehension():
                return None
            case Call() | ListLiteral():
                return self._computed(node)
        return None

    def _computed(self, node: Node) -> _Constant | None:
        # Without a device, whatever reads one fails.
        came = self._conjunct.program_of(node).evaluate({})
        if came.failure is not None:
            return None
        return _Constant(show(came.value), type(came.value))

    def _operand_text(self, node: Call, side: int) -> str:
        spans = self._spans_of_conjunct()
        operator = spans.at(node.offset - self._conjunct.offset)
        return "" if operator is None else spans.operands(operator)[side]

    def _call_text(self, call: Call, of_target: bool) -> str:
        """How the target or the only argument of a member call is written."""
        spans = self._spans_of_conjunct()
        parenthesis = spans.at(call.offset - self._conjunct.offset)
        if parenthesis is None:
            return ""
        if of_target:
            return spans.text(spans.path_before(parenthesis - 2), parenthesis - 2)
        arguments = spans.arguments(parenthesis)
        return spans.text(*arguments[0]) if arguments else ""

    def _spans_of_conjunct(self) -> Spans:
        if self._spans is None:
            self._spans = Spans(self._conjunct.text)
        return self._spans


def _wanting(subject: _Subject, wanted: str, kind: type | None = None) -> Requirement:
    node, reference, text, default = subject
    return Requirement(node, reference, text, wanted, default, kind)


def _presence(reference: Reference, *, negated: bool) -> str:
    pronoun = "them" if _verb(reference) == "are" else "it"
    return f"{pronoun} {MISSING if negated else 'present'}"


def _listed(shown: list[str]) -> str:
    more = len(shown) - _CHOICES_SHOWN_MAX
    if more > 0:
        shown = [*shown[:_CHOICES_SHOWN_MAX], f"… {more} more"]
    return ", ".join(shown)
