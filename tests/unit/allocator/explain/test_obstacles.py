"""The first thing that is wrong with a device, in the order in which the allocator looks."""

from __future__ import annotations

from typing import Any

import pytest

from dray.allocator import Features
from dray.allocator.answers import Cause
from dray.allocator.explain.obstacles import amount_of, selectors_of, source_of
from dray.api.quantity import Format
from dray.api.resource import ALLOCATION_MODE_ALL, DeviceConstraint
from tests.unit.allocator.builders import (
    DRIVER,
    claim,
    device,
    device_class,
    request,
    slice_,
    taint,
)
from tests.unit.allocator.reporting import allocator, gpus, inspector, partition, partitioned

WRONG: dict[Cause, dict[str, Any]] = {
    Cause.SELECTOR: {"attributes": {"model": "T4"}},
    Cause.CAPACITY: {"capacity": {"memory": "1Gi"}},
    Cause.TAINT: {"taints": (taint(),)},
    Cause.CONSTRAINT_ATTRIBUTE: {},
}
WANTED = request(
    select=[f'device.attributes["{DRIVER}"].model == "H100"'], capacity={"memory": "9Gi"}
)
RIGHT: dict[str, Any] = {
    "attributes": {"model": "H100", "numa": 0},
    "capacity": {"memory": "10Gi"},
}


def cause(fields: dict[str, Any]) -> Cause | None:
    constraint = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
    looked = inspector(
        allocator(slice_(device(**fields))), claim(WANTED, constraints=(constraint,))
    )
    return looked.cause(looked.problem.views[0], 0)


def test_nothing_is_wrong_with_a_device_that_will_do() -> None:
    assert cause(RIGHT) is None


@pytest.mark.parametrize("first", list(WRONG), ids=lambda one: one.value)
def test_of_several_things_that_are_wrong_the_first_is_told(first: Cause) -> None:
    order = list(Cause)
    fields = dict(RIGHT)
    for later, wrong in WRONG.items():
        if order.index(later) >= order.index(first):
            fields.update(wrong)
    if first is not Cause.SELECTOR:
        fields["attributes"] = {"model": "H100"}
    assert cause(fields) is first


def test_counters_are_looked_at_before_taints() -> None:
    devices = [
        partition("whole", memory="80Gi", taints=(taint(),)),
        partition("half", memory="40Gi"),
    ]
    by = allocator(*partitioned(*devices, memory="80Gi"), held={"ml/a": ["half"]})
    looked = inspector(by)
    view = looked.problem.views[0]
    assert looked.cause(view, 0) is Cause.COUNTERS
    assert looked.in_use(view, 1)
    assert looked.cause(view, 1) is None


def test_all_devices_are_counted_where_that_can_be_told() -> None:
    everything = claim(request(mode=ALLOCATION_MODE_ALL))
    looked = inspector(allocator(slice_(*gpus(3))), everything)
    assert looked.problem.views[0].needed == 3
    waiting = inspector(allocator(slice_(*gpus(3), slice_count=2)), everything)
    assert waiting.problem.views[0].needed == 0


def test_decisions_are_shared_between_layouts() -> None:
    by = allocator(slice_(*[device(f"gpu-{n}", attributes={"model": "T4"}) for n in range(5)]))
    looked = inspector(by, claim(request(select=[f'device.attributes["{DRIVER}"].model == "x"'])))
    view = looked.problem.views[0]
    sights = [looked.look(view, index, Cause.SELECTOR)[1] for index in range(5)]
    assert all(sight is sights[0] for sight in sights)


def test_the_selectors_of_the_class_come_before_those_of_the_claim() -> None:
    two = device_class("two", select=["true", "!false"])
    by = allocator(slice_(), classes=[two])
    looked = inspector(by, claim(request(device_class="two", select=["1 == 1"])))
    want = looked.problem.views[0].want
    texts = [one.expression for one in selectors_of(want, by.selectors)]
    assert texts == ["true", "!false", "1 == 1"]
    sources = [source_of(want, position) for position in range(3)]
    assert sources == [("class two", 0), ("class two", 1), ("claim", 0)]


def test_without_a_feature_its_devices_are_refused_first() -> None:
    by = allocator(slice_(device(binding_conditions=("ready",))), features=Features())
    looked = inspector(by, claim(request(select=["false"])))
    assert looked.cause(looked.problem.views[0], 0) is Cause.BINDING_CONDITIONS


@pytest.mark.parametrize(
    ("nano", "form", "text"),
    [
        pytest.param(40 * 2**30 * 10**9, Format.BINARY_SI, "40Gi", id="binary"),
        pytest.param(2000 * 10**9, Format.DECIMAL_SI, "2k", id="decimal"),
        pytest.param(1_500_000_000, Format.DECIMAL_SI, "1500m", id="fraction"),
        pytest.param(-(10**9), Format.DECIMAL_SI, "-1", id="overdrawn"),
    ],
)
def test_amounts_print_like_others_of_their_kind(nano: int, form: Format, text: str) -> None:
    assert str(amount_of(nano, form)) == text
