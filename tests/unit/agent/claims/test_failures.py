"""Which class of error decides what becomes of a pod."""

from __future__ import annotations

import pytest

from dray.agent.claims.claim_info import ClaimName
from dray.agent.claims.failures import ClaimFailure, ErrorClass, PrepareFailed, UnprepareFailed

CLAIM = ClaimName("ml", "gpu", "1")


@pytest.mark.parametrize(
    ("found", "decides"),
    [
        pytest.param([], ErrorClass.UNKNOWN, id="nothing-is-known"),
        pytest.param([ErrorClass.UNKNOWN, ErrorClass.TRANSIENT], ErrorClass.TRANSIENT, id="said"),
        pytest.param(
            [ErrorClass.TRANSIENT, ErrorClass.PERMANENT], ErrorClass.PERMANENT, id="final"
        ),
        pytest.param(
            [ErrorClass.INVALID_CONFIG, ErrorClass.PERMANENT],
            ErrorClass.INVALID_CONFIG,
            id="config",
        ),
        pytest.param(
            [ErrorClass.INVALID_CONFIG, ErrorClass.DEVICE_FAILED],
            ErrorClass.DEVICE_FAILED,
            id="device",
        ),
    ],
)
def test_the_gravest_class_decides(found: list[ErrorClass], decides: ErrorClass) -> None:
    failures = [ClaimFailure(CLAIM, "no", error_class=error_class) for error_class in found]
    assert PrepareFailed("no", failures).error_class is decides


def test_only_classes_that_trying_again_cannot_help_are_final() -> None:
    assert [error_class.name for error_class in ErrorClass if error_class.final] == [
        "PERMANENT",
        "INVALID_CONFIG",
        "DEVICE_FAILED",
    ]


def test_texts_begin_as_upstreams_do() -> None:
    assert str(PrepareFailed("x")) == "prepare dynamic resources: x"
    assert str(UnprepareFailed("x")) == "unprepare dynamic resources: x"
