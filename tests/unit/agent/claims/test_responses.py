"""What drivers answer, however odd."""

from __future__ import annotations

import pytest

from dray.agent.claims.claim_info import ClaimName, PreparedDevice
from dray.agent.claims.failures import ErrorClass
from dray.agent.claims.responses import (
    DEVICE_ERRORS_MAX,
    ERROR_CHARACTERS_MAX,
    UNKNOWN_CLAIMS_MAX,
    error_class_of,
    read_prepared,
    read_unprepared,
)
from dray.proto.dra_v1_pb2 import (
    Device,
    DeviceError,
    NodePrepareResourceResponse,
    NodePrepareResourcesResponse,
    NodeUnprepareResourcesResponse,
)

A, B = ClaimName("n", "a", "ua"), ClaimName("n", "b", "ub")


def prepared(**claims: NodePrepareResourceResponse) -> NodePrepareResourcesResponse:
    return NodePrepareResourcesResponse(claims=claims)


def test_devices_are_read_with_all_they_have() -> None:
    device = Device(
        pool_name="p",
        device_name="x",
        request_names=["r"],
        cdi_device_ids=["v/c=x"],
        share_id="s",
    )
    plain = Device(pool_name="p", device_name="y")
    answer = read_prepared(
        "d", [A], prepared(ua=NodePrepareResourceResponse(devices=[device, plain]))
    )
    assert answer.devices == {
        "ua": (PreparedDevice("p", "x", ("r",), ("v/c=x",), "s"), PreparedDevice("p", "y"))
    }
    assert not answer.failures


def test_an_empty_answer_for_a_claim_is_success() -> None:
    answer = read_prepared("d", [A], prepared(ua=NodePrepareResourceResponse()))
    assert answer.devices == {"ua": ()}


def test_devices_of_a_failed_claim_mean_nothing() -> None:
    failed = NodePrepareResourceResponse(error="no", devices=[Device(device_name="x")])
    assert not read_prepared("d", [A], prepared(ua=failed)).devices


def test_a_class_without_an_error_means_nothing() -> None:
    answer = read_prepared("d", [A], prepared(ua=NodePrepareResourceResponse(error_type=1)))  # type: ignore[arg-type]  # a number of the wire
    assert not answer.failures


@pytest.mark.parametrize(
    ("number", "error_class"),
    [
        (0, ErrorClass.UNKNOWN),
        (1, ErrorClass.PERMANENT),
        (2, ErrorClass.TRANSIENT),
        (3, ErrorClass.INVALID_CONFIG),
        (4, ErrorClass.DEVICE_FAILED),
        (5, ErrorClass.UNKNOWN),
        (-1, ErrorClass.UNKNOWN),
    ],
)
def test_numbers_of_later_versions_are_not_known(number: int, error_class: ErrorClass) -> None:
    assert error_class_of(number) is error_class


def test_a_number_of_a_later_version_survives_the_wire_and_is_unknown() -> None:
    sent = NodePrepareResourceResponse(error="no", error_type=77)  # type: ignore[arg-type]  # a number of the wire
    received = NodePrepareResourceResponse.FromString(sent.SerializeToString())
    [failure] = read_prepared("d", [A], prepared(ua=received)).failures
    assert failure.error_class is ErrorClass.UNKNOWN


def test_failures_come_in_the_order_of_the_request() -> None:
    failed = NodePrepareResourceResponse(error="no")
    answer = read_prepared("d", [B, A], prepared(ua=failed, ub=failed))
    assert [failure.claim for failure in answer.failures] == [B, A]


def test_texts_and_lists_of_drivers_are_bounded() -> None:
    failed = NodePrepareResourceResponse(
        error="x" * 1_000_000,
        device_errors=[DeviceError(device_name="d", error="y" * 100_000)] * 1000,
    )
    strangers = {f"s{n}": NodePrepareResourceResponse() for n in range(1000)}
    failures = read_prepared("d", [A], prepared(ua=failed, **strangers)).failures
    assert len(failures) == 1 + UNKNOWN_CLAIMS_MAX
    assert len(failures[0].message) < ERROR_CHARACTERS_MAX + 100
    assert len(failures[0].devices) == DEVICE_ERRORS_MAX
    assert len(failures[0].devices[0].message) <= ERROR_CHARACTERS_MAX


def test_claims_without_an_answer_each_fail_with_their_number() -> None:
    answer = read_unprepared("d", [A, B], NodeUnprepareResourcesResponse())
    assert [failure.claim for failure in answer.failures] == [A, B]
    assert {failure.message for failure in answer.failures} == {
        "NodeUnprepareResources skipped 2 ResourceClaims"
    }
