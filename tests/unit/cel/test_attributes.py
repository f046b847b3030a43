from __future__ import annotations

import pytest

from dray.cel._attributes import Attribute, Conditional, Qualifier, look_up, presence_test
from dray.cel._failures import Abort, Failure
from dray.cel._frame import Frame
from dray.cel._values import NONE, MapWithDefault, Optional, UInt, Value


def frame(**variables: Value) -> Frame:
    return Frame(variables, 0, 1000, None)


def attribute(*keys: Value, optional: bool = False) -> Attribute:
    made = Attribute(lambda frame: frame.variables["v"], variable="v")
    for key in keys:
        made.add(Qualifier(key, optional=optional))
    return made


@pytest.mark.parametrize(
    ("value", "keys", "found"),
    [
        ({"a": {"b": 1}}, ["a", "b"], 1),
        ({"a": {"b": {"c": 2}}}, ["a", "b", "c"], 2),
        ({"a": {"": 1}}, ["a", ""], 1),
        ({"a": {"": {"c": 2}}}, ["a", "", "c"], 2),
        ({"": {"a": 3}, "a": 4}, ["", "a"], 3),
        (MapWithDefault(), ["nowhere"], {}),
        ([1, 2], [1], 2),
        ([1, 2], [1.0], 2),
        ([1, 2], [UInt(0)], 1),
        ({(int, 1): "x"}, [1.0], "x"),
        (Optional({"a": 1}), ["a"], Optional(1)),
        (NONE, ["a"], NONE),
    ],
)
def test_a_path_leads_to_a_value(value: Value, keys: list[Value], found: Value) -> None:
    assert attribute(*keys).step()(frame(v=value)) == found


@pytest.mark.parametrize(
    ("value", "key", "message"),
    [
        ({"a": 1}, "b", "no such key: b"),
        ([1], 5, "index out of bounds: 5"),
        ([1], "b", "unsupported index type 'string' in list"),
        ([1], 0.5, "unsupported index value 0.5 in list"),
        ("text", 0, "no such key: 0"),
    ],
)
def test_a_path_that_leads_nowhere_fails_in_upstreams_words(
    value: Value, key: Value, message: str
) -> None:
    with pytest.raises(Failure, match=f"^{message}$"):
        attribute(key).step()(frame(v=value))


@pytest.mark.parametrize("keys", [["a"], ["a", ""], ["", "a"], ["a", "", "b"], ["", "", "b", "c"]])
def test_every_name_on_a_path_costs_the_empty_one_too(keys: list[Value]) -> None:
    value: Value = 1
    for key in reversed(keys):
        value = {key: value}
    asked = frame(v=value)
    assert attribute(*keys).step()(asked) == 1
    assert asked.cost == 1 + len(keys)


def test_an_optional_path_that_leads_nowhere_is_none() -> None:
    assert attribute("x", "y", optional=True).step()(frame(v={})) is NONE
    assert attribute("x", optional=True).step()(frame(v="a text")) is NONE


def test_a_path_costs_one_for_its_root_and_one_for_each_step_taken() -> None:
    state = frame(v={"a": {"b": 1}})
    attribute("a", "b").step()(state)
    assert state.cost == 3
    with pytest.raises(Failure):
        attribute("a", "nope", "more").step()(state)
    assert state.cost == 6


def test_a_branch_is_resolved_without_the_cost_of_its_root() -> None:
    state = frame(v={"a": 1})
    choice = Conditional(lambda _: True, attribute("a"), attribute("b"))
    assert choice.step()(state) == 1
    assert state.cost == 1


def test_a_choice_passes_on_what_is_selected_from_it() -> None:
    choice = Conditional(lambda _: False, attribute("a"), attribute("b"))
    choice.add(Qualifier("c", optional=False))
    assert choice.step()(frame(v={"b": {"c": 7}})) == 7


def test_a_choice_by_something_else_than_a_bool_fails() -> None:
    choice = Conditional(lambda _: 1, attribute("a"), attribute("b"))
    with pytest.raises(Failure, match="no such overload"):
        choice.step()(frame(v={}))


@pytest.mark.parametrize(("value", "there"), [({"a": None}, True), ({}, False), ("text", False)])
def test_presence_is_asked_without_reading(value: Value, there: bool) -> None:
    asked = attribute()
    asked.add_presence("a")
    state = frame(v=value)
    assert presence_test(asked)(state) is there
    assert state.cost == 1


def test_a_computed_key_must_be_of_a_type_that_can_be_one() -> None:
    asked = attribute()
    asked.add(Qualifier(None, lambda _: [1], optional=False))
    with pytest.raises(Failure, match=r"invalid qualifier type: \*types.baseList"):
        asked.step()(frame(v={"a": 1}))


def test_a_key_that_upstream_crashes_on_ends_the_evaluation() -> None:
    with pytest.raises(Abort, match="hash of unhashable type"):
        look_up({"a": 1}, b"x")
