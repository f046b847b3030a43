from __future__ import annotations

from typing import Any

import pytest

from dray.server.patching.go_text import json_of, json_string, printed, shown


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("plain-name.x/y", '"plain-name.x/y"', id="left-alone"),
        pytest.param('a"b\\c', '"a\\"b\\\\c"', id="quotes-and-backslashes"),
        pytest.param("<&>", '"\\u003c\\u0026\\u003e"', id="safe-in-a-web-page"),
        pytest.param("\b\f\n\t", '"\\u0008\\u000c\\n\\t"', id="no-short-form-for-two"),
        pytest.param("\\b", '"\\\\b"', id="an-escaped-backslash-before-a-letter"),
        pytest.param("ü\u2028", '"ü\\u2028"', id="other-scripts-and-separators"),
    ],
)
def test_a_string_is_escaped_as_go_escapes_it(text: str, written: str) -> None:
    assert json_string(text) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        (2.0, "2"),
        (0.5, "0.5"),
        ("x", '"x"'),
    ],
)
def test_json_is_compact_and_its_keys_sorted(value: Any, written: str) -> None:
    assert json_of(value) == written


def test_a_map_is_printed_as_go_prints_it() -> None:
    assert printed({"image": "q", "a": [1, None, True]}) == "map[a:[1 <nil> true] image:q]"


def test_a_value_too_long_to_repeat_is_cut() -> None:
    assert len(printed("x" * 1000)) < 300


def test_inside_a_path_strings_are_quoted() -> None:
    assert [shown("a"), shown(80), shown(None)] == ['"a"', "80", "null"]
