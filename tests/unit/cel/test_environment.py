from __future__ import annotations

import pytest

from dray.cel import Environment
from dray.cel import _types as types


def test_environments_with_the_same_switches_are_one() -> None:
    assert hash(Environment(stored=True)) == hash(Environment(stored=True))
    assert Environment(stored=True) == Environment(stored=True)


@pytest.mark.parametrize(
    ("environment", "lists", "shared"),
    [
        (Environment(consumable_capacity=False), False, False),
        (Environment(), False, True),
        (Environment(list_type_attributes=True), True, True),
        (Environment(consumable_capacity=False, stored=True), True, True),
    ],
    ids=["neither", "default", "lists", "stored"],
)
def test_what_is_stored_sees_everything(
    environment: Environment, lists: bool, shared: bool
) -> None:
    assert environment.attribute_type == (types.DYN if lists else types.ANY)
    assert ("includes" in environment.functions) == lists
    assert ("allowMultipleAllocations" in environment.device_fields) == shared


def test_the_shape_of_a_device_follows_the_limits_of_its_kind() -> None:
    shape = Environment().device_shape
    attributes = shape.fields["attributes"]
    assert shape.fields["driver"].size_max == 63
    assert attributes.size_max == 32
    assert attributes.element is not None
    assert attributes.element.element is not None
    assert attributes.element.element.size_max == 64
