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
from dataclasses import dataclass
from typing import Final

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._compiler import Compilation
from dray.cel._device import DeviceView
from dray.cel._device_hints import absent, error_hints, suggestion, type_hints
from dray.cel._functions import functions
from dray.cel._limits import SELECTOR_COST_MAX
from dray.cel._macros import MACROS
from dray.cel._references import Reference
from dray.cel._selector import Selector
from dray.cel._source import Issue
from dray.cel._spans import Spans, one_line
from dray.cel._vocabulary import Vocabulary, nearest
from dray.errors import ParseError, quote, shorten

__all__ = ["Hint", "absent_references", "hints", "hints_for_error"]

_HINTS_MAX: Final = 10
"""One expression rarely has more than one mistake, and its first errors cause the others."""

_FRAGMENT_CHARACTERS_MAX: Final = 160
_FIELDS: Final = ("driver", "attributes", "capacity", "allowMultipleAllocations")
_ATTRIBUTE: Final = 'attributes are read as device.attributes["<driver>"].{name}'


@dataclass(frozen=True, slots=True)
class Hint:
    """Something to do, in a sentence, and the place of a device it is about, if it is about one."""

    text: str
    reference: Reference | None = None


def hints(compilation: Compilation, views: Sequence[DeviceView] = ()) -> tuple[Hint, ...]:
    """What to do about an expression: one that is refused, or one these devices do not fit."""
    vocabulary = Vocabulary(views)
    if compilation.error is not None:
        found = _refused(compilation, vocabulary)
    else:
        found = _accepted(compilation, vocabulary)
    return _first(found)


def hints_for_error(
    selector: Selector, view: DeviceView, error: str, others: Sequence[DeviceView] = ()
) -> tuple[Hint, ...]:
    """What to do about an error on one device; `others` are the devices around it."""
    literals = _constants(Spans(selector.expression), error)
    return _first(literals) or _first(
        Hint(text, reference) for text, reference in error_hints(selector, view, error, others)
    )


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
    assert compilation.error is not None
    detail = compilation.error.detail
    wrong_type = _WRONG_RESULT.search(detail)
    if wrong_type is not None:
        yield Hint(_result(wrong_type[1]))
        return
    advisor = _Advisor(compilation.expression, vocabulary)
    for issue in compilation.issues:
        advice = advisor.advice(issue)
        if advice:
            yield Hint(shorten(advice, characters_max=2 * _FRAGMENT_CHARACTERS_MAX))
            if issue.message.startswith("Syntax error"):
                # What follows a syntax error is mostly its consequence.
                return


_WRONG_RESULT: Final = re.compile(r"must evaluate to bool or the unknown type, not (.*)")


def _result(kind: str) -> str:
    if kind.startswith("optional_type"):
        return "a missing value needs a default: add .orValue(false)"
    if kind.startswith("map"):
        return (
            "this is all attributes of a domain; a selector compares one of them: "
            'device.attributes["<driver>"].NAME == …'
        )
    if kind == "kubernetes.Quantity":
        return 'a selector is true or false: compare the amount with .compareTo(quantity("…")) >= 0'
    return "a selector is true or false: compare the value with something, as in … == …"


class _Advisor:
    """Advice for the issues of one text, by its tokens."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._spans = Spans(text)
        self._lines = self._spans.source.split("\n")
        self._vocabulary = vocabulary

    def advice(self, issue: Issue) -> str:
        message = issue.message
        offset = sum(len(line) + 1 for line in self._lines[: max(issue.line - 1, 0)]) + issue.column
        if message.startswith("Syntax error"):
            return self._syntax(message, offset)
        at = self._spans.at(offset)
        for pattern, advise in (
            (_UNDEFINED_FIELD, self._field),
            (_UNDECLARED, self._name),
            (_NO_OVERLOAD, self._overload),
        ):
            found = pattern.match(message)
            if found is not None:
                return advise(found, at)
        if message.startswith("expected type 'bool' but found"):
            return "each side has to be true or false: compare the value with something"
        if "cannot be range of a comprehension" in message:
            return "loops over an attribute need the feature gate DRAListTypeAttributes"
        if message.startswith("invalid argument to has()"):
            return self._presence(at)
        if message.startswith("unexpected failed resolution of 'kubernetes.Quantity'"):
            return 'a capacity is the amount itself: compare it with .compareTo(quantity("…")) >= 0'
        if message.startswith("invalid matches argument"):
            return "patterns are RE2's: no look-around, no references; a backslash is written \\\\"
        return ""

    # Syntax

    def _syntax(self, message: str, offset: int) -> str:
        source = self._spans.source
        # The lexer's complaint quotes what it met.
        here, before = source[offset : offset + 2], source[max(offset - 2, 0) : offset].rstrip()
        first = here[:1]
        if "token recognition error" in message:
            if first == "=":
                return "write == to compare" if not before.endswith("=") else "write == , not ==="
            if first in "&|" and first:
                return f"write {first * 2}"
            if first in "\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb":
                return 'write plain quotes: "…"'
            if first in "\"'":
                return f"the text that begins here has no closing {first}"
            return ""
        word = re.match(r"\w+", source[offset:])
        written = word[0] if word else ""
        replacement = _WORD_OPERATORS.get(written.lower())
        if replacement is not None and "mismatched input" in message:
            return f"write {replacement} instead of {written}"
        if re.search(r"\bnot\s*$", source[:offset], re.IGNORECASE):
            return "write ! instead of not"
        if "'<EOF>'" in message and re.search(r"missing '\)'|expecting '\)'", message):
            return "a parenthesis is not closed"
        if "'<EOF>'" in message and "expecting {']'" in message:
            return "a square bracket is not closed"
        if "'<EOF>'" in message and self._spans.tokens:
            last = self._spans.tokens[-1].text
            return f"something is missing after {last}" if not last[0].isalnum() else ""
        if here.startswith(",") and re.search(r"\bin\s*\([^()]*$", source[:offset]):
            return 'a list is written in square brackets: in ["a", "b"]'
        if written in ("in", "true", "false", "null") and source[:offset].endswith("."):
            return f'{written} cannot follow a dot: write ["{written}"]'
        if source[max(offset - 1, 0) : offset + 1] == "??":
            return "a default is written .?name.orValue(default)"
        return ""

    # Names

    def _field(self, found: re.Match[str], _: int | None) -> str:
        name = found[1]
        if name == "allowMultipleAllocations":
            return "it needs the feature gate DRAConsumableCapacity"
        near = nearest(name, _FIELDS)
        if near is not None:
            return f"did you mean device.{near}?"
        return self._somewhere(name)

    def _somewhere(self, name: str) -> str:
        """Where a name that stands alone can be read."""
        known = self._vocabulary.named(name)
        if known:
            return f"write {known[0]}"
        return _ATTRIBUTE.format(name=name)

    def _name(self, found: re.Match[str], at: int | None) -> str:
        name = found[1]
        spans = self._spans
        if at is not None and spans.kind(at) == "(":
            return self._function(name, at)
        if at is not None and spans.kind(at - 1) == "[":
            end = at
            while spans.kind(end) in ("IDENTIFIER", ".", "-"):
                end += 1
            key = spans.text(at, end)
            if name == "driver":
                return "write device.driver"
            return f'the domain is a text: write ["{key}"]'
        if at is not None and spans.kind(at - 1) == "-":
            return _DASH
        if name in _FIELDS:
            return f"write device.{name}"
        if name.lower() in ("true", "false", "null"):
            return f"write {name.lower()}"
        if name.lower() in ("none", "nil"):
            return "write null, or ask with has(…) whether there is a value"
        if nearest(name, ["device"]):
            return "did you mean device?"
        return self._somewhere(name)

    def _function(self, name: str, at: int) -> str:
        spans = self._spans
        if name == "includes":
            return "includes needs the feature gate DRAListTypeAttributes"
        if name in _MACRO_NAMES:
            return f"{name} takes other arguments: {_MACRO_NAMES[name]}"
        amount = _AT_LEAST.fullmatch(name)
        if amount is not None and spans.kind(at - 2) == ".":
            sign = ">= 0" if amount[1] == "Greater" else "<= 0"
            target = spans.text(spans.path_before(at - 2), at - 2)
            arguments = spans.arguments(at)
            argument = spans.text(*arguments[0]) if arguments else "…"
            return f"write {one_line(f'{target}.compareTo({argument}) {sign}')}"
        renamed = _RENAMED.get(name.lower())
        if renamed is not None:
            return f"write {renamed}"
        near = nearest(name, [*functions(includes=True), *_MACRO_NAMES])
        return f"did you mean {near}?" if near is not None and "_" not in near else ""

    def _presence(self, at: int | None) -> str:
        spans = self._spans
        if at is not None and spans.kind(at) == "[":
            low, closing = spans.path_before(at), spans.partner(at)
            if closing is not None:
                key = spans.text(at + 1, closing)
                return f"write {one_line(f'{key} in {spans.text(low, at)}')}"
        return 'has() takes a path that ends in .name, as in has(device.attributes["<driver>"].x)'

    # Types

    def _overload(self, found: re.Match[str], at: int | None) -> str:
        function, target, listed = found.groups()
        types = [target, *_split(listed)] if target else _split(listed)
        if at is None:
            return ""
        comparison = _COMPARISONS.get(function)
        if comparison is not None and len(types) == 2:
            return self._comparison(comparison, types, at)
        if function in ("compareTo", "isGreaterThan", "isLessThan") and types[-1] == "string":
            arguments = self._spans.arguments(at)
            argument = self._spans.text(*arguments[0]) if arguments else '"…"'
            maker = "quantity" if types[0] == "kubernetes.Quantity" else "semver"
            return f"write {function}({maker}({argument}))"
        if function == "_[_]" and types[0] == "kubernetes.DRADevice":
            return "the device's own fields follow a dot: device.driver, device.attributes"
        if function == "_-_" and "type" in types[-1]:
            return _DASH
        if function in ("_&&_", "_||_", "!_"):
            return "each side has to be true or false: compare the value with something"
        if function in ("contains", "startsWith", "endsWith", "matches") and types[-1] != "string":
            return f"{function} takes a text: put it in quotes"
        return ""

    def _comparison(self, operator: str, types: list[str], at: int) -> str:
        left, right = (one_line(text) for text in self._spans.operands(at))
        for maker in ("quantity", "semver"):
            kind = f"kubernetes.{maker.capitalize()}"
            if kind not in types:
                continue
            if types[0] != kind and types[0] not in ("any", "dyn"):
                left, right, operator = right, left, _MIRRORED.get(operator, operator)
            return _ordered(maker, left, operator, right)
        if any(kind.startswith("optional_type") for kind in types):
            default = {"string": '""', "int": "0", "bool": "false"}.get(types[1], "…")
            return f"a missing value needs a default: {left}.orValue({default}) {operator} {right}"
        if any(kind.startswith("map(") for kind in types):
            domain, slash, name = left.partition("/")
            if slash and name.endswith('"]'):
                return f'write {domain}"].{name[:-2]} {operator} {right}'
            return f"{left} is all of a domain: name one, as in {left}.NAME {operator} {right}"
        numbers = {"int", "uint", "double"}
        if set(types) < numbers:
            return "both numbers have to be of one type: write double(…) or int(…) around one"
        if "string" in types and numbers & set(types):
            return "one side is a text and the other a number: add or remove the quotes"
        return ""


_UNDEFINED_FIELD: Final = re.compile(r"undefined field '(.*)'")
_UNDECLARED: Final = re.compile(r"undeclared reference to '(.*)' \(in container '.*'\)")
_NO_OVERLOAD: Final = re.compile(
    r"found no matching overload for '(.*)' applied to '([^(]*?(?:\(.*\))?)\.?\((.*)\)'"
)
_AT_LEAST: Final = re.compile(r"is(Greater|Less)ThanOrEqual(?:To)?")
_COMPARISONS: Final = {
    "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_==_": "==", "_!=_": "!=",
}  # fmt: skip
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_METHODS: Final = {">": "isGreaterThan", "<": "isLessThan"}
_DASH: Final = "- is minus here: names of attributes have letters, digits and underscores"
_WORD_OPERATORS: Final = {
    "and": "&&", "or": "||", "not": "!", "is": "==", "eq": "==", "ne": "!=", "like": ".matches(…)",
    "contains": ".contains(…)", "matches": ".matches(…)", "startswith": ".startsWith(…)",
    "includes": ".includes(…)",
}  # fmt: skip
_RENAMED: Final = {
    "lower": "lowerAscii()", "tolower": "lowerAscii()", "lowercase": "lowerAscii()",
    "upper": "upperAscii()", "toupper": "upperAscii()", "uppercase": "upperAscii()",
    "len": "size(…)", "length": "size(…)", "strip": "trim()", "match": "matches(…)",
    "regex": "matches(…)", "any": "exists(item, …)", "some": "exists(item, …)",
    "version": "semver(…)", "equals": "==", "now": "something else: expressions have no clock",
}  # fmt: skip
_MACRO_NAMES: Final = {
    name: {"has": "has(path.name)", "bind": "cel.bind(name, value, expression)"}.get(
        name, f"list.{name}(item, …)"
    )
    for name, _, _ in MACROS
}


def _ordered(maker: str, left: str, operator: str, right: str) -> str:
    """A comparison of quantities or versions as it has to be written."""
    if not right.startswith(f"{maker}("):
        inner = right if right[:1] in "\"'" else quote(right)
        literal = right[:1] in "\"'" or right[:1].isdigit()
        right = f"{maker}({inner})" if literal else right
    if operator == "==":
        return f"write {left} == {right}"
    if operator in _METHODS:
        return f"write {left}.{_METHODS[operator]}({right})"
    return f"write {left}.compareTo({right}) {operator} 0"


def _split(listed: str) -> list[str]:
    """The types in a signature, of which some have commas inside."""
    parts, depth = [""], 0
    for character in listed:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


# Accepted --------------------------------------------------------------------------------------


def _accepted(compilation: Compilation, vocabulary: Vocabulary) -> Iterator[Hint]:
    if compilation.max_cost > SELECTOR_COST_MAX:
        yield from _too_costly(compilation)
    yield from _constants(Spans(compilation.expression), None)
    if vocabulary.device_count:
        selector = Selector(compilation)
        for reference in absent(selector, vocabulary):
            yield Hint(suggestion(reference, vocabulary), reference)
        for text, reference in type_hints(selector, vocabulary):
            yield Hint(text, reference)


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
                    yield Hint(
                        f"the cost of != between {_MADE[maker]} is unknown: "
                        f"{_ordered(maker, left, '!=', right)}"
                    )
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


def _constants(spans: Spans, error: str | None) -> Iterator[Hint]:
    """Constants that are no quantity or no version: such a selector fails on every device."""
    for index in range(len(spans.tokens) - 3):
        maker, literal = spans.word(index), spans.word(index + 2)
        if maker not in ("quantity", "semver") or spans.kind(index + 2) != "STRING":
            continue
        if spans.word(index + 1) != "(" or spans.word(index + 3) != ")" or literal[:1] not in "\"'":
            continue
        text = literal[1:-1]
        try:
            (Quantity if maker == "quantity" else Semver).parse(text)
        except ParseError as problem:
            if error is None or error in (problem.rule, str(problem)) or error in problem.rule:
                yield Hint(f"{quote(shorten(text))} is no {_NOUNS[maker]}{_meant(maker, text)}")


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


def _meant(maker: str, text: str) -> str:
    if maker == "quantity":
        found = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]{0,3})\s*", text)
        if found is None:
            return ': an amount and a unit, such as "40Gi"'
        unit = _UNITS.get(found[2].lower(), "") if found[2] else ""
        if found[2] and not unit:
            return ": units are k M G T and Ki Mi Gi Ti"
        return f': write "{found[1]}{unit}"'
    try:
        return f': write "{Semver.parse_tolerant(text)}"'
    except ParseError:
        return ': three numbers, such as "1.2.3"'
