from __future__ import annotations

import pytest

from dray.cel import _types as types
from dray.cel._limits import TYPE_PARTS_MAX
from dray.cel._types import Kind, Type, TypeTooLarge, describe, describe_signature

WRAPPED_INT = Type(Kind.INT, "int", nullable=True)


@pytest.mark.parametrize(
    ("type_", "shown", "described"),
    [
        (types.INT, "int", "int"),
        (types.ANY, "google.protobuf.Any", "any"),
        (types.NULL, "null_type", "null"),
        (types.DURATION, "google.protobuf.Duration", "duration"),
        (types.ERROR, "error", "!error!"),
        (types.list_of(types.ANY), "list(google.protobuf.Any)", "list(any)"),
        (types.map_of(types.STRING, types.QUANTITY),) + ("map(string, kubernetes.Quantity)",) * 2,
        (types.optional_of(types.BOOL), "optional_type(bool)", "optional_type(bool)"),
        (types.type_of(types.INT), "type(int)", "type(int)"),
        (types.parameter("A"), "<A>", "A"),
        (WRAPPED_INT, "wrapper(int)", "wrapper(int)"),
    ],
    ids=str,
)
def test_a_type_prints_for_results_and_for_errors(type_: Type, shown: str, described: str) -> None:
    assert str(type_) == shown
    assert describe(type_) == described


def test_a_signature_shows_what_a_member_is_called_on() -> None:
    arguments = [types.STRING, types.INT]
    assert describe_signature(arguments, member=False) == "(string, int)"
    assert describe_signature(arguments, member=True) == "string.(int)"


def test_exactness_looks_inside_but_not_at_nullability() -> None:
    assert types.list_of(types.INT).is_exactly(types.list_of(types.INT))
    assert not types.list_of(types.INT).is_exactly(types.list_of(types.UINT))
    assert types.INT.is_exactly(WRAPPED_INT)


def test_a_wrapper_accepts_null_and_what_it_wraps() -> None:
    assert WRAPPED_INT.accepts(types.NULL)
    assert WRAPPED_INT.accepts(types.INT)
    assert not types.INT.accepts(types.NULL)


@pytest.mark.parametrize("type_", [types.QUANTITY, types.IP, types.DURATION, types.ANY], ids=str)
def test_values_that_upstream_knows_as_messages_compare_with_null(type_: Type) -> None:
    assert type_.accepts_null


@pytest.mark.parametrize("type_", [types.BOOL, types.STRING, types.list_of(types.INT)], ids=str)
def test_plain_values_do_not_compare_with_null(type_: Type) -> None:
    assert not type_.accepts_null


def test_a_type_counts_its_parts_as_often_as_they_are_printed() -> None:
    pair = types.map_of(types.STRING, types.INT)
    assert pair.parts == 3
    assert types.map_of(pair, pair).parts == 7


def test_a_type_knows_whether_a_parameter_is_part_of_it() -> None:
    assert types.list_of(types.map_of(types.INT, types.parameter("A"))).generic
    assert not types.list_of(types.map_of(types.INT, types.INT)).generic


def test_no_type_has_more_parts_than_the_limit() -> None:
    largest = types.INT
    while largest.parts < TYPE_PARTS_MAX:
        largest = types.list_of(largest)
    with pytest.raises(TypeTooLarge):
        types.list_of(largest)


def test_types_nest_deeper_than_the_stack() -> None:
    one, other, unsigned = types.INT, types.INT, types.UINT
    while one.parts < TYPE_PARTS_MAX:
        one, other, unsigned = map(types.list_of, (one, other, unsigned))
    depth = TYPE_PARTS_MAX - 1
    assert str(one) == describe(one) == "list(" * depth + "int" + ")" * depth
    assert one.is_exactly(other)
    assert not one.is_exactly(unsigned)
    assert one.accepts(other)
    assert not one.accepts(unsigned)
