"""Versions against recordings of upstream: grammar, parse errors, canonical text, order."""

from __future__ import annotations

from typing import Any

from dray.api.semver import Semver, is_semver
from dray.errors import ParseError
from tests.conformance.recordings import read_recording

NOT_SEMVER = "FieldValueInvalid: must be a string compatible with semver.org spec 2.0.0"


def describe(text: str, other: str) -> dict[str, Any]:
    try:
        version = Semver.parse(text)
    except ParseError as error:
        return {"parseError": error.rule}
    answer: dict[str, Any] = {"canonical": str(version)}
    try:
        partner = Semver.parse(other)
    except ParseError:
        return answer
    return answer | {"compare": (version > partner) - (version < partner)}


def test_every_recorded_text_parses_and_compares_as_upstream_does() -> None:
    cases = list(read_recording("semvers"))
    differences = []
    for request, answer in cases:
        expected = {key: value for key, value in answer.items() if key != "rejected"}
        got = describe(request["text"], request["other"])
        if got != expected:
            differences.append((request, got, expected))
    assert differences == []
    assert len(cases) >= 1_200


def test_the_grammar_accepts_what_validation_accepts() -> None:
    # Length is the only other rule on a version attribute; it belongs to validation.
    differences = [
        request["text"]
        for request, answer in read_recording("semvers")
        if is_semver(request["text"]) is (NOT_SEMVER in answer.get("rejected", []))
    ]
    assert differences == []
