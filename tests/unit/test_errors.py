"""The error tree and its wire form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dray.errors import (
    APIError,
    BadRequest,
    Cause,
    Conflict,
    DecodeError,
    DriverError,
    FieldError,
    FieldErrorType,
    Invalid,
    NotFound,
    ParseError,
    StatusDetails,
    error_from_status,
    quote,
)


def tree(kind: type[APIError] = APIError) -> Iterator[type[APIError]]:
    yield kind
    for subclass in kind.__subclasses__():
        # Others may derive from these; on the wire they are what they derive from.
        if subclass.__module__ == APIError.__module__:
            yield from tree(subclass)


@pytest.mark.parametrize("kind", list(tree()), ids=lambda kind: kind.__name__)
def test_every_api_error_survives_the_wire(kind: type[APIError]) -> None:
    error = kind.__new__(kind)
    details = StatusDetails(
        name="n",
        group="g",
        kind="k",
        uid="u",
        causes=(Cause("r", "m", "f"),),
        retry_after_seconds=3,
    )
    APIError.__init__(error, "it broke", details)
    returned = error_from_status(json.loads(json.dumps(error.as_status())))
    # A DecodeError is a BadRequest to whoever sent the bytes.
    assert type(returned) is (BadRequest if kind is DecodeError else kind)
    assert (returned.message, returned.details) == ("it broke", details)
    assert (returned.code, returned.reason) == (kind.code, kind.reason)


@pytest.mark.parametrize(
    ("status", "kind", "code", "reason"),
    [
        pytest.param({"code": 404}, NotFound, 404, "NotFound", id="code-alone"),
        pytest.param({"code": 409}, Conflict, 409, "Conflict", id="code-of-two"),
        pytest.param(
            {"code": 418, "reason": "Teapot"},
            APIError,
            418,
            "Teapot",
            id="reason-without-class",
        ),
        pytest.param({"code": 410, "reason": "Gone"}, APIError, 410, "Gone", id="gone"),
        pytest.param({}, APIError, 500, "InternalError", id="nothing"),
        pytest.param(
            {"code": "x", "message": None, "details": {"name": None, "causes": [1, {"field": 2}]}},
            APIError,
            500,
            "InternalError",
            id="nonsense",
        ),
    ],
)
def test_any_status_is_some_error(
    status: dict[str, Any], kind: type[APIError], code: int, reason: str
) -> None:
    error = error_from_status(status)
    assert (type(error), error.code, error.reason) == (kind, code, reason)
    assert error_from_status(error.as_status()).as_status() == error.as_status()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        pytest.param(
            FieldError(FieldErrorType.REQUIRED, "spec.name"),
            "spec.name: Required value",
            id="required",
        ),
        pytest.param(
            FieldError(FieldErrorType.REQUIRED, "spec.name", "", "say something"),
            "spec.name: Required value: say something",
            id="required-with-detail",
        ),
        pytest.param(
            FieldError(FieldErrorType.INVALID, "a[0]", 'x"\n', "no"),
            'a[0]: Invalid value: "x\\"\\n": no',
            id="string-quoted",
        ),
        pytest.param(
            FieldError(FieldErrorType.INVALID, "a", -1, "no"),
            "a: Invalid value: -1: no",
            id="number-bare",
        ),
        pytest.param(
            FieldError(FieldErrorType.INVALID, "a", True, "no"),
            "a: Invalid value: true: no",
            id="boolean-bare",
        ),
        pytest.param(
            FieldError(FieldErrorType.INVALID, "a", None, "no"),
            "a: Invalid value: null: no",
            id="null",
        ),
        pytest.param(
            FieldError(FieldErrorType.INVALID, "a", {"b": ["x && y<z"]}, "no"),
            'a: Invalid value: {"b":["x \\u0026\\u0026 y\\u003cz"]}: no',
            id="whole-values-as-go-writes-json",
        ),
        pytest.param(
            FieldError(FieldErrorType.DUPLICATE, "a[1]", "x"),
            'a[1]: Duplicate value: "x"',
            id="duplicate",
        ),
        pytest.param(
            FieldError(FieldErrorType.FORBIDDEN, "a", "secret", "not here"),
            "a: Forbidden: not here",
            id="forbidden-without-value",
        ),
    ],
)
def test_a_field_error_reads_as_upstreams(error: FieldError, text: str) -> None:
    assert str(error) == text


def test_invalid_lists_every_error_and_merges_equal_texts() -> None:
    twice = FieldError(FieldErrorType.REQUIRED, "spec.a")
    other = FieldError(FieldErrorType.INVALID, "spec.b", 1, "no")
    error = Invalid("resource.k8s.io", "ResourceClaim", "c", [twice, twice, other])
    assert error.message == (
        'ResourceClaim.resource.k8s.io "c" is invalid: '
        "[spec.a: Required value, spec.b: Invalid value: 1: no]"
    )
    assert [cause.field for cause in error.details.causes] == ["spec.a", "spec.a", "spec.b"]
    assert error.details.causes[2] == Cause("FieldValueInvalid", "Invalid value: 1: no", "spec.b")


def test_one_error_is_not_bracketed_and_core_kinds_have_no_group() -> None:
    error = Invalid("", "Pod", "p", [FieldError(FieldErrorType.REQUIRED, "spec")])
    assert error.message == 'Pod "p" is invalid: spec: Required value'


def test_a_decode_error_carries_its_path() -> None:
    error = DecodeError("expected a string", path="spec.name")
    assert str(error) == "spec.name: expected a string"
    assert error.code == 400


def test_a_parse_error_shortens_a_hostile_text() -> None:
    assert len(str(ParseError("x" * 1_000_000, "too long"))) < 300


def test_a_driver_error_names_driver_claim_and_device() -> None:
    error = DriverError("boom", driver="d.com", claim="ns/c", device="gpu-0")
    assert str(error) == "driver d.com, claim ns/c, device gpu-0: boom"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("\t\x00\x7f", '"\\t\\x00\\x7f"'),
        ("é", '"é"'),
        ("\u2028\U000e0001", '"\\u2028\\U000e0001"'),
    ],
)
def test_quoting_escapes_like_go(text: str, quoted: str) -> None:
    assert quote(text) == quoted
