from __future__ import annotations

import pytest

from dray.cel._failures import Abort, Failure
from dray.cel._library import bounds
from dray.cel._library.comprehensions import FUNCTIONS
from dray.cel._values import MutableMap, Unhashable, Value


def insert(target: Value, *arguments: Value) -> Value:
    return FUNCTIONS["cel.@mapInsert"][type(target)](target, *arguments)


def test_a_map_that_is_being_filled_takes_the_entry_itself() -> None:
    target = MutableMap()
    assert insert(target, 1, "a") is target
    assert insert(target, {"x": 1, (bool, True): 2}) is target
    assert target == {(int, 1): "a", "x": 1, (bool, True): 2}


def test_any_other_map_stays_as_it_is() -> None:
    target: dict[Value, Value] = {"a": 1}
    assert insert(target, "b", 2) == {"a": 1, "b": 2}
    assert insert(target, {"c": 3}) == {"a": 1, "c": 3}
    assert target == {"a": 1}


@pytest.mark.parametrize(
    ("key", "shown"),
    [("a", "a"), (1, "1"), (1.0, "1"), (None, "0")],
)
def test_no_key_is_inserted_twice(key: Value, shown: str) -> None:
    target = MutableMap({"a": 0, (int, 1): 0, (type(None), None): 0})
    with pytest.raises(Failure, match=f"^insert failed: key {shown} already exists$"):
        insert(target, key, 1)


def test_only_maps_are_inserted_into_maps() -> None:
    with pytest.raises(Failure, match=r"^no such overload: cel.@mapInsert\(map, int\)$"):
        insert(MutableMap(), 1)


def test_what_cannot_be_a_key_is_told_apart() -> None:
    with pytest.raises(Unhashable):
        insert(MutableMap(), b"a", 1)


def test_a_map_does_not_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SIZE_MAX", 2)
    with pytest.raises(Abort, match="cost limit exceeded"):
        insert(MutableMap({"a": 1, "b": 2}), "c", 3)
