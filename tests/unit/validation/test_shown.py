"""Values inside messages: as the wire has them, or as upstream's Go structs do."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given

from dray.api.codec import to_builtins
from dray.api.core import NodeSelectorRequirement, NodeSelectorTerm, PodSpec
from dray.api.core.parts import Sysctl
from dray.api.meta import OwnerReference
from dray.api.quantity import Quantity
from dray.api.resource import (
    AllocatedDeviceStatus,
    Counter,
    CounterSet,
    DeviceAttribute,
    OpaqueDeviceConfiguration,
    ResourceSlice,
)
from dray.api.wire import Struct
from dray.testing.strategies import structs
from dray.validation.shown import as_internal, as_wire, difference


@pytest.mark.slow
@given(structs(ResourceSlice, unknown=False))
def test_the_wire_form_is_the_json_of_the_value(slice_: ResourceSlice) -> None:
    assert as_wire(slice_) == to_builtins(slice_)


def test_keys_of_maps_are_shown_in_order() -> None:
    counters = {name: Counter(value=Quantity.parse("1")) for name in ("b", "a")}
    shown = as_wire(CounterSet(name="set", counters=counters))
    assert json.dumps(shown) == (
        '{"name": "set", "counters": {"a": {"value": "1"}, "b": {"value": "1"}}}'
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(
            NodeSelectorTerm(match_fields=(NodeSelectorRequirement(key="k", operator="In"),)),
            '{"MatchExpressions":null,"MatchFields":[{"Key":"k","Operator":"In","Values":null}]}',
            id="empty-lists-are-null",
        ),
        pytest.param(
            DeviceAttribute(int_value=3, string_values=()),
            '{"IntValue":3,"BoolValue":null,"StringValue":null,"VersionValue":null,'
            '"IntValues":null,"BoolValues":null,"StringValues":[],"VersionValues":null}',
            id="unless-the-type-tells-them-apart",
        ),
        pytest.param(
            OpaqueDeviceConfiguration(driver="d", parameters=msgspec.Raw(b'{"a":1}')),
            '{"Driver":"d","Parameters":{"a":1}}',
            id="carried-json-as-it-is",
        ),
        pytest.param(
            OwnerReference(name="n", uid="u"),
            '{"apiVersion":"","kind":"","name":"n","uid":"u"}',
            id="metadata-has-no-internal-form",
        ),
    ],
)
def test_the_internal_form_has_gos_names_and_every_field(value: Struct, shown: str) -> None:
    assert json.dumps(as_internal(value), separators=(",", ":")) == shown


@pytest.mark.parametrize(
    ("carried", "shown"),
    [
        pytest.param(
            b'{"b":[1.5,-2,true,null],"a":"x"}', '{"b":[1.5,-2,true,null],"a":"x"}', id="all"
        ),
        pytest.param(b"[1e400,-1e400]", '["1e400","-1e400"]', id="numbers-beyond-floats"),
        pytest.param(b"1" * 900, "1" * 900, id="numbers-beyond-64-bits"),
        pytest.param(b"1" * 5000, '"(unreadable JSON)"', id="numbers-beyond-reason"),
        pytest.param(b'{"a":1,"a":2}', '{"a":2}', id="names-that-repeat"),
        pytest.param(b'"\\ud800"', '"\ufffd"', id="half-a-character"),
        pytest.param(b"[NaN]", '"(unreadable JSON)"', id="not-a-number"),
        pytest.param(b'{"a":', '"(unreadable JSON)"', id="cut-off"),
        pytest.param(b'"\xff"', '"(unreadable JSON)"', id="not-text"),
        pytest.param(b"", '"(unreadable JSON)"', id="nothing"),
        pytest.param(b"[" * 100 + b"]" * 100, "[" * 64 + '"(and so on)"' + "]" * 64, id="deep"),
        pytest.param(b"[" * 9999 + b"]" * 9999, '"(unreadable JSON)"', id="too-deep-to-read"),
    ],
)
def test_carried_json_can_always_be_shown(carried: bytes, shown: str) -> None:
    for show in (as_wire, as_internal):
        plain = show(msgspec.Raw(carried))
        assert json.dumps(plain, separators=(",", ":"), ensure_ascii=False) == shown


def test_initials_stay_in_capitals() -> None:
    assert "ShareID" in as_internal(AllocatedDeviceStatus())


def test_parts_are_shown_as_the_internal_types_have_them() -> None:
    spec = PodSpec(
        service_account="a", volumes=msgspec.Raw(b'[{"name":"v","rbd":{"monitors":["m"]}}]')
    )
    shown = as_internal(spec)
    assert shown["DeprecatedServiceAccount"] == "a"
    assert shown["Volumes"][0]["RBD"]["CephMonitors"] == ["m"]
    assert shown["Volumes"][0]["EmptyDir"] is None
    assert shown["HostAliases"] is None


def test_a_claim_of_a_pod_has_its_metadata_in_place() -> None:
    template = b'[{"ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":{"a":"b"}}}}}]'
    shown = as_internal(PodSpec(volumes=msgspec.Raw(template)))["Volumes"][0]
    assert shown["Ephemeral"]["VolumeClaimTemplate"]["labels"] == {"a": "b"}


def test_a_difference_is_one_of_lines_around_what_changed() -> None:
    old, new = (Sysctl(name="a", value=value) for value in ("1", "<2>"))
    assert difference(old, new) == (
        '@@ -1,4 +1,4 @@\n {\n  "Name": "a",\n- "Value": "1"\n+ "Value": "\\u003c2\\u003e"\n }\n'
    )
