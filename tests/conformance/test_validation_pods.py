"""Pods against recordings of upstream: what is prepared, and what is told, error by error.

No rule is excused here. What pods carry, volumes and the like, is in test_pod_parts.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from dray.api.codec import decode_builtins
from dray.api.core import Pod
from dray.api.equality import semantically_equal
from dray.api.features import FeatureGates
from dray.api.pod_defaults import default_pod
from dray.api.pod_strategy import (
    prepare_pod_for_create,
    prepare_pod_for_status_update,
    prepare_pod_for_update,
)
from dray.api.strategy import carry_metadata
from dray.api.wire import replace
from dray.errors import FieldError
from dray.validation import validate_create, validate_status_update, validate_update
from tests.conformance.recordings import read_recording
from tests.conformance.validation_cases import (
    NOW,
    Case,
    comparable,
    read_cases,
)

RECORDINGS = ("pods", "pod-writes")

# Upstream walks these maps at random. It was asked a few times to see whether the order changes,
# but two errors may have come in one order every time by luck.
WALKED_AT_RANDOM = re.compile(
    r"\.(annotations|labels|limits|matchLabels|nodeSelector|overhead|requests)\b"
)


def received(value: dict[str, Any]) -> Pod:
    """The pod of a request's body."""
    return default_pod(decode_builtins(value, Pod).value)


def placed(pod: Pod, old: Pod | None) -> Pod:
    """The pod with what a server sets in its metadata before it asks anybody."""
    metadata = replace(pod.metadata, namespace=pod.metadata.namespace or "default")
    if old is not None and not metadata.resource_version:
        metadata = replace(metadata, resource_version=old.metadata.resource_version)
    return replace(pod, metadata=metadata)


def prepared(request: dict[str, Any]) -> tuple[Pod, Pod | None]:
    """The new pod as it would be validated, and the stored one."""
    gates = FeatureGates(request.get("gates") or {})
    old = received(request["old"]) if "old" in request else None
    new = placed(received(request["object"]), old)
    if not (request.get("prepare") or request["op"] == "prepare"):
        if old is not None:
            new = replace(new, metadata=carry_metadata(new.metadata, old.metadata))
        return new, old
    if old is None:
        return prepare_pod_for_create(new, gates=gates, now=NOW), None
    if request["operation"] == "update":
        return prepare_pod_for_update(new, old, gates=gates), old
    return prepare_pod_for_status_update(new, old, gates=gates), old


def answer(request: dict[str, Any]) -> list[FieldError]:
    new, old = prepared(request)
    if old is None:
        return validate_create(new)
    if request["operation"] == "update":
        return validate_update(new, old)
    return validate_status_update(new, old)


def first_lines(texts: list[str]) -> list[str]:
    """Texts without diffs: upstream's are over its Go structures, ours over the manifest."""
    return [text.partition("\n")[0] for text in texts]


def difference(case: Case) -> tuple[str, list[str], list[str]] | None:
    errors = answer(case.request)
    ordered = case.ordered and not any(map(WALKED_AT_RANDOM.search, case.texts))
    ours = comparable(first_lines([str(error) for error in errors]), ordered=ordered)
    theirs = comparable(first_lines(case.texts), ordered=ordered)
    if ours == theirs:
        types = sorted((str(error).partition("\n")[0], error.type.value) for error in errors)
        recorded = sorted(
            (error["text"].partition("\n")[0], error["type"]) for error in case.answer["errors"]
        )
        assert types == recorded, case.name
        return None
    return case.name, ours, theirs


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS)
def test_errors_are_upstreams_word_for_word(recording: str) -> None:
    cases = list(read_cases(recording))
    assert sum(bool(case.texts) for case in cases) > 300
    assert [found for case in cases if (found := difference(case))] == []


@pytest.mark.slow
def test_pods_are_prepared_as_upstream_prepares_them() -> None:
    compared, different = 0, []
    for request, answer in read_recording("preparations", now=str(NOW)):
        expected = answer.get("object")
        if request["object"].get("kind") != "Pod" or expected is None:
            continue
        compared += 1
        found, _ = prepared(request)
        if not semantically_equal(found, decode_builtins(copy.deepcopy(expected), Pod).value):
            different.append(request["name"])
    assert compared > 100
    assert different == []
