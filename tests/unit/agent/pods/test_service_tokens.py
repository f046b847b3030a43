"""Tokens of service accounts for pods."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from dray.agent.pods.service_tokens import ServiceTokens
from dray.agent.pods.starting import ConfigFailed
from dray.api.authentication import TokenRequest, TokenRequestStatus
from dray.api.core import Pod, PodSpec
from dray.api.core.parts import ServiceAccountTokenProjection
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.errors import TransportError
from dray.testing import FakeClock

POD = Pod(
    metadata=ObjectMeta(name="web", namespace="prod", uid="uid"),
    spec=PodSpec(service_account_name="robot"),
)
PROJECTION = ServiceAccountTokenProjection(audience="vault", expiration_seconds=1000, path="token")


class FakeAPI:
    """Gives numbered tokens."""

    def __init__(self, clock: FakeClock) -> None:
        self.asked: list[tuple[str, TokenRequest]] = []
        self.away = False
        self._clock = clock

    async def create_subresource(
        self, kind: Any, name: str, subresource: str, body: Any, result: Any, *, namespace: str = ""
    ) -> Any:
        if self.away:
            raise TransportError("away")
        self.asked.append((f"{namespace}/{name}/{subresource}", body))
        ends = self._clock.now() + timedelta(seconds=body.spec.expiration_seconds)
        token = f"token-{len(self.asked)}"
        return TokenRequest(status=TokenRequestStatus(token=token, expiration_timestamp=Time(ends)))

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"nobody needs {name}")


def test_a_token_is_bound_to_its_pod_and_renewed_in_time() -> None:
    clock = FakeClock()
    api = FakeAPI(clock)
    tokens = ServiceTokens(api, clock=clock)
    assert asyncio.run(tokens.token(POD, PROJECTION)) == "token-1"
    where, request = api.asked[0]
    assert where == "prod/robot/token"
    assert request.spec.audiences == ("vault",)
    assert request.spec.bound_object_ref is not None
    assert request.spec.bound_object_ref.uid == "uid"
    clock.advance(799)
    assert asyncio.run(tokens.token(POD, PROJECTION)) == "token-1"
    clock.advance(1)
    assert asyncio.run(tokens.token(POD, PROJECTION)) == "token-2"


def test_an_old_token_is_used_while_no_new_one_can_be_had() -> None:
    clock = FakeClock()
    api = FakeAPI(clock)
    tokens = ServiceTokens(api, clock=clock)
    asyncio.run(tokens.token(POD, PROJECTION))
    api.away = True
    clock.advance(999)
    assert asyncio.run(tokens.token(POD, PROJECTION)) == "token-1"
    clock.advance(1)
    with pytest.raises(ConfigFailed, match="failed to fetch token: away"):
        asyncio.run(tokens.token(POD, PROJECTION))


def test_a_pod_that_is_gone_is_forgotten() -> None:
    clock = FakeClock()
    api = FakeAPI(clock)
    tokens = ServiceTokens(api, clock=clock)
    asyncio.run(tokens.token(POD, PROJECTION))
    tokens.forget("uid")
    assert asyncio.run(tokens.token(POD, PROJECTION)) == "token-2"
