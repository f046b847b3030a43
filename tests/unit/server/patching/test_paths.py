from __future__ import annotations

import pytest

from dray.errors import ParseError
from dray.server.patching.paths import SELF, canonical, key, member, order, show_path


def test_a_key_has_its_names_sorted() -> None:
    assert key({"protocol": "TCP", "containerPort": 80}) == (
        'k:{"containerPort":80,"protocol":"TCP"}'
    )
    assert key({"name": "a<b"}) == 'k:{"name":"a\\u003cb"}'


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        pytest.param("f:name", "f:name", id="a-field"),
        pytest.param('k:{"b": 1, "a": "x"}', 'k:{"a":"x","b":1}', id="a-key-made-compact"),
        pytest.param('v: "x"', 'v:"x"', id="a-value"),
        pytest.param("i:007", "i:7", id="an-index"),
        pytest.param("z:new", None, id="of-a-kind-to-come"),
    ],
)
def test_what_clients_write_becomes_canonical(written: str, kept: str | None) -> None:
    assert canonical(written) == kept


@pytest.mark.parametrize("text", ["", "f", "bad", "i:x", "k:nonsense", "k:[1]", "v:{"])
def test_what_is_no_path_element_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        canonical(text)


def test_elements_sort_by_kind_then_by_value() -> None:
    steps = ["i:10", "i:9", member("b"), member("a"), member(3), key({"p": 443}), key({"p": 80})]
    steps += [key({"n": "a b"}), key({"n": "a"}), "f:b", "f:a", SELF]
    assert sorted(steps, key=order) == [
        SELF,
        "f:a",
        "f:b",
        'k:{"n":"a"}',
        'k:{"n":"a b"}',
        'k:{"p":80}',
        'k:{"p":443}',
        "v:3",
        'v:"a"',
        'v:"b"',
        "i:9",
        "i:10",
    ]


def test_a_path_is_shown_as_conflicts_name_it() -> None:
    path = ["f:spec", "f:containers", 'k:{"name":"a"}', "f:args", "i:0"]
    assert show_path(path) == '.spec.containers[name="a"].args[0]'
    assert show_path(["f:metadata", "f:finalizers", 'v:"x"']) == '.metadata.finalizers[="x"]'


def test_long_elements_sort_and_become_canonical_like_short_ones() -> None:
    long = "x" * 10_000
    assert canonical(f'k:{{"b": 1, "a": "{long}"}}') == key({"a": long, "b": 1})
    assert min(member(long + "b"), member(long + "a"), key=order) == member(long + "a")
