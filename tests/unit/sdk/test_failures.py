"""Classes of errors, and how the wire has them."""

from __future__ import annotations

import pytest

from dray.errors import (
    DeviceFailed,
    DriverError,
    InvalidConfig,
    NotFound,
    PermanentError,
    TransientError,
)
from dray.sdk._failures import (
    ClaimFailure,
    DeviceFailure,
    ErrorClass,
    classify,
    failure_of_devices,
)
from dray.sdk._journal import DeviceKey


@pytest.mark.parametrize(
    ("error", "error_class", "message"),
    [
        (TransientError("busy", driver="d", device="x"), ErrorClass.TRANSIENT, "busy"),
        (TimeoutError("not done"), ErrorClass.TRANSIENT, "not done"),
        (PermanentError("no"), ErrorClass.PERMANENT, "no"),
        (InvalidConfig("bad"), ErrorClass.INVALID_CONFIG, "bad"),
        (DeviceFailed("dead"), ErrorClass.DEVICE_FAILED, "dead"),
        (DriverError("hm"), ErrorClass.UNKNOWN, "hm"),
        (NotFound("gone"), ErrorClass.UNKNOWN, "gone"),
        (KeyError("x"), ErrorClass.UNKNOWN, "unexpected KeyError: 'x'"),
        (ZeroDivisionError(), ErrorClass.UNKNOWN, "unexpected ZeroDivisionError"),
        (TransientError(""), ErrorClass.TRANSIENT, "TransientError"),
    ],
)
def test_what_is_raised_has_a_class_and_a_sentence(
    error: Exception, error_class: ErrorClass, message: str
) -> None:
    assert classify(error) == (error_class, message)


def test_a_claim_has_the_gravest_class_and_all_the_texts() -> None:
    failures = [
        DeviceFailure(DeviceKey("p", "a"), "busy", ErrorClass.TRANSIENT),
        DeviceFailure(DeviceKey("p", "b", "s"), "bad", ErrorClass.INVALID_CONFIG),
    ]
    failure = failure_of_devices(failures)
    assert failure.error_class is ErrorClass.INVALID_CONFIG
    assert failure.message == "device p/a: busy; device p/b (share s): bad"


def test_the_wire_has_class_text_and_devices() -> None:
    failure = failure_of_devices([DeviceFailure(DeviceKey("p", "a"), "x", ErrorClass.PERMANENT)])
    message = failure.as_prepare_response()
    assert (message.error, message.error_type) == ("device p/a: x", 1)
    assert [(e.pool_name, e.device_name, e.error, e.error_type) for e in message.device_errors] == [
        ("p", "a", "x", 1)
    ]
    assert failure.as_unprepare_response().error == "device p/a: x"


def test_texts_on_the_wire_are_bounded_valid_and_never_empty() -> None:
    assert ClaimFailure("").as_prepare_response().error == "unknown error"
    assert len(ClaimFailure("x" * 99_999).as_prepare_response().error) <= 4096
    assert ClaimFailure("a\udc80").as_unprepare_response().error == "a?"


def test_each_class_has_its_reason() -> None:
    assert len({each.reason for each in ErrorClass}) == len(ErrorClass)
