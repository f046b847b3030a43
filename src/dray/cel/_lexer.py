"""Text into tokens.

Whitespace and comments are dropped. A character that starts no token ends the run: the lexer
answers None and _syntax says what is wrong. The longest token wins, as in upstream's grammar,
which is why the alternatives below come in this order.

Upstream counterpart: the lexer rules of cel-go parser/gen/CEL.g4, and parser/unescape.go.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = [
    "BYTES",
    "END",
    "ESCAPED_IDENTIFIER",
    "FLOAT",
    "IDENTIFIER",
    "INT",
    "KEYWORDS",
    "STRING",
    "UINT",
    "EscapeError",
    "Token",
    "bytes_value",
    "string_value",
    "token_at",
    "tokens",
]

END: Final = "<EOF>"
IDENTIFIER: Final = "IDENTIFIER"
ESCAPED_IDENTIFIER: Final = "ESC_IDENTIFIER"
FLOAT: Final = "NUM_FLOAT"
INT: Final = "NUM_INT"
UINT: Final = "NUM_UINT"
STRING: Final = "STRING"
BYTES: Final = "BYTES"

KEYWORDS: Final = frozenset({"in", "true", "false", "null"})
"""Words that are tokens of their own; other reserved words are identifiers to the lexer."""


class Token(NamedTuple):
    """`kind` is the token's own text for operators and keywords, a class name otherwise."""

    kind: str
    text: str
    offset: int


_ESCAPE: Final = (
    r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
)
_QUOTED: Final = "|".join(
    [
        r'[rR]"""(?s:.*?)"""',
        r"[rR]'''(?s:.*?)'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
    ]
)
_EXPONENT: Final = r"[eE][+-]?[0-9]+"
_PATTERN: Final = re.compile(
    "|".join(
        [
            r"(?P<SPACE>[\t \r\n\f]+|//[^\n]*)",
            rf"(?P<BYTES>[bB](?:{_QUOTED}))",
            rf"(?P<STRING>{_QUOTED})",
            r"(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)",
            rf"(?P<NUM_FLOAT>[0-9]*\.[0-9]+(?:{_EXPONENT})?|[0-9]+{_EXPONENT})",
            r"(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])",
            r"(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)",
            r"(?P<ESC_IDENTIFIER>`[A-Za-z0-9_./ -]+`)",
            r"(?P<OPERATOR>==|!=|<=|>=|&&|\|\||[][{}().,\-!?:+*/%<>])",
        ]
    )
)


def token_at(text: str, offset: int) -> Token | None:
    """The token that starts here, of kind SPACE for what is skipped; None if none does."""
    match = _PATTERN.match(text, offset)
    if match is None:
        return None
    kind, found = match.lastgroup, match.group()
    assert kind is not None
    if kind == "OPERATOR" or (kind == IDENTIFIER and found in KEYWORDS):
        kind = found
    return Token(kind, found, offset)


def tokens(text: str) -> list[Token] | None:
    """All tokens and the end; None if something in the text is not one."""
    found: list[Token] = []
    offset, length = 0, len(text)
    match = _PATTERN.match
    while offset < length:
        matched = match(text, offset)
        if matched is None:
            return None
        kind = matched.lastgroup
        word = matched[0]
        if kind == "OPERATOR":
            found.append(Token(word, word, offset))
        elif kind != "SPACE":
            assert kind is not None
            if kind == IDENTIFIER and word in KEYWORDS:
                kind = word
            found.append(Token(kind, word, offset))
        offset += len(word)
    found.append(Token(END, END, length))
    return found


_SIMPLE_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_ESCAPE_PATTERN: Final = re.compile(_ESCAPE)
_CODE_POINT_MAX: Final = 0x10FFFF


class EscapeError(ValueError):
    """An escape sequence that the grammar lets through but that means no character."""


def string_value(literal: str) -> str:
    """What a string literal stands for."""
    body, raw = _body(literal)
    if raw or "\\" not in body:
        return body
    return _ESCAPE_PATTERN.sub(_character, body)


def bytes_value(literal: str) -> bytes:
    """What a bytes literal, with its `b`, stands for."""
    body, raw = _body(literal[1:])
    if raw or "\\" not in body:
        return body.encode()
    out = bytearray()
    position = 0
    for match in _ESCAPE_PATTERN.finditer(body):
        out += body[position : match.start()].encode()
        out.append(_byte(match.group()[1:]))
        position = match.end()
    return bytes(out + body[position:].encode())


def _body(literal: str) -> tuple[str, bool]:
    """What is between the quotes, with every line ending as a newline, and whether it is raw."""
    raw = literal[0] in "rR"
    text = (literal[1:] if raw else literal).replace("\r\n", "\n").replace("\r", "\n")
    quotes = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[quotes:-quotes], raw


def _character(match: re.Match[str]) -> str:
    escape = match.group()[1:]
    head = escape[0]
    if head in "xXuU":
        point = int(escape[1:], 16)
    elif head in "0123":
        point = int(escape, 8)
    else:
        return _SIMPLE_ESCAPES.get(head, head)
    if point > _CODE_POINT_MAX or 0xD800 <= point <= 0xDFFF:
        raise EscapeError("invalid unicode code point")
    return chr(point)


def _byte(escape: str) -> int:
    head = escape[0]
    if head in "xX":
        return int(escape[1:], 16)
    if head in "uU":
        raise EscapeError("unable to unescape string")
    if head in "0123":
        return int(escape, 8)
    return ord(_SIMPLE_ESCAPES.get(head, head))
