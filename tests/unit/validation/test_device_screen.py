"""The screen: quick, and never more lenient than the rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.features import DEFAULT_GATES
from dray.api.resource import (
    CapacityRequestPolicy,
    Counter,
    Device,
    DeviceAttribute,
    DeviceCounterConsumption,
    DeviceTaint,
)
from dray.api.wire import replace
from dray.testing.strategies import structs
from dray.validation.device import check_device, declare_device
from dray.validation.device_screen import KNOWN_TEXTS_MAX, KnownTexts, passes
from tests.unit.validation.builders import capacity, device, quantity, text_attribute, told

# Good and bad in every place a name can be.
names = st.sampled_from(
    ["gpu-0", "model", "a.b/c", "A.b/c", "A", "1.0.0", "-", "", "é", "a/b/c", "a" * 33, "a" * 64]
)
texts = names | st.sampled_from(["é" * 16, "é" * 17, "é" * 32, "é" * 33, "x" * 64, "x" * 65])
attributes = st.builds(
    DeviceAttribute,
    int_value=st.none() | st.just(0),
    bool_value=st.none() | st.just(False),
    string_value=st.none() | texts,
    version_value=st.none() | st.sampled_from(["1.2.3", "1.2", "1.0.0-" + "a" * 60]),
    int_values=st.none() | st.sampled_from([(), (1,)]),
    string_values=st.none() | st.lists(texts, max_size=2).map(tuple),
)
effects = st.sampled_from(["NoExecute", "NoSchedule", "None", "", "Maybe"])
taints = st.builds(DeviceTaint, key=names, value=names, effect=effects)
counters = st.dictionaries(names, st.just(Counter(value=quantity("1"))), max_size=3)
consumptions = st.builds(
    DeviceCounterConsumption,
    counter_set=names,
    counters=counters,
    compatibility_groups=st.sampled_from([(), ("a", "a")]),
)
policies = st.none() | st.just(CapacityRequestPolicy(valid_values=(quantity("2"),)))
capacities = st.builds(capacity, st.just("1"), request_policy=policies)

PARTS: dict[str, st.SearchStrategy[Any]] = {
    "name": names,
    "attributes": st.dictionaries(names, attributes, max_size=33),
    "capacity": st.dictionaries(names, capacities, max_size=3),
    "taints": st.lists(taints, max_size=17).map(tuple),
    "consumes_counters": st.lists(consumptions, max_size=3).map(tuple),
    "node_name": st.none() | names,
    "all_nodes": st.none() | st.booleans(),
    "binding_conditions": st.sampled_from([(), ("ready",)]),
    "binding_failure_conditions": st.sampled_from([(), ("failed",)]),
    "allow_multiple_allocations": st.none() | st.booleans(),
}

PLAIN = device(
    attributes={"model": text_attribute("A100")},
    capacity={"memory": capacity("1")},
    taints=(DeviceTaint(key="hot", effect="None"),),
)


def problems(screened: Device, selects_nodes: bool) -> list[str]:
    options: dict[str, Any] = {"selects_nodes": selects_nodes, "gates": DEFAULT_GATES}
    found = told(check_device, screened, None, "d", **options)
    return found + told(declare_device, screened, "d")


@pytest.mark.slow
@given(st.data(), st.sampled_from(sorted(PARTS)), st.booleans())
def test_what_passes_breaks_no_rule(data: st.DataObject, part: str, selects_nodes: bool) -> None:
    screened = replace(PLAIN, node_name="node-1" if selects_nodes else None)
    assert passes(screened, selects_nodes)
    screened = replace(screened, **{part: data.draw(PARTS[part])})
    assert not passes(screened, selects_nodes) or problems(screened, selects_nodes) == []


@pytest.mark.slow
@given(structs(Device, unknown=False), st.booleans())
def test_what_passes_of_all_there_is_breaks_no_rule(screened: Device, selects_nodes: bool) -> None:
    assert not passes(screened, selects_nodes) or problems(screened, selects_nodes) == []


@pytest.mark.parametrize(
    "plain",
    [
        device(),
        device(attributes={"model": text_attribute("A100"), "n": DeviceAttribute(int_value=1)}),
        device(attributes={"on": DeviceAttribute(bool_value=False)}),
        device(attributes={"driver": DeviceAttribute(version_value="1.2.3")}),
        device(attributes={"name": text_attribute("x" * 64)}),
        device(capacity={"example.com/memory": capacity("80Gi")}),
        device(taints=(DeviceTaint(key="hot", effect="NoExecute"),)),
        device(
            consumes_counters=(
                DeviceCounterConsumption(
                    counter_set="set", counters={"a": Counter(value=quantity("1"))}
                ),
            )
        ),
    ],
    ids=str,
)
def test_ordinary_devices_pass(plain: Device) -> None:
    assert passes(plain, False)


def test_a_device_on_its_own_node_passes() -> None:
    assert passes(device(node_name="node-1"), True)
    assert not passes(device(node_name="node-1"), False)
    assert not passes(device(), True)


def test_known_texts_ask_about_each_text_once() -> None:
    asked: list[str] = []

    def ask(text: str) -> bool:
        asked.append(text)
        return True

    known = KnownTexts(ask)
    assert known.hold(["a", "b"])
    assert known.hold(["a", "b"])
    assert known.holds("a")
    assert asked == ["a", "b"]


def test_known_texts_forget_what_failed() -> None:
    known = KnownTexts(str.islower)
    assert not known.holds("A")
    assert not known.hold(["a", "A"])


def test_known_texts_stay_bounded() -> None:
    known = KnownTexts(lambda text: True)
    assert known.hold([str(number) for number in range(KNOWN_TEXTS_MAX + 10)])
    assert len(known._known) <= KNOWN_TEXTS_MAX
