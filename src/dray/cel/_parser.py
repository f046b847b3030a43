"""Tokens into a tree, when the text is an expression.

A hand-written parser for the grammar of CEL. It only says yes or no: for a text that is not an
expression it answers None, and _syntax, which is slower and knows how to go on after a mistake,
says what is wrong. Depth is bounded as upstream bounds it, per grammar rule, and costs no stack.

Upstream counterpart: the parser rules of cel-go parser/gen/CEL.g4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dray.cel import _lexer as lexer
from dray.cel._builder import Builder, is_reserved
from dray.cel._lexer import Token
from dray.cel._limits import RECURSION_MAX
from dray.cel._nodes import FieldEntry, MapEntry, Node
from dray.cel._trampoline import Steps, done, run

__all__ = [
    "TooDeep",
    "parse",
]

_RELATIONS: Final = frozenset({"<", "<=", ">=", ">", "==", "!=", "in"})
_SUMS: Final = frozenset({"+", "-"})
_PRODUCTS: Final = frozenset({"*", "/", "%"})
_NUMBERS: Final = frozenset({lexer.INT, lexer.FLOAT})
_LITERALS: Final = _NUMBERS | {lexer.UINT, lexer.STRING, lexer.BYTES, "true", "false", "null"}
_FIELDS: Final = frozenset({lexer.IDENTIFIER, lexer.ESCAPED_IDENTIFIER})


class TooDeep(Exception):
    """A rule of the grammar nests deeper than RECURSION_MAX."""


class _Unexpected(Exception):
    """The token here cannot continue an expression."""


def parse(tokens: list[Token], builder: Builder) -> Node | None:
    """The tree, or None if the tokens are not one expression. Raises TooDeep, and TooLarge."""
    try:
        return run(_Parser(tokens, builder).start())
    except _Unexpected:
        return None


class _Parser:
    """One pass over the tokens.

    The three counters follow upstream's, one for each rule that can nest in itself before any
    other does: `(` deepens expressions, the right side of a comparison comparisons, that of a
    sum or product calculations.
    """

    def __init__(self, tokens: list[Token], builder: Builder) -> None:
        self._tokens = tokens
        self._position = 0
        self._kind = tokens[0].kind
        self._build = builder
        self._expressions = 0
        self._relations = 0
        self._calculations = 0

    def start(self) -> Steps[Node]:
        node: Node = yield self._expression()
        self._take(lexer.END)
        return node

    def _next(self) -> Token:
        token = self._tokens[self._position]
        if token.kind != lexer.END:
            self._position += 1
            self._kind = self._tokens[self._position].kind
        return token

    def _take(self, kind: str) -> Token:
        if self._kind != kind:
            raise _Unexpected
        return self._next()

    def _maybe(self, kind: str) -> Token | None:
        return self._next() if self._kind == kind else None

    def _expression(self) -> Steps[Node]:
        if self._kind in _LITERALS and self._ahead(1) in _ENDS:
            # A literal alone, the commonest key and argument: every rule would pass it on.
            _deeper(self._expressions)
            _deeper(self._relations)
            _deeper(self._calculations)
            return done(self._build.literal(self._next()))
        return self._any_expression()

    def _any_expression(self) -> Steps[Node]:
        self._expressions = _deeper(self._expressions)
        node: Node = yield self._disjunction()
        if operator := self._maybe("?"):
            true = yield self._disjunction()
            self._take(":")
            false = yield self._expression()
            node = self._build.conditional(operator, node, true, false)
        self._expressions -= 1
        return node

    # A rule starts with the first operand of the rule below it and only asks for a chain where
    # there is one: most operands stand alone.

    def _disjunction(self) -> Steps[Node]:
        node: Node = yield self._relation()
        if self._kind == "&&":
            node = yield self._chain(node, "&&", self._relation)
        if self._kind == "||":
            node = yield self._chain(node, "||", self._conjunction)
        return node

    def _conjunction(self) -> Steps[Node]:
        node: Node = yield self._relation()
        return (yield self._chain(node, "&&", self._relation)) if self._kind == "&&" else node

    def _chain(self, first: Node, kind: str, term: Callable[[], Steps[Node]]) -> Steps[Node]:
        """The terms between operators of one kind."""
        terms = [first]
        operators = []
        while self._kind == kind:
            operators.append(self._next())
            terms.append((yield term()))
        return self._build.logical(operators, terms)

    def _relation(self) -> Steps[Node]:
        self._relations = _deeper(self._relations)
        left: Node = yield self._sum()
        while self._kind in _RELATIONS:
            operator = self._next()
            self._relations = _deeper(self._relations)
            right = yield self._sum()
            self._relations -= 1
            left = self._build.binary(operator, left, right)
        self._relations -= 1
        return left

    def _sum(self) -> Steps[Node]:
        self._calculations = _deeper(self._calculations)
        left: Node = yield self._unary()
        if self._kind in _PRODUCTS:
            left = yield self._product(left)
        while self._kind in _SUMS:
            operator = self._next()
            self._calculations = _deeper(self._calculations)
            right = yield self._unary()
            if self._kind in _PRODUCTS:
                right = yield self._product(right)
            self._calculations -= 1
            left = self._build.binary(operator, left, right)
        self._calculations -= 1
        return left

    def _product(self, left: Node) -> Steps[Node]:
        """Products share the rule, and so the depth, of the sum they are in."""
        while self._kind in _PRODUCTS:
            operator = self._next()
            self._calculations = _deeper(self._calculations)
            right = yield self._unary()
            self._calculations -= 1
            left = self._build.binary(operator, left, right)
        return left

    def _unary(self) -> Steps[Node]:
        kind = self._kind
        # A single minus before a number is the number's sign.
        if kind not in ("!", "-") or (kind == "-" and self._ahead(1) in _NUMBERS):
            return self._member()
        return self._signed(kind)

    def _signed(self, kind: str) -> Steps[Node]:
        operators = []
        while self._kind == kind:
            operators.append(self._next())
        return self._build.unary(operators, (yield self._member()))

    def _ahead(self, distance: int) -> str:
        return self._tokens[min(self._position + distance, len(self._tokens) - 1)].kind

    def _member(self) -> Steps[Node]:
        node: Node = yield self._primary()
        while True:
            if self._kind == ".":
                dot = self._next()
                optional = self._maybe("?") is not None
                if self._kind not in _FIELDS:
                    raise _Unexpected
                name = self._next()
                if optional or name.kind != lexer.IDENTIFIER or self._kind != "(":
                    node = self._build.select(dot, node, name, optional=optional)
                else:
                    parenthesis = self._next()
                    arguments = yield self._arguments()
                    node = self._build.member_call(parenthesis, name, node, arguments)
            elif self._kind == "[":
                bracket = self._next()
                optional = self._maybe("?") is not None
                key = yield self._expression()
                self._take("]")
                node = self._build.index(bracket, node, key, optional=optional)
            else:
                return node

    def _arguments(self) -> Steps[list[Node]]:
        arguments: list[Node] = []
        if self._kind != ")":
            arguments.append((yield self._expression()))
            while self._maybe(","):
                arguments.append((yield self._expression()))
        self._take(")")
        return arguments

    def _primary(self) -> Steps[Node]:
        kind = self._kind
        if kind in _LITERALS:
            return done(self._build.literal(self._next()))
        match kind:
            case "-":
                sign = self._next()
                if self._kind not in _NUMBERS:
                    raise _Unexpected
                return done(self._build.literal(self._next(), sign))
            case "(":
                return self._nested()
            case "[":
                return self._list()
            case "{":
                return self._map()
            case "." | lexer.IDENTIFIER:
                return self._named()
            case _:
                raise _Unexpected

    def _nested(self) -> Steps[Node]:
        self._next()
        node: Node = yield self._expression()
        self._take(")")
        return node

    def _named(self) -> Steps[Node]:
        """A name: alone, called, or the type of a message."""
        dot = self._maybe(".")
        name = self._take(lexer.IDENTIFIER)
        if parenthesis := self._maybe("("):
            issues = self._build.issues
            before = issues.count
            arguments = yield self._arguments()
            if is_reserved(name):
                # Nobody looks into a call that cannot be.
                issues.forget_since(before)
                return self._build.identifier(dot, name)
            return self._build.global_call(parenthesis, dot, name, arguments)
        words = self._message_words()
        if words is None:
            return self._build.identifier(dot, name)
        full = ".".join([name.text, *(word.text for word in words)])
        node: Node = yield self._message(f".{full}" if dot else full)
        return node

    def _message_words(self) -> list[Token] | None:
        """The further words of a message's name if a brace follows them; None if it does not."""
        position, words = self._position, []
        while self._tokens[position].kind == ".":
            if self._tokens[position + 1].kind != lexer.IDENTIFIER:
                return None
            words.append(self._tokens[position + 1])
            position += 2
        if self._tokens[position].kind != "{":
            return None
        self._position = position
        self._kind = "{"
        return words

    def _list(self) -> Steps[Node]:
        bracket = self._next()
        elements: list[Node] = []
        optional: set[int] = set()
        while self._kind not in ("]", ","):
            if self._maybe("?"):
                optional.add(len(elements))
            elements.append((yield self._expression()))
            if not self._maybe(","):
                break
        else:
            if not elements:
                self._maybe(",")
        self._take("]")
        return self._build.list_literal(bracket, elements, frozenset(optional))

    def _map(self) -> Steps[Node]:
        brace = self._next()
        entries: list[MapEntry] = []
        while self._kind not in ("}", ","):
            optional = self._maybe("?") is not None
            key = yield self._expression()
            colon = self._take(":")
            value = yield self._expression()
            entries.append(self._build.map_entry(colon, key, value, optional=optional))
            if not self._maybe(","):
                break
        else:
            if not entries:
                self._maybe(",")
        self._take("}")
        return self._build.map_literal(brace, entries)

    def _message(self, name: str) -> Steps[Node]:
        brace = self._take("{")
        fields: list[FieldEntry] = []
        while self._kind not in ("}", ","):
            optional = self._maybe("?") is not None
            if self._kind not in _FIELDS:
                raise _Unexpected
            field = self._next()
            colon = self._take(":")
            value = yield self._expression()
            fields.append(self._build.field_entry(colon, field, value, optional=optional))
            if not self._maybe(","):
                break
        else:
            if not fields:
                self._maybe(",")
        self._take("}")
        return self._build.message_literal(brace, name, fields)


_ENDS: Final = frozenset({")", "]", ",", "}", lexer.END})
"""What stands after an expression that is done."""


def _deeper(depth: int) -> int:
    if depth >= RECURSION_MAX:
        raise TooDeep
    return depth + 1
