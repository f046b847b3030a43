"""Bodies in protobuf: the envelope and the answers to what is none."""

from __future__ import annotations

import pytest

from dray.errors import BadRequest
from dray.server.protobuf import decode_protobuf, encode_protobuf, is_protobuf

# What client-go sends to delete a claim.
DELETE_OPTIONS = b"k8s\0\n#\n\x12resource.k8s.io/v1\x12\rDeleteOptions\x12\x00\x1a\x00\x22\x00"


def test_a_body_says_what_it_is() -> None:
    assert decode_protobuf(DELETE_OPTIONS) == (
        "resource.k8s.io/v1",
        "DeleteOptions",
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeleteOptions"},
    )


def test_a_body_that_does_not_say_is_what_the_path_is() -> None:
    body = b"k8s\0\x12\x02*\x00"
    with pytest.raises(BadRequest, match="does not say its kind"):
        decode_protobuf(body)
    assert decode_protobuf(body, api_version="v1", kind="DeleteOptions")[2] == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "dryRun": [""],
    }


def test_protobuf_begins_with_its_magic() -> None:
    assert is_protobuf(DELETE_OPTIONS)
    assert not is_protobuf(b'{"kind":"Pod"}')
    with pytest.raises(BadRequest, match="must begin with"):
        decode_protobuf(b'{"kind":"Pod"}')


def test_zeros_that_go_writes_do_not_leak() -> None:
    # An object meta of empty texts, a zero generation and an empty creation time.
    meta = b"\n\x00\x12\x00\x1a\x00\x22\x00*\x002\x008\x00B\x00"
    raw = b"\n" + bytes([len(meta)]) + meta
    body = b"k8s\0\n\x0f\n\x02v1\x12\x09ConfigMap\x12" + bytes([len(raw)]) + raw
    assert decode_protobuf(body)[2] == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"k8s\0", "does not say its kind"),
        (b"k8s\0\n\x08\n\x02v1\x12\x02No\x12\x00", 'no kind "No" is known in version "v1"'),
        (b"k8s\0\n\x09\n\x02v1\x12\x03Pod\x12\x02\n\x7f", "malformed"),
        (b"k8s\0\n\x09\n\x02v1\x12\x03Pod\x12\x06\n\x04\n\x02\xff\xff", "metadata.name: a text"),
        (b"k8s\0\n\x7f", "malformed"),
        (b"k8s\0\x08\x01", "wire type 0"),
        (b"k8s\0\n\x02\x08\x01", "wire type 0"),
        (b"k8s\0\n\x09\n\x02v1\x12\x03Pod\x12\x00\x1a\x04gzip", "encoded once more"),
        (b"k8s\0\x80", "middle of a field"),
    ],
)
def test_what_is_wrong_is_said(body: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        decode_protobuf(body)


def test_an_object_goes_there_and_back() -> None:
    claim = {
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {
            "devices": {
                "requests": [{"name": "gpu", "exactly": {"deviceClassName": "x", "count": 2}}]
            }
        },
        "status": {},
    }
    body = encode_protobuf("resource.k8s.io/v1", "ResourceClaim", claim)
    said = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    assert decode_protobuf(body)[2] == claim | said


def test_only_kinds_with_a_schema_have_a_body() -> None:
    with pytest.raises(BadRequest, match="no kind"):
        encode_protobuf("example.com/v1", "Widget", {})
    with pytest.raises(BadRequest, match="Pod: metadata"):
        encode_protobuf("v1", "Pod", {"metadata": 1})
