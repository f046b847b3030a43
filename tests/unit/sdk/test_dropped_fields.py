"""Fields that a server left out are named with their gates."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.features import FEATURES, FeatureGates
from dray.api.gated_fields import drop_disabled_fields
from dray.api.resource import (
    DeviceTaint,
    NodeAllocatableResource,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.sdk._dropped_fields import DroppedField, DroppedFields, dropped_fields
from dray.sdk._inventory import Pool, capacity_of, device
from dray.sdk._slice_layout import lay_out

TAINT = DeviceTaint(key="k.example.com/x", effect="NoSchedule")


def specs(**options: Any) -> tuple[ResourceSliceSpec, ...]:
    pool = Pool(
        [device("a", **options)],
        counters={"s": {"c": 1}} if "consumes" in options else {},
    )
    return lay_out(pool, driver="d.example.com", node_name="n")


@pytest.mark.parametrize(
    ("options", "gate", "path"),
    [
        ({"taints": [TAINT]}, "DRADeviceTaints", "taints"),
        ({"consumes": {"s": {"c": 1}}}, "DRAPartitionableDevices", "consumesCounters"),
        ({"all_nodes": True}, "DRAPartitionableDevices", "allNodes"),
        ({"binds_to_node": True}, "DRADeviceBindingConditions", "bindsToNode"),
        ({"shared": True}, "DRAConsumableCapacity", "allowMultipleAllocations"),
        ({"attributes": {"a": [1]}}, "DRAListTypeAttributes", "lists"),
        (
            {"node_allocatable": {"cpu": NodeAllocatableResource()}},
            "DRANodeAllocatableResources",
            "nodeAllocatableResources",
        ),
        (
            {"shared": True, "capacity": {"m": capacity_of(2, default=1)}},
            "DRAConsumableCapacity",
            "requestPolicy",
        ),
    ],
)
def test_what_a_gate_takes_away_is_named_with_the_gate(
    options: dict[str, Any], gate: str, path: str
) -> None:
    off = {name: False for name, feature in FEATURES.items() if gate in (name, *feature.needs)}
    sent = specs(**options)[-1]
    stored = drop_disabled_fields(ResourceSlice(spec=sent), None, gates=FeatureGates(off)).spec
    (dropped,) = dropped_fields(sent, stored)
    assert dropped.gate == gate
    assert path in dropped.path
    assert str(dropped).endswith(f" (feature gate {gate}?)")


def test_counters_that_are_gone_are_named() -> None:
    counters, _ = specs(consumes={"s": {"c": 1}})
    (dropped,) = dropped_fields(counters, ResourceSliceSpec())
    assert dropped == DroppedField("spec.sharedCounters", "DRAPartitionableDevices")


def test_only_some_devices_are_named() -> None:
    tainted = [device(f"d{n}", taints=[TAINT]) for n in range(9)]
    bare = [device(f"d{n}") for n in range(9)]
    (sent,) = lay_out(Pool(tainted), driver="d", node_name="n")
    (stored,) = lay_out(Pool(bare), driver="d", node_name="n")
    (dropped,) = dropped_fields(sent, stored)
    assert "d4 and 4 more" in str(dropped)
    assert len(dropped.devices) == 9


def test_the_error_says_what_happens_now() -> None:
    error = DroppedFields("p", [DroppedField("x"), DroppedField("y", "Gate")])
    assert str(error) == (
        "pool p: the server dropped x; y (feature gate Gate?). The devices are published without"
    )


def test_an_unexplained_difference_is_told_as_one() -> None:
    (dropped,) = dropped_fields(ResourceSliceSpec(driver="a"), ResourceSliceSpec(driver="b"))
    assert "of its own accord" in str(dropped)
