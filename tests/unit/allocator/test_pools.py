"""Pools as nodes see them."""

from __future__ import annotations

from typing import Any

import pytest

from dray.allocator.features import Features
from dray.allocator.occupancy import PoolID
from dray.allocator.pools import Pool, PoolRecord, SliceRecord, UnreadableSelection, supported
from dray.api.core import Node
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceCounterConsumption,
    ResourceSlice,
)
from tests.unit.allocator.builders import (
    DRIVER,
    NODE,
    POOL,
    amount,
    device,
    labelled,
    node,
    node_selector,
    requirement,
    slice_,
    term,
)

OTHER = "node-2"
EVERYTHING = Features.everything()
UNREADABLE = node_selector(term(requirement("zone", "In")))


def record_of(*slices: ResourceSlice, features: Features = EVERYTHING) -> PoolRecord:
    record = PoolRecord(PoolID(DRIVER, POOL), features)
    for sequence, one in enumerate(slices):
        record.apply(SliceRecord(one, sequence))
    return record


def seen(*slices: ResourceSlice, by: Node | None = None, features: Features = EVERYTHING) -> Pool:
    pool = record_of(*slices, features=features).seen_from(by or node())
    assert pool is not None
    return pool


def hidden(*slices: ResourceSlice, by: Node | None = None, **options: Any) -> bool:
    return record_of(*slices, **options).seen_from(by or node()) is None


def names(pool: Pool) -> list[str]:
    return [placed.id.device for placed in pool.devices]


def counters(*sets: str, name: str = "counters", **spec: Any) -> ResourceSlice:
    held = {"memory": Counter(value=amount("10"))}
    made = tuple(CounterSet(name=each, counters=held) for each in sets or ("set",))
    return slice_(name=name, shared_counters=made, **spec)


def partition(
    name: str = "part", counter_set: str = "set", counter: str = "memory", **fields: Any
) -> Device:
    draw = DeviceCounterConsumption(
        counter_set=counter_set, counters={counter: Counter(value=amount("1"))}, **fields
    )
    return device(name, consumes_counters=(draw,))


# Which slices ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "reached"),
    [
        pytest.param({"node_name": NODE}, True, id="its-name"),
        pytest.param({"node_name": OTHER}, False, id="another-name"),
        pytest.param({"all_nodes": True}, True, id="all-nodes"),
        pytest.param({"node_selector": labelled("zone", "a")}, True, id="its-label"),
        pytest.param({"node_selector": labelled("zone", "b")}, False, id="another-label"),
        pytest.param({"node_name": "", "all_nodes": False}, False, id="nothing-we-know"),
    ],
)
def test_a_slice_is_for_the_nodes_it_selects(where: dict[str, Any], reached: bool) -> None:
    by = node(labels={"zone": "a"})
    assert hidden(slice_(device(), **where), by=by) is not reached


@pytest.mark.parametrize(
    ("where", "reached"),
    [
        pytest.param({"node_name": NODE}, True, id="its-name"),
        pytest.param({"node_name": OTHER}, False, id="another-name"),
        pytest.param({"all_nodes": True}, True, id="all-nodes"),
        pytest.param({"node_selector": labelled("zone", "a")}, True, id="its-label"),
        pytest.param({"node_selector": labelled("zone", "b")}, False, id="another-label"),
        pytest.param({}, False, id="nothing-at-all"),
    ],
)
def test_where_devices_select_nodes_one_of_them_is_enough(
    where: dict[str, Any], reached: bool
) -> None:
    elsewhere = device("elsewhere", node_name="node-9")
    one = slice_(elsewhere, device("here", **where), per_device_node_selection=True)
    assert hidden(one, by=node(labels={"zone": "a"})) is not reached


def test_devices_for_other_nodes_stay_in_the_slice() -> None:
    devices = [device("a", node_name=OTHER), device("b", node_name=NODE)]
    pool = seen(slice_(*devices, per_device_node_selection=True))
    assert names(pool) == ["a", "b"]
    assert pool.special


def test_without_partitionable_devices_slices_that_need_them_are_passed_over() -> None:
    per_device = slice_(device(all_nodes=True), per_device_node_selection=True)
    assert hidden(per_device, features=Features())
    assert not supported(slice_(device(), per_device_node_selection=False), Features())
    assert not supported(counters(), Features())
    assert supported(slice_(device()), Features())


def test_without_compatibility_groups_a_slice_that_has_some_is_missing() -> None:
    grouped = slice_(partition(compatibility_groups=("x",)), name="a", slice_count=3)
    slices = [grouped, slice_(device("b"), name="b", slice_count=3), counters(slice_count=3)]
    assert not seen(*slices).incomplete
    assert seen(*slices, features=Features(partitionable_devices=True)).incomplete


# Errors ------------------------------------------------------------------------------------------


def test_a_selector_that_cannot_be_parsed_is_named_by_its_slice() -> None:
    record = record_of(slice_(device(), name="odd", node_selector=UNREADABLE))
    with pytest.raises(UnreadableSelection) as raised:
        record.seen_from(node())
    assert str(raised.value).startswith(
        "gather pool information: failed to perform node selection for slice odd: "
    )


def test_a_selector_of_a_device_is_named_by_both() -> None:
    devices = [device("a", node_name=OTHER), device("b", node_selector=UNREADABLE)]
    record = record_of(slice_(*devices, name="odd", per_device_node_selection=True))
    with pytest.raises(UnreadableSelection, match="for device b in slice odd: "):
        record.seen_from(node())


def test_a_selector_that_nobody_needs_to_look_at_is_none_of_our_business() -> None:
    devices = [device("a", node_name=NODE), device("b", node_selector=UNREADABLE)]
    assert names(seen(slice_(*devices, per_device_node_selection=True))) == ["a", "b"]


# Generations and completeness --------------------------------------------------------------------


def test_only_the_newest_generation_counts() -> None:
    old = slice_(device("old"), name="a", generation=1)
    new = slice_(device("new"), name="b", generation=2)
    assert names(seen(old, new)) == names(seen(new, old)) == ["new"]


def test_a_pool_with_all_its_slices_is_complete() -> None:
    slices = [slice_(device(f"gpu-{i}"), name=f"s{i}", slice_count=2) for i in range(2)]
    assert seen(*slices).usable
    assert seen(slices[0]).incomplete


def test_an_incomplete_pool_has_no_devices() -> None:
    assert names(seen(slice_(device(), slice_count=2))) == []


def test_too_many_slices_are_as_bad_as_too_few() -> None:
    slices = [slice_(device(f"gpu-{i}"), name=f"s{i}", slice_count=1) for i in range(2)]
    assert seen(*slices).incomplete


def test_slices_for_other_nodes_count_too() -> None:
    here = slice_(device("here"), name="a", slice_count=2)
    there = slice_(device("there"), name="b", slice_count=2, node_name=OTHER)
    assert names(seen(here, there)) == ["here"]


def test_slices_of_older_generations_do_not() -> None:
    here = slice_(device("here"), name="a", slice_count=2, generation=2)
    there = slice_(device("there"), name="b", slice_count=2, node_name=OTHER)
    assert seen(here, there).incomplete


def test_a_pool_that_is_newer_elsewhere_does_not_exist_here() -> None:
    here = slice_(device("here"), name="a", slice_count=2)
    there = slice_(device("there"), name="b", generation=2, node_name=OTHER)
    assert hidden(here, there)


def test_a_pool_that_has_all_it_says_here_is_not_compared_with_elsewhere() -> None:
    here = slice_(device("here"), name="a", slice_count=1)
    there = slice_(device("there"), name="b", generation=2, node_name=OTHER)
    assert names(seen(here, there)) == ["here"]


# Validity ----------------------------------------------------------------------------------------


def test_a_device_published_twice_makes_a_pool_invalid() -> None:
    slices = [slice_(device("gpu"), name=f"s{i}", slice_count=2) for i in range(2)]
    pool = seen(*slices)
    assert pool.invalid == "duplicate device name gpu"
    assert not pool.usable
    assert not pool.devices


def test_the_same_device_on_another_node_is_another_device() -> None:
    here = slice_(device("gpu"), name="a", slice_count=2)
    there = slice_(device("gpu"), name="b", slice_count=2, node_name=OTHER)
    assert seen(here, there).usable


@pytest.mark.parametrize(
    ("slices", "reason"),
    [
        pytest.param(
            [slice_(partition(counter_set="none"), slice_count=2), counters(slice_count=2)],
            "counter set none not found",
            id="an-unknown-set",
        ),
        pytest.param(
            [slice_(partition(counter="cores"), slice_count=2), counters(slice_count=2)],
            "counter cores not found in counter set set",
            id="an-unknown-counter",
        ),
        pytest.param(
            [counters("set", "set")], "duplicate counter set name set", id="a-set-published-twice"
        ),
        pytest.param(
            [
                slice_(device(), name="a", slice_count=3),
                slice_(partition(counter_set="none"), name="b", slice_count=3, node_name=OTHER),
                counters(slice_count=3),
            ],
            "counter set none not found",
            id="on-another-node",
        ),
    ],
)
def test_counters_that_do_not_add_up_make_a_pool_invalid(
    slices: list[ResourceSlice], reason: str
) -> None:
    assert seen(*slices).invalid == reason


def test_without_partitionable_devices_nobody_looks_at_counters() -> None:
    assert seen(slice_(partition(counter_set="none")), features=Features()).usable


def test_counters_and_partitions_of_other_nodes_are_known() -> None:
    pool = seen(
        slice_(partition("here"), name="a", slice_count=3),
        slice_(partition("there"), name="b", slice_count=3, node_name=OTHER),
        counters(slice_count=3, node_name=OTHER),
    )
    assert list(pool.counter_sets) == ["set"]
    assert [record.name for record in pool.elsewhere] == ["b"]


def test_devices_beside_counters_are_not_looked_at() -> None:
    beside = slice_(
        device("beside"),
        shared_counters=(CounterSet(name="set", counters={"m": Counter(value=amount("1"))}),),
    )
    assert names(seen(beside)) == []


# Order -------------------------------------------------------------------------------------------


def test_slices_are_in_the_order_of_their_names_and_devices_as_published() -> None:
    pool = seen(
        slice_(device("z"), device("y"), name="b", slice_count=2),
        slice_(device("x"), name="a", slice_count=2),
    )
    assert names(pool) == ["x", "z", "y"]
    assert pool.positions == {"x": 0, "z": 1, "y": 2}


def test_a_pool_whose_devices_need_binding_conditions_comes_late() -> None:
    plain = seen(slice_(device()))
    bound = seen(slice_(device("a"), device("b", binding_conditions=("ready",))))
    assert plain.order < bound.order


def test_pools_go_by_driver_and_then_by_name() -> None:
    ids = [PoolID("b", "a"), PoolID("a", "b"), PoolID("a", "B"), PoolID("a", "a")]
    pools = sorted((Pool(each) for each in ids), key=lambda pool: pool.order)
    assert [str(pool.id) for pool in pools] == ["a/B", "a/a", "a/b", "b/a"]


@pytest.mark.parametrize(
    ("spec", "everywhere"),
    [
        pytest.param({"node_name": NODE}, False, id="for-one-node"),
        pytest.param({"all_nodes": True}, True, id="for-all"),
        pytest.param({"per_device_node_selection": True}, False, id="for-each-device-its-own"),
        pytest.param(
            {"all_nodes": True, "skip_node_operations": ("NodePrepare",)}, False, id="for-some"
        ),
    ],
)
def test_a_pool_is_the_same_everywhere_or_not(spec: dict[str, Any], everywhere: bool) -> None:
    assert seen(slice_(device(node_name=NODE), **spec)).everywhere is everywhere


# Coming and going --------------------------------------------------------------------------------


def test_nodes_that_reach_the_same_slices_see_the_same_pool() -> None:
    record = record_of(slice_(device(), all_nodes=True))
    assert record.seen_from(node("a")) is record.seen_from(node("b"))


def test_a_pool_is_looked_at_again_when_a_slice_comes_or_goes() -> None:
    record = record_of(slice_(device("a"), name="a", slice_count=2))
    assert seen_from_node(record).incomplete
    record.apply(SliceRecord(slice_(device("b"), name="b", slice_count=2), 7))
    assert names(seen_from_node(record)) == ["a", "b"]
    record.remove("b")
    assert seen_from_node(record).incomplete


def seen_from_node(record: PoolRecord) -> Pool:
    pool = record.seen_from(node())
    assert pool is not None
    return pool


def test_a_generation_that_went_away_hides_nothing() -> None:
    record = record_of(
        slice_(device("here"), name="a", slice_count=2),
        slice_(device("there"), name="b", slice_count=2, node_name=OTHER),
        slice_(device("newer"), name="c", generation=2, node_name=OTHER),
    )
    record.remove("c")
    assert names(seen_from_node(record)) == ["here"]


def test_a_record_knows_who_can_reach_it() -> None:
    record = record_of(slice_(device(), name="a"), slice_(device(), name="b", all_nodes=True))
    assert set(record.node_names) == {NODE}
    assert record.shared
    record.remove("a")
    record.remove("b")
    assert (set(record.node_names), record.shared, len(record)) == (set(), False, 0)
