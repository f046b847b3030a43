"""Writes by several managers, one after another: merged objects, owners and conflicts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dray.server.patching.last_applied import LAST_APPLIED
from tests.conformance.patching.replay import Object, read, replay

ENTRY = ("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource")


def comparable(document: Object, stored: Object) -> Object:
    """The merged object; the recorded one is from before the annotation was brought up to date."""
    annotations = dict(document["metadata"].get("annotations") or {})
    if LAST_APPLIED not in annotations:
        return document
    annotations[LAST_APPLIED] = stored["metadata"]["annotations"][LAST_APPLIED]
    return {**document, "metadata": {**document["metadata"], "annotations": annotations}}


def sets_of(entries: list[Object]) -> list[Any]:
    return [json.dumps({name: one[name] for name in ENTRY if name in one}) for one in entries]


@pytest.mark.slow
def test_owners_and_merged_objects_are_upstreams() -> None:
    header, cases = read("sequences")
    reset = json.dumps(header["resetFields"])
    steps = conflicts = merged = 0
    for number, (request, answer) in enumerate(cases):
        for index, said, wanted in replay(request, answer, reset):
            where = f"case {number}, step {index}: {json.dumps(request['steps'][index])}"
            steps += 1
            if "error" in wanted or "error" in said:
                conflicts += 1
                assert said == wanted, where
                continue
            assert said["managedFields"] == wanted["managedFields"], where
            # The order inside a set is part of what is written.
            assert sets_of(said["managedFields"]) == sets_of(wanted["managedFields"]), where
            if "merged" in wanted:
                merged += 1
                stored = wanted["stored"]
                assert comparable(said["merged"], stored) == comparable(wanted["merged"], stored)
    assert steps > 4000
    assert conflicts > 300
    assert merged > 1200


@pytest.mark.slow
def test_the_annotation_of_client_side_apply_is_upstreams() -> None:
    header, cases = read("sequences")
    reset = json.dumps(header["resetFields"])
    seen = 0
    for request, answer in cases:
        for index, said, wanted in replay(request, answer, reset):
            if request["steps"][index]["manager"] != "kubectl" or "stored" not in wanted:
                continue
            annotations = wanted["stored"]["metadata"].get("annotations") or {}
            if LAST_APPLIED in annotations and "merged" in said:
                seen += 1
                written = said["merged"]["metadata"]["annotations"][LAST_APPLIED]
                assert written == annotations[LAST_APPLIED]
    assert seen > 20
