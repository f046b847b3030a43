"""The three kinds of patches that need no owners, against what upstream made of the same ones."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from dray.errors import APIError, shorten
from dray.server.patching.json_patch import apply_json_patch
from dray.server.patching.merge_patch import apply_merge_patch
from dray.server.patching.strategic import apply_strategic_merge
from tests.conformance.patching.replay import Object, read, schema_at

# Upstream's words for what only Go can tell; ours name the value instead.
IN_OTHER_WORDS = ("expected a map[string]interface {}", "expected a []interface {}")


def strategic(request: Object) -> Any:
    schema = schema_at(request["apiVersion"], request["kind"])
    assert schema is not None
    return apply_strategic_merge(request["document"], request["patch"], schema)


def json_patch(request: Object) -> Any:
    return apply_json_patch(request["document"], request["patch"])


def merge_patch(request: Object) -> Any:
    return apply_merge_patch(request["document"], request["patch"])


APPLIERS: dict[str, tuple[Callable[[Object], Any], int]] = {
    "strategic-merges": (strategic, 400),
    "json-patches": (json_patch, 422),
    "merge-patches": (merge_patch, 400),
}


def said_by(apply: Callable[[Object], Any], request: Object) -> Object:
    try:
        return {"result": apply(request)}
    except APIError as error:
        return {"error": error.message, "code": error.code}


@pytest.mark.parametrize("name", APPLIERS)
def test_a_patched_document_is_upstreams(name: str) -> None:
    apply, code = APPLIERS[name]
    header, cases = read(name)
    assert header["cases"] == len(cases) > 100
    for request, answer in cases:
        before = deepcopy(request)
        said = said_by(apply, request)
        assert request == before, "a patch changes neither the document nor itself"
        if "panic" in answer:
            continue  # upstream crashes on a null inside a tested list; we answer
        if "error" in answer:
            assert said.get("code") == code, (request, answer)
        else:
            assert said == {"result": answer["result"]}, request


def test_a_strategic_merge_is_refused_in_upstreams_words() -> None:
    _, cases = read("strategic-merges")
    refused = [(request, answer["error"]) for request, answer in cases if "error" in answer]
    assert len(refused) > 50
    for request, wanted in refused:
        said = said_by(strategic, request)["error"]
        if wanted.startswith(IN_OTHER_WORDS):
            continue
        # Values that go on and on are cut in ours, so the rest must agree from both ends.
        head, _, _ = said.partition("...")
        assert wanted.startswith(head), (request, wanted)
        assert len(shorten(wanted)) < 300
