"""JSON to messages: the way back, for clients and for tests.

Zeros that JSON leaves out are left out here as well: every reader of proto2 takes an absent field
for its zero. Fields the schema does not have are dropped, as protobuf cannot name them.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from struct import pack
from typing import Any

from dray.api.schema import AnyForm, Anything, ListOf, MapOf, Primitive, Scalar, Schema, StructOf
from dray.errors import InternalError
from dray.server.protobuf.values import WRITERS, write_raw
from dray.server.protobuf.wire import BYTES, FIXED64, VARINT, Malformed, put_varint

__all__ = ["encode_message"]


def encode_message(struct: StructOf, document: Mapping[str, Any]) -> bytes:
    """The message of a struct, without an envelope."""
    out = bytearray()
    for field in struct.declared:
        if not field.number:
            continue
        if field.inline:
            if not isinstance(field.schema, StructOf):
                raise InternalError(f"{struct.name} embeds what is not a struct")
            _put_bytes(out, field.number, encode_message(field.schema, document))
        elif (value := document.get(field.name)) is not None:
            try:
                _put_field(out, field.number, field.schema, value, struct)
            except Malformed as error:
                raise error.within(field.name) from None
            except (TypeError, ValueError, AttributeError, OverflowError) as error:
                raise Malformed(f"is of another type than its field: {error}").within(
                    field.name
                ) from error
    return bytes(out)


def _put_field(out: bytearray, number: int, schema: Schema, value: Any, owner: StructOf) -> None:
    match schema:
        case Scalar(primitive=primitive) if primitive in _VARINTS:
            put_varint(out, number << 3 | VARINT)
            put_varint(out, _VARINTS[primitive](value))
        case Scalar(primitive=Primitive.NUMBER):
            put_varint(out, number << 3 | FIXED64)
            out += pack("<d", value)
        case ListOf(items=items, message=False):
            for item in value:
                _put_field(out, number, items, item, owner)
        case MapOf(values=values):
            for key, item in value.items():
                entry = bytearray()
                _put_bytes(entry, 1, key.encode())
                if item is not None:
                    _put_field(entry, 2, values, item, owner)
                _put_bytes(out, number, bytes(entry))
        case _:
            _put_bytes(out, number, _message(schema, value, owner))


def _message(schema: Schema, value: Any, owner: StructOf) -> bytes:
    """The content of a length-delimited value."""
    match schema:
        case Scalar(primitive=Primitive.STRING):
            return _text(value)
        case Scalar(primitive=Primitive.BYTES):
            try:
                return b64decode(value, validate=True)
            except Base64Error as error:
                raise Malformed("is not base64") from error
        case Scalar(primitive=primitive):
            return WRITERS[primitive](value)
        case StructOf():
            return encode_message(schema, value)
        case ListOf(items=items):
            out = bytearray()
            for item in value:
                _put_field(out, 1, items, item, owner)
            return bytes(out)
        case Anything(form=form):
            return _union(form, value, owner)
        case _:
            raise InternalError(f"protobuf has no message for {schema}")


def _union(form: AnyForm, value: Any, owner: StructOf) -> bytes:
    out = bytearray()
    match form, value:
        case AnyForm.SCHEMA_OR_BOOLEAN, bool():
            _put_field(out, 1, Scalar(Primitive.BOOLEAN), value, owner)
        case AnyForm.SCHEMA_OR_BOOLEAN, _:
            _put_field(out, 1, Scalar(Primitive.BOOLEAN), True, owner)
            _put_field(out, 2, owner, value, owner)
        case AnyForm.SCHEMA_OR_ARRAY, list():
            _put_field(out, 2, ListOf(owner), value, owner)
        case AnyForm.SCHEMA_OR_STRINGS, list():
            _put_field(out, 2, ListOf(Scalar(Primitive.STRING)), value, owner)
        case ((AnyForm.SCHEMA_OR_ARRAY | AnyForm.SCHEMA_OR_STRINGS), _):
            _put_field(out, 1, owner, value, owner)
        case _:
            return write_raw(value)
    return bytes(out)


def _text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise Malformed(f"is a {type(value).__name__}, not a string")
    return value.encode()


def _put_bytes(out: bytearray, number: int, data: bytes) -> None:
    put_varint(out, number << 3 | BYTES)
    put_varint(out, len(data))
    out += data


_VARINTS: dict[Primitive, Callable[[Any], int]] = {
    Primitive.BOOLEAN: bool,
    Primitive.INT32: int,
    Primitive.INT64: int,
}
