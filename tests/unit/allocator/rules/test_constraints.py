"""What devices must have in common, and what must tell them apart."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.allocator.rules.constraints import (
    ABSENT,
    UNKNOWN,
    Constraint,
    DistinctAttribute,
    DistinctLists,
    MatchAttribute,
    MatchLists,
    Value,
    constraint_of,
    element_values,
    published,
    value_of,
)
from dray.api.resource import DeviceAttribute, DeviceConstraint
from tests.unit.allocator.builders import DRIVER, device

ONE, TWO = ("int", 1), ("int", 2)
KINDS = (MatchAttribute, DistinctAttribute, MatchLists, DistinctLists)


def accepted(constraint: Constraint, *values: Value) -> list[bool]:
    return [constraint.add(value) for value in values]


def ints(*values: int) -> frozenset[Value]:
    return frozenset(("int", value) for value in values)


# Values ------------------------------------------------------------------------------------------


def test_in_its_own_domain_a_driver_may_leave_the_domain_out() -> None:
    bare = device(attributes={"numa": 1})
    assert published(DRIVER, bare, f"{DRIVER}/numa") == DeviceAttribute(int_value=1)
    assert published("nic.example.com", bare, f"{DRIVER}/numa") is None


def test_the_full_name_comes_first() -> None:
    both = device(attributes={"numa": 1, f"{DRIVER}/numa": 2})
    assert published(DRIVER, both, f"{DRIVER}/numa") == DeviceAttribute(int_value=2)


def test_a_name_without_a_domain_is_looked_up_as_it_is() -> None:
    assert published(DRIVER, device(attributes={"numa": 1}), "numa") is not None
    assert published(DRIVER, device(attributes={f"{DRIVER}/numa": 1}), "numa") is None


def test_values_of_different_types_differ() -> None:
    attributes = [
        DeviceAttribute(int_value=1),
        DeviceAttribute(bool_value=True),
        DeviceAttribute(string_value="1"),
        DeviceAttribute(version_value="1"),
    ]
    assert len({value_of(one, lists=False) for one in attributes}) == len(attributes)


@pytest.mark.parametrize("lists", [False, True])
def test_what_is_not_there_has_no_value(lists: bool) -> None:
    assert value_of(None, lists=lists) is ABSENT


@pytest.mark.parametrize(
    "attribute",
    [DeviceAttribute(), DeviceAttribute(int_values=(1,)), DeviceAttribute(int_values=())],
    ids=["no-value", "a-list", "an-empty-list"],
)
def test_without_lists_anything_but_a_scalar_cannot_be_compared(attribute: DeviceAttribute) -> None:
    assert value_of(attribute, lists=False) is UNKNOWN


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        pytest.param(DeviceAttribute(int_value=1), ints(1), id="a-scalar-is-a-list-of-one"),
        pytest.param(DeviceAttribute(int_values=(2, 1, 2)), ints(1, 2), id="order-is-nothing"),
        pytest.param(DeviceAttribute(int_values=()), ABSENT, id="an-empty-list-is-nothing"),
        pytest.param(DeviceAttribute(), ABSENT, id="no-value-is-nothing"),
    ],
)
def test_with_lists_every_value_is_a_set(attribute: DeviceAttribute, value: Value) -> None:
    assert value_of(attribute, lists=True) == value


def test_the_elements_of_a_scalar_are_itself() -> None:
    assert element_values(ONE) == {ONE}
    assert element_values(ints(1, 2)) == {ONE, TWO}
    assert element_values(ABSENT) == frozenset()


# Constraints -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraint", "lists", "kind"),
    [
        (DeviceConstraint(match_attribute="a"), False, MatchAttribute),
        (DeviceConstraint(match_attribute="a"), True, MatchLists),
        (DeviceConstraint(distinct_attribute="a"), False, DistinctAttribute),
        (DeviceConstraint(distinct_attribute="a"), True, DistinctLists),
    ],
)
def test_there_is_a_constraint_of_each_kind(
    constraint: DeviceConstraint, lists: bool, kind: type[Constraint]
) -> None:
    assert type(constraint_of(constraint, lists=lists)) is kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_device_without_the_attribute_is_refused(kind: type[Constraint]) -> None:
    assert accepted(kind(), ABSENT) == [False]


def test_the_first_device_settles_what_others_must_match() -> None:
    assert accepted(MatchAttribute(), ONE, TWO, ONE) == [True, False, True]


def test_a_match_without_devices_is_open_again() -> None:
    constraint = MatchAttribute()
    constraint.add(ONE)
    constraint.remove()
    assert accepted(constraint, TWO) == [True]


def test_distinct_values_are_accepted_once() -> None:
    assert accepted(DistinctAttribute(), ONE, TWO, ONE) == [True, True, False]


def test_a_value_that_cannot_be_compared_is_accepted_where_there_is_nothing_to_compare_with() -> (
    None
):
    assert accepted(MatchAttribute(), UNKNOWN, UNKNOWN, ONE) == [True, False, False]
    assert accepted(DistinctAttribute(), UNKNOWN, ONE, UNKNOWN) == [True, True, False]


def test_lists_match_while_something_is_common_to_all() -> None:
    assert accepted(MatchLists(), ints(1, 2), ints(2, 3), ints(1, 3)) == [True, True, False]


def test_lists_are_distinct_while_nothing_is_common_to_any() -> None:
    assert accepted(DistinctLists(), ints(1), ints(2, 3), ints(3)) == [True, True, False]


def test_what_may_still_match_narrows_and_widens() -> None:
    constraint = MatchLists()
    assert constraint.narrowed is None
    constraint.add(ints(1, 2))
    constraint.add(ints(2, 3))
    assert constraint.narrowed == ints(2)
    constraint.remove()
    assert constraint.narrowed == ints(1, 2)


def test_a_match_on_what_cannot_be_compared_leaves_nothing_to_match() -> None:
    constraint = MatchAttribute()
    constraint.add(UNKNOWN)
    assert constraint.narrowed == frozenset()


def test_what_must_be_distinct_is_never_narrowed() -> None:
    for constraint, value in ((DistinctAttribute(), ONE), (DistinctLists(), ints(1))):
        constraint.add(value)
        assert constraint.narrowed is None


VALUES = {
    MatchAttribute: st.sampled_from([ABSENT, UNKNOWN, ONE, TWO]),
    DistinctAttribute: st.sampled_from([ABSENT, UNKNOWN, ONE, TWO, ("int", 3)]),
    MatchLists: st.sampled_from([ABSENT, ints(1), ints(2), ints(1, 2), ints(2, 3)]),
    DistinctLists: st.sampled_from([ABSENT, ints(1), ints(2), ints(1, 2), ints(3)]),
}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_what_was_added_and_removed_was_never_there(
    kind: type[Constraint], data: st.DataObject
) -> None:
    values = st.lists(VALUES[kind], max_size=4)
    kept, tried = data.draw(values), data.draw(values)
    constraint, other = kind(), kind()
    for value in kept:
        assert constraint.add(value) is other.add(value)
    before = constraint.key()
    for _ in range(sum(accepted(constraint, *tried))):
        constraint.remove()
    assert constraint.key() == before == other.key()
    later: Sequence[Value] = data.draw(values)
    assert accepted(constraint, *later) == accepted(other, *later)
