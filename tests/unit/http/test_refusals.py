"""Refusals: Statuses like any other."""

from __future__ import annotations

import msgspec
import pytest

from dray.errors import APIError
from dray.http import refusals


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (refusals.body_too_large(3145728), 413, "RequestEntityTooLarge"),
        (refusals.line_too_long(1), 414, "RequestURITooLong"),
        (refusals.head_too_large("bytes", 1), 431, "RequestHeaderFieldsTooLarge"),
        (refusals.late("head"), 408, "RequestTimeout"),
        (refusals.too_much_unfinished(), 429, "TooManyRequests"),
        (refusals.expectation_failed(), 417, "ExpectationFailed"),
        (refusals.unknown_coding(), 501, "NotImplemented"),
        (refusals.unknown_version(), 505, "HTTPVersionNotSupported"),
        (refusals.internal_error(), 500, "InternalError"),
    ],
    ids=lambda value: value.reason if isinstance(value, APIError) else "",
)
def test_a_refusal_is_a_status(error: APIError, code: int, reason: str) -> None:
    answer = refusals.refuse(error)
    status = msgspec.json.decode(answer.body)
    assert answer.status == code
    assert (status["kind"], status["status"]) == ("Status", "Failure")
    assert (status["code"], status["reason"]) == (code, reason)
    assert status["message"] == error.message


def test_a_body_that_is_too_large_is_refused_in_upstreams_words() -> None:
    message = refusals.body_too_large(3145728).message
    assert message == "Request entity too large: limit is 3145728"
