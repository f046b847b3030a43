"""Text to a checked expression with its worst-case cost, or to the reasons why not.

The order is upstream's and decides which error a text with several mistakes gets: length, syntax,
types, literals, the type of the result, constants, cost. Compiling never raises, whatever the
text; it is bounded in time by the length of the text and reads nothing but its arguments.

Upstream counterpart: CompileCELExpression in dynamic-resource-allocation cel/compile.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from dray.cel import _types as types
from dray.cel._builder import Builder, TooLarge
from dray.cel._checker import check
from dray.cel._cost import max_cost
from dray.cel._environment import Environment
from dray.cel._lexer import tokens
from dray.cel._limits import (
    CACHED_DETAIL_MAX,
    CACHED_NODES_MAX,
    COMPILATIONS_CACHED_MAX,
    COST_UNKNOWN,
    EXPRESSION_LENGTH_MAX,
    NODES_MAX,
    RECURSION_MAX,
    TYPE_PARTS_MAX,
    TYPE_STEPS_MAX,
)
from dray.cel._nodes import CheckedExpression, Node
from dray.cel._parser import TooDeep, parse
from dray.cel._planner import PlanError, plan
from dray.cel._program import Program
from dray.cel._source import NOWHERE, Issue, Issues, Source
from dray.cel._syntax import report_syntax_errors
from dray.cel._types import Kind, Type, TypeTooLarge
from dray.cel._unify import TooManySteps
from dray.cel._validate import validate

__all__ = [
    "Compilation",
    "CompileError",
    "compile_alone",
    "compile_any",
    "compile_derived_attribute",
    "compile_selector",
]


@dataclass(frozen=True, slots=True)
class CompileError:
    """Why an expression is refused.

    `invalid` means that the text is wrong, `internal` that it passes every check but can never be
    evaluated (upstream reports those as its own failures).
    """

    kind: Literal["invalid", "internal"]
    detail: str


@dataclass(frozen=True, slots=True)
class Compilation:
    """What became of one expression.

    `output_type`, `checked` and `program` are None unless it compiled. `max_cost` is in cost units,
    and 2^64 - 1 when it is unknown or there is nothing to estimate. `issues` repeats, with places,
    what the error's detail shows as text.
    """

    expression: str
    error: CompileError | None = None
    issues: tuple[Issue, ...] = ()
    output_type: Type | None = None
    max_cost: int = COST_UNKNOWN
    checked: CheckedExpression | None = None
    program: Program | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


def compile_selector(text: str, environment: Environment) -> Compilation:
    """Compile an expression that says whether a device fits: it must be a bool, or unknown."""
    return _compile(text, environment, _wrong_selector)


def compile_derived_attribute(text: str, environment: Environment) -> Compilation:
    """Compile an expression that computes an attribute: a scalar, or where allowed a list."""
    return _compile(text, environment, _wrong_attribute)


def compile_any(text: str, environment: Environment) -> Compilation:
    """Compile an expression whose value may be of any type."""
    return _compile(text, environment, _nothing_wrong)


def compile_alone(text: str, environment: Environment, *, length_max: int) -> Compilation:
    """Compile an expression of any type, without remembering it."""
    return _compiled(text, environment, _nothing_wrong, length_max)


_ResultRule: TypeAlias = Callable[[Type, Environment], str | None]
"""What is wrong with an expression of this type, if anything."""


class _TooLargeToKeep(Exception):
    """Carries a compilation past the cache, which keeps what is returned and not what is raised."""

    def __init__(self, compilation: Compilation) -> None:
        super().__init__()
        self.compilation = compilation


def _compile(text: str, environment: Environment, rule: _ResultRule) -> Compilation:
    try:
        return _kept(text, environment, rule)
    except _TooLargeToKeep as large:
        return large.compilation


@lru_cache(COMPILATIONS_CACHED_MAX)
def _kept(text: str, environment: Environment, rule: _ResultRule) -> Compilation:
    compilation = _compiled(text, environment, rule)
    checked, error = compilation.checked, compilation.error
    if checked is not None and len(checked.types) > CACHED_NODES_MAX:
        raise _TooLargeToKeep(compilation)
    if error is not None and len(error.detail) > CACHED_DETAIL_MAX:
        raise _TooLargeToKeep(compilation)
    return compilation


def _compiled(
    text: str,
    environment: Environment,
    rule: _ResultRule,
    length_max: int = EXPRESSION_LENGTH_MAX,
) -> Compilation:
    # A lone surrogate is no character: it reads as what UTF-8 decoding would have put there.
    legible = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    length = len(legible.encode())
    if length > length_max:
        told = f"must not be longer than {length_max} bytes, this is {length}"
        return _refused(text, "invalid", told)
    source = Source(legible)
    issues = Issues(source)
    root = _parse(source, issues)
    if root is None:
        return _refused_with(text, issues)
    checked = _check(root, environment, issues)
    if checked is None:
        return _refused_with(text, issues)
    try:
        validate(checked, issues)
        if issues:
            return _refused_with(text, issues)
        output_type = checked.type(checked.root)
        wrong = rule(output_type, environment)
        if wrong is not None:
            return _refused(text, "invalid", wrong)
        program = Program(plan(checked))
    except PlanError as error:
        return _refused(text, "internal", f"program instantiation failed: {error}")
    return Compilation(
        text,
        output_type=output_type,
        max_cost=max_cost(checked, environment),
        checked=checked,
        program=program,
    )


def _parse(source: Source, issues: Issues) -> Node | None:
    """The tree, or None with what is wrong in `issues`."""
    # Issues the builder finds before it is clear that this is no expression are found again.
    found = Issues(source)
    builder = Builder(found)
    lexed = tokens(source.text)
    try:
        root = parse(lexed, builder) if lexed is not None else None
    except TooDeep:
        issues.report(NOWHERE, f"expression recursion limit exceeded: {RECURSION_MAX}")
        return None
    except TooLarge:
        issues.report(NOWHERE, f"expression has more than {NODES_MAX} parts with macros expanded")
        return None
    if root is None:
        report_syntax_errors(source, issues)
        return None
    if builder.too_deep(root):
        found.report(NOWHERE, "max recursion depth exceeded")
    issues.take(found)
    return None if issues else root


def _check(root: Node, environment: Environment, issues: Issues) -> CheckedExpression | None:
    """The tree with its types, or None with what is wrong in `issues`."""
    try:
        checked = check(root, environment, issues)
    except TypeTooLarge:
        issues.report(NOWHERE, f"expression has a type of more than {TYPE_PARTS_MAX} parts")
        return None
    except TooManySteps:
        issues.report(NOWHERE, f"expression needs more than {TYPE_STEPS_MAX} steps to find types")
        return None
    return None if issues else checked


def _nothing_wrong(_: Type, __: Environment) -> str | None:
    return None


def _wrong_selector(type_: Type, environment: Environment) -> str | None:
    if type_.kind is Kind.BOOL or type_.kind is environment.attribute_type.kind:
        return None
    return f"must evaluate to bool or the unknown type, not {type_}"


_SCALARS: Final = (types.BOOL, types.INT, types.STRING, types.ANY, types.DYN, types.SEMVER)


def _wrong_attribute(type_: Type, environment: Environment) -> str | None:
    scalar = type_
    if environment.allows_lists and type_.kind is Kind.LIST:
        scalar = type_.parameters[0]
    if any(scalar.is_exactly(allowed) for allowed in _SCALARS):
        return None
    lists = " or a list of these scalars" if environment.allows_lists else ""
    return (
        f"must evaluate to a primitive scalar (string, integer, boolean, semver){lists},"
        f" not {type_}"
    )


def _refused(text: str, kind: Literal["invalid", "internal"], detail: str) -> Compilation:
    return Compilation(text, CompileError(kind, detail))


def _refused_with(text: str, issues: Issues) -> Compilation:
    detail = f"compilation failed: {issues.render()}"
    return Compilation(text, CompileError("invalid", detail), issues.sorted())
