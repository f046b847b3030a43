from __future__ import annotations

import pytest

from dray.api.semver import Semver
from dray.cel import _types as types
from dray.cel._failures import Abort, Failure
from dray.cel._library.formatting import FUNCTIONS
from dray.cel._values import (
    INT_MIN,
    NONE,
    Duration,
    Timestamp,
    UInt,
    Value,
    encode_key,
)

INFINITY = float("inf")
NAN = float("nan")
MOMENT = Timestamp(1577836800, 5_000_000)


def form(template: str, *values: Value) -> Value:
    return FUNCTIONS["format"][str](template, list(values))


@pytest.mark.parametrize(
    ("template", "value", "result"),
    [
        ("%s", "é", "é"),
        ("%s", b"\xc3\xa9", "é"),
        ("%s", 1.5, "1.5"),
        ("%s", 1e6, "1e+06"),
        ("%s", True, "true"),
        ("%s", None, "null"),
        ("%s", types.INT, "int"),
        ("%s", Duration(1_500_000_000), "1.5s"),
        ("%s", MOMENT, "2020-01-01T00:00:00.005Z"),
        ("%s", Timestamp(-62135596800, 0), "0001-01-01T00:00:00Z"),
        ("%d", INT_MIN, "-9223372036854775808"),
        ("%.3d", UInt(7), "7"),
        ("%b", -5, "-101"),
        ("%b", True, "1"),
        ("%o", 8, "10"),
        ("%x", -255, "-ff"),
        ("%X", "é", "C3A9"),
        ("%x", b"\x00\xff", "00ff"),
        ("%f", 1052.032911275, "1,052.032911"),
        ("%f", -0.0, "0.000000"),
        ("%f", -1e-300, "-0.000000"),
        ("%f", INFINITY, "∞"),
        ("%f", "-Infinity", "-∞"),
        ("%f", "NaN", "NaN"),
        ("%.0f", 2.5, "2"),
        ("%.3f", 1234567.0, "1,234,567.000"),
        ("%.256f", 0.5, "0.5"),
        ("%.40000f", 1.1, "1.1" + "0" * 63),
        ("%.10000010f", 1.1, "%!(NOVERB)"),
        ("%e", 1052.032911275, "1.052033\u00d710⁰³"),
        ("%e", -1e-300, "-1.000000\u00d710⁻³⁰⁰"),
        ("%.15e", 1.0, "  1.000000\u00d710⁰⁰"),
        ("%e", INFINITY, "     ∞"),
        ("%.3e", NAN, "NaN"),
        ("%.65537e", 1.0, "1.000000\u00d710⁰⁰"),
        ("%.10000010e", 1.0, "%!(NOVERB)"),
    ],
)
def test_a_value_is_printed_by_its_clause(template: str, value: Value, result: str) -> None:
    assert form(template, value) == result


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ([], "[]"),
        ([1, UInt(2), "a\n\u200b", None], '[1, 2, "a\\n\\u200b", null]'),
        ([b"a", True, types.STRING], '[b"a", true, string]'),
        ([1.5, INFINITY, -INFINITY, NAN], '[1.500000, "+Inf", "-Inf", "NaN"]'),
        (
            [Duration(5_000_000_000), MOMENT],
            '[duration("5s"), timestamp("2020-01-01T00:00:00.005Z")]',
        ),
        ({}, "{}"),
        (
            {"b": 1, "a": [{}], encode_key(True): 2, encode_key(10): 3},
            '{"a":[{}], "b":1, 10:3, true:2}',
        ),
    ],
)
def test_lists_and_maps_are_printed_as_they_are_written(value: Value, result: str) -> None:
    assert form("%s", value) == result


def test_a_template_takes_its_values_in_order_and_ignores_the_rest() -> None:
    assert form("%% %d é%s%%", 1, "x", "unused") == "% 1 éx%"


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("%s%s", ["a"], "index 1 out of range"),
        ("a%", ["a"], "unexpected end of string"),
        ("a%", [], "index 0 out of range"),
        ("%é", [1], 'could not parse formatting clause: unrecognized formatting clause "Ã"'),
        (
            "%.",
            [1],
            (
                "could not parse formatting clause: error while parsing precision: could not"
                " find end of precision specifier"
            ),
        ),
        (
            "%d",
            ["a"],
            (
                "error during formatting: decimal clause can only be used on integers, was given"
                " string"
            ),
        ),
        (
            "%f",
            ["nan"],
            (
                "error during formatting: fixed-point clause can only be used on doubles, was given"
                " string"
            ),
        ),
        (
            "%X",
            [1.5],
            (
                "error during formatting: only integers, byte buffers, and strings can be formatted"
                " as hex, was given double"
            ),
        ),
        (
            "%s",
            [NONE],
            (
                "error during formatting: string clause can only be used on strings, bools, bytes,"
                " ints, doubles, maps, lists, types, durations, and timestamps, was given"
                " optional_type"
            ),
        ),
        (
            "%s",
            [[Semver.parse("1.0.0")]],
            "error during formatting: no formatting function for kubernetes.Semver",
        ),
        (
            "%s",
            [{encode_key(1.5): 1}],
            "error during formatting: no formatting function for map key of type double",
        ),
        (
            "%s",
            [b"\xff"],
            (
                'error during formatting: could not convert argument "invalid UTF-8 in bytes,'
                ' cannot convert to string" to string'
            ),
        ),
    ],
)
def test_what_does_not_fit_fails(template: str, values: list[Value], text: str) -> None:
    with pytest.raises(Failure) as caught:
        form(template, *values)
    assert str(caught.value) == text


def test_the_values_come_in_a_list() -> None:
    with pytest.raises(Failure, match=r"no such overload: format\(string, int\)"):
        FUNCTIONS["format"][str]("%d", 1)


def test_a_value_too_large_to_print_ends_the_evaluation() -> None:
    value: list[Value] = ["a" * 100_000]
    for _ in range(30):
        value = [value, value]
    with pytest.raises(Abort):
        form("%s", value)


def test_a_deep_value_is_printed() -> None:
    value: list[Value] = []
    for _ in range(20_000):
        value = [value]
    assert form("%s", value) == "[" * 20_001 + "]" * 20_001
