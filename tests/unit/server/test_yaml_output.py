"""Values written as YAML."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dray.api.shapes import JSONNumber
from dray.server.yaml_output import to_yaml

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_keys_are_sorted_and_lists_stand_at_the_level_of_their_key() -> None:
    document = {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "a"}]}}
    assert to_yaml(document) == (b"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n")


@pytest.mark.parametrize(
    "text",
    [
        "y",
        "No",
        "on",
        "~",
        "null",
        "1",
        "1e3",
        "0o17",
        "0x1F",
        "1:30",
        ".5",
        "1_000",
        ".inf",
        "2026-01-31T12:00:00Z",
        "2026-01-31",
        "<<",
        "=",
    ],
)
def test_a_string_that_looks_like_something_else_is_quoted(text: str) -> None:
    assert to_yaml({"a": text}) == f'a: "{text}"\n'.encode()


@pytest.mark.parametrize("text", ["yesterday", "v1", "10.0.0.1", "nginx:1.25", "a b"])
def test_a_string_that_is_one_stays_bare(text: str) -> None:
    assert to_yaml({"a": text}) == f"a: {text}\n".encode()


def test_an_empty_string_is_quoted() -> None:
    assert to_yaml({"a": ""}) == b'a: ""\n'


def test_text_of_several_lines_is_kept_as_such() -> None:
    assert to_yaml({"a": "one\ntwo\n"}) == b"a: |\n  one\n  two\n"


def test_long_lines_are_not_folded_and_nothing_is_shared() -> None:
    shared = {"x": "word " * 60 + "end"}
    assert to_yaml([shared, shared]).count(b"\n") == 2


def test_numbers_keep_their_text() -> None:
    assert to_yaml({"a": JSONNumber("1.50")}) == b"a: 1.50\n"


@given(values)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert yaml.safe_load(to_yaml(value)) == value
