"""From bytes to objects, lists and errors."""

from __future__ import annotations

import asyncio
import json

import pytest

from dray.api.core import Pod
from dray.api.resource import ResourceClaim
from dray.client._answers import (
    TURN_OBJECTS,
    error_of,
    is_unserved,
    read_list,
    read_object,
    retry_after_seconds,
)
from dray.client._resources import resource_of
from dray.client._transport import Call, Reply
from dray.errors import APIError, Conflict, Expired, TooManyRequests, TransportError

CALL = Call("GET", "/x")
PODS = resource_of(Pod)
CLAIMS = resource_of(ResourceClaim)


def test_unknown_members_survive() -> None:
    obj = read_object(b'{"kind":"Pod","metadata":{"name":"p"},"later":1}', PODS, PODS.hub, CALL)
    assert obj.unknown_fields.members == {"later": 1}


def test_an_older_version_arrives_as_the_newest() -> None:
    version = CLAIMS.version("v1beta1")
    assert version is not None
    document = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}},
    }
    claim = read_object(json.dumps(document).encode(), CLAIMS, version, CALL)
    assert isinstance(claim, ResourceClaim)
    assert claim.api_version == "resource.k8s.io/v1"
    body = json.dumps({"items": [document]}).encode()
    listed = asyncio.run(read_list(body, CLAIMS, version, CALL))
    assert listed[0] == [claim]


@pytest.mark.parametrize("body", [b"", b"[]", b'{"items":{}}', b'{"items":[1]}', b"\xff"])
def test_what_is_no_list_is_an_error(body: bytes) -> None:
    with pytest.raises(TransportError, match="GET /x"):
        asyncio.run(read_list(body, PODS, PODS.hub, CALL))


def test_others_may_run_while_a_long_list_is_read() -> None:
    async def main() -> int:
        turns_count = 0

        async def count_turns() -> None:
            nonlocal turns_count
            while True:
                turns_count += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(count_turns())
        body = json.dumps({"items": [{}] * (3 * TURN_OBJECTS)}).encode()
        items, _ = await read_list(body, PODS, PODS.hub, CALL)
        other.cancel()
        assert len(items) == 3 * TURN_OBJECTS
        return turns_count

    assert asyncio.run(main()) == 3


def test_a_status_becomes_its_class_with_what_headers_add() -> None:
    body = b'{"kind":"Status","reason":"TooManyRequests","details":{"name":"p","kind":"pods"}}'
    error = error_of(CALL, Reply(429, {"retry-after": "7"}, body))
    assert isinstance(error, TooManyRequests)
    assert (error.details.retry_after_seconds, error.details.name) == (7, "p")


def test_a_status_without_reason_is_known_by_the_code_of_its_answer() -> None:
    error = error_of(CALL, Reply(409, {}, b'{"kind":"Status","message":"no"}'))
    assert isinstance(error, Conflict)
    teapot = error_of(CALL, Reply(418, {}, b'{"kind":"Status"}'))
    assert isinstance(teapot, APIError)
    assert teapot.code == 418


def test_gone_is_expired_by_either_reason() -> None:
    error = error_of(CALL, Reply(410, {}, b'{"kind":"Status","reason":"Gone","code":410}'))
    assert isinstance(error, Expired)


@pytest.mark.parametrize(
    ("status", "body", "unserved"),
    [
        (404, b"404 page not found", True),
        (404, b'{"kind":"Status"}', True),
        (404, b'{"kind":"Status","details":{}}', True),
        (404, b'{"kind":"Status","details":{"name":"p"}}', False),
        (403, b"", False),
    ],
)
def test_a_missing_path_is_told_from_a_missing_object(
    status: int, body: bytes, unserved: bool
) -> None:
    assert is_unserved(Reply(status, {}, body)) is unserved


@pytest.mark.parametrize(
    ("header", "seconds"), [("5", 5), ("", 0), ("-1", 0), ("²", 0), ("9" * 40, 0)]
)
def test_when_to_come_back_is_a_number_or_nothing(header: str, seconds: int) -> None:
    assert retry_after_seconds(Reply(429, {"retry-after": header}, b"")) == seconds
