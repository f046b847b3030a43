"""Claims as a driver reads them."""

from __future__ import annotations

import asyncio

import pytest

from dray.errors import Forbidden, TooManyRequests, TransportError
from dray.sdk._claims import ClaimName, RetrievalFailed, results_of, retrieve
from dray.sdk._journal import DeviceKey
from tests.unit.sdk.drivers import DRIVER, Claims, claim, name_of, result


def failure(claims: Claims, name: ClaimName) -> RetrievalFailed:
    with pytest.raises(RetrievalFailed) as caught:
        asyncio.run(retrieve(claims, name))
    return caught.value


def test_an_allocated_claim_with_the_right_uid_is_returned() -> None:
    one = claim()
    assert asyncio.run(retrieve(Claims(one), name_of(one))) is one


def test_refusals_and_silence_are_told_apart() -> None:
    one = claim()
    claims = Claims(one)
    claims.failures = [TransportError("no route"), TooManyRequests("later"), Forbidden("not you")]
    found = [failure(claims, name_of(one)) for _ in range(3)]
    assert [each.unreachable for each in found] == [True, True, False]
    assert str(found[2]) == "retrieve claim default/claim-of-uid-1: not you"


@pytest.mark.parametrize("uid", ["", "a/b", "..", "x" * 129, "a b", "a\n"])
def test_a_uid_that_no_file_could_have_is_refused_unread(uid: str) -> None:
    claims = Claims()
    assert "cannot be its UID" in str(failure(claims, ClaimName("default", "c", uid)))
    assert claims.calls == 0


def test_long_names_are_cut_in_messages() -> None:
    assert len(str(failure(Claims(), ClaimName("n" * 9999, "c" * 9999, "u")))) < 11_000


def test_results_are_by_device_and_share_in_the_order_of_the_allocation() -> None:
    one = claim(
        "uid-1",
        result("gpu-1", request="b/x"),
        result("nic", driver="net.example.com"),
        result("gpu-0", request="a", share_id="s"),
        result("gpu-1", request="b/x", admin_access=True),
        result("gpu-1", request="c"),
        result("gpu-9", skip_node_operations=("NodePrepareResources",)),
        result("gpu-8", skip_node_operations=("NodeUnprepareResources",)),
    )
    found = results_of(one, driver=DRIVER)
    assert [(each.key, each.requests, each.admin_access) for each in found] == [
        (DeviceKey("n1", "gpu-1"), ("b", "c"), False),
        (DeviceKey("n1", "gpu-0", "s"), ("a",), False),
        (DeviceKey("n1", "gpu-8"), ("gpu",), False),
    ]
    assert results_of(claim(allocated=False), driver=DRIVER) == ()
