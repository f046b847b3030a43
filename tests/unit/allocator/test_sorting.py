"""Nodes in groups, kept sorted."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from dray.allocator.sorting import QUEUE_SLACK, Sorting
from dray.errors import AllocationError


class World:
    """Keys to be changed by a test, and how often each was asked for."""

    def __init__(self, **keys: Hashable) -> None:
        self.keys = keys
        self.asked: list[str] = []
        self.numbers = {name: number for number, name in enumerate(keys)}
        self.sorting = Sorting(self.key_of, keys)

    def key_of(self, name: str) -> Hashable:
        self.asked.append(name)
        key = self.keys[name]
        if isinstance(key, AllocationError):
            raise key
        return key

    def number(self, name: str) -> int:
        return self.numbers[name]

    def groups(self) -> dict[Hashable, list[str]]:
        self.sorting.refresh(self.number)
        return {key: sorted(group.nodes) for key, group in self.sorting.groups.items()}


def test_nodes_with_equal_keys_are_together() -> None:
    assert World(a=1, b=2, c=1).groups() == {1: ["a", "c"], 2: ["b"]}


def test_only_what_is_stale_is_asked_for_again() -> None:
    world = World(a=1, b=1)
    world.groups()
    world.asked.clear()
    world.keys["b"] = 2
    world.sorting.spoil("b")
    assert world.groups() == {1: ["a"], 2: ["b"]}
    assert world.asked == ["b"]


def test_a_group_without_nodes_is_gone() -> None:
    world = World(a=1)
    world.groups()
    world.sorting.remove("a")
    assert world.groups() == {}


def test_the_first_of_a_group_is_the_one_with_the_lowest_number() -> None:
    world = World(a=1, b=1, c=1)
    world.groups()
    world.sorting.remove("a")
    assert world.sorting.groups[1].first() == (1, "b")


def test_a_node_that_comes_back_is_first_again() -> None:
    world = World(a=1, b=1)
    for key in (2, 1):
        world.keys["a"] = key
        world.sorting.spoil("a")
        world.groups()
    assert world.sorting.groups[1].first() == (0, "a")


def test_a_node_without_a_key_says_why() -> None:
    world = World(a=AllocationError("no key"), b=1)
    assert world.groups() == {1: ["b"]}
    with pytest.raises(AllocationError, match="no key"):
        world.sorting.group_of("a")


def test_a_node_that_gets_a_key_is_sorted_like_others() -> None:
    world = World(a=AllocationError("no key"))
    world.groups()
    world.keys["a"] = 1
    world.sorting.spoil("a")
    assert world.groups() == {1: ["a"]}
    assert world.sorting.group_of("a").key == 1


def test_a_node_that_comes_back_with_another_number_has_lost_its_place() -> None:
    world = World(a=1, b=1)
    world.groups()
    world.sorting.remove("a")
    world.numbers["a"] = 2
    world.sorting.spoil("a")
    world.groups()
    assert world.sorting.groups[1].first() == (1, "b")


def test_a_group_does_not_remember_all_who_ever_were_in_it() -> None:
    world = World(a=1, b=1)
    for key in (2, 1) * 200:
        world.keys["a"] = key
        world.sorting.spoil("a")
        world.groups()
    assert len(world.sorting.groups[1]._queue) <= 2 * 2 + QUEUE_SLACK + 1
    assert world.sorting.groups[1].first() == (0, "a")
