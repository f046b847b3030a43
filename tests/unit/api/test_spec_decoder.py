"""Objects of one template: one spec, and nothing decoded that anybody would have to hear of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dray.api.codec import decode
from dray.api.core import Pod
from dray.api.resource import ResourceClaim
from dray.api.shared import is_shared
from dray.api.spec_decoder import SPEC_BYTES_MAX, SpecDecoder

PODS = SpecDecoder(Pod)
SPEC = {"containers": [{"name": "main", "image": "i", "volumeMounts": [{"name": "v"}]}]}

# Its fields are found a second time where one string ends and the next begins.
LOOKALIKE = {
    "name": "a",
    "annotations": {"k{": ":{}}"},
    "managedFields": [{"manager": "m", "fieldsV1": {":": {}}}],
}

OWNED = {"manager": "m", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:nodeName": {}}}}


def document(name: str = "a", **members: Any) -> bytes:
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": SPEC, **members}
    return json.dumps(whole, separators=(",", ":")).encode()


def owning(fields: bytes) -> bytes:
    entries = b'[{"manager":"m","fieldsV1":{"f:x":{}}},{"manager":"n","fieldsV1":%s}]' % fields
    return b'{"spec":{"nodeName":"n"},"metadata":{"name":"a","managedFields":%s}}' % entries


@pytest.mark.parametrize(
    "body",
    [
        document(),
        document(status={"phase": "Running"}),
        document(metadata={"name": "a", "labels": {"x": '":'}}),
        document(metadata={"name": "a", "managedFields": [OWNED, OWNED, {"manager": "m"}]}),
        document(metadata=LOOKALIKE),
        b'{"spec":{"nodeName":"n1"},"metadata":{"name":"a"}}',
        b'{"metadata":{"annotations":{"x":"{}"}},"spec":{"hostNetwork":true}}',
    ],
)
def test_an_object_is_what_it_would_be_anyway(body: bytes) -> None:
    assert PODS.decode(body) == decode(body, Pod)


def test_a_claim_is_too() -> None:
    body = b'{"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r"}]}}}'
    assert SpecDecoder(ResourceClaim).decode(body) == decode(body, ResourceClaim)


def test_objects_of_one_template_have_one_spec() -> None:
    one, other = PODS.decode(document("a")), PODS.decode(document("b"))
    assert one is not None
    assert other is not None
    assert one.spec is other.spec
    assert is_shared(one.spec)
    assert (one.metadata.name, other.metadata.name) == ("a", "b")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"nonsense", id="no-json"),
        pytest.param(document(unheard="of"), id="unknown"),
        pytest.param(document(spec={"unheard": "of"}), id="unknown-in-spec"),
        pytest.param(document(status={"unheard": "of"}), id="unknown-in-status"),
        pytest.param(document(spec={"volumes": [{"unheard": "of"}]}), id="unknown-in-part"),
        pytest.param(document(spec={"containers": 1}), id="misfit"),
        pytest.param(document(spec=None), id="null"),
        pytest.param(document(spec={}), id="empty"),
        pytest.param(b'{"metadata":{"name":"a"}}', id="absent"),
        pytest.param(b'{"spec":{"nodeName":"n","nodeName":"m"}}', id="twice-in-spec"),
        pytest.param(b'{"spec":{"nodeName":"n"},"metadata":{"name":"a","name":"b"}}', id="twice"),
        pytest.param(b'{"spec":{"nodeName":"n"},"spec":{"nodeName":"n"}}', id="two-specs"),
        pytest.param(owning(b'{"f:x":{},"f:x":{}}'), id="twice-in-fields"),
        pytest.param(owning(b'{"f:x":{}},"fieldsV1":{"f:x":{}}'), id="fields-twice"),
        pytest.param(document(spec={"nodeName": "n" * SPEC_BYTES_MAX}), id="long"),
    ],
)
def test_what_is_unusual_is_left_to_others(body: bytes) -> None:
    assert PODS.decode(body) is None


def test_who_wrote_the_document_knows_that_no_member_is_there_twice() -> None:
    twice = b'{"spec":{"nodeName":"n"},"metadata":{"name":"a","name":"b"}}'
    found = PODS.decode(twice, unique=True)
    assert found is not None
    assert found.metadata.name == "b"
