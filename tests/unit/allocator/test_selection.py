"""What selectors say of devices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.allocator.selection import Selectors, SelectorVerdicts, Verdict, readable
from dray.api.resource import Device, DeviceAttribute
from dray.cel import DeviceView, Environment, Selector, compile_selector
from dray.errors import CELError
from tests.unit.allocator.builders import DRIVER, amount, capacity, device

ENVIRONMENT = Environment(stored=True, consumable_capacity=True, list_type_attributes=True)
OWN = f'device.attributes["{DRIVER}"]'


def selector(expression: str) -> SelectorVerdicts:
    return SelectorVerdicts(expression, ENVIRONMENT)


def verdict(expression: str, one: Device, driver: str = DRIVER) -> Verdict:
    return selector(expression).verdict(driver, one)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param(f"{OWN}.numa == 1", Verdict.YES, id="true"),
        pytest.param(f"{OWN}.numa == 2", Verdict.NO, id="false"),
        pytest.param(f"{OWN}.missing == 1", Verdict.ERROR, id="what-is-not-there"),
        pytest.param(f"{OWN}.numa / 0 == 1", Verdict.ERROR, id="an-error"),
        pytest.param("device.nope", Verdict.ERROR, id="not-an-expression-for-devices"),
    ],
)
def test_a_selector_says_yes_or_no_or_fails(expression: str, expected: Verdict) -> None:
    assert verdict(expression, device(attributes={"numa": 1})) is expected


def test_what_does_not_compile_says_so() -> None:
    broken = selector("device.nope ==")
    assert broken.selector is None
    assert broken.failure(DRIVER, device()).startswith("CEL compile error: ")


def test_what_fails_on_a_device_says_how_to_do_better() -> None:
    text = selector(f"{OWN}.missing").failure(DRIVER, device())
    assert text.startswith("CEL runtime error: no such key: missing. consider using CEL optional")


def test_other_failures_come_without_advice() -> None:
    text = selector(f"{OWN}.numa / 0 == 1").failure(DRIVER, device(attributes={"numa": 1}))
    assert text == "CEL runtime error: division by zero"


def test_there_is_nothing_to_say_where_nothing_fails() -> None:
    assert selector("true").failure(DRIVER, device()) == ""


@pytest.mark.parametrize(
    ("attribute", "fine"),
    [
        pytest.param(DeviceAttribute(string_value=""), True, id="an-empty-text"),
        pytest.param(DeviceAttribute(version_value="1.2.3"), True, id="a-version"),
        pytest.param(DeviceAttribute(version_value="one"), False, id="not-a-version"),
        pytest.param(DeviceAttribute(version_values=("1.2.3", "two")), False, id="one-of-several"),
        pytest.param(DeviceAttribute(int_values=(1,)), True, id="a-list"),
        pytest.param(DeviceAttribute(), False, id="no-value"),
    ],
)
def test_one_value_that_cannot_be_read_spoils_the_device(
    attribute: DeviceAttribute, fine: bool
) -> None:
    one = device(attributes={"numa": 1, "odd": attribute})
    assert readable(one) is fine
    expected = Verdict.YES if fine else Verdict.ERROR
    assert verdict(f"{OWN}.numa == 1", one) is expected


class Asked(SelectorVerdicts):
    """Counts how often the expression is really evaluated."""

    evaluations = 0

    def _ask(self, driver: str, device: Device) -> Verdict:
        self.evaluations += 1
        return super()._ask(driver, device)


def test_devices_that_look_alike_to_a_selector_are_asked_once() -> None:
    asked = Asked(f'{OWN}.model == "a"', ENVIRONMENT)
    for serial in range(10):
        one = device(f"gpu-{serial}", attributes={"model": "a", "serial": serial})
        assert asked.verdict(DRIVER, one) is Verdict.YES
    assert asked.evaluations == 1
    assert asked.verdict(DRIVER, device(attributes={"model": "b"})) is Verdict.NO
    assert asked.evaluations == 2


def test_errors_are_remembered_too() -> None:
    asked = Asked(f"{OWN}.missing", ENVIRONMENT)
    for serial in range(3):
        assert asked.verdict(DRIVER, device(attributes={"serial": serial})) is Verdict.ERROR
    assert asked.evaluations == 1


def test_the_same_name_of_another_driver_is_another_attribute() -> None:
    mine = selector(f"{OWN}.?numa.orValue(0) == 1")
    one = device(attributes={"numa": 1})
    assert mine.verdict(DRIVER, one) is Verdict.YES
    assert mine.verdict("nic.example.com", one) is Verdict.NO


# What is remembered must be what would be said anew ----------------------------------------------

EXPRESSIONS = [
    f'{OWN}.model == "a"',
    f"{OWN}.?numa.orValue(0) > 0",
    f'"numa" in {OWN}',
    f"{OWN}.size() > 1",
    'device.attributes["other.example.com"].?numa.orValue(7) == 1',
    "device.attributes.size() > 0",
    f'device.driver == "{DRIVER}"',
    f'device.capacity["{DRIVER}"].memory.compareTo(quantity("2Gi")) >= 0',
    "device.capacity.size() > 0",
    "device.allowMultipleAllocations",
    f"{OWN}.exists(name, name == 'model')",
]
VALUES = st.one_of(st.sampled_from(["a", "b"]), st.integers(0, 2), st.booleans()).map(
    lambda value: device(attributes={"x": value}).attributes["x"]
)
DEVICES = st.builds(
    lambda attributes, memory, shared: device(
        attributes=attributes,
        capacity={} if memory is None else {"memory": capacity(amount(memory))},
        allow_multiple_allocations=shared,
    ),
    st.dictionaries(
        st.sampled_from(["model", "numa", f"{DRIVER}/model", "other.example.com/numa"]),
        st.one_of(VALUES, VALUES, st.just(DeviceAttribute())),
        max_size=3,
    ),
    st.sampled_from([None, "1Gi", "2048Mi"]),
    st.sampled_from([None, True, False]),
)


def anew(expression: str, driver: str, one: Device) -> Verdict:
    try:
        fits = Selector(compile_selector(expression, ENVIRONMENT)).matches(
            DeviceView.of(driver, one)
        )
    except CELError:
        return Verdict.ERROR
    return Verdict.YES if fits else Verdict.NO


@pytest.mark.slow
@given(
    st.sampled_from(EXPRESSIONS),
    st.lists(st.tuples(st.sampled_from([DRIVER, "other.example.com"]), DEVICES), max_size=6),
)
def test_remembering_does_not_change_what_is_said(
    expression: str, asked: list[tuple[str, Device]]
) -> None:
    remembering = selector(expression)
    for driver, one in asked:
        assert remembering.verdict(driver, one) is anew(expression, driver, one)


# Many expressions --------------------------------------------------------------------------------


def test_an_expression_is_compiled_once() -> None:
    selectors = Selectors(ENVIRONMENT)
    assert selectors.selector("true") is selectors.selector("true")
    assert selectors.derived("1") is selectors.derived("1")


def test_what_nobody_asked_for_longest_is_forgotten() -> None:
    selectors = Selectors(ENVIRONMENT, expressions_max=2)
    kept, forgotten = selectors.selector("1 == 1"), selectors.selector("2 == 2")
    selectors.selector("1 == 1")
    selectors.selector("3 == 3")
    assert selectors.selector("1 == 1") is kept
    assert selectors.selector("2 == 2") is not forgotten


def test_a_derived_attribute_has_the_value_of_its_expression() -> None:
    derived = Selectors(ENVIRONMENT).derived(f"{OWN}.numa % 2")
    assert derived.value(DRIVER, device(attributes={"numa": 3})) == DeviceAttribute(int_value=1)


def test_a_derived_attribute_that_fails_has_none() -> None:
    with pytest.raises(CELError, match="no such key"):
        Selectors(ENVIRONMENT).derived(f"{OWN}.numa").value(DRIVER, device())


def test_a_derived_attribute_that_does_not_compile_says_so() -> None:
    broken = Selectors(ENVIRONMENT).derived("device.nope")
    assert broken.compile_error
    with pytest.raises(CELError):
        broken.value(DRIVER, device())
