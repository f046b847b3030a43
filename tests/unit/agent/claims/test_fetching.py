"""Claims as the API has them."""

from __future__ import annotations

import asyncio

import pytest

from dray.agent.claims.cache import ClaimCache
from dray.agent.claims.claim_info import ClaimInfo, ClaimName
from dray.agent.claims.fetching import Fetched, Fetcher, is_outage
from dray.errors import (
    APIError,
    Conflict,
    Forbidden,
    NotFound,
    TooManyRequests,
    TransportError,
    Unavailable,
)
from dray.testing import FakeClock
from tests.unit.agent.claims.test_cache import Disk
from tests.unit.agent.claims.world import FakeAPI, T, claim, pod

KNOWN = ClaimInfo(ClaimName("ml", "gpu", "uid-gpu"), frozenset({"pod-1"}))


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (TransportError("x"), True),
        (TimeoutError("x"), True),
        (Unavailable("x"), True),
        (TooManyRequests("x"), True),
        (APIError("x"), True),
        (NotFound("x"), False),
        (Forbidden("x"), False),
        (Conflict("x"), False),
    ],
)
def test_an_outage_says_nothing_about_the_claim(error: Exception, outage: bool) -> None:
    assert is_outage(error) is outage


@pytest.mark.parametrize(
    ("error", "goes_on"),
    [
        pytest.param(TransportError("refused"), True, id="api-away"),
        pytest.param(Forbidden("not yours"), False, id="api-says-no"),
    ],
)
def test_what_this_node_knows_counts_only_while_the_api_is_away(
    error: Exception, goes_on: bool
) -> None:
    api = FakeAPI([claim()])
    api.error = error
    fetcher = Fetcher(api, ClaimCache(Disk(), [KNOWN]), FakeClock(), timeout_seconds=30)
    fetched, failures = asyncio.run(fetcher.fetch(pod("pod-1", "gpu")))
    assert fetched == ([Fetched(KNOWN)] if goes_on else [])
    assert len(failures) == (0 if goes_on else 1)


def test_an_api_that_does_not_answer_is_given_up_on() -> None:
    class Hung(FakeAPI):
        async def get(self, kind: type[T], name: str, *, namespace: str = "") -> T:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError("nobody sets it")

    async def scenario() -> None:
        task = asyncio.create_task(fetcher.fetch(pod("pod-2", "gpu")))
        await asked.wait()
        clock.advance(30)
        _, [failure] = await task
        assert failure.message == "fetch ResourceClaim gpu: not done after 30 s"

    clock, asked = FakeClock(), asyncio.Event()
    fetcher = Fetcher(Hung(), ClaimCache(Disk(), [KNOWN]), clock, timeout_seconds=30)
    asyncio.run(scenario())


def test_a_claim_named_twice_is_there_once() -> None:
    fetcher = Fetcher(FakeAPI([claim()]), ClaimCache(Disk()), FakeClock(), timeout_seconds=30)
    fetched, failures = asyncio.run(fetcher.fetch(pod("pod-1", "gpu", "gpu")))
    assert len(fetched) == 1
    assert not failures
