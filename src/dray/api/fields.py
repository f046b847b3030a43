"""Field selectors: which objects are meant, by the values of a few named fields.

A field selector is written `field=value`, `field==value` or `field!=value`, joined by commas;
commas, equal signs and backslashes inside a value are escaped by a backslash. A field that an
object does not have counts as empty. Which fields a resource offers is the server's to say:
`Selector.fields` lists what a selector asks for.

Upstream counterpart: apimachinery's pkg/fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dray.errors import FieldError, FieldErrorType, ParseError, quote

__all__ = ["Requirement", "Selector", "escape_value"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One field that must have a value, or must not."""

    field: str
    value: str
    negated: bool = False

    def matches(self, values: Mapping[str, str]) -> bool:
        return (values.get(self.field, "") == self.value) is not self.negated

    def __str__(self) -> str:
        return f"{self.field}{'!=' if self.negated else '='}{escape_value(self.value)}"


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that all must hold; without any, it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    @staticmethod
    def everything() -> Selector:
        return _EVERYTHING

    @staticmethod
    def parse(text: str) -> Selector:
        """The selector of a query; ParseError carries upstream's rule."""
        requirements = []
        for term in sorted(_TERM.findall(text)):
            if not term:
                continue
            operator = _OPERATOR.search(term)
            if operator is None:
                raise ParseError(text, f"invalid selector: '{text}'; can't understand '{term}'")
            field, value = term[: operator.start()], _unescape(text, term[operator.end() :])
            # Upstream drops what names neither field nor value.
            if field or value:
                requirements.append(Requirement(field, value, negated=operator[0] == "!="))
        return Selector(tuple(requirements))

    @staticmethod
    def from_node_requirements(
        expressions: Iterable[tuple[str, str, Sequence[str]]], *, path: str = ""
    ) -> Selector:
        """The matchFields of one node selector term, each (key, operator, values)."""
        requirements, errors = [], []
        for index, (key, operator, values) in enumerate(expressions):
            if operator not in _NODE_OPERATORS:
                error = FieldErrorType.NOT_SUPPORTED
                supported = ", ".join(quote(known) for known in _NODE_OPERATORS)
                detail = f"supported values: {supported}"
                errors.append(FieldError(error, f"{path}[{index}].operator", operator, detail))
            elif len(values) != 1:
                error = FieldErrorType.INVALID
                shown = list(values) or None
                detail = "must have one element"
                errors.append(FieldError(error, f"{path}[{index}].values", shown, detail))
            else:
                requirements.append(Requirement(key, values[0], negated=operator == "NotIn"))
        if errors:
            texts = list(dict.fromkeys(str(error) for error in errors))
            raise ParseError(path, texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        return Selector(tuple(requirements))

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields asked for, each once, in order: those a server must know."""
        return tuple(dict.fromkeys(requirement.field for requirement in self.requirements))

    def exact_value(self, field: str) -> str | None:
        """The one value the field must have, if the selector says so: what an index can use."""
        for requirement in self.requirements:
            if requirement.field == field and not requirement.negated:
                return requirement.value
        return None

    def matches(self, values: Mapping[str, str]) -> bool:
        return all(requirement.matches(values) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


_EVERYTHING: Final = Selector()
_NODE_OPERATORS: Final = ("In", "NotIn")

_SPECIAL: Final = re.compile(r"[\\,=]")


def escape_value(value: str) -> str:
    """The value as it is written in a selector."""
    return _SPECIAL.sub(r"\\\g<0>", value)


# Terms end at commas, except where a backslash makes a comma part of the value.
_TERM: Final = re.compile(r"(?:[^\\,]|\\.?)*+", re.DOTALL)
_OPERATOR: Final = re.compile("!=|==|=")
_ESCAPED: Final = re.compile(r"(?P<escape>\\.?)|[,=]", re.DOTALL)


def _unescape(text: str, value: str) -> str:
    def replace(match: re.Match[str]) -> str:
        found = match[0]
        if match["escape"] is None:
            rule = f"unescaped character in value: {ord(found)}"
            raise ParseError(text, f"invalid field selector: {rule}")
        if found[1:] in ("\\", ",", "="):
            return found[1:]
        raise ParseError(text, f"invalid field selector: invalid escape sequence: {found}")

    return _ESCAPED.sub(replace, value)
