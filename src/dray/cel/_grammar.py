"""The grammar of CEL as data, and which tokens may come next anywhere in it.

_parser knows this grammar too, as code, and is what reads expressions. This copy is for texts that
are none: to say what was expected, and to go on after a mistake, one needs the states between the
grammar's symbols. They are laid out the way ANTLR lays them out, since its error messages, which
are Kubernetes', are a function of them.

Upstream counterparts: cel-go parser/gen/CEL.g4, ANTLR's ATN and LL1Analyzer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from typing import Final, Protocol, TypeAlias

from dray.cel import _lexer as lexer

__all__ = [
    "RULES",
    "RULE_END",
    "TOKEN_ORDER",
    "Body",
    "Call",
    "Choice",
    "Loop",
    "Match",
    "Maybe",
    "Role",
    "Rule",
    "State",
    "Step",
    "listed",
    "next_tokens",
]

TOKEN_ORDER: Final = (
    lexer.END, "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")",
    ".", ",", "-", "!", "?", ":", "+", "*", "/", "%", "true", "false", "null", lexer.FLOAT,
    lexer.INT, lexer.UINT, lexer.STRING, lexer.BYTES, lexer.IDENTIFIER, lexer.ESCAPED_IDENTIFIER,
)  # fmt: skip
"""The order in which a message lists the tokens that were expected."""

RULE_END: Final = "<end of rule>"
"""Among the next tokens of a state: the rule may end here."""


class Role(Enum):
    """What kind of place a state is, as far as recovery tells places apart."""

    PLAIN = auto()
    CHOICE = auto()
    LOOP_BACK = auto()
    RULE_STOP = auto()


@dataclass(eq=False, slots=True)
class State:
    """A place between two symbols. `rule` names the rule called here, `after` where it returns."""

    role: Role = Role.PLAIN
    tokens: frozenset[str] = frozenset()
    target: State | None = None
    rule: str = ""
    after: State | None = None
    epsilons: list[State] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Match:
    """One token of these kinds, remembered under the label."""

    state: State
    label: str


@dataclass(frozen=True, slots=True)
class Call:
    """The rule, with the precedence its own loop must respect."""

    state: State
    rule: str
    label: str
    precedence: int


@dataclass(frozen=True, slots=True)
class Maybe:
    state: State
    body: Body


@dataclass(frozen=True, slots=True)
class Loop:
    """The body, repeated; `once` says at least once. `decision` is for predictions by name."""

    state: State
    back: State
    body: Body
    once: bool
    decision: str


@dataclass(frozen=True, slots=True)
class Choice:
    state: State
    bodies: tuple[Body, ...]
    decision: str


Step: TypeAlias = Match | Call | Maybe | Loop | Choice
Body: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    start: State
    stop: State
    body: Body


# Notation. Each helper answers a function that, given where it starts and ends, makes the step.


class _Notation(Protocol):
    def build(self, start: State, end: State) -> Step: ...


@dataclass(frozen=True)
class _Token:
    kinds: tuple[str, ...]
    label: str = ""

    def build(self, start: State, end: State) -> Step:
        start.tokens = frozenset(self.kinds)
        start.target = end
        return Match(start, self.label)


@dataclass(frozen=True)
class _Rule:
    name: str
    label: str = ""
    precedence: int = 0

    def build(self, start: State, end: State) -> Step:
        start.rule = self.name
        start.after = end
        return Call(start, self.name, self.label, self.precedence)


class _Maybe:
    def __init__(self, *parts: _Notation) -> None:
        self._parts = parts

    def build(self, start: State, end: State) -> Step:
        start.role = Role.CHOICE
        first = State()
        body = _sequence(self._parts, first, end)
        start.epsilons = [first, end]
        return Maybe(start, body)


class _Loop:
    def __init__(self, *parts: _Notation, once: bool = False, decision: str = "") -> None:
        self._parts = parts
        self._once = once
        self._decision = decision

    def build(self, start: State, end: State) -> Step:
        start.role = Role.CHOICE
        back = State(Role.LOOP_BACK)
        first = State()
        body = _sequence(self._parts, first, back)
        start.epsilons = [first] if self._once else [first, end]
        back.epsilons = [start, end]
        return Loop(start, back, body, self._once, self._decision)


class _Choice:
    def __init__(self, *alternatives: tuple[_Notation, ...], decision: str = "") -> None:
        self._alternatives = alternatives
        self._decision = decision

    def build(self, start: State, end: State) -> Step:
        start.role = Role.CHOICE
        bodies = []
        for parts in self._alternatives:
            first = State()
            bodies.append(_sequence(parts, first, end))
            start.epsilons.append(first)
        return Choice(start, tuple(bodies), self._decision)


def _sequence(parts: Iterable[_Notation], start: State, end: State) -> Body:
    steps = []
    *all_but_last, last = parts
    for part in all_but_last:
        following = State()
        steps.append(part.build(start, following))
        start = following
    steps.append(last.build(start, end))
    return tuple(steps)


def _token(kind: str, label: str = "") -> _Token:
    return _Token((kind,), label)


_NAME: Final = (_Maybe(_token(".", "dot")), _token(lexer.IDENTIFIER, "name"))
_ARGUMENTS: Final = (_Maybe(_Rule("exprList", "arguments")), _token(")"))
_COMMA: Final = _Maybe(_token(","))

_NOTATION: Final[dict[str, tuple[_Notation, ...]]] = {
    "start": (_Rule("expr", "e"), _token(lexer.END)),
    "expr": (
        _Rule("conditionalOr", "e"),
        _Maybe(
            _token("?", "op"),
            _Rule("conditionalOr", "true"),
            _token(":"),
            _Rule("expr", "false"),
        ),
    ),
    "conditionalOr": (
        _Rule("conditionalAnd", "e"),
        _Loop(_token("||", "op"), _Rule("conditionalAnd", "e")),
    ),
    "conditionalAnd": (
        _Rule("relation", "e"),
        _Loop(_token("&&", "op"), _Rule("relation", "e")),
    ),
    "relation": (
        _Rule("calc", "e"),
        _Loop(
            _Token(("<", "<=", ">=", ">", "==", "!=", "in"), "op"),
            _Rule("relation", "right", 2),
            decision="relation",
        ),
    ),
    "calc": (
        _Rule("unary", "e"),
        _Loop(
            _Choice(
                (_Token(("*", "/", "%"), "op"), _Rule("calc", "right", 3)),
                (_Token(("+", "-"), "op"), _Rule("calc", "right", 2)),
                decision="operator",
            ),
            decision="calc",
        ),
    ),
    "unary": (
        _Choice(
            (_Rule("member", "member"),),
            (_Loop(_token("!", "op"), once=True), _Rule("member", "operand")),
            (_Loop(_token("-", "op"), once=True, decision="minus"), _Rule("member", "operand")),
            decision="unary",
        ),
    ),
    "member": (
        _Rule("primary", "e"),
        _Loop(
            _Choice(
                (
                    _token(".", "dot"),
                    _Maybe(_token("?", "optional")),
                    _Rule("escapeIdent", "field"),
                ),
                (
                    _token(".", "dot"),
                    _token(lexer.IDENTIFIER, "name"),
                    _token("(", "open"),
                    *_ARGUMENTS,
                ),
                (
                    _token("[", "bracket"),
                    _Maybe(_token("?", "optional")),
                    _Rule("expr", "index"),
                    _token("]"),
                ),
                decision="suffix",
            ),
            decision="member",
        ),
    ),
    "primary": (
        _Choice(
            _NAME,
            (*_NAME, _token("(", "open"), *_ARGUMENTS),
            (_token("("), _Rule("expr", "nested"), _token(")")),
            (_token("[", "bracket"), _Maybe(_Rule("listInit", "list")), _COMMA, _token("]")),
            (_token("{", "brace"), _Maybe(_Rule("mapInit", "map")), _COMMA, _token("}")),
            (
                *_NAME,
                _Loop(_token("."), _token(lexer.IDENTIFIER, "name")),
                _token("{", "message"),
                _Maybe(_Rule("fieldInit", "fields")),
                _COMMA,
                _token("}"),
            ),
            (_Rule("literal", "literal"),),
            decision="primary",
        ),
    ),
    "exprList": (_Rule("expr", "e"), _Loop(_token(","), _Rule("expr", "e"))),
    "listInit": (
        _Rule("optExpr", "e"),
        _Loop(_token(","), _Rule("optExpr", "e"), decision="listInit"),
    ),
    "fieldInit": (
        _Rule("optField", "key"),
        _token(":", "colon"),
        _Rule("expr", "value"),
        _Loop(
            _token(","),
            _Rule("optField", "key"),
            _token(":", "colon"),
            _Rule("expr", "value"),
            decision="fieldInit",
        ),
    ),
    "optField": (_Maybe(_token("?", "optional")), _Rule("escapeIdent", "field")),
    "mapInit": (
        _Rule("optExpr", "key"),
        _token(":", "colon"),
        _Rule("expr", "value"),
        _Loop(
            _token(","),
            _Rule("optExpr", "key"),
            _token(":", "colon"),
            _Rule("expr", "value"),
            decision="mapInit",
        ),
    ),
    "escapeIdent": (
        _Choice(
            (_token(lexer.IDENTIFIER, "name"),),
            (_token(lexer.ESCAPED_IDENTIFIER, "name"),),
        ),
    ),
    "optExpr": (_Maybe(_token("?", "optional")), _Rule("expr", "e")),
    "literal": (
        _Choice(
            (_Maybe(_token("-", "sign")), _token(lexer.INT, "token")),
            (_token(lexer.UINT, "token"),),
            (_Maybe(_token("-", "sign")), _token(lexer.FLOAT, "token")),
            (_token(lexer.STRING, "token"),),
            (_token(lexer.BYTES, "token"),),
            (_token("true", "token"),),
            (_token("false", "token"),),
            (_token("null", "token"),),
            decision="literal",
        ),
    ),
}


def _build(name: str, parts: tuple[_Notation, ...]) -> Rule:
    start, first, stop = State(), State(), State(Role.RULE_STOP)
    start.epsilons = [first]
    return Rule(name, start, stop, _sequence(parts, first, stop))


RULES: Final[dict[str, Rule]] = {name: _build(name, parts) for name, parts in _NOTATION.items()}


@cache
def next_tokens(state: State) -> frozenset[str]:
    """The tokens that may come next here; RULE_END among them if the rule may end first."""
    found: set[str] = set()
    seen: set[State] = set()
    waiting = [state]
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        if here.role is Role.RULE_STOP:
            found.add(RULE_END)
        elif here.rule:
            inside = next_tokens(RULES[here.rule].start)
            found |= inside - {RULE_END}
            if RULE_END in inside:
                assert here.after is not None
                waiting.append(here.after)
        found |= here.tokens
        waiting.extend(here.epsilons)
    return frozenset(found)


def listed(tokens: Iterable[str]) -> str:
    """Tokens as a message lists them: alone, or several in braces."""
    names = [
        token if token == lexer.END or token[0].isupper() else f"'{token}'"
        for token in sorted(tokens, key=TOKEN_ORDER.index)
    ]
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
