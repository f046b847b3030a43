"""Devices are marked by slices of the newest generation and by rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.resource import DeviceID, DeviceTaint, DeviceTaintRuleSpec, ResourceSlice
from dray.api.wire import replace
from dray.controllers.device_taint_eviction.marks import Mark, Marks, RuleID, selects
from tests.unit.controllers.device_taint_eviction.objects import (
    BROKEN,
    DRIVER,
    make_rule,
    make_slice,
    taint,
)

GPU0, GPU1 = DeviceID(DRIVER, "n1", "gpu-0"), DeviceID(DRIVER, "n1", "gpu-1")


def test_a_slice_tells_which_devices_are_marked_differently() -> None:
    marks = Marks()
    whole = make_slice({"gpu-0": (), "gpu-1": ()})
    assert marks.put_slice(None, whole) == set()
    assert not marks
    broken = make_slice({"gpu-0": (BROKEN,), "gpu-1": ()})
    assert marks.put_slice(whole, broken) == {GPU0}
    assert list(marks.on(GPU0)) == [Mark(BROKEN)]
    assert list(marks.on(GPU1)) == []
    assert marks.put_slice(broken, broken) == set()
    assert marks.put_slice(broken, None) == {GPU0}
    assert not marks


def test_only_no_execute_marks() -> None:
    marks = Marks()
    others = [taint("NoSchedule"), taint("None"), taint("Invented")]
    assert marks.put_slice(None, make_slice({"gpu-0": others})) == set()
    marks.put_rule(None, make_rule(effect="NoSchedule"))
    assert not marks


def test_slices_of_an_older_generation_do_not_count() -> None:
    marks = Marks()
    old = make_slice({"gpu-0": (BROKEN,)}, name="old", generation=1)
    new = make_slice({"gpu-0": ()}, name="new", generation=2)
    assert marks.put_slice(None, old) == {GPU0}
    assert marks.put_slice(None, new) == {GPU0}
    assert list(marks.on(GPU0)) == []
    assert marks.put_slice(new, None) == {GPU0}
    assert list(marks.on(GPU0)) == [Mark(BROKEN)]


def test_rules_reach_devices_that_nobody_publishes() -> None:
    marks = Marks()
    rule = make_rule(device="gpu-0")
    marks.put_rule(None, rule)
    assert [mark.rule for mark in marks.on(GPU0)] == [RuleID.of(rule)]
    assert list(marks.on(GPU1)) == []
    marks.put_rule(rule, make_rule(device="gpu-0", effect="None"))
    assert list(marks.on(GPU0)) == []


@pytest.mark.parametrize(
    ("selector", "is_selected"),
    [
        pytest.param({}, True, id="an-empty-selector-is-for-all"),
        pytest.param({"driver": DRIVER}, True, id="driver"),
        pytest.param({"driver": "other.example.com"}, False, id="other-driver"),
        pytest.param({"driver": DRIVER, "pool": "n1", "device": "gpu-0"}, True, id="all-match"),
        pytest.param({"driver": DRIVER, "pool": "n2", "device": "gpu-0"}, False, id="other-pool"),
        pytest.param({"device": "gpu-1"}, False, id="other-device"),
    ],
)
def test_a_rule_selects_what_matches_all_it_says(
    selector: dict[str, str], is_selected: bool
) -> None:
    assert selects(make_rule(**selector), GPU0) is is_selected


def test_a_rule_without_a_selector_is_for_no_device() -> None:
    rule = replace(make_rule(), spec=DeviceTaintRuleSpec(taint=BROKEN))
    assert not selects(rule, GPU0)


TAINTS = st.lists(st.sampled_from([BROKEN, taint(key="example.com/hot"), taint("NoSchedule")]))
SLICES = st.builds(
    make_slice,
    st.dictionaries(st.sampled_from(["gpu-0", "gpu-1", "gpu-2"]), TAINTS),
    pool=st.sampled_from(["n1", "n2"]),
    name=st.sampled_from(["a", "b", "c"]),
    generation=st.integers(1, 3),
)


def expected(slices: dict[str, ResourceSlice]) -> dict[DeviceID, list[DeviceTaint]]:
    """By the definition: no state, no shortcuts."""
    found: dict[DeviceID, list[DeviceTaint]] = {}
    for slice_ in slices.values():
        pool = slice_.spec.pool
        newest = max(
            other.spec.pool.generation
            for other in slices.values()
            if other.spec.pool.name == pool.name
        )
        for device in slice_.spec.devices or ():
            taints = [each for each in device.taints if each.effect == "NoExecute"]
            if taints and pool.generation == newest:
                found[DeviceID(DRIVER, pool.name, device.name)] = taints
    return found


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.none() | SLICES), max_size=12))
def test_marks_are_what_all_slices_together_say(
    steps: list[tuple[str, ResourceSlice | None]],
) -> None:
    marks, slices = Marks(), dict[str, ResourceSlice]()
    for name, new in steps:
        if new is not None:
            # Two slices of a pool never publish one device.
            prefixed = tuple(
                replace(device, name=f"{name}-{device.name}") for device in new.spec.devices or ()
            )
            new = replace(
                new,
                metadata=replace(new.metadata, name=name),
                spec=replace(new.spec, devices=prefixed),
            )
        before = expected(slices)
        changed = marks.put_slice(slices.pop(name, None), new)
        if new is not None:
            slices[name] = new
        after = expected(slices)
        assert changed == {
            device for device in before.keys() | after if before.get(device) != after.get(device)
        }
        assert bool(marks) is bool(after)
        for device, taints in after.items():
            assert [mark.taint for mark in marks.on(device)] == taints
