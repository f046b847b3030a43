"""Makes the nodes of a tree, expanding macros on the way.

The builder is told what was parsed, bottom up, and answers with nodes. It numbers them, keeps
their places, and reports what the grammar allows but the language does not: reserved words as
names, literals out of range, macros with the wrong arguments. A part it reports becomes Broken
and the rest goes on, so that one run reports everything.

Upstream counterparts: cel-go parser/parser.go (the visitor) and parser/helper.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.cel import _lexer as lexer
from dray.cel._lexer import Token
from dray.cel._limits import NODES_MAX, RECURSION_MAX
from dray.cel._macros import MACROS, Expander, MacroError
from dray.cel._nodes import (
    Broken,
    Call,
    FieldEntry,
    Identifier,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    MessageLiteral,
    Node,
    Select,
)
from dray.cel._source import Issues
from dray.cel._values import Constant, UInt

__all__ = [
    "CONDITIONAL",
    "INDEX",
    "NEGATE",
    "OPERATORS",
    "OPTIONAL_INDEX",
    "OPTIONAL_SELECT",
    "Builder",
    "TooLarge",
    "is_reserved",
]

_RESERVED_WORDS: Final = (
    "as break const continue else false for function if import in let loop package namespace null"
    " return true var void while"
)
_RESERVED: Final = frozenset(_RESERVED_WORDS.split())
OPERATORS: Final = {
    "+": "_+_",
    "-": "_-_",
    "*": "_*_",
    "/": "_/_",
    "%": "_%_",
    "<": "_<_",
    "<=": "_<=_",
    ">": "_>_",
    ">=": "_>=_",
    "==": "_==_",
    "!=": "_!=_",
    "in": "@in",
    "&&": "_&&_",
    "||": "_||_",
    "!": "!_",
}
NEGATE: Final = "-_"
CONDITIONAL: Final = "_?_:_"
INDEX: Final = "_[_]"
OPTIONAL_INDEX: Final = "_[?_]"
OPTIONAL_SELECT: Final = "_?._"

_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**63 - 1
_UINT_MAX: Final = 2**64 - 1


class TooLarge(Exception):
    """The tree has more nodes, once macros are expanded, than this process will hold."""


class Builder:
    """Makes nodes; `depth` knows how deep upstream's own builder would have recursed for one."""

    def __init__(self, issues: Issues) -> None:
        self.issues = issues
        self._last_id = 0
        self._depths: dict[int, int] = {}

    def next_id(self) -> int:
        self._last_id += 1
        if self._last_id > NODES_MAX:
            raise TooLarge
        return self._last_id

    def too_deep(self, root: Node) -> bool:
        return self._depth(root) > RECURSION_MAX

    def broken(self, offset: int, message: str) -> Broken:
        self.issues.report(offset, message)
        return Broken(self.next_id(), offset)

    # Leaves

    def identifier(self, dot: Token | None, name: Token) -> Node:
        if is_reserved(name):
            return self.broken((dot or name).offset, f"reserved identifier: {name.text}")
        return Identifier(self.next_id(), name.offset, f".{name.text}" if dot else name.text)

    def literal(self, token: Token, sign: Token | None = None) -> Node:
        offset = (sign or token).offset
        try:
            value = _value(token, "-" if sign else "")
        except lexer.EscapeError as error:
            self.broken(offset, str(error))
            value = token.text
        except ValueError as error:
            return self.broken(offset, str(error))
        return Literal(self.next_id(), offset, value)

    # Operators

    def unary(self, operators: Sequence[Token], operand: Node) -> Node:
        """A run of `!` or of `-`; an even number of them cancels out."""
        if len(operators) % 2 == 0:
            return operand
        first = operators[0]
        function = NEGATE if first.text == "-" else OPERATORS[first.text]
        return self._call(first.offset, function, (operand,), counts=False)

    def binary(self, operator: Token, left: Node, right: Node) -> Node:
        return self._call(operator.offset, OPERATORS[operator.text], (left, right))

    def conditional(self, operator: Token, condition: Node, true: Node, false: Node) -> Node:
        return self._call(operator.offset, CONDITIONAL, (condition, true, false))

    def logical(self, operators: Sequence[Token], terms: Sequence[Node]) -> Node:
        """A chain of `&&` or `||` as a balanced tree, so that its length is not its depth."""
        deepest = max(map(self._depth, terms))

        def balanced(low: int, high: int) -> Node:
            middle = (low + high + 1) // 2
            left = terms[middle] if middle == low else balanced(low, middle - 1)
            right = terms[middle + 1] if middle == high else balanced(middle + 1, high)
            operator = operators[middle]
            node = Call(
                self.next_id(), operator.offset, OPERATORS[operator.text], None, (left, right)
            )
            self._depths[node.id] = deepest
            return node

        return balanced(0, len(operators) - 1)

    # Members

    def select(self, dot: Token, operand: Node, field: Token, *, optional: bool) -> Node:
        name = field.text
        if field.kind == lexer.ESCAPED_IDENTIFIER:
            name = name[1:-1]
        if not optional:
            node: Node = Select(self.next_id(), dot.offset, operand, name, test_only=False)
        else:
            key = Literal(self.next_id(), field.offset, name)
            node = Call(self.next_id(), dot.offset, OPTIONAL_SELECT, None, (operand, key))
        self._depths[node.id] = self._depth(operand) + 1
        return node

    def index(self, bracket: Token, operand: Node, key: Node, *, optional: bool) -> Node:
        return self._call(bracket.offset, OPTIONAL_INDEX if optional else INDEX, (operand, key))

    def member_call(
        self, parenthesis: Token, name: Token, target: Node, arguments: Sequence[Node]
    ) -> Node:
        node = self._expand(parenthesis.offset, name.text, target, arguments)
        if node is None:
            node = Call(self.next_id(), parenthesis.offset, name.text, target, tuple(arguments))
        self._depths[node.id] = 1 + max(map(self._depth, (target, *arguments)))
        return node

    def global_call(
        self, parenthesis: Token, dot: Token | None, name: Token, arguments: Sequence[Node]
    ) -> Node:
        function = f".{name.text}" if dot else name.text
        node = self._expand(parenthesis.offset, function, None, arguments)
        if node is None:
            node = Call(self.next_id(), parenthesis.offset, function, None, tuple(arguments))
        self._depths[node.id] = max(map(self._depth, arguments), default=0)
        return node

    # Aggregates

    def list_literal(
        self, bracket: Token, elements: Sequence[Node], optional: frozenset[int]
    ) -> Node:
        node = ListLiteral(self.next_id(), bracket.offset, tuple(elements), optional)
        self._depths[node.id] = max(map(self._depth, elements), default=0)
        return node

    def map_entry(self, colon: Token, key: Node, value: Node, *, optional: bool) -> MapEntry:
        return MapEntry(self.next_id(), colon.offset, key, value, optional)

    def map_literal(self, brace: Token, entries: Sequence[MapEntry]) -> Node:
        node = MapLiteral(self.next_id(), brace.offset, tuple(entries))
        parts = [part for entry in entries for part in (entry.key, entry.value)]
        self._depths[node.id] = max(map(self._depth, parts), default=0)
        return node

    def field_entry(self, colon: Token, name: Token, value: Node, *, optional: bool) -> FieldEntry:
        text = name.text[1:-1] if name.kind == lexer.ESCAPED_IDENTIFIER else name.text
        return FieldEntry(self.next_id(), colon.offset, text, value, optional)

    def message_literal(self, brace: Token, name: str, fields: Sequence[FieldEntry]) -> Node:
        node = MessageLiteral(self.next_id(), brace.offset, name, tuple(fields))
        self._depths[node.id] = max((self._depth(field.value) for field in fields), default=0)
        return node

    def _call(
        self, offset: int, function: str, arguments: tuple[Node, ...], *, counts: bool = True
    ) -> Node:
        node = Call(self.next_id(), offset, function, None, arguments)
        self._depths[node.id] = max(map(self._depth, arguments)) + counts
        return node

    def _expand(
        self, offset: int, function: str, target: Node | None, arguments: Sequence[Node]
    ) -> Node | None:
        macro = MACROS.get((function, len(arguments), target is not None))
        if macro is None:
            return None
        try:
            return macro(Expander(self.next_id, offset), target, tuple(arguments))
        except MacroError as error:
            return self.broken(error.offset, error.message)

    def _depth(self, node: Node) -> int:
        return self._depths.get(node.id, 0)


def is_reserved(name: Token) -> bool:
    """The word cannot name a variable or function; a field it can."""
    return name.text in _RESERVED


def _value(token: Token, sign: str) -> Constant:
    text = token.text
    match token.kind:
        case lexer.INT:
            number = _number(text)
            signed = -number if sign else number
            if not _INT_MIN <= signed <= _INT_MAX:
                raise ValueError("invalid int literal")
            return signed
        case lexer.UINT:
            number = _number(text[:-1])
            if number > _UINT_MAX:
                raise ValueError("invalid uint literal")
            return UInt(number)
        case lexer.FLOAT:
            double = float(sign + text)
            if double in (float("inf"), float("-inf")):
                raise ValueError("invalid double literal")
            return double
        case lexer.STRING:
            return lexer.string_value(text)
        case lexer.BYTES:
            return lexer.bytes_value(text)
        case "true":
            return True
        case "false":
            return False
        case _:
            return None


def _number(digits: str) -> int:
    if digits.startswith("0x"):
        return int(digits, 16)
    # Beyond twenty digits no 64-bit number is left, and Python refuses to convert thousands.
    significant = digits.lstrip("0")
    return int(significant[:21] or "0")
