"""Findings: what is told when two sides know the same rules."""

from __future__ import annotations

import pytest

from dray.errors import FieldError, FieldErrorType
from dray.validation.findings import Findings, merge, request_path
from tests.unit.validation.builders import texts


def both() -> tuple[Findings, Findings]:
    return Findings(), Findings(shared=True)


def test_a_declared_finding_replaces_its_handwritten_twin() -> None:
    handwritten, declared = both()
    handwritten.invalid("spec.name", "A", "old words", origin="format=x", shared=True)
    declared.invalid("spec.name", "A", "new words", origin="format=x")
    assert texts(merge(handwritten, declared)) == ['spec.name: Invalid value: "A": new words']


@pytest.mark.parametrize(
    ("path", "origin", "shared"),
    [
        pytest.param("spec.other", "format=x", True, id="another-field"),
        pytest.param("spec.name", "format=y", True, id="another-rule"),
        pytest.param("spec.name", "format=x", False, id="a-rule-of-one-side"),
    ],
)
def test_other_handwritten_findings_stand(path: str, origin: str, shared: bool) -> None:
    handwritten, declared = both()
    handwritten.invalid(path, "A", "old words", origin=origin, shared=shared)
    declared.invalid("spec.name", "A", "new words", origin="format=x")
    assert len(merge(handwritten, declared)) == 2


def test_an_invalid_of_unknown_origin_yields_to_nothing() -> None:
    handwritten, declared = both()
    handwritten.invalid("spec", "A", "old words", shared=True)
    declared.invalid("spec", "A", "new words")
    assert len(merge(handwritten, declared)) == 2


def test_a_declared_finding_of_one_side_replaces_nothing() -> None:
    handwritten, declared = both()
    handwritten.required("spec.name", shared=True)
    declared.required("spec.name", shared=False)
    assert len(merge(handwritten, declared)) == 2


def test_handwritten_findings_come_first_and_once() -> None:
    handwritten, declared = both()
    declared.required("b")
    for _ in range(2):
        handwritten.required("a")
        declared.forbidden("c")
    assert [error.field for error in merge(handwritten, declared)] == ["a", "b", "c", "c"]


def test_absorbed_findings_keep_what_they_are() -> None:
    handwritten, declared = both()
    more = Findings()
    more.required("spec.name", shared=True)
    handwritten.absorb(more)
    declared.required("spec.name", "declared")
    assert texts(merge(handwritten, declared)) == ["spec.name: Required value: declared"]


def test_errors_of_others_are_never_shared() -> None:
    declared = Findings(shared=True)
    declared.extend([FieldError(FieldErrorType.REQUIRED, "spec.name")])
    assert [finding.shared for finding in declared] == [False]


@pytest.mark.parametrize(
    ("path", "v1beta1"),
    [
        ("spec.devices[0].attributes[a].string", "spec.devices[0].basic.attributes[a].string"),
        ("spec.devices[12].name", "spec.devices[12].name"),
        ("spec.devices.requests[0].exactly.count", "spec.devices.requests[0].count"),
        ("spec.spec.devices.requests[3].exactly.count", "spec.spec.devices.requests[3].count"),
        ("spec.devices.requests[0].firstAvailable", "spec.devices.requests[0].firstAvailable"),
        ("status.devices[0].shareID", "status.devices[0].shareID"),
    ],
)
def test_a_path_is_told_in_the_words_of_its_version(path: str, v1beta1: str) -> None:
    assert request_path(path, "v1beta1") == v1beta1
    assert request_path(path, "v1beta2") == path
    assert request_path(path, None) == path


def test_only_declared_findings_speak_the_version_of_the_request() -> None:
    handwritten, declared = both()
    handwritten.required("spec.devices[0].attributes")
    declared.required("spec.devices[0].attributes")
    assert [error.field for error in merge(handwritten, declared, version="v1beta1")] == [
        "spec.devices[0].attributes",
        "spec.devices[0].basic.attributes",
    ]


def test_texts_are_upstreams() -> None:
    found = Findings()
    found.required("a", "because")
    found.not_supported("a", "x", ["y", "z"])
    found.duplicate("a", "x")
    found.too_long("a", 63)
    found.too_long("a", 63, "characters")
    found.too_many("a", 3, 2)
    found.too_many("a", 3, 1)
    found.not_found("a", "x")
    found.internal("a", "oops")
    assert texts(found.errors()) == [
        "a: Required value: because",
        'a: Unsupported value: "x": supported values: "y", "z"',
        'a: Duplicate value: "x"',
        "a: Too long: may not be more than 63 bytes",
        "a: Too long: may not be more than 63 characters",
        "a: Too many: 3: must have at most 2 items",
        "a: Too many: 3: must have at most 1 item",
        'a: Not found: "x"',
        "a: Internal error: oops",
    ]
