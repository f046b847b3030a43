"""Workloads against recordings of upstream: type, field and text of every error.

Out of scope, and never asked about: a job's `scheduling`, and the generation of a daemon set's
template. What templates carry, volumes and the like, is in test_pod_parts. One
thing is asked but compared in part: where an immutable template is refused, upstream prints all of
its Go structure, and only what comes before and after is compared.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dray.api.codec import parse_json
from dray.api.defaults import default
from dray.api.features import DEFAULT_GATES
from dray.api.scheme import decode_any
from dray.api.workload_strategy import (
    prepare_workload_for_create,
    prepare_workload_for_status_update,
    prepare_workload_for_update,
)
from dray.errors import FieldError
from dray.validation import validate_create, validate_status_update, validate_update
from tests.conformance.validation_cases import NOW, Case, comparable, read_cases

# Upstream walks these maps at random.
WALKED_AT_RANDOM = re.compile(
    r"\.(annotations|labels|limits|matchLabels|nodeSelector|overhead|requests)\b"
)
PRINTED_TEMPLATE = re.compile(r"(^spec\.template(?:\.spec)?: Invalid value: ).*(: field is imm)")


def received(value: dict[str, Any]) -> Any:
    """The workload of a request's body."""
    _, _, decoded = decode_any(parse_json(json.dumps(value).encode()))
    return default(decoded.value, now=NOW)


def answer(request: dict[str, Any]) -> list[FieldError]:
    new = received(request["object"])
    if request["operation"] == "create":
        return validate_create(prepare_workload_for_create(new, gates=DEFAULT_GATES))
    old = received(request["old"])
    if request["operation"] == "update":
        new = prepare_workload_for_update(new, old, gates=DEFAULT_GATES)
        return validate_update(new, old)
    return validate_status_update(prepare_workload_for_status_update(new, old), old)


def told(errors: list[tuple[str, str, str]], *, ordered: bool) -> list[str]:
    """Type, field and text of each error, without what is not compared."""
    texts = [
        f"{type_} | {field} | " + PRINTED_TEMPLATE.sub(r"\1…\2", text)
        for type_, field, text in errors
    ]
    return comparable(texts, ordered=ordered)


def difference(case: Case) -> tuple[str, list[str], list[str]] | None:
    ordered = case.ordered and not any(map(WALKED_AT_RANDOM.search, case.texts))
    ours = told(
        [(error.type.value, error.field, str(error)) for error in answer(case.request)],
        ordered=ordered,
    )
    theirs = told(
        [(each["type"], each["field"], each["text"]) for each in case.answer["errors"]],
        ordered=ordered,
    )
    return None if ours == theirs else (case.name, ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("recording", ["workloads", "jobs"])
def test_errors_are_upstreams_word_for_word(recording: str) -> None:
    cases = list(read_cases(recording))
    assert sum(bool(case.texts) for case in cases) > 60
    assert sum(not case.texts for case in cases) > 10
    assert [found for case in cases if (found := difference(case))] == []
