from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dray.api.shapes import JSONNumber
from dray.api.yaml.scalars import read_key, read_scalar
from dray.errors import ParseError

# Recorded from sigs.k8s.io/yaml 1.6 (`a: …` and `…: a` to JSON); None is a refusal.

VALUES: list[tuple[str, str | None]] = [
    ("y", "true"),
    ("Y", "true"),
    ("yes", "true"),
    ("Yes", "true"),
    ("YES", "true"),
    ("yEs", '"yEs"'),
    ("n", "false"),
    ("N", "false"),
    ("no", "false"),
    ("No", "false"),
    ("NO", "false"),
    ("true", "true"),
    ("True", "true"),
    ("TRUE", "true"),
    ("tRUE", '"tRUE"'),
    ("false", "false"),
    ("on", "true"),
    ("On", "true"),
    ("ON", "true"),
    ("off", "false"),
    ("Off", "false"),
    ("OFF", "false"),
    ("oFF", '"oFF"'),
    ("~", "null"),
    ("null", "null"),
    ("Null", "null"),
    ("NULL", "null"),
    ("nULL", '"nULL"'),
    (".nan", None),
    (".NaN", None),
    (".NAN", None),
    (".Nan", '".Nan"'),
    (".inf", None),
    ("+.inf", None),
    ("-.INF", None),
    ("-.inf", None),
    (".5", "0.5"),
    ("-.5", "-0.5"),
    ("+.5", "0.5"),
    (".5e3", "500"),
    (".5_0", "0.5"),
    ("._5", '"._5"'),
    (".", '"."'),
    (".e3", '".e3"'),
    (".1e999", '".1e999"'),
    ("1.", "1"),
    ("1.e3", "1000"),
    ("-1.", "-1"),
    ("0", "0"),
    ("00", "0"),
    ("01", "1"),
    ("010", "8"),
    ("08", "8"),
    ("09", "9"),
    ("0o17", "15"),
    ("0O17", "15"),
    ("-0o17", "-15"),
    ("0x1F", "31"),
    ("0X1f", "31"),
    ("-0xff", "-255"),
    ("0x", '"0x"'),
    ("0xg", '"0xg"'),
    ("0b101", "5"),
    ("0B101", "5"),
    ("-0b11", "-3"),
    ("+0b11", "3"),
    ("0b", '"0b"'),
    ("0b2", '"0b2"'),
    ("0b_1", "1"),
    ("1_000", "1000"),
    ("1__0", "10"),
    ("_1", '"_1"'),
    ("1_", "1"),
    ("-_1", "-1"),
    ("0_7", "7"),
    ("0x_1f", "31"),
    ("0x1_f", "31"),
    ("+1", "1"),
    ("-1", "-1"),
    ("+0", "0"),
    ("-0", "0"),
    ("0.0", "0"),
    ("1.0", "1"),
    ("1.50", "1.5"),
    ("1e3", "1000"),
    ("1E3", "1000"),
    ("1e-7", "1e-7"),
    ("1e-6", "0.000001"),
    ("1.5e-6", "0.0000015"),
    ("123456789012345678901234567890", "1.2345678901234568e+29"),
    ("1e21", "1e+21"),
    ("1e22", "1e+22"),
    ("1.5e300", "1.5e+300"),
    ("-1e21", "-1e+21"),
    ("9223372036854775807", "9223372036854775807"),
    ("9223372036854775808", "9223372036854775808"),
    ("18446744073709551615", "18446744073709551615"),
    ("18446744073709551616", "18446744073709552000"),
    ("-9223372036854775808", "-9223372036854775808"),
    ("-9223372036854775809", "-9223372036854776000"),
    ("+9223372036854775808", "9223372036854776000"),
    ("1e999", '"1e999"'),
    ("1:30", '"1:30"'),
    ("190:20:30", '"190:20:30"'),
    ("2001-01-01", '"2001-01-01"'),
    ("2001-1-1", '"2001-1-1"'),
    ("2001-01-01T00:00:00Z", '"2001-01-01T00:00:00Z"'),
    ("2001-13-01", '"2001-13-01"'),
    ("2001-01-01x", '"2001-01-01x"'),
    ("20010-01-01", '"20010-01-01"'),
    ("2001-1", '"2001-1"'),
    ("1-2", '"1-2"'),
    ("--", '"--"'),
    ("+", '"+"'),
    ("+-", '"+-"'),
    ("12e03", "12000"),
    ("0e0", "0"),
    ("1e+3", "1000"),
    ("1e", '"1e"'),
    ("1e+", '"1e+"'),
    ("0x1p4", '"0x1p4"'),
    ("0.1", "0.1"),
    ("0.30000000000000004", "0.30000000000000004"),
    ("100m", '"100m"'),
    ("1Gi", '"1Gi"'),
    ("5e3Ki", '"5e3Ki"'),
    ("1.2.3", '"1.2.3"'),
    ("1,000", '"1,000"'),
    ("Inf", '"Inf"'),
    ("inf", '"inf"'),
    ("NaN", '"NaN"'),
    ("nan", '"nan"'),
    ("0777", "511"),
    ("0o8", '"0o8"'),
    ("0xFFFFFFFFFFFFFFFF", "18446744073709551615"),
    ("0x1FFFFFFFFFFFFFFFF", '"0x1FFFFFFFFFFFFFFFF"'),
    ("3.14159265358979", "3.14159265358979"),
    ("1e6", "1000000"),
    ("1e7", "10000000"),
    ("123456", "123456"),
    ("0.0001", "0.0001"),
    ("0.00001", "0.00001"),
    ("1.5e7", "15000000"),
    ("100000.5", "100000.5"),
    ("1000000.5", "1000000.5"),
    ("1e5", "100000"),
    ("1e-5", "0.00001"),
    ("1e38", "1e+38"),
    ("3.4e38", "3.4e+38"),
    ("1e39", "1e+39"),
    ("2001-01-01t1:2:3Z", '"2001-01-01t1:2:3Z"'),
    ("2001-1-1T1:2:3.5+01:00", '"2001-1-1T1:2:3.5+01:00"'),
    (".0", "0"),
    ("+.0", "0"),
    ("._", '"._"'),
    (".5e", '".5e"'),
    (".5e+2", "50"),
    ("+.5e-2", "0.005"),
    ("-.nan", '"-.nan"'),
    ("+.nan", '"+.nan"'),
    ("0o", '"0o"'),
    ("0O", '"0O"'),
    ("0B", '"0B"'),
    ("-0b", '"-0b"'),
    ("0.5_5", "0.55"),
    ("1_0.5", "10.5"),
    ("1e1_0", "10000000000"),
    ("==", '"=="'),
    ('""', '""'),
    ('"yes"', '"yes"'),
    ("'1'", '"1"'),
    ("!!str 1", '"1"'),
    ('!!int "5"', "5"),
    ("!!int x", None),
    ("!!float 1", "1"),
    ("!!float x", None),
    ("!!bool yes", "true"),
    ("!!bool 1", None),
    ("!!null x", None),
    ("!!null ~", "null"),
    ("!x 1", '"1"'),
    ("!!binary aGk=", '"hi"'),
    ("!!binary x", None),
    ("!!timestamp 2001-01-01", '"2001-01-01"'),
    ("!!timestamp x", None),
]

NAMES: list[tuple[str, str | None]] = [
    ("a", "a"),
    ("1", "1"),
    ("0x10", "16"),
    ("1.0", "1"),
    ("1.50", "1.5"),
    ("1e6", "1e+06"),
    ("0.00001", "1e-05"),
    ("123456.5", "123456.5"),
    ("3.14159265358979", "3.1415927"),
    ("1e39", ".inf"),
    ("yes", "true"),
    ("off", "false"),
    ("2001-01-01", "2001-01-01"),
    (".inf", ".inf"),
    ("-.inf", "-.inf"),
    (".nan", ".nan"),
    ('"1"', "1"),
    ("!!str 1", "1"),
    ("18446744073709551615", None),
    ("9223372036854775807", "9223372036854775807"),
    ("~", None),
    ("null", None),
]


def scalar(text: str) -> tuple[str, str | None, bool]:
    """The text, tag and plainness of the only scalar in a document."""
    (event,) = [
        event for event in yaml.parse(text, Loader=yaml.SafeLoader) if type(event) is SCALAR
    ]
    return event.value, event.tag, event.implicit[0]


SCALAR = yaml.ScalarEvent


def as_json(value: Any) -> str:
    return value.text if isinstance(value, JSONNumber) else json.dumps(value)


@pytest.mark.parametrize(("text", "expected"), VALUES, ids=[text for text, _ in VALUES])
def test_a_scalar_means_what_it_means_to_kubectl(text: str, expected: str | None) -> None:
    value, tag, plain = scalar(text)
    if expected is None:
        with pytest.raises(ParseError):
            read_scalar(value, tag, plain=plain)
    else:
        assert as_json(read_scalar(value, tag, plain=plain)) == expected


@pytest.mark.parametrize(("text", "expected"), NAMES, ids=[text for text, _ in NAMES])
def test_a_name_is_what_it_is_to_kubectl(text: str, expected: str | None) -> None:
    value, tag, plain = scalar(text)
    if expected is None:
        with pytest.raises(ParseError):
            read_key(value, tag, plain=plain)
    else:
        assert read_key(value, tag, plain=plain) == expected


def test_an_empty_value_is_null() -> None:
    assert read_scalar("", None, plain=True) is None


def test_a_refusal_names_the_text_and_the_rule() -> None:
    with pytest.raises(ParseError, match=r'^".nan": JSON has no such number$'):
        read_scalar(".nan", None, plain=True)


def test_a_number_too_long_to_be_one_is_a_string() -> None:
    assert read_scalar("1" * 500, None, plain=True) == "1" * 500


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_keeps_its_value(number: float) -> None:
    assert float(as_json(read_scalar(repr(number), None, plain=True))) == number


@given(st.integers(min_value=-(2**63), max_value=2**64 - 1))
def test_an_integer_keeps_its_value(number: int) -> None:
    assert read_scalar(str(number), None, plain=True) == number


@given(st.text(), st.booleans())
def test_any_text_is_a_value_or_a_refusal(text: str, plain: bool) -> None:
    for read in (read_scalar, read_key):
        try:
            value = read(text, None, plain=plain)
        except ParseError:
            continue
        assert value is None or isinstance(value, (bool, int, str, JSONNumber))
