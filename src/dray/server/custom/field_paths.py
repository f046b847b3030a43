"""Paths to fields as rules and selectable fields give them: .spec.list['key'].

Upstream counterpart: ValidFieldPath in apiextensions-apiserver pkg/apiserver/schema/cel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dray.errors import ParseError
from dray.server.custom.structural import Structural

__all__ = ["field_path"]

_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+|'")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'",
    "\\": "\\",
}  # fmt: skip


def field_path(
    path: str, schema: Structural, *, allow_keys: bool = True
) -> tuple[str, Structural | None]:
    """Where a path leads: the place in its usual form, and its schema. Raises ParseError."""
    tokens = iter(_TOKEN.findall(path))
    place = ""
    found: Structural | None = schema
    for part in tokens:
        if part == ".":
            name = _next(tokens, path)
        elif part == "[":
            if not allow_keys:
                raise ParseError(path, "array notation is not allowed")
            name = _unquoted(_next(tokens, path), path)
            closing = _next(tokens, path)
            if closing != "]":
                raise ParseError(path, f"expected ] but got {closing}")
        else:
            raise ParseError(path, f"expected [ or . but got: {part}")
        if found is None:
            raise ParseError(path, _NOWHERE)
        if found.properties:
            if name not in found.properties:
                raise ParseError(path, _NOWHERE)
            place = f"{place}.{name}" if place else name
            found = found.properties[name]
        elif found.additional is not None:
            place += f"[{name}]"
            found = found.values
        else:
            raise ParseError(path, _NOWHERE)
    return place, found


_NOWHERE: Final = "does not refer to a valid field"


def _next(tokens: Iterator[str], path: str) -> str:
    token = next(tokens, None)
    if token is None:
        raise ParseError(path, "unexpected end of JSON path")
    return token


def _unquoted(token: str, path: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise ParseError(path, f"expected single quoted string but got {token}")

    def unescaped(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPED:
            raise ParseError(path, f"invalid string literal: invalid escape char {match[0]}")
        return _ESCAPED[match[1]]

    return _ESCAPE.sub(unescaped, token[1:-1])
