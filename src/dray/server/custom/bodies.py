"""Bodies of custom objects: any JSON object, read as Go reads it.

A number without a fraction is an integer however it is written, unless 64 bits cannot hold it. Of
what a body says twice, the last word counts. Upstream counterpart: the unstructured decoder of
apimachinery.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from dray.api.codec import DOCUMENT_BYTES_MAX, NESTING_MAX, parse_json
from dray.api.shapes import JSONNumber
from dray.errors import BadRequest, DecodeError
from dray.server.yaml_bodies import duplicates_in

__all__ = ["read_document"]

_INT64: Final = range(-(2**63), 2**63)


def read_document(body: bytes | Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The object in a body as JSON values, and what strictness holds against the way it is put.

    The values are the caller's to change. Raises BadRequest.
    """
    if isinstance(body, bytes):
        document, problems = _read_json(body)
    else:
        document, problems = _normalised(body), duplicates_in(body)
    if type(document) is not dict:
        raise BadRequest("the body of the request is no object")
    return document, problems


def _read_json(body: bytes) -> tuple[Any, list[str]]:
    # An escape may stand for half a character, which has no form in UTF-8; the exact reader knows.
    is_plain = len(body) <= DOCUMENT_BYTES_MAX and b"\\ud" not in body.lower()
    if is_plain and body.count(b"{") + body.count(b"[") <= NESTING_MAX:
        try:
            return _DECODER.decode(body.decode("utf-8")), []
        except (_Unusual, UnicodeDecodeError, json.JSONDecodeError):
            pass  # the exact reader says what is wrong, and where
    document = parse_json(body)
    return _normalised(document), duplicates_in(document)


class _Unusual(ValueError):
    """Something for the exact reader."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Unusual
    return members


def _integer(text: str) -> int | float:
    # The longest that 64 bits hold; int() takes long over what is longer still.
    if len(text) > 20:
        return _fraction(text)
    number = int(text)
    return number if number in _INT64 else float(number)


def _fraction(text: str) -> int | float:
    number = float(text)
    if not math.isfinite(number):
        raise DecodeError(f"json: cannot unmarshal number {text[:40]} into a float64")
    return int(number) if number.is_integer() and int(number) in _INT64 else number


def _refuse(text: str) -> Any:
    raise _Unusual(text)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_integer, parse_float=_fraction, parse_constant=_refuse
)


def _normalised(value: Any) -> Any:
    """Plain values, new ones, with numbers as the decoder above has them."""
    if isinstance(value, Mapping):
        return {name: _normalised(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_normalised(item) for item in value]
    if isinstance(value, JSONNumber):
        return _fraction(value.text)
    if type(value) is float:
        return _fraction(repr(value))
    if type(value) is int and value not in _INT64:
        return float(value)
    return value
