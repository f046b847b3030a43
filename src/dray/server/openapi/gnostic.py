"""The version 2 document in protobuf, which kubectl asks for where it needs version 2 at all.

The messages are gnostic's, one for every kind of JSON object in a document. They are tables here:
a member's name, its number, and how its value is written. A member that no table has would be lost
without a word, so it is an error. Values of any type travel as YAML; JSON is YAML, so that is what
is written. Upstream counterpart: gnostic-models' openapiv2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from dray.errors import InternalError
from dray.server.protobuf.wire import BYTES, VARINT, put_varint

__all__ = ["CONTENT_TYPE", "to_protobuf"]

CONTENT_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

# Appends a member to a message, under a number.
Write = Callable[[bytearray, int, Any], None]
Table = Mapping[str, tuple[int, Write]]


def to_protobuf(document: Mapping[str, Any]) -> bytes:
    """The message of a version 2 document."""
    return _message(document, _DOCUMENT)


def _message(value: Mapping[str, Any], table: Table, extensions: int = 0) -> bytes:
    out = bytearray()
    members = []
    for name, member in value.items():
        if name.startswith("x-") and extensions:
            continue
        if name not in table:
            raise InternalError(f"the protobuf of OpenAPI has no place for {name!r} here")
        members.append((*table[name], member))
    for number, write, member in sorted(members, key=lambda each: each[0]):
        write(out, number, member)
    if extensions:
        for name, member in value.items():
            if name.startswith("x-"):
                _put(out, extensions, _named(name, _any(member)))
    return bytes(out)


def _put(out: bytearray, number: int, data: bytes) -> None:
    put_varint(out, number << 3 | BYTES)
    put_varint(out, len(data))
    out += data


def _wrapped(number: int, data: bytes) -> bytes:
    out = bytearray()
    _put(out, number, data)
    return bytes(out)


def _named(name: str, data: bytes) -> bytes:
    return _wrapped(1, name.encode()) + _wrapped(2, data)


def _any(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return _wrapped(2, text.encode())


# Ways of writing a member -------------------------------------------------------------------------


def _text(out: bytearray, number: int, value: str) -> None:
    if value:
        _put(out, number, value.encode())


def _texts(out: bytearray, number: int, value: list[str]) -> None:
    for each in value:
        _put(out, number, each.encode())


def _flag(out: bytearray, number: int, value: bool) -> None:
    if value:
        put_varint(out, number << 3 | VARINT)
        put_varint(out, 1)


def _anything(out: bytearray, number: int, value: Any) -> None:
    _put(out, number, _any(value))


def _object(table: Callable[[], Table], extensions: int = 0) -> Write:
    """A member that is a message; its table may come later in this module."""

    def write(out: bytearray, number: int, value: Mapping[str, Any]) -> None:
        _put(out, number, _message(value, table(), extensions))

    return write


def _objects(table: Callable[[], Table], extensions: int = 0) -> Write:
    def write(out: bytearray, number: int, value: list[Mapping[str, Any]]) -> None:
        for each in value:
            _put(out, number, _message(each, table(), extensions))

    return write


def _by_name(entry: Callable[[Any], bytes], inside: int = 1) -> Write:
    """An object whose keys are data: a message of named entries."""

    def write(out: bytearray, number: int, value: Mapping[str, Any]) -> None:
        entries = bytearray()
        for name, each in value.items():
            _put(entries, inside, _named(name, entry(each)))
        _put(out, number, bytes(entries))

    return write


def _schema(value: Mapping[str, Any]) -> bytes:
    return _message(value, _SCHEMA, _SCHEMA_EXTENSIONS)


def _schema_member(out: bytearray, number: int, value: Mapping[str, Any]) -> None:
    _put(out, number, _schema(value))


def _wrapped_schema(out: bytearray, number: int, value: Mapping[str, Any]) -> None:
    _put(out, number, _wrapped(1, _schema(value)))


def _additional_properties(out: bytearray, number: int, value: Any) -> None:
    if isinstance(value, bool):
        flag = bytearray()
        _flag(flag, 2, value)
        _put(out, number, bytes(flag))
    else:
        _wrapped_schema(out, number, value)


def _schema_type(out: bytearray, number: int, value: str) -> None:
    _put(out, number, _wrapped(1, value.encode()))


def _parameters(out: bytearray, number: int, value: list[Mapping[str, Any]]) -> None:
    for each in value:
        if each["in"] == "body":
            parameter = _wrapped(1, _message(each, _BODY_PARAMETER, 6))
        elif each["in"] == "path":
            written = _message(each, _PATH_PARAMETER, 22)
            parameter = _wrapped(2, _wrapped(4, written))
        else:
            written = _message(each, _QUERY_PARAMETER, 23)
            parameter = _wrapped(2, _wrapped(3, written))
        _put(out, number, _wrapped(1, parameter))


def _response(value: Mapping[str, Any]) -> bytes:
    return _wrapped(1, _message(value, _RESPONSE, 5))


def _security_requirements(out: bytearray, number: int, value: list[Mapping[str, Any]]) -> None:
    for each in value:
        entries = bytearray()
        for name, scopes in each.items():
            scoped = bytearray()
            _texts(scoped, 1, scopes)
            _put(entries, 1, _named(name, bytes(scoped)))
        _put(out, number, bytes(entries))


# The messages -----------------------------------------------------------------------------------

_SCHEMA_EXTENSIONS: Final = 31
_SCHEMA: Final[Table] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _anything),
    "required": (19, _texts),
    "additionalProperties": (21, _additional_properties),
    "type": (22, _schema_type),
    "items": (23, _wrapped_schema),
    "properties": (25, _by_name(_schema)),
}

_RESPONSE: Final[Table] = {"description": (1, _text), "schema": (2, _wrapped_schema)}

_BODY_PARAMETER: Final[Table] = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _flag),
    "schema": (5, _schema_member),
}

_PATH_PARAMETER: Final[Table] = {
    "required": (1, _flag),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "uniqueItems": (19, _flag),
}

_QUERY_PARAMETER: Final[Table] = {
    "required": (1, _flag),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "uniqueItems": (20, _flag),
}

_OPERATION_EXTENSIONS: Final = 13
_OPERATION: Final[Table] = {
    "tags": (1, _texts),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "parameters": (8, _parameters),
    "responses": (9, _by_name(_response)),
    "schemes": (10, _texts),
}

_operation: Final = _object(lambda: _OPERATION, _OPERATION_EXTENSIONS)
_PATH_ITEM: Final[Table] = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "patch": (8, _operation),
    "parameters": (9, _parameters),
}


def _path_item(value: Mapping[str, Any]) -> bytes:
    return _message(value, _PATH_ITEM, 10)


_INFO: Final[Table] = {"title": (1, _text), "version": (2, _text), "description": (3, _text)}

_API_KEY: Final[Table] = {
    "type": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "description": (4, _text),
}


def _api_key(value: Mapping[str, Any]) -> bytes:
    return _wrapped(2, _message(value, _API_KEY, 5))


_DOCUMENT: Final[Table] = {
    "swagger": (1, _text),
    "info": (2, _object(lambda: _INFO, 7)),
    "paths": (8, _by_name(_path_item, 2)),
    "definitions": (9, _by_name(_schema)),
    "security": (12, _security_requirements),
    "securityDefinitions": (13, _by_name(_api_key)),
}
