"""How pools are cut into slices."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.core import NodeSelector, NodeSelectorTerm
from dray.api.resource import Device, DeviceTaint, ResourceSliceSpec
from dray.sdk._inventory import Pool, device
from dray.sdk._slice_check import find_problems
from dray.sdk._slice_layout import Layout, lay_out

TAINT = DeviceTaint(key="d.example.com/bad", effect="NoSchedule")


def cut(pool: Pool, **options: Any) -> tuple[ResourceSliceSpec, ...]:
    return lay_out(pool, driver="d.example.com", node_name="node-1", **options)


def plain(count: int) -> list[Device]:
    return [device(f"d{n}") for n in range(count)]


def partitions(count: int, sets: int) -> Pool:
    return Pool(
        [device(f"p{n}", consumes={f"s{n % sets}": {"memory": 1}}) for n in range(count)],
        counters={f"s{n}": {"memory": 10} for n in range(sets)},
    )


def test_a_pool_without_devices_is_one_slice_that_says_so() -> None:
    (spec,) = cut(Pool([]))
    assert spec.devices == ()
    assert spec.pool.name == spec.node_name == "node-1"
    assert spec.pool.resource_slice_count == 1


@pytest.mark.parametrize(
    ("devices", "sizes"),
    [
        pytest.param(plain(128), [128], id="one-full-slice"),
        pytest.param(plain(129), [128, 1], id="one-more"),
        pytest.param([*plain(99), device("t", taints=[TAINT])], [64, 36], id="a-taint"),
        pytest.param([*plain(99), device("l", attributes={"a": [1]})], [64, 36], id="a-list"),
        pytest.param(plain(10_000), [128] * 78 + [16], id="ten-thousand"),
    ],
)
def test_devices_fill_slices_in_order(devices: list[Device], sizes: list[int]) -> None:
    specs = cut(Pool(devices))
    assert [len(spec.devices or ()) for spec in specs] == sizes
    assert [each for spec in specs for each in spec.devices or ()] == devices
    assert {spec.pool.resource_slice_count for spec in specs} == {len(sizes)}


def test_a_pool_may_be_kept_narrow() -> None:
    assert len(cut(Pool(plain(128)), narrow=True)) == 2


def test_counters_have_slices_of_their_own() -> None:
    specs = cut(partitions(100, 9))
    assert [len(spec.shared_counters or ()) for spec in specs] == [8, 1, 0, 0]
    assert [spec.devices is None for spec in specs] == [True, True, False, False]
    assert find_problems(partitions(100, 9), specs) == []


def test_for_old_servers_devices_are_with_their_counters() -> None:
    specs = cut(partitions(90, 45), layout=Layout.TOGETHER)
    assert len(specs) == 2
    for spec in specs:
        held = {counters.name for counters in spec.shared_counters or ()}
        used = {
            taken.counter_set for each in spec.devices or () for taken in each.consumes_counters
        }
        assert used == held
        assert sum(len(counters.counters) for counters in spec.shared_counters or ()) <= 32


def test_devices_bound_by_a_chain_of_sets_stay_together() -> None:
    pool = Pool(
        [
            device("a", consumes={"s0": {"c": 1}}),
            device("lone"),
            device("b", consumes={"s1": {"c": 1}}),
            device("ab", consumes={"s0": {"c": 1}, "s1": {"c": 1}}),
        ],
        counters={name: {"c": 10} for name in ("s0", "s1")},
    )
    (spec,) = cut(pool, layout=Layout.TOGETHER)
    assert [each.name for each in spec.devices or ()] == ["a", "b", "ab", "lone"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"all_nodes": True}, "all_nodes"),
        ({"per_device_node_selection": True}, "per_device_node_selection"),
        (
            {"node_selector": NodeSelector(node_selector_terms=(NodeSelectorTerm(),))},
            "node_selector",
        ),
    ],
)
def test_pools_beyond_the_node_do_not_name_it(options: Any, field: str) -> None:
    (spec,) = cut(Pool([], name="p", **options))
    assert spec.node_name is None
    assert getattr(spec, field)


def test_the_partition_type_is_told_where_there_are_partitions() -> None:
    made = partitions(2, 1)
    pool = Pool(
        [*made.devices, *plain(63)],
        counters={"s0": {"memory": 10}},
        partition_type_attribute="d.example.com/profile",
    )
    marked = [bool(spec.partition_type_attribute) for spec in cut(pool)]
    assert marked == [False, True, False]


@pytest.mark.slow
@given(st.integers(0, 300), st.integers(1, 12), st.booleans(), st.sampled_from(Layout))
def test_no_device_and_no_counter_gets_lost(
    count: int, sets: int, narrow: bool, layout: Layout
) -> None:
    pool = partitions(count, sets)
    specs = cut(pool, narrow=narrow, layout=layout)
    names = [each.name for spec in specs for each in spec.devices or ()]
    assert sorted(names) == sorted(each.name for each in pool.devices)
    held = {counters.name for spec in specs for counters in spec.shared_counters or ()}
    used = {taken.counter_set for each in pool.devices for taken in each.consumes_counters}
    assert used <= held
    if layout is Layout.APART:
        assert all(len(spec.devices or ()) <= 64 for spec in specs)
