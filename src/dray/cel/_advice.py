"""What to write instead of an expression that is refused, by the error and the tokens around it.

One mistake at a time: the first issue that is recognised gets a sentence, and where it is clear the
edits that mend it. Whoever applies them and compiles again can ask about the next mistake.

Guesses; nothing depends on them, and the edits are for the caller to try.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._amounts import amount_in, version_in
from dray.cel._compiler import Compilation
from dray.cel._functions import functions
from dray.cel._macros import MACROS
from dray.cel._references import Reference
from dray.cel._rewrites import Edit, spans_edit
from dray.cel._slips import slip
from dray.cel._source import Issue
from dray.cel._spans import Spans, one_line
from dray.cel._vocabulary import Vocabulary, nearest
from dray.errors import quote

__all__ = ["Advice", "advice"]

_FIELDS: Final = ("driver", "attributes", "capacity", "allowMultipleAllocations")
_ATTRIBUTE: Final = 'attributes are read as device.attributes["<driver>"].{name}'
_DOMAIN: Final = re.compile(r'device\.(attributes|capacity)\["([^"]*)"\]\.(\w+)')


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, and if that is clear the edits that do it.

    `fallback` is what is left to say if the edits turn out not to help.
    """

    text: str
    edits: tuple[Edit, ...] = ()
    fallback: str = ""


def advice(compilation: Compilation, vocabulary: Vocabulary) -> Advice | None:
    """Advice for the first issue that there is any for."""
    assert compilation.error is not None
    wrong_type = _WRONG_RESULT.search(compilation.error.detail)
    if wrong_type is not None:
        return Advice(_result(wrong_type[1]))
    if not compilation.expression.strip():
        return Advice('an expression is needed, such as device.driver == "gpu.example.com"')
    advisor = _Advisor(compilation.expression, vocabulary)
    for issue in compilation.issues:
        found = advisor.advice(issue)
        if found is not None and found.text:
            return found
    return None


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

    def advice(self, issue: Issue) -> Advice | None:
        message = issue.message
        offset = sum(len(line) + 1 for line in self._lines[: max(issue.line - 1, 0)]) + issue.column
        if message.startswith(("Syntax error", "reserved identifier")):
            found = slip(self._spans, message, max(offset, 0))
            return None if found is None else Advice(found.text, found.edits)
        at = self._spans.at(offset)
        for pattern, advise in (
            (_UNDEFINED_FIELD, self._field),
            (_UNDECLARED, self._name),
            (_NO_OVERLOAD, self._overload),
        ):
            match = pattern.match(message)
            if match is not None:
                said = advise(match, at)
                return said if isinstance(said, Advice) else Advice(said)
        if message.startswith("invalid argument to has()"):
            return self._presence(at)
        return Advice(self._other(message, at))

    def _other(self, message: str, at: int | None) -> str:
        if message.startswith("expected type 'bool' but found"):
            return "each side has to be true or false: compare the value with something"
        if "cannot be range of a comprehension" in message:
            return "loops over an attribute need the feature gate DRAListTypeAttributes"
        if message.startswith("unexpected failed resolution of 'kubernetes.Quantity'"):
            return 'a capacity is the amount itself: compare it with .compareTo(quantity("…")) >= 0'
        if message.startswith("invalid matches argument"):
            pattern = "" if at is None else self._spans.word(at)
            if re.search(r"\(\?[=!<]|\\\\[1-9]", pattern):
                return "patterns are RE2's: no look-around, no references"
            return (
                "the pattern is not closed or repeats nothing: a character that is meant as such "
                "is written after \\\\"
            )
        return ""

    def _swap(self, low: int, high: int, text: str) -> tuple[Edit, ...]:
        return (spans_edit(self._spans, low, high, text),)

    def _example(self, text: str) -> tuple[Reference | None, object]:
        """The place that a text names, and what some device has there."""
        found = _DOMAIN.fullmatch(text)
        if found is None:
            return None, None
        reference = Reference(*found.groups())
        return reference, self._vocabulary.example(reference)

    # Names

    def _field(self, found: re.Match[str], at: int | None) -> str | Advice:
        name = found[1]
        if name == "allowMultipleAllocations":
            return "it needs the feature gate DRAConsumableCapacity"
        near = nearest(name, _FIELDS)
        if near is not None:
            edits = () if at is None else self._swap(at + 1, at + 2, near)
            return Advice(f"did you mean device.{near}?", edits)
        return self._somewhere(name, None if at is None else (at - 1, at + 2))

    def _somewhere(self, name: str, where: tuple[int, int] | None) -> Advice:
        """Where a name that stands alone can be read."""
        known = self._vocabulary.named(name)
        if known:
            edits = () if where is None else self._swap(*where, str(known[0]))
            return Advice(f"write {known[0]}", edits)
        return Advice(_ATTRIBUTE.format(name=name))

    def _compared(self, at: int) -> bool:
        """Whether a lone name is what something is compared with, so that it is meant as a text."""
        spans = self._spans
        if spans.kind(at + 1) in (".", "("):
            return False
        if spans.kind(at - 1) in ("==", "!="):
            return True
        if spans.kind(at - 1) == "(" and spans.kind(at + 1) == ")":
            return spans.word(at - 2) in _TEXT_FUNCTIONS
        return spans.kind(at - 1) in ("[", ",") and spans.kind(at + 1) in ("]", ",")

    def _name(self, found: re.Match[str], at: int | None) -> str | Advice:
        name = found[1]
        spans = self._spans
        if at is not None and spans.kind(at) == "(":
            return self._function(name, at)
        if at is not None and self._compared(at) and not self._vocabulary.named(name):
            word = spans.word(at)
            plain = {"none": "null", "nil": "null", "yes": "true", "no": "false"}
            plain |= {one: one for one in ("true", "false", "null")}
            if word.lower() in plain and word.lower() != "none":
                word = plain[word.lower()]
                return Advice(f"write {word}", self._swap(at, at + 1, word))
            if word.lower() != "none" and word != "driver" and spans.kind(at - 2) != "attributes":
                text = f"a text is written in quotes: {quote(word)}"
                if not (spans.kind(at - 1) == "[" and spans.kind(at - 2) == "IDENTIFIER"):
                    return Advice(text, self._swap(at, at + 1, quote(word)))
        if at is not None and spans.kind(at - 1) == "[":
            end = at
            while spans.kind(end) in ("IDENTIFIER", ".", "-"):
                end += 1
            key = spans.text(at, end)
            if name == "driver":
                return Advice("write device.driver", self._swap(at, at + 1, "device.driver"))
            return Advice(f'the domain is a text: write ["{key}"]', self._swap(at, end, f'"{key}"'))
        if at is not None and spans.kind(at - 1) == "-":
            return _DASH
        here = () if at is None else (at, at + 1)
        if name in _FIELDS:
            edits = self._swap(*here, f"device.{name}") if here else ()
            return Advice(f"write device.{name}", edits)
        if name.lower() in ("true", "false", "null"):
            edits = self._swap(*here, name.lower()) if here else ()
            return Advice(f"write {name.lower()}", edits)
        if name.lower() in ("none", "nil"):
            return "write null, or ask with has(…) whether there is a value"
        known_field = at is not None and spans.kind(at + 1) == "." and spans.word(at + 2) in _FIELDS
        if nearest(name, ["device"]) or known_field:
            edits = self._swap(*here, "device") if here else ()
            close = nearest(name, ["device"]) is not None
            return Advice("did you mean device?" if close else "write device", edits)
        return self._somewhere(name, here or None)

    def _function(self, name: str, at: int) -> str | Advice:
        spans = self._spans
        if name == "includes":
            return "includes needs the feature gate DRAListTypeAttributes"
        if name in _MACRO_NAMES:
            return f"{name} takes other arguments: {_MACRO_NAMES[name]}"
        member = spans.kind(at - 2) == "."
        arguments = spans.arguments(at)
        argument = spans.text(*arguments[0]) if arguments else "…"
        closing = spans.partner(at)
        sign = _AT_LEAST.get(name.lower().replace("_", ""))
        if sign is not None and member and closing is not None:
            low = spans.path_before(at - 2)
            text = f"{spans.text(low, at - 2)}.compareTo({argument}) {sign} 0"
            return Advice(f"write {one_line(text)}", self._swap(low, closing + 1, text))
        if name.lower() in _DEFAULTS and member and closing is not None:
            return self._default(at, closing, arguments)
        renamed = _RENAMED.get(name.lower())
        if renamed is not None:
            if member and renamed.endswith("()"):
                return Advice(f"write {renamed}", self._swap(at - 1, at, renamed[:-2]))
            return f"write {renamed}"
        near = nearest(name, [*functions(includes=True), *_MACRO_NAMES])
        if near is None or "_" in near:
            return ""
        return Advice(f"did you mean {near}?", self._swap(at - 1, at, near))

    def _default(self, at: int, closing: int, arguments: list[tuple[int, int]]) -> str | Advice:
        """`x.orElse(d)`, `map.get("x", d)`."""
        spans = self._spans
        texts = [spans.text(*one) for one in arguments]
        said = "a default is written .?name.orValue(default)"
        if len(texts) == 2 and re.fullmatch(r'"[A-Za-z_]\w*"', texts[0]):
            text = f".?{texts[0][1:-1]}.orValue({texts[1]})"
            return Advice(said, self._swap(at - 2, closing + 1, text))
        if len(texts) == 1 and spans.kind(at - 4) == ".":
            text = f".?{spans.word(at - 3)}.orValue({texts[0]})"
            return Advice(said, self._swap(at - 4, closing + 1, text))
        return said

    def _presence(self, at: int | None) -> Advice:
        spans = self._spans
        if at is not None and spans.kind(at) == "[":
            low, closing = spans.path_before(at), spans.partner(at)
            if closing is not None:
                key = spans.text(at + 1, closing)
                text = one_line(f"{key} in {spans.text(low, at)}")
                around = spans.word(low - 2) == "has" and spans.partner(low - 1) == closing + 1
                edits = self._swap(low - 2, closing + 2, text) if around else ()
                return Advice(f"write {text}", edits)
        return Advice(
            'has() takes a path that ends in .name, as in has(device.attributes["<driver>"].x)'
        )

    # Types

    def _overload(self, found: re.Match[str], at: int | None) -> str | Advice:
        function, target, listed = found.groups()
        types = [target, *_split(listed)] if target else _split(listed)
        if at is None:
            return ""
        comparison = _COMPARISONS.get(function)
        if comparison is not None and len(types) == 2:
            return self._comparison(comparison, types, at)
        if function in ("compareTo", "isGreaterThan", "isLessThan"):
            return self._method(function, types, at)
        if function == "@in" and types[0] == "kubernetes.Quantity":
            return self._among(at)
        if function == "quantity" and types == ["kubernetes.Quantity"]:
            closing = self._spans.partner(at)
            if closing is not None:
                text = self._spans.text(at + 1, closing)
                edits = self._swap(at - 1, closing + 1, text)
                return Advice("a capacity is a quantity already: leave out quantity(…)", edits)
        if function == "_[_]" and types[0] == "kubernetes.DRADevice":
            return "the device's own fields follow a dot: device.driver, device.attributes"
        if function == "_-_" and "type" in types[-1]:
            return _DASH
        if function in ("_&&_", "_||_", "!_"):
            return "each side has to be true or false: compare the value with something"
        if function in _TEXT_FUNCTIONS and types[-1] != "string":
            return f"{function} takes a text: put it in quotes"
        return ""

    def _method(self, function: str, types: list[str], at: int) -> str | Advice:
        """`compareTo` and its kin, with something else than a quantity or a version."""
        spans = self._spans
        arguments, closing = spans.arguments(at), spans.partner(at)
        if not arguments or closing is None:
            return ""
        argument = spans.text(*arguments[0])
        low = spans.path_before(at - 2)
        path = spans.text(low, at - 2)
        if types[0].startswith("map("):
            return self._domain(low, at - 2)
        if types[-1] in ("int", "double") and types[0] in ("any", "dyn"):
            _, example = self._example(path)
            sign = {"isGreaterThan": ">", "isLessThan": "<"}.get(function)
            if sign is not None and not isinstance(example, Semver | Quantity):
                text = f"{path} {sign} {argument}"
                edits = self._swap(low, closing + 1, text)
                return Advice(f"numbers are compared with {sign}: write {one_line(text)}", edits)
        if types[-1] in ("string", "int", "double"):
            maker = "quantity" if types[0] == "kubernetes.Quantity" else "semver"
            made = _made(maker, argument)
            if made is None:
                return ""
            return Advice(
                f"write {function}({made})",
                self._swap(*arguments[0], made),
                _COMPARED_WITH[maker],
            )
        return ""

    def _among(self, at: int) -> str | Advice:
        """A quantity in a list: there is no such thing, only one equality after the other."""
        spans = self._spans
        low, high = spans.comparison(at)
        left = spans.text(low, at)
        said = "quantities are compared one by one, with == and ||"
        if spans.kind(at + 1) != "[" or spans.partner(at + 1) != high - 1:
            return said
        items = [_made("quantity", spans.text(*one)) for one in spans.arguments(at + 1)]
        if not items or None in items:
            return said
        text = " || ".join(f"{left} == {item}" for item in items)
        return Advice(said, self._swap(low, high, f"({text})" if items[1:] else text))

    def _domain(self, low: int, high: int) -> Advice:
        """`device.capacity.memory`: a name where a domain belongs."""
        spans = self._spans
        text = one_line(spans.text(low, high))
        last = spans.word(high - 1) if spans.kind(high - 2) == "." else ""
        if spans.kind(high - 1) == "]":
            last = spans.text(high - 2, high - 1)[1:-1]
        known = [one for one in self._vocabulary.named(last) if f".{one.field}" in text]
        if known and text.count(".") + text.count("[") == 2:
            edits = self._swap(low, high, str(known[0]))
            return Advice(f"the domain is missing: write {known[0]}", edits)
        domain, slash, name = text.partition("/")
        if slash and name.endswith('"]') and name[:-2].isidentifier():
            whole = f'{domain}"].{name[:-2]}'
            return Advice(f"write {whole}", self._swap(low, high, whole))
        if last and text.count(".") + text.count("[") == 2 and "." not in last:
            field = text.split(".")[1].split("[")[0]
            return Advice(f'the domain is missing: device.{field}["<driver>"].{last}')
        return Advice(f"{text} is all of a domain: name one, as in {text}.NAME")

    def _comparison(self, operator: str, types: list[str], at: int) -> str | Advice:
        spans = self._spans
        low, high = spans.comparison(at)
        left, right = (one_line(text) for text in spans.operands(at))
        if types[0].startswith("map("):
            return self._domain(low, at)
        if types[1].startswith("map("):
            return self._domain(at + 1, high)
        for maker in ("quantity", "semver"):
            kind = f"kubernetes.{maker.capitalize()}"
            if kind in types:
                return self._ordered(maker, kind, operator, types, at)
        if any(kind.startswith("optional_type") for kind in types):
            default = {"string": '""', "int": "0", "bool": "false"}.get(types[1])
            text = f"{left}.orValue({default}) {operator} {right}"
            if default is None:
                return "a missing value needs a default: .orValue(default)"
            edits = self._swap(low, high, text)
            return Advice(f"a missing value needs a default: {text}", edits)
        numbers = {"int", "uint", "double"}
        if set(types) < numbers:
            return "both numbers have to be of one type: write double(…) or int(…) around one"
        if "string" in types and numbers & set(types):
            return "one side is a text and the other a number: add or remove the quotes"
        return ""

    def _ordered(
        self, maker: str, kind: str, operator: str, types: list[str], at: int
    ) -> str | Advice:
        """A comparison of quantities or versions as it has to be written."""
        spans = self._spans
        low, high = spans.comparison(at)
        left, right = (one_line(text) for text in spans.operands(at))
        if types[0] != kind and types[0] not in ("any", "dyn"):
            left, right, operator = right, left, _MIRRORED.get(operator, operator)
            types = [types[1], types[0]]
        elsewhere = self._elsewhere(left, right, operator)
        if elsewhere is not None:
            return Advice(elsewhere[0], self._swap(low, high, elsewhere[1]))
        made = right if types[1] == kind else _made(maker, right)
        fallback = _COMPARED_WITH[maker]
        if made is None and types == ["kubernetes.Quantity", "int"]:
            text = f"{left}.asInteger() {operator} {right}"
        elif made is None:
            return fallback
        elif operator == "==":
            text = f"{left} == {made}"
        elif operator in _METHODS:
            text = f"{left}.{_METHODS[operator]}({made})"
        else:
            text = f"{left}.compareTo({made}) {operator} 0"
        return Advice(f"write {text}", self._swap(low, high, text), fallback)

    def _elsewhere(self, left: str, right: str, operator: str) -> tuple[str, str] | None:
        """What devices have may be neither a quantity nor a version, or not be there at all."""
        reference, example = self._example(left)
        if reference is None:
            return None
        meant = None if example is not None else self._vocabulary.meant(reference)
        if meant is not None and meant.field != reference.field and meant.name == reference.name:
            noun = "a capacity" if meant.field == "capacity" else "an attribute"
            return f"{meant.name} is {noun}: write {meant}", f"{meant} {operator} {right}"
        inside = re.fullmatch(r'\w+\("([^"]*)"\)', right)
        if type(example) is int and inside is not None and inside[1].isdecimal():
            text = f"{left} {operator} {inside[1]}"
            return f"{reference.name} is a number ({example}): write {text}", text
        return None


_UNDEFINED_FIELD: Final = re.compile(r"undefined field '(.*)'")
_UNDECLARED: Final = re.compile(r"undeclared reference to '(.*)' \(in container '.*'\)")
_NO_OVERLOAD: Final = re.compile(
    r"found no matching overload for '(.*)' applied to '([^(]*?(?:\(.*\))?)\.?\((.*)\)'"
)
_AT_LEAST: Final = {
    "isgreaterthanorequal": ">=", "isgreaterthanorequalto": ">=", "gte": ">=", "ge": ">=",
    "islessthanorequal": "<=", "islessthanorequalto": "<=", "lte": "<=", "le": "<=",
    "gt": ">", "lt": "<", "isequalto": "==",
}  # fmt: skip
_DEFAULTS: Final = ("orelse", "get", "getordefault", "default", "getorelse")
_TEXT_FUNCTIONS: Final = ("contains", "startsWith", "endsWith", "matches")
_COMPARED_WITH: Final = {
    "quantity": 'an amount is compared with a quantity, such as quantity("40Gi")',
    "semver": 'a version is compared with a version, such as semver("1.2.3")',
}
_COMPARISONS: Final = {
    "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_==_": "==", "_!=_": "!=",
}  # fmt: skip
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_METHODS: Final = {">": "isGreaterThan", "<": "isLessThan"}
_DASH: Final = "- is minus here: names of attributes have letters, digits and underscores"
_RENAMED: Final = {
    "lower": "lowerAscii()", "tolower": "lowerAscii()", "tolowercase": "lowerAscii()",
    "touppercase": "upperAscii()", "lowercase": "lowerAscii()",
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


def _made(maker: str, text: str) -> str | None:
    """A constant as a quantity or a version; None for what is no constant, or none of these."""
    if text.startswith(f"{maker}("):
        return text
    quoted = len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]
    inside = text[1:-1] if quoted else text
    if not quoted and not re.fullmatch(r"[0-9.]+", text):
        return None
    meant = amount_in(inside) if maker == "quantity" else version_in(inside)
    return None if meant is None else f"{maker}({quote(meant)})"


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
