"""Objects of every kind, as Go writes them in protobuf: what dray reads is what Go reads."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dray.api.schemas import kinds_of, versions
from dray.errors import BadRequest
from dray.server.protobuf import decode_protobuf, encode_protobuf

OBJECTS = Path(__file__).parent / "objects.jsonl.gz"

Case = tuple[str, str, bytes, dict[str, Any]]


@cache
def recorded() -> tuple[Case, ...]:
    with gzip.open(OBJECTS, "rt", encoding="utf-8") as lines:
        header = json.loads(next(lines))
        cases = tuple(read_case(line) for line in lines)
    assert len(cases) == header["cases"]
    return cases


def read_case(line: str) -> Case:
    case = json.loads(line)
    return case["apiVersion"], case["kind"], b64decode(case["protobuf"]), case["json"]


def test_every_kind_with_a_schema_is_recorded() -> None:
    kinds = {(version, kind) for version, kind, _, _ in recorded()}
    for group, version in versions():
        api_version = f"{group}/{version}" if group else version
        assert {(api_version, kind) for kind in kinds_of(group, version)} <= kinds


def test_an_object_reads_as_the_json_go_makes_of_it() -> None:
    for api_version, kind, body, document in recorded():
        assert decode_protobuf(body) == (api_version, kind, document), kind


def test_an_object_written_again_reads_the_same() -> None:
    for api_version, kind, _, document in recorded():
        body = encode_protobuf(api_version, kind, document)
        # A null that JSON has for a missing pointer is the same as none.
        assert without_nulls(decode_protobuf(body)[2]) == without_nulls(document), kind


def without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {key: without_nulls(item) for key, item in value.items() if item is not None}
        case list():
            return [without_nulls(item) for item in value]
        case _:
            return value


# Hostile bodies --------------------------------------------------------------------------------


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A recorded body with a few bytes changed, cut out or put in."""
    body = bytearray(draw(st.sampled_from(recorded()))[2])
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(4, len(body)))
        match draw(st.sampled_from(["set", "cut", "insert", "end"])):
            case "set" if place < len(body):
                body[place] = draw(st.integers(0, 255))
            case "cut":
                del body[place : place + draw(st.integers(1, 8))]
            case "insert":
                body[place:place] = draw(st.binary(min_size=1, max_size=8))
            case _:
                del body[place:]
    return bytes(body)


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


@given(damaged())
def test_a_damaged_body_is_read_or_refused(body: bytes) -> None:
    try:
        _, _, document = decode_protobuf(body)
    except BadRequest:
        return
    # Whatever was read can be written as JSON.
    json.dumps(document, allow_nan=False)
    for text in texts(document):
        text.encode()


@given(st.binary(max_size=200))
def test_noise_is_read_or_refused(noise: bytes) -> None:
    envelope = b"k8s\0\n\x09\n\x02v1\x12\x03Pod\x12" + bytes([len(noise) & 0x7F])
    for body in (noise, b"k8s\0" + noise, envelope + noise):
        with suppress(BadRequest):
            decode_protobuf(body)
