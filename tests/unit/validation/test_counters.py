"""Shared counters and their consumption."""

from __future__ import annotations

import pytest

from dray.api.resource import Counter, CounterSet, DeviceCounterConsumption
from dray.validation.counters import (
    check_consumptions,
    check_counter_sets,
    declare_consumptions,
    declare_counter_sets,
)
from tests.unit.validation.builders import quantity, told

ONE = Counter(value=quantity("1"))


def counter_set(name: str, *counters: str) -> CounterSet:
    return CounterSet(name=name, counters=dict.fromkeys(counters, ONE))


def taken(name: str, *counters: str, groups: tuple[str, ...] = ()) -> DeviceCounterConsumption:
    return DeviceCounterConsumption(
        counter_set=name, counters=dict.fromkeys(counters, ONE), compatibility_groups=groups
    )


MANY = tuple(f"c{number}" for number in range(33))


@pytest.mark.parametrize(
    ("sets", "texts"),
    [
        pytest.param([counter_set("a", "x"), counter_set("b", "x")], [], id="good"),
        pytest.param(
            [counter_set("")],
            ["s[0].name: Required value", "s[0].counters: Required value"],
            id="empty",
        ),
        pytest.param(
            [counter_set("a", *MANY)],
            ["s[0].counters: Too many: 33: must have at most 32 items"],
            id="many-counters",
        ),
        pytest.param(
            [counter_set("a", "x"), counter_set("a", "y")],
            ['s[1]: Duplicate value: "a"'],
            id="one-name-twice",
        ),
        pytest.param(
            [counter_set("")] * 9, ["s: Too many: 9: must have at most 8 items"], id="many-sets"
        ),
    ],
)
def test_counter_sets_are_few_and_named(sets: list[CounterSet], texts: list[str]) -> None:
    assert told(check_counter_sets, sets, "s") == texts


def test_the_declared_rules_show_the_whole_repeated_set() -> None:
    sets = [counter_set("a", "x"), counter_set("a", "y")]
    assert told(declare_counter_sets, sets, (), "s") == [
        's[1]: Duplicate value: {"name":"a","counters":{"y":{"value":"1"}}}'
    ]


def test_the_declared_rules_do_not_limit_counters() -> None:
    assert told(declare_counter_sets, [counter_set("a", *MANY)], (), "s") == []


def test_names_of_counters_are_labels_told_at_the_map() -> None:
    (text,) = told(check_counter_sets, [counter_set("a", "A")], "s")
    assert text.startswith('s[0].counters: Invalid value: "A": a lowercase RFC 1123 label')


@pytest.mark.parametrize(
    ("new", "old", "wrong"),
    [
        pytest.param(("A", "X"), ("A", "X"), 0, id="unchanged"),
        pytest.param(("A", "X", "y"), ("A", "X"), 0, id="a-good-counter-more"),
        pytest.param(("A", "X", "Y"), ("A", "X"), 1, id="a-bad-counter-more"),
        pytest.param(("A",), ("A", "X"), 1, id="no-counters-left"),
        pytest.param(("B", "X"), ("A", "X"), 2, id="another-set"),
    ],
)
def test_what_a_stored_set_has_is_not_declared_wrong_again(
    new: tuple[str, ...], old: tuple[str, ...], wrong: int
) -> None:
    texts = told(declare_counter_sets, [counter_set(*new)], [counter_set(*old)], "s")
    assert len(texts) == wrong


@pytest.mark.parametrize(
    ("consumptions", "texts"),
    [
        pytest.param([taken("a", "x"), taken("b", "x")], [], id="good"),
        pytest.param(
            [taken("")],
            ["c[0].counterSet: Required value", "c[0].counters: Required value"],
            id="empty",
        ),
        pytest.param([taken("")] * 3, ["c: Too many: 3: must have at most 2 items"], id="too-many"),
    ],
)
def test_a_device_draws_on_few_sets(
    consumptions: list[DeviceCounterConsumption], texts: list[str]
) -> None:
    assert told(check_consumptions, consumptions, "c") == texts
    assert told(declare_consumptions, consumptions, "c") == texts


def test_a_device_draws_on_a_set_once() -> None:
    twice = [taken("a", "x"), taken("a", "y")]
    assert told(check_consumptions, twice, "c") == ['c[1]: Duplicate value: "a"']
    assert told(declare_consumptions, twice, "c") == [
        'c[1]: Duplicate value: {"counterSet":"a","counters":{"y":{"value":"1"}}}'
    ]


@pytest.mark.parametrize(
    ("groups", "wrong"),
    [
        (("a", "b"), []),
        (("a", "a"), ["c[0].compatibilityGroups[1]"]),
        (("A",), ["c[0].compatibilityGroups[0]"]),
        (("A", "b", "c"), ["c[0].compatibilityGroups"]),
    ],
)
def test_compatibility_groups_are_two_labels_at_most(
    groups: tuple[str, ...], wrong: list[str]
) -> None:
    texts = told(declare_consumptions, [taken("a", "x", groups=groups)], "c")
    assert [text.split(":", 1)[0] for text in texts] == wrong
