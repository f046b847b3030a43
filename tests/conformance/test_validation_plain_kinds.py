"""Kinds that hold no pods, against recordings of upstream: type, field and text of every error.

Out of scope, and never asked about: what the modules of these kinds name as not checked. Compared
in part: versions of a definition, of which upstream prints all of its Go structure; and how often
the same is told of a definition, since the server that has those does not tell everything once.
"""

from __future__ import annotations

import re

import pytest

from tests.conformance.validation_cases import Case, answer, comparable, read_cases

# Upstream walks these maps at random.
WALKED_AT_RANDOM = re.compile(
    r"\.(annotations|labels|matchLabels)\b|^(data|binaryData|spec\.hard|status\.\w+|spec\.limits)\b"
)
PRINTED_VERSIONS = re.compile(r"(^spec\.versions: Invalid value: ).*(: must)", re.DOTALL)


def told(errors: list[tuple[str, str, str]], *, ordered: bool) -> list[str]:
    """Type, field and text of each error, without what is not compared."""
    texts = [
        f"{type_} | {field} | " + PRINTED_VERSIONS.sub(r"\1…\2", text)
        for type_, field, text in errors
    ]
    return comparable(texts, ordered=ordered)


def told_once(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))


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
    if case.request["object"]["kind"] == "CustomResourceDefinition":
        theirs = told_once(theirs)
    return None if ours == theirs else (case.name, ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("recording", ["plain-kinds", "plain-cases"])
def test_errors_are_upstreams_word_for_word(recording: str) -> None:
    cases = list(read_cases(recording))
    assert sum(bool(case.texts) for case in cases) > 50
    assert sum(not case.texts for case in cases) > 10
    assert [found for case in cases if (found := difference(case))] == []
