from __future__ import annotations

from typing import Any

import pytest

from dray.errors import BadRequest
from dray.server.yaml_bodies import duplicates_in, parse_yaml, plain


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: 1\nb: [x, 'y']", {"a": 1, "b": ["x", "y"]}, id="yaml"),
        pytest.param('{"a": 1.5}', {"a": 1.5}, id="json"),
        pytest.param("{a: b}", {"a": "b"}, id="flow-style"),
        pytest.param("", None, id="nothing"),
        pytest.param("# only a comment", None, id="comment"),
        pytest.param("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}, id="alias"),
        pytest.param("a: 2026-01-01", {"a": "2026-01-01"}, id="a-date-is-text"),
    ],
)
def test_yaml_means_what_json_would(text: str, value: Any) -> None:
    assert plain(parse_yaml(text.encode())) == value


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"a: [", id="unfinished"),
        pytest.param(b"a: \xff", id="not-utf-8"),
        pytest.param(b"a: b: c", id="two-colons"),
    ],
)
def test_what_is_not_yaml_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest, match="error decoding YAML"):
        parse_yaml(body)


def test_a_few_lines_cannot_stand_for_a_billion_values() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(BadRequest, match="error decoding YAML"):
        parse_yaml("\n".join(lines).encode())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("a: 1\nb: 2", [], id="none"),
        pytest.param("a: 1\na: 2", ['line 2: key "a" already set in map'], id="yaml"),
        pytest.param(
            '{"x": [{"a": 1, "a": 2}], "y": {"b": 1, "b": 2}}',
            ['duplicate field "x[0].a"', 'duplicate field "y.b"'],
            id="json",
        ),
    ],
)
def test_members_written_twice_are_found(text: str, told: list[str]) -> None:
    assert duplicates_in(parse_yaml(text.encode())) == told


def test_the_last_of_two_members_counts() -> None:
    assert plain(parse_yaml(b"a: 1\na: 2")) == {"a": 2}
