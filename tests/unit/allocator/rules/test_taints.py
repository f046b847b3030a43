"""Taints, tolerations, and the rules that add taints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.allocator.rules.taints import TaintRules, tolerates, untolerated
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    DeviceToleration,
    ResourceSlice,
)
from tests.unit.allocator.builders import DRIVER, POOL, device, slice_, taint, toleration


def rule(
    name: str,
    *,
    driver: str | None = None,
    pool: str | None = None,
    device: str | None = None,
    key: str = "",
) -> DeviceTaintRule:
    """A rule for what is named; its taint has the rule's name for a key unless told."""
    return DeviceTaintRule(
        metadata=ObjectMeta(name=name),
        spec=DeviceTaintRuleSpec(
            device_selector=DeviceTaintSelector(driver=driver, pool=pool, device=device),
            taint=taint(key or name),
        ),
    )


def keys(slice_: ResourceSlice) -> list[list[str]]:
    """The keys of each device's taints."""
    return [[taint.key for taint in device.taints] for device in slice_.spec.devices or ()]


# Tolerations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        pytest.param(toleration("broken"), True, id="any-value-of-the-key"),
        pytest.param(toleration(""), True, id="any-key"),
        pytest.param(toleration("other"), False, id="other-key"),
        pytest.param(toleration("broken", effect="NoSchedule"), True, id="same-effect"),
        pytest.param(toleration("broken", effect="NoExecute"), False, id="other-effect"),
        pytest.param(toleration("broken", operator="Equal", value="yes"), True, id="same-value"),
        pytest.param(toleration("broken", operator="Equal", value="no"), False, id="other-value"),
        pytest.param(toleration("broken", operator="", value="yes"), True, id="no-operator-equals"),
        pytest.param(toleration("broken", operator="", value=""), False, id="no-operator-no-value"),
        pytest.param(toleration("", operator="Equal", value="yes"), True, id="any-key-same-value"),
        pytest.param(toleration("broken", operator="Gt", value="yes"), False, id="unknown-one"),
    ],
)
def test_a_toleration_covers_a_taint_by_key_effect_and_value(
    accepted: DeviceToleration, expected: bool
) -> None:
    assert tolerates(accepted, taint("broken", value="yes", effect="NoSchedule")) is expected


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        pytest.param([], [], None, id="no-taints"),
        pytest.param([taint("a")], [], "a", id="no-tolerations"),
        pytest.param([taint("a"), taint("b")], [toleration("a")], "b", id="the-first-not-covered"),
        pytest.param(
            [taint("a"), taint("b")], [toleration("b"), toleration("a")], None, id="one-each"
        ),
        pytest.param([taint("a", effect="NoExecute")], [], "a", id="no-execute-repels"),
        pytest.param([taint("a", effect="None")], [], None, id="none-is-ignored"),
        pytest.param([taint("a", effect="Explode")], [], None, id="unknown-is-ignored"),
    ],
)
def test_the_first_repelling_taint_without_a_toleration_is_told(
    taints: list[DeviceTaint], tolerations: list[DeviceToleration], expected: str | None
) -> None:
    found = untolerated(taints, tolerations)
    assert (found and found.key) == expected


def test_tolerations_may_be_given_as_an_iterator() -> None:
    assert untolerated([taint("a"), taint("a")], iter([toleration("a")])) is None


# Rules -----------------------------------------------------------------------------------------

TWO = slice_(device("gpu-0"), device("gpu-1"))


@pytest.mark.parametrize(
    ("applied", "expected"),
    [
        pytest.param(rule("r"), [["r"], ["r"]], id="every-device"),
        pytest.param(rule("r", driver=DRIVER), [["r"], ["r"]], id="of-the-driver"),
        pytest.param(rule("r", pool=POOL), [["r"], ["r"]], id="of-the-pool-of-any-driver"),
        pytest.param(rule("r", driver=DRIVER, pool=POOL), [["r"], ["r"]], id="of-the-pool"),
        pytest.param(rule("r", device="gpu-1"), [[], ["r"]], id="of-any-driver-by-name"),
        pytest.param(
            rule("r", driver=DRIVER, pool=POOL, device="gpu-0"), [["r"], []], id="one-device"
        ),
        pytest.param(rule("r", driver="other"), [[], []], id="other-driver"),
        pytest.param(rule("r", driver=""), [[], []], id="an-empty-name-is-a-name"),
        pytest.param(rule("r", driver=DRIVER, pool="other"), [[], []], id="other-pool"),
        pytest.param(rule("r", driver=DRIVER, device="other"), [[], []], id="other-device"),
    ],
)
def test_a_rule_taints_the_devices_it_selects(
    applied: DeviceTaintRule, expected: list[list[str]]
) -> None:
    patched = TaintRules([applied]).patched(TWO)
    assert keys(patched) == expected
    assert TaintRules.selects(applied, TWO) is any(expected)
    assert (patched is TWO) is not any(expected)


def test_a_rule_without_a_selector_taints_nothing() -> None:
    nowhere = DeviceTaintRule(
        metadata=ObjectMeta(name="r"), spec=DeviceTaintRuleSpec(taint=taint("r"))
    )
    rules = TaintRules([nowhere])
    assert rules.patched(TWO) is TWO
    assert not TaintRules.selects(nowhere, TWO)
    assert rules.remove("r") is nowhere


@pytest.mark.parametrize("devices", [None, ()], ids=["absent", "empty"])
def test_a_slice_without_devices_is_left_as_it_is(devices: tuple[()] | None) -> None:
    empty = slice_(devices=devices)
    assert TaintRules([rule("r")]).patched(empty) is empty
    assert not TaintRules.selects(rule("r"), empty)


def test_taints_of_rules_follow_published_ones_in_the_order_of_rule_names() -> None:
    published = slice_(device("gpu-0", taints=(taint("zz"),)))
    rules = TaintRules(
        [rule("c"), rule("a", driver=DRIVER, device="gpu-0"), rule("b", pool=POOL, driver=DRIVER)]
    )
    assert keys(rules.patched(published)) == [["zz", "a", "b", "c"]]


def test_patching_leaves_the_slice_and_untouched_devices_alone() -> None:
    published = slice_(device("gpu-0", taints=(taint("own"),)), device("gpu-1"))
    patched = TaintRules([rule("r", device="gpu-0")]).patched(published)
    assert keys(published) == [["own"], []]
    assert patched.metadata is published.metadata
    assert patched.spec.devices is not None
    assert published.spec.devices is not None
    assert patched.spec.devices[1] is published.spec.devices[1]


def test_a_changed_rule_replaces_the_one_of_its_name() -> None:
    before, after = rule("r", device="gpu-0"), rule("r", device="gpu-1", key="k")
    rules = TaintRules([before])
    assert rules.apply(after) is before
    assert keys(rules.patched(TWO)) == [[], ["k"]]
    assert len(rules) == 1


def test_a_removed_rule_taints_no_more() -> None:
    rules = TaintRules([rule("a", driver=DRIVER), rule("b", driver=DRIVER, pool=POOL)])
    rules.remove("a")
    assert keys(rules.patched(TWO)) == [["b"], ["b"]]
    rules.remove("b")
    assert rules.patched(TWO) is TWO


def test_removing_an_unknown_rule_does_nothing() -> None:
    assert TaintRules().remove("r") is None


maybe = st.sampled_from([None, "a", "b"])
some_rules = st.builds(
    rule, st.sampled_from("vwxyz"), driver=maybe, pool=maybe, device=maybe, key=st.just("")
)


@given(st.lists(st.tuples(some_rules, st.booleans()), max_size=12))
def test_however_rules_come_and_go_what_is_left_decides(
    events: list[tuple[DeviceTaintRule, bool]],
) -> None:
    rules, left = TaintRules(), dict[str, DeviceTaintRule]()
    for changed, stays in events:
        name = changed.metadata.name
        if stays:
            assert rules.apply(changed) is left.get(name)
            left[name] = changed
        else:
            assert rules.remove(name) is left.pop(name, None)
    for driver in "ab":
        for pool in "ab":
            published = slice_(device("a"), device("b"), driver=driver, pool=pool)
            expected = [
                [
                    name
                    for name in sorted(left)
                    if TaintRules.selects(left[name], slice_(each, driver=driver, pool=pool))
                ]
                for each in published.spec.devices or ()
            ]
            assert keys(rules.patched(published)) == expected
