"""Request bodies in protobuf, which client-go sends wherever it can: to JSON values and back.

A body is four magic bytes and a message that names apiVersion and kind and holds the object's own
message. The schemas of dray.api know the numbers and types, so nothing is generated: a kind needs
a schema and no more. Custom resources have no protobuf form, here as upstream.

Whatever the bytes are, BadRequest is all that comes out, and it says where and why. Upstream
counterpart: apimachinery runtime/serializer/protobuf.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dray.api.schemas import find_schema
from dray.errors import BadRequest, quote, shorten
from dray.server.protobuf.decoding import plan_of
from dray.server.protobuf.encoding import encode_message
from dray.server.protobuf.values import read_text
from dray.server.protobuf.wire import BYTES, Malformed, put_varint, walk

__all__ = ["CONTENT_TYPE", "decode_protobuf", "encode_protobuf", "is_protobuf"]

CONTENT_TYPE: Final = "application/vnd.kubernetes.protobuf"

_MAGIC: Final = b"k8s\0"

_API_VERSION, _KIND = 1, 2
_TYPE_META, _RAW, _CONTENT_ENCODING = 1, 2, 3


def is_protobuf(data: bytes) -> bool:
    """Whether a body begins as Kubernetes' protobuf bodies do."""
    return data.startswith(_MAGIC)


def decode_protobuf(
    data: bytes, *, api_version: str = "", kind: str = ""
) -> tuple[str, str, dict[str, Any]]:
    """The apiVersion, the kind and the object of a body, as JSON has them.

    `api_version` and `kind` are those of a body that does not say.
    """
    if not data.startswith(_MAGIC):
        raise BadRequest(f"the body is not protobuf of Kubernetes: it must begin with {_MAGIC!r}")
    try:
        found_version, found_kind, start, end = _read_envelope(data)
        api_version, kind = found_version or api_version, found_kind or kind
        for member, value in (("kind", kind), ("apiVersion", api_version)):
            if not value:
                raise BadRequest(f"the protobuf body does not say its {member}")
        group, _, version = api_version.rpartition("/")
        schema = find_schema(group, version, kind)
        if schema is None:
            raise BadRequest(
                f"no kind {quote(shorten(kind))} is known in version "
                f"{quote(shorten(api_version))}, so its protobuf body cannot be read"
            )
        document = plan_of(schema).read(data, start, end)
    except IndexError as error:
        raise BadRequest(
            "the protobuf body is malformed: it ends in the middle of a field"
        ) from error
    except Malformed as error:
        where = ".".join(error.path)
        raise BadRequest(
            f"the protobuf body is malformed: {f'{shorten(where)}: ' if where else ''}{error.rule}"
        ) from error
    document["apiVersion"] = api_version
    document["kind"] = kind
    return api_version, kind, document


def encode_protobuf(api_version: str, kind: str, document: Mapping[str, Any]) -> bytes:
    """The body for an object in JSON values; fields that its kind does not have are left out."""
    group, _, version = api_version.rpartition("/")
    schema = find_schema(group, version, kind)
    if schema is None:
        raise BadRequest(f"no kind {quote(kind)} is known in version {quote(api_version)}")
    try:
        raw = encode_message(schema, document)
    except Malformed as error:
        raise BadRequest(f"{kind}: {'.'.join(error.path)}: {error.rule}") from error
    type_meta = bytearray()
    _put_bytes(type_meta, _API_VERSION, api_version.encode())
    _put_bytes(type_meta, _KIND, kind.encode())
    out = bytearray(_MAGIC)
    _put_bytes(out, _TYPE_META, bytes(type_meta))
    _put_bytes(out, _RAW, raw)
    return bytes(out)


def _read_envelope(data: bytes) -> tuple[str, str, int, int]:
    """apiVersion, kind, and where the object's own message begins and ends."""
    api_version = kind = ""
    start = end = len(data)
    for number, wire_type, position, after in walk(data, len(_MAGIC), len(data)):
        if number > _CONTENT_ENCODING:
            continue
        if wire_type != BYTES:
            raise Malformed(f"field {number} of the envelope has wire type {wire_type}")
        if number == _TYPE_META:
            for member, member_type, first, last in walk(data, position, after):
                if member not in (_API_VERSION, _KIND):
                    continue
                if member_type != BYTES:
                    raise Malformed(f"the envelope's types have wire type {member_type}")
                if member == _API_VERSION:
                    api_version = read_text(data, first, last)
                else:
                    kind = read_text(data, first, last)
        elif number == _RAW:
            start, end = position, after
        elif after > position:
            raise Malformed("the content is encoded once more, which nobody does")
    return api_version, kind, start, end


def _put_bytes(out: bytearray, number: int, data: bytes) -> None:
    out.append(number << 3 | BYTES)
    put_varint(out, len(data))
    out += data
