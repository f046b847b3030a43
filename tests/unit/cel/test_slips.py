from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cel import Environment, compile_selector
from dray.cel._rewrites import apply
from dray.cel._slips import Slip, slip
from dray.cel._spans import Spans


def first_slip(text: str) -> Slip | None:
    issue = compile_selector(text, Environment()).issues[0]
    return slip(Spans(text), issue.message, max(issue.column, 0))


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("1 = 1", "1 == 1"),
        ("1 === 1", "1 == 1"),
        ("true & true", "true && true"),
        ("'a' =~ 'b'", "'a'.matches('b')"),
        ("'a' startswith 'b'", "'a'.startsWith('b')"),
        ("“a” == 'a'", "\"a\" == 'a'"),
        ("'\\d' == 'a'", "r'\\d' == 'a'"),
        ("not true", "!true"),
        ("device.driver not in ['x']", "!(device.driver in ['x'])"),
        ("(1 == 1", "(1 == 1)"),
        ("1 in [1", "1 in [1]"),
        ('device.attributes["x".y == 1', 'device.attributes["x"].y == 1'),
        ("1 <> 2", "1 != 2"),
        ("40Gi", '"40Gi"'),
        ("if true then false else true", "true ? false : true"),
    ],
)
def test_what_other_languages_write_is_written_as_here(text: str, mended: str) -> None:
    found = first_slip(text)
    assert found is not None
    assert apply(text, found.edits) == mended


@pytest.mark.parametrize("text", ["device.driver == 'x", "true &&", "a ?? b", "'a' like '%b'"])
def test_some_slips_can_only_be_told(text: str) -> None:
    found = first_slip(text)
    assert found is not None
    assert found.edits == ()


@given(st.text(alphabet="()[]{}.,?:=&|!<>-'\"\\ain01 ;#", max_size=20))
def test_no_text_is_too_odd(text: str) -> None:
    for issue in compile_selector(text, Environment()).issues:
        found = slip(Spans(text), issue.message, max(issue.column, 0))
        assert found is None or found.text
