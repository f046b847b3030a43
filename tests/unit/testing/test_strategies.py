"""The strategies: what they make has the type they were asked for, and goes over the wire."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import find, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from dray.api.codec import encode
from dray.api.quantity import Quantity
from dray.api.resource import DeviceTaint, ResourceClaim
from dray.api.wire import UnknownFields
from dray.testing.strategies import json_values, quantities, structs

patient = settings(max_examples=20)


@patient
@given(json_values())
def test_json_values_are_json(value: Any) -> None:
    assert json.loads(json.dumps(value)) == value


@given(quantities())
def test_quantities_print_what_they_are(quantity: Quantity) -> None:
    assert Quantity.parse(str(quantity)) == quantity


@patient
@given(st.data())
def test_structs_say_what_they_are_and_can_be_written(data: st.DataObject) -> None:
    claim = data.draw(structs(ResourceClaim))
    assert (claim.kind, claim.api_version) == ("ResourceClaim", "resource.k8s.io/v1")
    assert json.loads(encode(claim))["kind"] == "ResourceClaim"


@patient
@given(structs(DeviceTaint, unknown=False))
def test_unknown_fields_come_only_when_asked_for(taint: DeviceTaint) -> None:
    assert taint.unknown_fields is UNSET


def test_unknown_fields_do_come_when_asked_for() -> None:
    found = find(structs(DeviceTaint), lambda taint: taint.unknown_fields is not UNSET)
    assert isinstance(found.unknown_fields, UnknownFields)
