"""What pods carry, against recordings of upstream: read, filled in, judged, warned of."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dray.api import preparation
from dray.api.codec import decode_strict, parse_json, to_builtins
from dray.api.core import Pod
from dray.api.defaults import default
from dray.api.features import DEFAULT_GATES
from dray.api.meta import Object
from dray.api.pod_defaults import default_pod
from dray.api.pruning import drop_unknown
from dray.api.scheme import decode_any
from dray.api.strategy import carry_metadata
from dray.api.wire import replace
from dray.errors import DecodeError
from dray.validation import validate_create, validate_update
from dray.validation.pod_warnings import warnings_on_write
from tests.conformance.recordings import read_recording
from tests.conformance.validation_cases import NOW

# Upstream walks these maps at random.
WALKED_AT_RANDOM = re.compile(r"\.(userAnnotations|options\[)")


def received(value: dict[str, Any]) -> Object:
    """The object of a request's body; fractions keep their digits only through our own parser."""
    _, _, decoded = decode_any(parse_json(json.dumps(value).encode()))
    found: Object = default(decoded.value, now=NOW)
    return found


def written(request: dict[str, Any]) -> tuple[Object, Object | None]:
    new = received(request["object"])
    old = received(request["old"]) if "old" in request else None
    if old is not None:
        new = replace(new, metadata=carry_metadata(new.metadata, old.metadata))
    elif request.get("prepare"):
        new = preparation.prepare_create(new, gates=DEFAULT_GATES, now=NOW)
    return new, old


def judged(request: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What dray finds wrong, without diffs, and what it only warns of."""
    new, old = written(request)
    errors = validate_create(new) if old is None else validate_update(new, old)
    return [str(error).partition("\n")[0] for error in errors], warnings_on_write(new, old)


@pytest.mark.slow
def test_errors_are_upstreams_word_for_word() -> None:
    compared, different = 0, []
    for request, answer in read_recording("validate-pod-parts"):
        if "errors" not in answer:
            continue
        compared += bool(answer["errors"])
        ours, _ = judged(request)
        theirs = [error["text"].partition("\n")[0] for error in answer["errors"]]
        if answer.get("unordered") or any(map(WALKED_AT_RANDOM.search, theirs)):
            ours, theirs = sorted(ours), sorted(theirs)
        if ours != theirs:
            different.append((request["name"], ours, theirs))
    assert compared > 900
    assert different == []


@pytest.mark.slow
def test_forbidden_changes_are_shown_as_upstream_shows_them() -> None:
    compared, different = 0, []
    for request, answer in read_recording("validate-pod-parts"):
        theirs = [error["text"] for error in answer.get("errors", ()) if "\n" in error["text"]]
        if not theirs:
            continue
        compared += 1
        new, old = written(request)
        assert old is not None
        ours = [text for error in validate_update(new, old) if "\n" in (text := str(error))]
        if ours != theirs:
            different.append((request["name"], ours, theirs))
    assert compared > 5
    assert different == []


@pytest.mark.slow
def test_what_upstream_cannot_decode_is_refused() -> None:
    refused = [
        request
        for request, answer in read_recording("validate-pod-parts")
        if "decodeError" in answer
    ]
    assert len(refused) > 50
    for request in refused:
        with pytest.raises(DecodeError):
            received(request["object"])


@pytest.mark.slow
def test_valid_objects_are_warned_of_as_upstream_does() -> None:
    told, different = 0, []
    for request, answer in read_recording("validate-pod-parts"):
        if answer.get("errors") != []:
            continue
        _, ours = judged(request)
        theirs = answer.get("warnings") or []
        told += len(theirs)
        if ours != theirs:
            different.append((request["name"], ours, theirs))
    assert told > 100
    assert different == []


@pytest.mark.slow
def test_parts_are_read_and_filled_in_as_upstream_does() -> None:
    different = []
    compared, strict = 0, 0
    for request, answer in read_recording("decodes-pod-parts"):
        if "decodeError" in answer:
            with pytest.raises(DecodeError):
                decode_strict(json.dumps(request["object"]).encode(), Pod)
            continue
        decoded = decode_strict(json.dumps(request["object"]).encode(), Pod)
        problems = ", ".join(decoded.strict_problems)
        told = f"strict decoding error: {problems}" if problems else ""
        found = to_builtins(default_pod(drop_unknown(decoded.value)))
        compared += 1
        strict += bool(problems)
        if (told, found) != (answer.get("strictError", ""), answer["defaulted"]):
            different.append((request["name"], told, found, answer))
    assert compared > 150
    assert strict > 30
    assert different == []
