from __future__ import annotations

from typing import Any

import pytest

from dray.errors import BadRequest
from dray.server.patching.merge_patch import apply_merge_patch


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"b": 1}}, {"a": [{"c": None}]}, {"a": [{"c": None}]}),
        ({}, {"a": {"b": None, "c": [{"d": None}, None]}}, {"a": {"c": [{}, None]}}),
        ({"a": 1}, {"missing": None}, {"a": 1}),
    ],
)
def test_a_patch_merges(
    document: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]
) -> None:
    assert apply_merge_patch(document, patch) == result


def test_the_document_stays_as_it_was() -> None:
    document = {"a": {"b": {"c": 1}}}
    apply_merge_patch(document, {"a": {"b": {"c": 2}, "d": 1}})
    assert document == {"a": {"b": {"c": 1}}}


@pytest.mark.parametrize("patch", [None, [], 1, "x"])
def test_only_an_object_patches_an_object(patch: Any) -> None:
    with pytest.raises(BadRequest):
        apply_merge_patch({}, patch)


def test_nesting_without_end_is_refused() -> None:
    patch: dict[str, Any] = {}
    for _ in range(100_000):
        patch = {"a": patch}
    with pytest.raises(BadRequest):
        apply_merge_patch({}, patch)
    while patch:  # taken apart by hand: dropping it at once would nest as deep
        patch = patch.pop("a")
