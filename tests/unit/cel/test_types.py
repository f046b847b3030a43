from __future__ import annotations

import pytest

from dray.cel import _types as types
from dray.cel._types import Kind, Type, describe, describe_signature

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
