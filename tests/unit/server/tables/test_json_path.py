"""JSONPath, as columns of custom resources write it."""

from __future__ import annotations

from typing import Any

import pytest

from dray.errors import ParseError
from dray.server.tables.json_path import FILTERS_MAX, STEPS_MAX, JSONPath

DOCUMENT: dict[str, Any] = {
    "name": "w",
    "list": [10, 20, 30],
    "parts": [{"type": "A", "n": 1}, {"type": "B", "n": 2, "ok": True}, {"n": 3}],
    "a.b": "dotted",
    "deep": {"x": {"y": 1}, "z": [{"y": 2}]},
    "null": None,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(".name", ["w"], id="member"),
        pytest.param("{.name}", ["w"], id="in-braces"),
        pytest.param("$.name", ["w"], id="from-the-root"),
        pytest.param(" .name ", ["w"], id="blanks-around"),
        pytest.param(".missing.deeper", [], id="missing"),
        pytest.param(".name.deeper", [], id="into-a-string"),
        pytest.param("['name']", ["w"], id="name-in-quotes"),
        pytest.param(".deep['x.y']", [1], id="a-path-in-quotes"),
        pytest.param(r".a\.b", ["dotted"], id="a-dot-in-a-name"),
        pytest.param(".list[0]", [10], id="first"),
        pytest.param(".list[]", [10], id="no-index-is-the-first"),
        pytest.param(".list[-1]", [30], id="last"),
        pytest.param(".list[3]", [], id="beyond-the-end"),
        pytest.param(".list[1:]", [20, 30], id="from"),
        pytest.param(".list[:-1]", [10, 20], id="up-to"),
        pytest.param(".list[::2]", [10, 30], id="every-second"),
        pytest.param(".list[::0]", [], id="no-step"),
        pytest.param(".list[2:1]", [], id="backwards"),
        pytest.param(".list[*]", [10, 20, 30], id="everything"),
        pytest.param(".list[0, 2]", [10, 30], id="several"),
        pytest.param("['name','list']", ["w", [10, 20, 30]], id="several-names"),
        pytest.param(".null[0]", [], id="into-null"),
        pytest.param(".name[0]", [], id="an-index-into-a-string"),
        pytest.param('.parts[?(@.type=="B")].n', [2], id="equal"),
        pytest.param(".parts[?(@.type != 'B')].n", [1], id="unequal"),
        pytest.param(".parts[?(@.n>1)].n", [2, 3], id="greater"),
        pytest.param(".parts[?(@.n<=1)].n", [1], id="at-most"),
        pytest.param(".parts[?(@.ok)].n", [2], id="exists"),
        pytest.param(".parts[?(@.ok==true)].n", [2], id="a-boolean"),
        pytest.param(".parts[?(@.n==1.0)].n", [], id="unlike-numbers"),
        pytest.param(".parts[?(@.type==1)].n", [], id="unlike-values"),
        pytest.param(".name[?(@.x==1)]", [], id="a-filter-over-a-string"),
        pytest.param(".deep..y", [1, 2], id="descent"),
        pytest.param(".deep.*", [{"y": 1}, [{"y": 2}]], id="every-member"),
    ],
)
def test_a_path_finds_values(path: str, found: list[Any]) -> None:
    assert JSONPath.parse(path).find(DOCUMENT) == found


@pytest.mark.parametrize(
    "path",
    [
        *("name", ".a[", ".a['b'", ".a[b]", ".a[ 1 ]", ".a]", ".a[?(@.x==)]", ".a[?(@.x]", ".a}"),
        *(".a" * (STEPS_MAX + 1), ".a[?(@.x)]" * (FILTERS_MAX + 1)),
        ".a[" + "0," * STEPS_MAX + "0]",
    ],
    ids=lambda path: path[:12],
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ParseError, match="is no JSONPath"):
        JSONPath.parse(path)


def test_a_path_that_finds_too_much_finds_nothing() -> None:
    wide = {"a": [[0] * 200 for _ in range(200)]}
    assert JSONPath.parse(".a[*][*]").find(wide) == []
