from __future__ import annotations

import pytest

from dray.cel._code_support import (
    PARTS_MAX,
    TEXT_MAX,
    Surprise,
    bindable,
    elements,
    entries,
    get,
    has,
    of_light,
    optional,
    settled,
    surprise,
)
from dray.cel._values import NONE, MutableList, MutableMap, Optional, Value


def test_what_is_there_is_got_and_what_is_not_is_a_surprise() -> None:
    assert get({"a": 1}, "a") == 1
    assert get([1, 2], 1) == 2
    assert has({"a": 1}, "a")
    assert not has({}, "a")
    for value, key in (({}, "a"), (Optional({}), "a"), ({"a": 1}, [1])):
        with pytest.raises(Surprise):
            get(value, key)
    with pytest.raises(Surprise):
        has(Optional({}), "a")


def test_an_optional_key_is_there_or_not() -> None:
    assert optional({"a": 1}, "a") == Optional(1)
    assert optional({}, "a") is NONE


def test_what_a_loop_filled_is_settled() -> None:
    assert type(settled(MutableList([1]))) is list
    assert type(settled(MutableMap(a=1))) is dict
    assert settled(7) == 7


def test_an_empty_list_cannot_be_bound_by_code() -> None:
    assert bindable([1]) == [1]
    with pytest.raises(Surprise):
        bindable([])


def test_lists_and_maps_are_walked_and_nothing_else() -> None:
    assert elements(["a"]) == [("a", None)]
    assert elements({(int, 1): "x"}) == [(1, None)]
    assert entries(["a"]) == [(0, "a")]
    assert entries({"k": "v"}) == [("k", "v")]
    for walk in (elements, entries):
        with pytest.raises(Surprise):
            walk(1)


@pytest.mark.parametrize(
    "large", ["x" * (TEXT_MAX + 1), [0] * (PARTS_MAX + 1), [[[0] * PARTS_MAX]]]
)
def test_large_values_are_a_surprise(large: Value) -> None:
    assert of_light(len)("x" * TEXT_MAX) == TEXT_MAX
    with pytest.raises(Surprise):
        of_light(len)(large)


def test_a_surprise_can_be_called() -> None:
    with pytest.raises(Surprise):
        surprise()
