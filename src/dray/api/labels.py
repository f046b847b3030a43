"""Label selectors: which sets of labels are meant.

A Selector is a list of requirements that all must hold, sorted by key. It is read from the text of
a query (`app=web,tier in (a,b),!old`), from the labelSelector field of an object, or from the
requirements of a node selector; however it was made, it matches and prints the same way. Which
labels an object may carry at all is in `dray.api.names`.

Invariant: a requirement made by `Requirement.checked` (and so by every reader but `from_labels`)
has a valid key, valid values, and as many of them as its operator asks for.

Upstream counterparts: apimachinery's pkg/labels, LabelSelectorAsSelector, and the requirement part
of component-helpers' nodeaffinity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Final, TypeAlias

from dray.api import names
from dray.errors import FieldError, FieldErrorType, ParseError, quote

__all__ = ["Operator", "Requirement", "Selector"]

# Key, operator as spelled in objects (In, NotIn, ...), values.
Expression: TypeAlias = tuple[str, str, Sequence[str]]


class Operator(Enum):
    """How a label relates to the values; the enum's values are upstream's names for it."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


_LABEL_SELECTOR_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
_NODE_SELECTOR_OPERATORS: Final = {
    **_LABEL_SELECTOR_OPERATORS,
    "Gt": Operator.GREATER_THAN,
    "Lt": Operator.LESS_THAN,
}

_SETS: Final = frozenset({Operator.IN, Operator.NOT_IN})
_COMPARISONS: Final = frozenset({Operator.GREATER_THAN, Operator.LESS_THAN})
_UNARY: Final = frozenset({Operator.EXISTS, Operator.DOES_NOT_EXIST})
_MEMBERSHIP: Final = frozenset({Operator.IN, Operator.EQUALS, Operator.DOUBLE_EQUALS})
_EXCLUSION: Final = frozenset({Operator.NOT_IN, Operator.NOT_EQUALS})


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    @staticmethod
    def checked(
        key: str, operator: Operator, values: Iterable[str], *, path: str = ""
    ) -> Requirement:
        """The requirement, or a ParseError with every rule it breaks; `path` leads their fields."""
        requirement = Requirement(key, operator, tuple(values))
        errors = _check(requirement, f"{path}." if path else "")
        if errors:
            raise ParseError(key, _aggregate(errors))
        return requirement

    def matches(self, labels: Mapping[str, str]) -> bool:
        operator = self.operator
        if operator in _MEMBERSHIP:
            return self.key in labels and labels[self.key] in self.values
        if operator in _EXCLUSION:
            return self.key not in labels or labels[self.key] not in self.values
        if operator is Operator.EXISTS:
            return self.key in labels
        if operator is Operator.DOES_NOT_EXIST:
            return self.key not in labels
        return self._compares(labels)

    def _compares(self, labels: Mapping[str, str]) -> bool:
        if self.key not in labels or len(self.values) != 1:
            return False
        label, bound = _int64(labels[self.key]), _int64(self.values[0])
        if label is None or bound is None:
            return False
        return label > bound if self.operator is Operator.GREATER_THAN else label < bound

    def __str__(self) -> str:
        values = ",".join(sorted(self.values))
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.value} ({values})"
            case Operator.GREATER_THAN:
                return f"{self.key}>{values}"
            case Operator.LESS_THAN:
                return f"{self.key}<{values}"
            case _:
                return f"{self.key}{self.operator.value}{values}"


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that all must hold; without any, it matches everything.

    A selector that is not `selectable` matches nothing, whatever its requirements. Its text is
    empty, like that of the one that matches everything: text cannot express it.
    """

    requirements: tuple[Requirement, ...] = ()
    selectable: bool = True

    @staticmethod
    def everything() -> Selector:
        return _EVERYTHING

    @staticmethod
    def nothing() -> Selector:
        """What an absent labelSelector stands for."""
        return _NOTHING

    @staticmethod
    def parse(text: str) -> Selector:
        """The selector of a query; ParseError carries upstream's rule."""
        return _sorted(_Parser(text).requirements())

    @staticmethod
    def from_labels(labels: Mapping[str, str]) -> Selector:
        """Exactly these labels; nothing is checked, as for a pod's nodeSelector."""
        return _sorted(Requirement(key, Operator.EQUALS, (value,)) for key, value in labels.items())

    @staticmethod
    def from_label_selector(
        match_labels: Mapping[str, str], match_expressions: Iterable[Expression]
    ) -> Selector:
        """The selector of an object's labelSelector field; for an absent one take `nothing`."""
        requirements = [
            Requirement.checked(key, Operator.EQUALS, (value,))
            for key, value in sorted(match_labels.items())
        ]
        for key, name, values in match_expressions:
            operator = _LABEL_SELECTOR_OPERATORS.get(name)
            if operator is None:
                raise ParseError(key, f"{quote(name)} is not a valid label selector operator")
            requirements.append(Requirement.checked(key, operator, values))
        return _sorted(requirements)

    @staticmethod
    def from_node_requirements(expressions: Iterable[Expression], *, path: str = "") -> Selector:
        """The matchExpressions of one node selector term; no expressions restrict nothing.

        That a term without expressions and fields selects no node is for whoever holds the term.
        """
        requirements, errors = [], []
        for index, (key, name, values) in enumerate(expressions):
            prefix = f"{path}[{index}]."
            operator = _NODE_SELECTOR_OPERATORS.get(name)
            if operator is None:
                supported = ", ".join(quote(known) for known in _NODE_SELECTOR_OPERATORS)
                errors.append(
                    FieldError(
                        FieldErrorType.NOT_SUPPORTED,
                        f"{prefix}operator",
                        name,
                        f"supported values: {supported}",
                    )
                )
                continue
            requirement = Requirement(key, operator, tuple(values))
            errors += _check(requirement, prefix)
            requirements.append(requirement)
        if errors:
            raise ParseError(path, _aggregate(errors))
        return _sorted(requirements)

    def matches(self, labels: Mapping[str, str]) -> bool:
        if not self.selectable:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def matcher(self) -> Callable[[Mapping[str, str]], bool]:
        """Says of many sets of labels what `matches` says of one, however long the selector is."""
        if not self.selectable:
            return lambda _labels: False
        if len(self.requirements) == 1 and len(self.requirements[0].values) <= 1:
            return self.requirements[0].matches
        return _Matcher(self.requirements).matches

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


class _Matcher:
    """All requirements on one key taken together, so that each label is looked at once."""

    __slots__ = ("_above", "_allowed", "_below", "_refused")

    def __init__(self, requirements: Iterable[Requirement]) -> None:
        # Keys that must be there, with the values they may have, None for any.
        self._allowed: dict[str, frozenset[str] | None] = {}
        # Values that keys must not have, None for keys that must not be there.
        self._refused: dict[str, frozenset[str] | None] = {}
        self._above: dict[str, float] = {}
        self._below: dict[str, float] = {}
        refused: dict[str, set[str]] = {}
        for requirement in requirements:
            key, operator, values = requirement.key, requirement.operator, requirement.values
            if operator in _MEMBERSHIP:
                before = self._allowed.get(key)
                found = frozenset(values)
                self._allowed[key] = found if before is None else before & found
            elif operator in _EXCLUSION:
                refused.setdefault(key, set()).update(values)
            elif operator is Operator.DOES_NOT_EXIST:
                self._refused[key] = None
            else:
                self._allowed.setdefault(key, None)
                if operator in _COMPARISONS:
                    self._bound(key, operator, values)
        for key, several in refused.items():
            self._refused.setdefault(key, frozenset(several))

    def _bound(self, key: str, operator: Operator, values: tuple[str, ...]) -> None:
        bound = _int64(values[0]) if len(values) == 1 else None
        if operator is Operator.GREATER_THAN:
            limit = inf if bound is None else bound
            self._above[key] = max(self._above.get(key, -inf), limit)
        else:
            limit = -inf if bound is None else bound
            self._below[key] = min(self._below.get(key, inf), limit)

    def matches(self, labels: Mapping[str, str]) -> bool:
        for key, values in self._allowed.items():
            found = labels.get(key)
            if found is None or (values is not None and found not in values):
                return False
        if self._refused:
            for key, label in labels.items():
                if key in self._refused:
                    without = self._refused[key]
                    if without is None or label in without:
                        return False
        return self._within(labels) if self._above or self._below else True

    def _within(self, labels: Mapping[str, str]) -> bool:
        for bounds, is_above in ((self._above, True), (self._below, False)):
            for key, bound in bounds.items():
                number = _int64(labels[key])
                if number is None or not (number > bound if is_above else number < bound):
                    return False
        return True


def _sorted(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


_EVERYTHING: Final = Selector()
_NOTHING: Final = Selector(selectable=False)


# Rules of one requirement ----------------------------------------------------------------------


def _check(requirement: Requirement, prefix: str) -> list[FieldError]:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    errors: list[FieldError] = []

    def refuse(field: str, value: object, detail: str) -> None:
        errors.append(FieldError(FieldErrorType.INVALID, f"{prefix}{field}", value, detail))

    if messages := names.label_key(key):
        refuse("key", key, "; ".join(messages))
    if count_rule := _count_rule(operator, len(values)):
        refuse("values", list(values) or None, count_rule)
    if operator in _COMPARISONS:
        for index, value in enumerate(values):
            if _int64(value) is None:
                rule = "for 'Gt', 'Lt' operators, the value must be an integer"
                refuse(f"values[{index}]", value, rule)
    for index, value in enumerate(values):
        if messages := names.label_value(value):
            refuse(f"values[{index}][{key}]", value, "; ".join(messages))
    return errors


def _count_rule(operator: Operator, count: int) -> str:
    """The broken rule on how many values there are, or nothing."""
    if operator in _SETS:
        return "" if count else "for 'in', 'notin' operators, values set can't be empty"
    if operator in _UNARY:
        return "values set must be empty for exists and does not exist" if count else ""
    if operator in _COMPARISONS:
        return "" if count == 1 else "for 'Gt', 'Lt' operators, exactly one value is required"
    return "" if count == 1 else "exact-match compatibility requires one single value"


def _aggregate(errors: Sequence[FieldError]) -> str:
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


_INTEGER: Final = re.compile(r"([+-]?)0*+([0-9]*+)(?<=[0-9])")


def _int64(text: str) -> int | None:
    match = _INTEGER.fullmatch(text)
    # The length first: Python refuses to convert very long digits.
    if match is None or len(match[2]) > 19:
        return None
    number = int(f"{match[1]}{match[2] or '0'}")
    return number if -(2**63) <= number < 2**63 else None


# The grammar of queries ------------------------------------------------------------------------

_END: Final = "end"
_IDENTIFIER: Final = "identifier"
_Token: TypeAlias = tuple[str, str]

# A NUL ends the word before it and is dropped; at the beginning of a word it ends the text.
_TOKEN: Final = re.compile(
    r"[ \t\r\n]*+(?:(?P<symbol>==|!=|[=!(),<>])|(?P<word>[^\0=!(),<> \t\r\n]++))\0?"
)

_BINARY_OPERATORS: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}


class _Parser:
    """Reads requirements off a text; every refusal names what was found and what was expected.

    `in` and `notin` are words like any other, and operators only where an operator is expected:
    `in in (in)` is a selector.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _scan(text)
        self._position = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        if self._peek()[0] == _END:
            return found
        while True:
            kind, literal = self._peek()
            if kind not in (_IDENTIFIER, "!"):
                expected = "identifier after ','" if found else "!, identifier, or 'end of string'"
                raise self._refusal(literal, expected)
            try:
                found.append(self._requirement())
            except ParseError as error:
                rule = f"unable to parse requirement: {error.rule}"
                raise ParseError(self._text, rule) from None
            kind, literal = self._take()
            if kind == _END:
                return found
            if kind != ",":
                raise self._refusal(literal, "',' or 'end of string'")

    def _requirement(self) -> Requirement:
        kind, key = self._take()
        negated = kind == "!"
        if negated:
            kind, key = self._take()
        if kind != _IDENTIFIER:
            raise self._refusal(key, "identifier")
        if messages := names.label_key(key):
            error = FieldError(FieldErrorType.INVALID, "", key, "; ".join(messages))
            raise ParseError(self._text, str(error))
        if negated:
            return Requirement.checked(key, Operator.DOES_NOT_EXIST, ())
        if self._peek()[0] in (_END, ","):
            return Requirement.checked(key, Operator.EXISTS, ())
        literal = self._take()[1]
        operator = _BINARY_OPERATORS.get(literal)
        if operator is None:
            expected = "in, notin, =, ==, !=, gt, lt"
            raise self._refusal(literal, expected)
        values = self._value_set() if operator in _SETS else {self._value()}
        return Requirement.checked(key, operator, sorted(values))

    def _value(self) -> str:
        if self._peek()[0] in (_END, ","):
            return ""
        kind, literal = self._take()
        if kind != _IDENTIFIER:
            raise self._refusal(literal, "identifier")
        return literal

    def _value_set(self) -> set[str]:
        kind, literal = self._take()
        if kind != "(":
            raise ParseError(self._text, f"found '{literal}' expected: '('")
        kind, literal = self._peek()
        if kind == ")":
            self._take()
            return {""}
        if kind not in (_IDENTIFIER, ","):
            raise self._refusal(literal, "',', ')' or identifier")
        return self._value_list()

    def _value_list(self) -> set[str]:
        """Values and the commas between them up to the parenthesis; a missing one is empty."""
        values: set[str] = set()
        while True:
            kind, literal = self._take()
            following, following_literal = self._peek()
            if kind == _IDENTIFIER:
                values.add(literal)
                if following not in (",", ")"):
                    raise self._refusal(following_literal, "',' or ')'")
            elif kind == ",":
                if not values or following in (",", ")"):
                    values.add("")
            else:
                raise self._refusal(literal, "',', or identifier")
            if following == ")":
                self._take()
                return values

    def _peek(self) -> _Token:
        return self._tokens[self._position]

    def _take(self) -> _Token:
        token = self._tokens[self._position]
        # The end is never passed: whoever takes it either returns or refuses.
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def _refusal(self, found: str, expected: str) -> ParseError:
        return ParseError(self._text, f"found '{found}', expected: {expected}")


def _scan(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while match := _TOKEN.match(text, position):
        symbol, word = match["symbol"], match["word"]
        tokens.append((symbol, symbol) if symbol else (_IDENTIFIER, word))
        position = match.end()
    return [*tokens, (_END, "")]
