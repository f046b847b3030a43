"""Every status is one error, and every error one code."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from dray.agent.plugins.failures import (
    RefusedCall,
    code_of,
    gone,
    status_text,
    translate,
    unreadable,
)
from dray.errors import DriverError, TransportError

NOTHING = grpc.aio.Metadata()


def status(code: grpc.StatusCode, details: str = "because") -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(code, NOTHING, NOTHING, details)


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code.value[0]])
def test_every_status_is_a_failure_with_the_driver_and_the_code_in_its_text(
    code: grpc.StatusCode,
) -> None:
    failure = translate(status(code), "gpu.example.com")
    expected: type[Exception] = {
        grpc.StatusCode.UNAVAILABLE: TransportError,
        grpc.StatusCode.DEADLINE_EXCEEDED: TimeoutError,
    }.get(code, RefusedCall)
    assert type(failure) is expected
    assert str(failure) == f"driver gpu.example.com: {status_text(status(code))}"


def test_texts_are_those_of_go() -> None:
    text = status_text(status(grpc.StatusCode.INVALID_ARGUMENT, "no such claim"))
    assert text == "rpc error: code = InvalidArgument desc = no such claim"


def test_a_long_text_is_cut() -> None:
    assert len(status_text(status(grpc.StatusCode.UNKNOWN, "x" * 1_000_000))) < 5000


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, "OK"),
        (translate(status(grpc.StatusCode.CANCELLED), "d"), "Canceled"),
        (translate(status(grpc.StatusCode.UNAVAILABLE), "d"), "Unavailable"),
        (translate(status(grpc.StatusCode.DEADLINE_EXCEEDED), "d"), "DeadlineExceeded"),
        (unreadable("d", "truncated"), "Internal"),
        (gone("d"), "Unavailable"),
        (DriverError("no", driver="d"), "Unknown"),
        (asyncio.CancelledError(), "Canceled"),
    ],
)
def test_calls_count_under_the_code_that_go_names(error: BaseException | None, code: str) -> None:
    assert code_of(error) == code
