"""CEL selectors: how a compiler's verdict becomes a field error."""

from __future__ import annotations

import pytest

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.resource import CELDeviceSelector, DeviceSelector
from dray.cel import EXPRESSION_LENGTH_MAX, SELECTOR_COST_MAX
from dray.validation.findings import Findings
from dray.validation.selectors import SELECTORS_MAX, check_derived_attribute, check_selectors
from tests.unit.validation.builders import told

COSTLY = "device.attributes.all(a, " * 8 + "true" + ")" * 8


def selector(expression: str) -> DeviceSelector:
    return DeviceSelector(cel=CELDeviceSelector(expression=expression))


def errors(*selectors: DeviceSelector, stored: bool = False) -> list[str]:
    return told(check_selectors, selectors, "s", gates=DEFAULT_GATES, stored=stored)


def test_a_selector_that_compiles_passes() -> None:
    assert errors(selector('device.driver == "gpu.example.com"')) == []


def test_a_selector_must_say_something() -> None:
    assert errors(DeviceSelector()) == ["s[0].cel: Required value"]


@pytest.mark.parametrize("expression", ["", "device.driver", "nonsense", "1 +"])
def test_what_does_not_compile_shows_the_expression_and_the_reason(expression: str) -> None:
    (text,) = errors(selector("true"), selector(expression))
    assert text.startswith(f's[1].cel.expression: Invalid value: "{expression}": ')


def test_a_selector_may_not_cost_too_much() -> None:
    assert errors(selector(COSTLY)) == [
        "s[0].cel.expression: Forbidden: too complex, exceeds cost limit"
    ]


def test_a_long_expression_is_not_compiled() -> None:
    assert errors(selector("é" * (EXPRESSION_LENGTH_MAX // 2) + "x")) == [
        "s[0].cel.expression: Too long: may not be more than 10240 bytes"
    ]


def test_what_is_stored_is_not_compiled_again() -> None:
    assert errors(selector("nonsense"), stored=True) == []
    assert errors(DeviceSelector(), stored=True) == ["s[0].cel: Required value"]


def test_too_many_selectors_are_not_looked_at() -> None:
    assert errors(*[selector("nonsense")] * (SELECTORS_MAX + 1)) == [
        "s: Too many: 33: must have at most 32 items"
    ]


def test_what_may_be_read_of_a_device_depends_on_gates() -> None:
    shared = [selector("device.allowMultipleAllocations == true")]
    off = FeatureGates({"DRAConsumableCapacity": False})
    assert told(check_selectors, shared, "s", gates=DEFAULT_GATES) == []
    assert len(told(check_selectors, shared, "s", gates=off)) == 1


@pytest.mark.parametrize(
    ("expression", "good"), [("device.driver", True), ("device.attributes", False), ("", False)]
)
def test_a_derived_attribute_says_what_it_costs(expression: str, good: bool) -> None:
    found = Findings()
    cost = check_derived_attribute(found, expression, "e", gates=DEFAULT_GATES)
    assert (not found) is good
    assert (0 < cost <= SELECTOR_COST_MAX) is good
