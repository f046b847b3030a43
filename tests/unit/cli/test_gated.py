from __future__ import annotations

from typing import Any

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.scheme import decode_any
from dray.cli.gated import removed_fields


def removed(kind: str, gates: FeatureGates = DEFAULT_GATES, **parts: Any) -> list[tuple[str, str]]:
    _, _, decoded = decode_any({"apiVersion": "resource.k8s.io/v1", "kind": kind, **parts})
    return list(removed_fields(decoded.value, gates))


SLICE = {"devices": [{"name": "a"}, {"name": "b", "attributes": {"x": {"ints": [1, 2]}}}]}


def test_a_field_whose_feature_is_off_is_told_with_its_gate() -> None:
    assert removed("ResourceSlice", spec=SLICE) == [
        ("spec.devices[1].attributes.x.ints", "DRAListTypeAttributes")
    ]


def test_nothing_is_told_where_the_feature_is_on() -> None:
    assert removed("ResourceSlice", FeatureGates({"DRAListTypeAttributes": True}), spec=SLICE) == []


def test_the_status_of_a_claim_is_looked_at_too() -> None:
    result = {"request": "a", "driver": "b", "pool": "c", "device": "d", "shareID": "e"}
    status = {"allocation": {"devices": {"results": [result]}}}
    gates = FeatureGates({"DRAConsumableCapacity": False, "DRAFractionalCapacityRange": False})
    assert removed("ResourceClaim", gates, status=status) == [
        ("status.allocation.devices.results[0].shareID", "DRAConsumableCapacity")
    ]


def test_a_gate_that_needs_others_is_named_all_the_same() -> None:
    spec = {"devices": [], "partitionTypeAttribute": "a.b/c"}
    assert removed("ResourceSlice", spec=spec) == [
        ("spec.partitionTypeAttribute", "DRAPartitionableDevicesType")
    ]
