"""Devices, pools and inventories from plain values."""

from __future__ import annotations

from typing import Any, cast

import pytest

from dray.api.quantity import Quantity
from dray.api.resource import (
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.errors import ParseError
from dray.sdk._inventory import Inventory, InventoryError, Pool, Version, capacity_of, device
from dray.validation import validate_create


@pytest.mark.parametrize(
    ("value", "attribute"),
    [
        pytest.param("a100", DeviceAttribute(string_value="a100"), id="text"),
        pytest.param(7, DeviceAttribute(int_value=7), id="number"),
        pytest.param(True, DeviceAttribute(bool_value=True), id="flag"),
        pytest.param(Version("1.2.3"), DeviceAttribute(version_value="1.2.3"), id="version"),
        pytest.param([1, 2], DeviceAttribute(int_values=(1, 2)), id="numbers"),
        pytest.param(["a", "b"], DeviceAttribute(string_values=("a", "b")), id="texts"),
        pytest.param((False,), DeviceAttribute(bool_values=(False,)), id="flags"),
        pytest.param([Version("1.0.0")], DeviceAttribute(version_values=("1.0.0",)), id="versions"),
    ],
)
def test_a_plain_value_becomes_the_attribute_of_its_type(
    value: Any, attribute: DeviceAttribute
) -> None:
    assert device("gpu-0", attributes={"it": value}).attributes == {"it": attribute}


@pytest.mark.parametrize("amount", ["40Gi", 42949672960, Quantity.parse("40Gi")])
def test_capacity_is_an_amount_however_written(amount: Any) -> None:
    made = device("gpu-0", capacity={"memory": amount})
    assert made.capacity["memory"].value == Quantity.parse("40Gi")


def test_shared_capacity_says_how_it_may_be_cut() -> None:
    made = device(
        "nic-0",
        shared=True,
        capacity={"bandwidth": capacity_of("10G", default="1G", minimum="1G", step="1G")},
    )
    policy = made.capacity["bandwidth"].request_policy
    assert made.allow_multiple_allocations is True
    assert policy is not None
    assert policy.default == Quantity.parse("1G")
    assert policy.valid_range is not None
    assert policy.valid_range.max is None


def test_a_device_says_what_it_takes_of_counters() -> None:
    made = device("part-0", consumes={"gpu-0": {"memory": "10Gi"}})
    (taken,) = made.consumes_counters
    assert taken.counter_set == "gpu-0"
    assert taken.counters["memory"].value == Quantity.parse("10Gi")


def test_what_is_already_of_the_api_is_taken_as_it_is() -> None:
    attribute, capacity = DeviceAttribute(int_value=1), DeviceCapacity(value=Quantity.from_int(2))
    taken = DeviceCounterConsumption(counter_set="s", compatibility_groups=("g",))
    taint = DeviceTaint(key="k", effect="NoSchedule")
    made = device(
        "d", attributes={"a": attribute}, capacity={"c": capacity}, consumes={"s": taken},
        taints=[taint],
    )  # fmt: skip
    assert made.attributes["a"] is attribute
    assert made.capacity["c"] is capacity
    assert made.consumes_counters == (taken,)
    assert made.taints == (taint,)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param({"name": "GPU_0"}, ["GPU_0", "lowercase"], id="name"),
        pytest.param({"attributes": {"a b": 1}}, ["gpu-0", "a b"], id="attribute-name"),
        pytest.param({"attributes": {"x" * 33: 1}}, ["gpu-0", "32 bytes"], id="long-name"),
        pytest.param({"attributes": {"D/a": 1}}, ["gpu-0", "D/a"], id="domain"),
        pytest.param({"attributes": {"a": 1.5}}, ["gpu-0", "1.5", "float"], id="float"),
        pytest.param({"attributes": {"a": None}}, ["gpu-0", "None"], id="none"),
        pytest.param({"attributes": {"a": 2**63}}, ["gpu-0", "64 bits"], id="large-number"),
        pytest.param({"attributes": {"a": "é" * 33}}, ["gpu-0", "64 bytes"], id="long-text"),
        pytest.param({"attributes": {"a": []}}, ["gpu-0", "empty list"], id="empty-list"),
        pytest.param({"attributes": {"a": [1, "b"]}}, ["gpu-0", "one type"], id="mixed-list"),
        pytest.param({"capacity": {"m": "40 GB"}}, ["gpu-0", "40 GB"], id="amount"),
        pytest.param({"capacity": {"m": 1.5}}, ["gpu-0", "1.5"], id="float-amount"),
        pytest.param({"consumes": {"s": {"c": "x"}}}, ["gpu-0", "s/c"], id="counter"),
    ],
)
def test_what_the_api_would_refuse_is_refused_at_once(
    arguments: dict[str, Any], told: list[str]
) -> None:
    with pytest.raises(InventoryError) as caught:
        device(**({"name": "gpu-0"} | arguments))
    for text in told:
        assert text in str(caught.value)


def test_all_that_is_wrong_with_a_device_is_told_together() -> None:
    attributes: dict[str, Any] = {"a": 1.5, "b": None}
    with pytest.raises(InventoryError) as caught:
        device("gpu-0", attributes=attributes, capacity={"m": "?"})
    assert len(caught.value.problems) == 3


def test_what_device_accepts_the_server_accepts() -> None:
    made = device(
        "gpu-0",
        attributes={"model": "a100", "example.com/index": 0, "driver": Version("550.1.0-rc.1")},
        capacity={"memory": "40Gi"},
        taints=[DeviceTaint(key="example.com/old", effect="None")],
    )
    spec = ResourceSliceSpec(
        driver="gpu.example.com",
        pool=ResourcePool(name="node-1", resource_slice_count=1),
        node_name="node-1",
        devices=(made,),
    )
    slice_ = ResourceSlice(spec=spec)
    problems = [error for error in validate_create(slice_) if not error.field.startswith("meta")]
    assert problems == []


def test_a_version_follows_semver() -> None:
    with pytest.raises(ParseError, match=r"1\.2"):
        Version("1.2")


def test_bare_devices_are_one_pool_named_after_the_node() -> None:
    gpu = device("gpu-0")
    inventory = Inventory.of([gpu])
    assert inventory == Inventory([Pool([gpu])])
    assert inventory.devices("node-1") == (("node-1", gpu),)
    assert Inventory.of(inventory) is inventory
    assert Inventory.of([]).pools == (Pool([]),)


def test_pools_may_come_bare_too_but_not_among_devices() -> None:
    pool = Pool([device("gpu-0")], name="a")
    assert Inventory.of([pool]).pools == (pool,)
    mixed: list[Any] = [pool, device("gpu-1")]
    with pytest.raises(InventoryError, match="mixed"):
        Inventory.of(mixed)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        pytest.param(lambda: Pool([device("a"), device("a")]), '"a"', id="same-name-twice"),
        pytest.param(lambda: Pool(cast("Any", ["a"])), "not a device", id="no-device"),
        pytest.param(
            lambda: Pool([], all_nodes=True, per_device_node_selection=True), "one of", id="nodes"
        ),
        pytest.param(lambda: Pool([], generation=-1), "negative", id="generation"),
        pytest.param(lambda: Pool([], counters={"s": {"c": "x"}}), "s/c", id="counter"),
        pytest.param(lambda: Inventory([Pool([]), Pool([])]), "the node", id="two-unnamed-pools"),
        pytest.param(lambda: capacity_of("1G", default="x"), "default", id="capacity"),
    ],
)
def test_what_cannot_be_published_together_is_refused(make: Any, told: str) -> None:
    with pytest.raises(InventoryError, match=told):
        make()


def test_a_pool_with_other_devices_is_otherwise_the_same() -> None:
    pool = Pool([device("a")], name="p", counters={"s": {"c": 1}}, generation=3)
    other = pool.with_devices([device("a", attributes={"x": 1})])
    assert other == Pool(
        [device("a", attributes={"x": 1})], name="p", counters={"s": {"c": 1}}, generation=3
    )
    assert pool.devices == (device("a"),)


@pytest.mark.parametrize("choice", [{"values": ("1Gi", "2Gi")}, {"minimum": "1Gi"}, {"step": 1}])
def test_where_claims_may_choose_an_amount_a_default_is_needed(choice: dict[str, Any]) -> None:
    with pytest.raises(InventoryError, match="default: is missing"):
        capacity_of("40Gi", **choice)
    capacity_of("40Gi", default="1Gi", **choice)
