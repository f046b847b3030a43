"""Says everything that is wrong with a text that is not an expression.

Three kinds of mistakes: characters that start no token, tokens in the wrong order, and, in what
can be made of the rest, whatever the builder complains about. The result is the list of issues
that upstream shows for the text; there is no tree.

Upstream counterparts: the visitor in cel-go parser/parser.go, ANTLR's lexer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from dray.cel import _lexer as lexer
from dray.cel._builder import Builder, TooLarge, is_reserved
from dray.cel._lexer import Token, token_at
from dray.cel._limits import NODES_MAX, RECURSION_MAX
from dray.cel._nodes import Broken, FieldEntry, MapEntry, Node
from dray.cel._parser import TooDeep
from dray.cel._recovery import Context, GaveUp, Reader, Report, limited
from dray.cel._source import BEFORE_START, NOWHERE, Issues, Source
from dray.cel._trampoline import Steps, done, run

__all__ = [
    "report_syntax_errors",
]


def report_syntax_errors(source: Source, issues: Issues) -> None:
    report = limited(issues.report)
    try:
        tree = Reader(_tokens(source.text, report), report).read()
        visitor = _Visitor(Builder(issues))
        root = run(visitor.visit(tree.get("e")))
        if visitor.build.too_deep(root):
            issues.report(NOWHERE, "max recursion depth exceeded")
    except GaveUp as reason:
        if reason.args:
            issues.report(NOWHERE, str(reason))
    except TooDeep:
        issues.report(NOWHERE, f"expression recursion limit exceeded: {RECURSION_MAX}")
    except TooLarge:
        issues.report(NOWHERE, f"expression has more than {NODES_MAX} parts with macros expanded")


# Tokens

_UNFINISHED: Final = re.compile(
    r"""[&|=]|`[A-Za-z0-9_./ -]*|(["'])(?:(?!\1)[^\\\n\r]|\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]"""
    r"""|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))*(?:\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?"""
    r"""|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?)?"""
)
"""The beginning of a token that goes wrong at the character after it."""


def _tokens(text: str, report: Report) -> Iterator[Token]:
    """All tokens, space included; what is none is reported and left out."""
    offset = 0
    while offset < len(text):
        token = token_at(text, offset)
        if token is not None:
            yield token
            offset += len(token.text)
            continue
        begun = _UNFINISHED.match(text, offset)
        wrong = begun.end() if begun else offset
        report(offset, f"token recognition error at: '{text[offset : wrong + 1]}'")
        offset = wrong + 1
    yield Token(lexer.END, lexer.END, len(text))


# The tree of what could be read

_NAME_ALONE: Final = 0
"""The alternative of a primary that is a name and nothing else."""

_NO_NAME: Final = "unsupported ident kind"


class _Visitor:
    """Builds what a context stands for; what is missing in it is Broken."""

    def __init__(self, builder: Builder) -> None:
        self.build = builder

    def visit(self, context: Context | None) -> Steps[Node]:
        """The node of a context, looking through contexts that hold nothing but another."""
        while context is not None:
            match context.rule:
                case "expr" if context.get("op"):
                    return self._conditional(context)
                case "conditionalOr" | "conditionalAnd" if context.get("op"):
                    return self._logical(context)
                case "relation" | "calc" if context.get("left"):
                    return self._binary(context)
                case "unary" if context.get("op"):
                    return self._unary(context)
                case "unary":
                    if context.get("member") is None:
                        return done(self._broken(context))
                    context = context.get("member")
                case "member" if context.get("left"):
                    return self._member(context)
                case "primary":
                    inner = context.get("nested") or context.get("literal")
                    if inner is None:
                        return self._primary(context)
                    context = inner
                case "literal":
                    return done(self._literal(context))
                case _:
                    context = context.get("e")
        return done(self._broken(None))

    def _broken(self, context: Context | None) -> Node:
        offset = BEFORE_START if context is None else context.start.offset
        return Broken(self.build.next_id(), offset)

    def _conditional(self, context: Context) -> Steps[Node]:
        condition = yield self.visit(context.get("e"))
        true = yield self.visit(context.get("true"))
        false = yield self.visit(context.get("false"))
        return self.build.conditional(context.get("op"), condition, true, false)

    def _logical(self, context: Context) -> Steps[Node]:
        operators = context.all("op")
        terms = []
        for term in context.all("e"):
            terms.append((yield self.visit(term)))  # noqa: PERF401 (a yield cannot be comprehended)
        if len(terms) <= len(operators):
            return self.build.broken(
                context.start.offset, f"unexpected character, wanted '{operators[0].text}'"
            )
        return self.build.logical(operators, terms)

    def _binary(self, context: Context) -> Steps[Node]:
        left = yield self.visit(context.get("left"))
        operator = context.get("op")
        if operator is None:
            return self.build.broken(context.start.offset, "operator not found")
        right = yield self.visit(context.get("right"))
        return self.build.binary(operator, left, right)

    def _unary(self, context: Context) -> Steps[Node]:
        operand = yield self.visit(context.get("operand"))
        return self.build.unary(context.all("op"), operand)

    def _member(self, context: Context) -> Steps[Node]:
        operand = yield self.visit(context.get("left"))
        optional = context.get("optional") is not None
        if context.get("bracket"):
            key = yield self.visit(context.get("index"))
            return self.build.index(context.get("bracket"), operand, key, optional=optional)
        if context.get("open"):
            arguments = yield self._each(context.get("arguments"))
            return self.build.member_call(
                context.get("open"), context.get("name"), operand, arguments
            )
        if context.get("dot") and context.get("field"):
            name = self._field_name(context.get("field"))
            return self.build.select(context.get("dot"), operand, name, optional=optional)
        return self._broken(context)

    def _field_name(self, context: Context) -> Token:
        name: Token | None = context.get("name")
        if name is not None:
            return name
        self.build.broken(context.start.offset, _NO_NAME)
        return Token(lexer.IDENTIFIER, "", context.start.offset)

    def _primary(self, context: Context) -> Steps[Node]:
        if context.get("bracket"):
            return self._list(context)
        if context.get("brace"):
            return self._map(context)
        if context.get("message"):
            return self._message(context)
        if context.get("open"):
            return self._call(context)
        if context.alternative == -1:
            return done(self._broken(None))
        if context.get("name") and context.alternative == _NAME_ALONE:
            return done(self.build.identifier(context.get("dot"), context.get("name")))
        return done(self._broken(context))

    def _call(self, context: Context) -> Steps[Node]:
        dot, name = context.get("dot"), context.get("name")
        if is_reserved(name):
            return self.build.identifier(dot, name)
        arguments = yield self._each(context.get("arguments"))
        return self.build.global_call(context.get("open"), dot, name, arguments)

    def _each(self, context: Context | None) -> Steps[list[Node]]:
        nodes = []
        for part in context.all("e") if context else ():
            nodes.append((yield self.visit(part)))  # noqa: PERF401 (a yield cannot be comprehended)
        return nodes

    def _list(self, context: Context) -> Steps[Node]:
        elements: list[Node] = []
        optional = set()
        listed: Context | None = context.get("list")
        for part in listed.all("e") if listed else ():
            if part.get("optional"):
                optional.add(len(elements))
            elements.append((yield self.visit(part.get("e"))))
        return self.build.list_literal(context.get("bracket"), elements, frozenset(optional))

    def _map(self, context: Context) -> Steps[Node]:
        entries: list[MapEntry] = []
        for key, colon, value in _entries(context.get("map")):
            made = yield self.visit(key.get("e"))
            entries.append(
                self.build.map_entry(
                    colon,
                    made,
                    (yield self.visit(value)),
                    optional=key.get("optional") is not None,
                )
            )
        return self.build.map_literal(context.get("brace"), entries)

    def _message(self, context: Context) -> Steps[Node]:
        fields: list[FieldEntry] = []
        for key, colon, value in _entries(context.get("fields")):
            name = key.get("field") and key.get("field").get("name")
            if name is None:
                self.build.broken(context.get("fields").start.offset, _NO_NAME)
                continue
            fields.append(
                self.build.field_entry(
                    colon,
                    name,
                    (yield self.visit(value)),
                    optional=key.get("optional") is not None,
                )
            )
        words = ".".join(word.text for word in context.all("name"))
        full = f".{words}" if context.get("dot") else words
        return self.build.message_literal(context.get("message"), full, fields)

    def _literal(self, context: Context) -> Node:
        token = context.get("token")
        if token is None:
            return self._broken(None)
        return self.build.literal(token, context.get("sign"))


def _entries(context: Context | None) -> list[tuple[Any, Any, Any]]:
    """Key, colon and value of each entry; none at all if any is missing a part."""
    if context is None:
        return []
    keys, colons, values = context.all("key"), context.all("colon"), context.all("value")
    if len(values) < len(colons) or len(keys) < len(colons):
        return []
    return list(zip(keys, colons, values, strict=False))
