from __future__ import annotations

from typing import Any

import pytest

from dray.errors import BadRequest
from dray.server.patching.element_order import in_element_order, key_of, order_left_by, token_of


@pytest.mark.parametrize(
    ("items", "wanted", "before", "result"),
    [
        pytest.param("abc", "cab", "abc", "cab", id="all-named"),
        pytest.param("abc", "", "abc", "abc", id="none-named"),
        pytest.param("abcd", "dc", "abcd", "abdc", id="others-stay-before-their-neighbours"),
        pytest.param("axb", "bx", "ab", "abx", id="a-new-one-after-the-one-named-before-it"),
        pytest.param("abx", "xb", "ab", "xab", id="a-new-one-has-no-old-place"),
        pytest.param("abc", "", "", "cba", id="nothing-fixes-an-order"),
    ],
)
def test_order(items: str, wanted: str, before: str, result: str) -> None:
    assert "".join(in_element_order(list(items), list(wanted), list(before), "")) == result


def test_objects_are_told_apart_by_their_key() -> None:
    items = [{"n": 1, "v": "x"}, {"n": 2}]
    assert in_element_order(items, [{"n": 2}, {"n": 1}], items, "n") == [items[1], items[0]]


def test_an_object_without_the_key_is_refused() -> None:
    with pytest.raises(
        BadRequest, match=r"map: map\[image:q\] does not contain declared merge key: name"
    ):
        key_of({"image": "q"}, "name")
    with pytest.raises(BadRequest):
        key_of("a", "name")


@pytest.mark.parametrize("value", [{}, []])
def test_a_container_is_no_key(value: Any) -> None:
    with pytest.raises(BadRequest):
        token_of(value)


def test_numbers_and_truth_are_told_apart() -> None:
    assert len({token_of(1), token_of(True), token_of(1.0), token_of("1")}) == 4


@pytest.mark.parametrize(
    ("known", "deleted", "added", "left"),
    [
        pytest.param("abc", "b", "", "acc", id="the-freed-place-shows-the-last"),
        pytest.param("abc", "c", "", "abc", id="or-the-deleted-itself"),
        pytest.param("abc", "b", "x", "acx", id="an-added-one-stands-there"),
        pytest.param("abcd", "ab", "x", "cdxd", id="of-two-places-one-is-taken"),
        pytest.param("abc", "b", "xy", "acx", id="more-than-were-freed-are-not-seen"),
        pytest.param("abc", "z", "x", "abc", id="nothing-was-deleted"),
    ],
)
def test_the_order_left_by_changes_in_place(
    known: str, deleted: str, added: str, left: str
) -> None:
    tokens = [token_of(name) for name in deleted]
    assert "".join(order_left_by(list(known), tokens, list(added), "")) == left
