"""Nodes laid out for a search."""

from __future__ import annotations

from typing import Any

import pytest

from dray.allocator import Features, Occupancy
from dray.allocator.layout import OPTIONAL_NODE_OPERATIONS, Layout, PoolState
from dray.allocator.rules.compatibility import Compatibility
from dray.allocator.solver.problem import BadPool, Problem
from dray.api.core import Node
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceCounterConsumption,
    DeviceID,
    ResourceSlice,
)
from tests.unit.allocator.builders import (
    DRIVER,
    NODE,
    POOL,
    amount,
    claim,
    device,
    node,
    node_selector,
    request,
    requirement,
    slice_,
    term,
)
from tests.unit.allocator.reporting import allocator, gpu, gpus

CLAIM = claim(request(select=['device.attributes["gpu.example.com"].?numa.orValue(0) == 0']))


def laid(*slices: ResourceSlice, by: Node | None = None, **options: Any) -> Layout:
    return allocator(*slices, **options).plan([CLAIM]).layout(by or node())


def problem(*slices: ResourceSlice, by: Node | None = None, **options: Any) -> Problem:
    plan = allocator(*slices, **options).plan([CLAIM])
    return plan.layout(by or node()).problem(plan.preparation)


def partition(name: str, memory: int, *groups: str) -> Device:
    draw = DeviceCounterConsumption(
        counter_set="set",
        counters={"memory": Counter(value=amount(str(memory)))},
        compatibility_groups=groups,
    )
    return device(name, consumes_counters=(draw,))


def counters(memory: int, **spec: Any) -> ResourceSlice:
    held = CounterSet(name="set", counters={"memory": Counter(value=amount(str(memory)))})
    return slice_(name="counters", shared_counters=(held,), **spec)


# Seats -------------------------------------------------------------------------------------------


def test_seats_are_the_devices_of_usable_pools_in_order() -> None:
    layout = laid(
        slice_(device("b"), name="b", pool="p2"),
        slice_(device("x"), name="x", pool="p1", slice_count=2),
        slice_(device("a"), name="a", pool="p0"),
    )
    assert [placed.id.device for placed in layout.devices] == ["a", "b"]


def test_unusable_pools_are_known_by_their_place() -> None:
    made = problem(
        slice_(device("a"), name="a", pool="p0"),
        slice_(device("x"), name="b", pool="p1", slice_count=2),
        slice_(device("y"), device("y"), name="c", pool="p2"),
        slice_(device("d"), name="d", pool="p3"),
    )
    assert made.bad_pools == (
        BadPool(offset=1, place=1, invalid=False),
        BadPool(offset=1, place=2, invalid=True),
    )
    assert len(made.seats) == 2


def test_a_seat_knows_how_its_device_is_held() -> None:
    occupancy = Occupancy()
    occupancy.hold(gpu("gpu-0"))
    occupancy.hold_share(gpu("gpu-1"))
    occupancy.consume(gpu("gpu-1"), {"memory": 5})
    first, second, third = problem(slice_(*gpus(3)), occupancy=occupancy).seats
    assert (first.allocated, first.shared) == (True, False)
    assert (second.allocated, second.shared, second.consumed) == (False, True, (("memory", 5),))
    assert (third.allocated, third.shared, third.consumed) == (False, False, ())


def test_devices_select_nodes_for_themselves() -> None:
    unreadable = node_selector(term(requirement("zone", "In")))
    devices = [
        device("here", node_name=NODE),
        device("there", node_name="node-2"),
        device("odd", node_selector=unreadable),
    ]
    seats = problem(slice_(*devices, per_device_node_selection=True)).seats
    assert [(seat.reachable, seat.unreadable) for seat in seats] == [
        (True, False),
        (False, False),
        (True, True),
    ]


@pytest.mark.parametrize(
    ("declared", "features", "operable"),
    [
        pytest.param([OPTIONAL_NODE_OPERATIONS], Features.everything(), True, id="declared"),
        pytest.param([], Features.everything(), False, id="not-declared"),
        pytest.param([OPTIONAL_NODE_OPERATIONS], Features(), False, id="switched-off"),
    ],
)
def test_skipped_operations_need_a_node_that_can_do_without(
    declared: list[str], features: Features, operable: bool
) -> None:
    skipping = slice_(device(), skip_node_operations=("NodePrepare",))
    made = problem(skipping, by=node(features=declared), features=features)
    assert made.seats[0].operable is operable


# Counters ----------------------------------------------------------------------------------------


def test_what_is_left_of_counters_is_what_nobody_drew() -> None:
    made = problem(
        slice_(partition("a", 3), partition("b", 2), slice_count=2),
        counters(10, slice_count=2),
        held={"somebody": ["a"]},
    )
    (left,) = made.counters
    assert left is not None
    assert left.names == (("set", "memory"),)
    assert left.left == (amount("7").nano,)


def test_partitions_on_other_nodes_draw_from_the_same_counters() -> None:
    occupancy = Occupancy()
    occupancy.hold_share(DeviceID(DRIVER, POOL, "there"))
    made = problem(
        slice_(partition("here", 3), name="a", slice_count=3),
        slice_(partition("there", 4), name="b", slice_count=3, node_name="node-2"),
        counters(10, slice_count=3),
        occupancy=occupancy,
    )
    (left,) = made.counters
    assert left is not None
    assert left.left == (amount("6").nano,)


def test_counters_may_be_over_drawn_by_what_is_allocated() -> None:
    made = problem(
        slice_(partition("a", 30), slice_count=2),
        counters(10, slice_count=2),
        held={"somebody": ["a"]},
    )
    (left,) = made.counters
    assert left is not None
    assert left.left == (amount("-20").nano,)


def test_allocated_partitions_settle_which_groups_are_compatible() -> None:
    devices = [partition("a", 1, "x", "y"), partition("b", 1, "y", "z"), partition("c", 1, "z")]
    made = problem(
        slice_(*devices, slice_count=2),
        counters(10, slice_count=2),
        held={"somebody": ["a", "b"]},
    )
    (left,) = made.counters
    assert left is not None
    assert left.compatibility == (("set", Compatibility(drawn=True, groups=frozenset("y"))),)


def test_a_pool_without_counters_has_none() -> None:
    assert problem(slice_(*gpus(1))).counters == (None,)


# Keys --------------------------------------------------------------------------------------------


def two_nodes(one: list[Device], other: list[Device], **options: Any) -> tuple[Layout, Layout]:
    plan = allocator(
        slice_(*one, name="one", pool="one", node_name="node-1"),
        slice_(*other, name="other", pool="other", node_name="node-2"),
        **options,
    ).plan([CLAIM])
    return plan.layout(node("node-1")), plan.layout(node("node-2"))


def test_nodes_that_look_alike_have_one_key() -> None:
    one, other = two_nodes(gpus(2), [device("x"), device("y")])
    assert one.key == other.key


def test_nodes_with_other_devices_have_another() -> None:
    one, other = two_nodes(gpus(2), [device("x", attributes={"numa": 1}), device("y")])
    assert one.key != other.key


@pytest.mark.parametrize(
    ("held", "equal"),
    [
        pytest.param(["gpu-0"], False, id="the-first"),
        pytest.param(["withdrawn"], True, id="one-that-is-not-there-any-more"),
    ],
)
def test_nodes_whose_devices_are_held_otherwise_have_another(held: list[str], equal: bool) -> None:
    occupancy = Occupancy()
    for name in held:
        occupancy.hold(DeviceID(DRIVER, "one", name))
    one, other = two_nodes(gpus(2), gpus(2), occupancy=occupancy)
    assert (one.key == other.key) is equal


def test_who_holds_a_device_makes_no_difference() -> None:
    occupancy = Occupancy()
    occupancy.hold(DeviceID(DRIVER, "one", "gpu-0"), "default/a")
    occupancy.hold(DeviceID(DRIVER, "other", "gpu-0"), "default/b")
    one, other = two_nodes(gpus(2), gpus(2), occupancy=occupancy)
    assert one.key == other.key


def test_what_is_consumed_of_a_share_makes_a_difference() -> None:
    occupancy = Occupancy()
    occupancy.consume(DeviceID(DRIVER, "one", "gpu-0"), {"memory": 1})
    occupancy.consume(DeviceID(DRIVER, "other", "gpu-0"), {"memory": 2})
    one, other = two_nodes(gpus(2), gpus(2), occupancy=occupancy)
    assert one.key != other.key


def test_incomplete_and_invalid_pools_are_two_things() -> None:
    plan = allocator(
        slice_(device(), name="one", pool="one", slice_count=2),
        slice_(device(), device(), name="other", pool="other", node_name="node-2"),
    ).plan([CLAIM])
    assert plan.layout(node("node-1")).key != plan.layout(node("node-2")).key


def test_a_pool_that_nodes_share_is_named_where_only_they_are_compared() -> None:
    shared = slice_(*gpus(2), name="shared", pool="shared", all_nodes=True)
    plan = allocator(shared).plan([CLAIM])
    one, other = plan.layout(node("node-1")), plan.layout(node("node-2"))
    assert one.own_key == other.own_key
    alone = allocator(slice_(*gpus(2))).plan([CLAIM]).layout(node())
    assert alone.own_key == alone.key


def test_a_pool_nobody_uses_has_a_small_key() -> None:
    pools = allocator(slice_(*gpus(64))).inventory.gather(node())
    state = PoolState(pools[0], node(), Occupancy(), Features.everything())
    assert state.key == 0
