"""Slices coming and going."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.allocator.features import Features
from dray.allocator.inventory import Inventory, Reach
from dray.allocator.occupancy import PoolID
from dray.allocator.pools import UnreadableSelection
from dray.api.core import Node
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    Counter,
    CounterSet,
    DeviceCounterConsumption,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
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
    taint,
    term,
)

HERE = PoolID(DRIVER, POOL)
EVERYTHING = Features.everything()


def inventory(*slices: ResourceSlice, rules: Iterable[DeviceTaintRule] = ()) -> Inventory:
    return Inventory(EVERYTHING, slices, rules)


def rule(name: str = "rule", key: str = "broken", **selector: Any) -> DeviceTaintRule:
    spec = DeviceTaintRuleSpec(device_selector=DeviceTaintSelector(**selector), taint=taint(key))
    return DeviceTaintRule(metadata=ObjectMeta(name=name), spec=spec)


def devices(held: Inventory, by: Node | None = None) -> list[str]:
    return [
        f"{placed.id.pool}/{placed.id.device}"
        for pool in held.gather(by or node())
        for placed in pool.devices
    ]


def taints(held: Inventory, by: Node | None = None) -> dict[str, list[str]]:
    return {
        placed.id.device: [each.key for each in placed.device.taints]
        for pool in held.gather(by or node())
        for placed in pool.devices
    }


def picture(held: Inventory, by: Node) -> object:
    """All that a node sees, or why it sees nothing."""
    try:
        pools = held.gather(by)
    except UnreadableSelection as error:
        return str(error)
    return [
        (
            pool.id,
            pool.incomplete,
            pool.invalid,
            [(record.name, record.slice) for record in pool.slices],
            sorted(record.name for record in pool.elsewhere),
            dict(pool.counter_sets),
        )
        for pool in pools
    ]


# One step ----------------------------------------------------------------------------------------


def test_pools_are_in_the_order_of_driver_and_name() -> None:
    held = inventory(
        slice_(device("c"), name="c", pool="p2"),
        slice_(device("b"), name="b", pool="p1"),
        slice_(device("a"), name="a", pool="p3", driver="a.example.com"),
    )
    assert devices(held) == ["p3/a", "p1/b", "p2/c"]


def test_pools_with_binding_conditions_come_after_all_others() -> None:
    held = inventory(
        slice_(device("a", binding_conditions=("ready",)), name="a", pool="p1"),
        slice_(device("b"), name="b", pool="p2", driver="z.example.com"),
    )
    assert devices(held) == ["p2/b", "p1/a"]


def test_a_node_sees_its_own_pools_and_those_for_several() -> None:
    held = inventory(
        slice_(device("own"), name="a", pool="p1"),
        slice_(device("all"), name="b", pool="p2", all_nodes=True),
        slice_(device("zone"), name="c", pool="p3", node_selector=labelled("zone", "x")),
        slice_(device("other"), name="d", pool="p4", node_name="node-2"),
    )
    assert devices(held) == ["p1/own", "p2/all"]
    assert devices(held, node(labels={"zone": "x"})) == ["p1/own", "p2/all", "p3/zone"]
    assert devices(held, node("node-2")) == ["p2/all", "p4/other"]


def test_a_changed_slice_takes_the_place_of_the_old_one() -> None:
    held = inventory(slice_(device("old")))
    assert held.apply(slice_(device("new"))) == {HERE}
    assert devices(held) == [f"{POOL}/new"]
    assert len(held) == 1


def test_a_slice_that_moves_changes_both_pools() -> None:
    held = inventory(slice_(device("gpu"), name="s"))
    assert held.apply(slice_(device("gpu"), name="s", pool="p2")) == {HERE, PoolID(DRIVER, "p2")}
    assert devices(held) == ["p2/gpu"]


def test_a_removed_slice_is_gone() -> None:
    held = inventory(slice_(device(), name="s"))
    assert held.remove("s") == {HERE}
    assert held.remove("s") == frozenset()
    assert devices(held) == []
    assert held.reach(HERE) == Reach()


def test_a_pool_knows_from_where_it_can_be_reached() -> None:
    held = inventory(
        slice_(device("a"), name="a", slice_count=2),
        slice_(device("b"), name="b", slice_count=2, node_name="node-2"),
    )
    nodes = frozenset({NODE, "node-2"})
    assert held.reach(HERE) == Reach(nodes)
    held.apply(slice_(device("c"), name="c", slice_count=3, all_nodes=True))
    assert held.reach(HERE) == Reach(nodes, shared=True)
    held.apply(slice_(device("d", all_nodes=True), name="d", per_device_node_selection=True))
    assert held.reach(HERE) == Reach(nodes, shared=True, special=True)


def test_no_two_views_of_pools_have_one_number() -> None:
    held = inventory(
        slice_(device("a"), name="a", pool="p1", all_nodes=True),
        slice_(device("b"), name="b", pool="p2", all_nodes=True),
    )
    before = [pool.serial for pool in held.gather(node())]
    assert [pool.serial for pool in held.gather(node("node-2"))] == before
    held.apply(slice_(device("c"), name="a", pool="p1", all_nodes=True))
    after = [pool.serial for pool in held.gather(node())]
    assert len({*before, *after}) == 3


def test_slices_are_known_by_name() -> None:
    held = inventory(slice_(device(), name="s"))
    assert held.pool_of("s") == HERE
    assert held.pool_of("t") is None
    assert held.sequence_of("t") is None
    assert [one.metadata.name for one in held.slices()] == ["s"]


def test_a_changed_slice_keeps_its_number() -> None:
    held = inventory(slice_(name="a"), slice_(name="b"))
    before = held.sequence_of("a")
    held.apply(slice_(device(), name="a"))
    assert held.sequence_of("a") == before
    held.remove("a")
    held.apply(slice_(device(), name="a"))
    assert held.sequence_of("a") != before


@pytest.mark.parametrize("pools", [("p1", "p2"), ("p2", "p1")], ids=["in-order", "out-of-order"])
def test_of_two_selectors_that_cannot_be_parsed_the_slice_that_came_first_is_named(
    pools: tuple[str, str],
) -> None:
    unreadable = node_selector(term(requirement("zone", "In")))
    held = inventory(
        slice_(device(), name="first", pool=pools[0], node_selector=unreadable),
        slice_(device(), name="second", pool=pools[1], node_selector=unreadable),
    )
    with pytest.raises(UnreadableSelection, match="for slice first: "):
        held.gather(node())


# Taint rules -------------------------------------------------------------------------------------


def test_a_rule_taints_what_it_selects_whichever_came_first() -> None:
    gpus = slice_(device("gpu-0"), device("gpu-1"))
    early = inventory(gpus, rules=[rule(device="gpu-1")])
    late = inventory(gpus)
    assert late.apply_rule(rule(device="gpu-1")) == {HERE}
    assert taints(early) == taints(late) == {"gpu-0": [], "gpu-1": ["broken"]}


def test_a_changed_rule_lets_go_of_what_it_had() -> None:
    held = inventory(slice_(device("gpu-0"), device("gpu-1")), rules=[rule(device="gpu-0")])
    held.apply_rule(rule(device="gpu-1", key="hot"))
    assert taints(held) == {"gpu-0": [], "gpu-1": ["hot"]}


def test_a_removed_rule_takes_its_taint_along() -> None:
    held = inventory(slice_(device("gpu", taints=(taint("own"),))), rules=[rule()])
    assert taints(held) == {"gpu": ["own", "broken"]}
    assert held.remove_rule("rule") == {HERE}
    assert held.remove_rule("rule") == frozenset()
    assert taints(held) == {"gpu": ["own"]}


def test_a_rule_touches_only_the_pools_it_selects() -> None:
    held = inventory(slice_(device(), name="a"), slice_(device(), name="b", pool="p2"))
    assert held.apply_rule(rule(pool="p2")) == {PoolID(DRIVER, "p2")}
    assert held.apply_rule(rule(pool=POOL)) == {HERE, PoolID(DRIVER, "p2")}


def test_slices_are_kept_as_published() -> None:
    gpu = slice_(device())
    held = inventory(gpu, rules=[rule()])
    assert list(held.slices()) == [gpu]


def test_without_taint_rules_they_are_not_even_kept() -> None:
    held = Inventory(Features(), [slice_(device("gpu"))], [rule()])
    assert held.apply_rule(rule("other")) == frozenset()
    assert held.remove_rule("other") == frozenset()
    assert taints(held) == {"gpu": []}


# Any sequence of steps ---------------------------------------------------------------------------

NODES = [node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}), node("c")]
PLACES: list[dict[str, Any]] = [
    {"node_name": "a"},
    {"node_name": "b"},
    {"all_nodes": True},
    {"node_selector": labelled("zone", "x")},
    {"per_device_node_selection": True},
    {"node_selector": node_selector(term(requirement("zone", "In")))},
]


@st.composite
def slices(draw: st.DrawFn) -> ResourceSlice:
    """A slice that may be of any pool, generation and number, and for any node."""
    spec: dict[str, Any] = dict(draw(st.sampled_from(PLACES[:4] * 4 + PLACES)))
    held = {"memory": Counter(value=amount("4"))}
    if draw(st.integers(0, 3)) == 0:
        spec["shared_counters"] = (CounterSet(name=draw(st.sampled_from("st")), counters=held),)
        names: list[str] = []
    else:
        names = draw(st.lists(st.sampled_from(["d0", "d1", "d2"]), max_size=2))
    made = []
    for each in names:
        fields: dict[str, Any] = {}
        if draw(st.integers(0, 3)) == 0:
            drawn = DeviceCounterConsumption(counter_set="s", counters=held)
            fields["consumes_counters"] = (drawn,)
        if "per_device_node_selection" in spec:
            fields["node_name"] = draw(st.sampled_from("abc"))
        made.append(device(each, **fields))
    return slice_(
        *made,
        name=draw(st.sampled_from(["s0", "s1", "s2", "s3"])),
        pool=draw(st.sampled_from(["p0", "p0", "p1"])),
        generation=draw(st.sampled_from([1, 1, 1, 2])),
        slice_count=draw(st.sampled_from([1, 2, 2])),
        **spec,
    )


RULES = st.builds(
    rule,
    st.sampled_from(["r0", "r1"]),
    st.sampled_from(["hot", "cold"]),
    driver=st.sampled_from([None, DRIVER, "other"]),
    pool=st.sampled_from([None, "p0", "p1"]),
    device=st.sampled_from([None, "d0", "d1"]),
)

STEPS = st.lists(
    st.one_of(
        slices(),
        slices(),
        RULES,
        st.sampled_from(["s0", "s1", "s2", "s3", "r0", "r1"]),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=150)
@given(STEPS)
def test_any_way_to_the_same_slices_and_rules_ends_in_the_same_pools(
    steps: list[ResourceSlice | DeviceTaintRule | str],
) -> None:
    held = inventory()
    present: dict[str, ResourceSlice] = {}
    rules: dict[str, DeviceTaintRule] = {}
    for step in steps:
        # Looking in between must not change what is seen later.
        seen = [picture(held, each) for each in NODES]
        if isinstance(step, ResourceSlice):
            changed = held.apply(step)
            present[step.metadata.name] = step
        elif isinstance(step, DeviceTaintRule):
            changed = held.apply_rule(step)
            rules[step.metadata.name] = step
        elif step.startswith("s"):
            changed = held.remove(step)
            present.pop(step, None)
        else:
            changed = held.remove_rule(step)
            rules.pop(step, None)
        if not changed:
            assert [picture(held, each) for each in NODES] == seen
    order = sorted(present.values(), key=lambda one: held.sequence_of(one.metadata.name) or 0)
    fresh = Inventory(EVERYTHING, order, rules.values())
    for each in NODES:
        assert picture(held, each) == picture(fresh, each)
    assert len(held) == len(fresh)
