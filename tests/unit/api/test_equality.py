"""Semantic equality: what an update must change to count as a change."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from msgspec import Raw

from dray.api.codec import decode, encode
from dray.api.core import NodeSelector, Pod, PodSpec
from dray.api.equality import semantically_equal
from dray.api.quantity import Quantity
from dray.api.resource import (
    Device,
    DeviceCapacity,
    DeviceTaint,
    ExactDeviceRequest,
    OpaqueDeviceConfiguration,
    ResourceClaim,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.wire import Time, UnknownFields, replace
from dray.testing.strategies import structs


def capacity(text: str) -> DeviceCapacity:
    return DeviceCapacity(value=Quantity.parse(text))


def taint(time: str) -> DeviceTaint:
    return DeviceTaint(key="hot", effect="NoExecute", time_added=Time.parse(time))


def opaque(raw: bytes) -> OpaqueDeviceConfiguration:
    return OpaqueDeviceConfiguration(driver="d", parameters=msgspec.Raw(raw))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param(None, (), id="absent-and-empty-list"),
        pytest.param({}, None, id="empty-and-absent-map"),
        pytest.param(
            ResourceSliceSpec(devices=()), ResourceSliceSpec(devices=None), id="within-a-struct"
        ),
        pytest.param(
            Device(capacity={"memory": capacity("1Gi")}),
            Device(capacity={"memory": capacity("1024Mi")}),
            id="one-amount-in-two-units",
        ),
        pytest.param(
            taint("2025-03-01T10:00:00Z"), taint("2025-03-01T11:00:00+01:00"), id="one-instant"
        ),
        pytest.param(opaque(b'{"a":1}'), opaque(b'{"a":1}'), id="the-same-json"),
        pytest.param(
            (NodeSelector(node_selector_terms=None),),
            (NodeSelector(node_selector_terms=()),),
            id="within-a-list",
        ),
    ],
)
def test_values_that_mean_the_same_are_equal(a: Any, b: Any) -> None:
    assert semantically_equal(a, b)
    assert semantically_equal(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param(None, False, id="unset-is-not-false"),
        pytest.param(None, "", id="unset-is-not-an-empty-text"),
        pytest.param(
            ResourceSliceSpec(node_name=None), ResourceSliceSpec(node_name=""), id="optional-text"
        ),
        pytest.param(ExactDeviceRequest(count=1), ExactDeviceRequest(count=2), id="a-number"),
        pytest.param((1, 2), (2, 1), id="another-order"),
        pytest.param((1,), (1, 2), id="one-more"),
        pytest.param({"a": None}, {"b": None}, id="another-key"),
        pytest.param(capacity("1"), capacity("1001m"), id="another-amount"),
        pytest.param(Device(), ResourceSliceSpec(), id="another-type"),
    ],
)
def test_values_that_differ_are_not_equal(a: Any, b: Any) -> None:
    assert not semantically_equal(a, b)
    assert not semantically_equal(b, a)


@pytest.mark.slow
@given(structs(ResourceSlice))
def test_a_slice_equals_what_its_json_decodes_to(slice_: ResourceSlice) -> None:
    assert semantically_equal(slice_, decode(encode(slice_), ResourceSlice))


@pytest.mark.slow
@given(structs(ResourceClaim), structs(ResourceClaim))
def test_equal_values_are_semantically_equal(a: ResourceClaim, b: ResourceClaim) -> None:
    assert semantically_equal(a, a)
    assert semantically_equal(a, b) == semantically_equal(b, a)


def pod(volumes: bytes, **spec: Any) -> Pod:
    return Pod(spec=PodSpec(volumes=Raw(volumes), **spec))


def test_carried_json_is_compared_as_what_it_says() -> None:
    one = pod(b'[{"name": "v", "emptyDir": {}}]')
    assert semantically_equal(one, pod(b'[{"emptyDir":{},"name":"v"}]'))
    assert not semantically_equal(one, pod(b'[{"emptyDir":{},"name":"w"}]'))
    assert semantically_equal(PodSpec(volumes=Raw(b"null")), PodSpec())
    assert not semantically_equal(pod(b"[1.0]"), pod(b"[1]"))


def test_of_what_upstream_carries_too_the_text_counts() -> None:
    def config(parameters: bytes) -> OpaqueDeviceConfiguration:
        return OpaqueDeviceConfiguration(driver="d", parameters=Raw(parameters))

    assert semantically_equal(config(b'{"a":1,"b":2}'), config(b'{"a": 1,\n "b": 2}'))
    assert not semantically_equal(config(b'{"a":1,"b":2}'), config(b'{"b":2,"a":1}'))


def test_unknown_fields_change_nothing() -> None:
    known = DeviceTaint(key="a", effect="NoSchedule")
    future = replace(known, unknown_fields=UnknownFields({"new": 1}))
    assert semantically_equal(known, future)
    assert not semantically_equal(known, replace(future, value="v"))
