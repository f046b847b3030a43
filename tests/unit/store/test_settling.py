from __future__ import annotations

import asyncio

import pytest

from dray.errors import StoreUnavailable
from dray.store import settling
from dray.store.settling import Settling, again


def test_those_who_wait_go_on_when_their_revision_is_reached() -> None:
    async def main() -> None:
        waiting = Settling()
        tasks = [asyncio.ensure_future(waiting.wait(revision)) for revision in (3, 1, 2)]
        await asyncio.sleep(0)
        waiting.reach(2)
        await asyncio.gather(*tasks[1:])
        assert not tasks[0].done()
        waiting.reach(3)
        await tasks[0]

    asyncio.run(main())


def test_refused_revisions_stay_refused() -> None:
    async def main() -> None:
        waiting = Settling()
        refused = asyncio.ensure_future(waiting.wait(5))
        later = asyncio.ensure_future(waiting.wait(8))
        await asyncio.sleep(0)
        waiting.refuse(4, 6, StoreUnavailable("full"))
        with pytest.raises(StoreUnavailable, match="full"):
            await refused
        waiting.reach(8)
        await later
        assert [waiting.refusal(revision) is None for revision in (3, 4, 6, 7)] == [1, 0, 0, 1]

    asyncio.run(main())


def test_refusals_are_remembered_within_bounds() -> None:
    waiting = Settling()
    for n in range(settling.REFUSALS_MAX + 1):
        waiting.refuse(10 * n, 10 * n + 5, StoreUnavailable("full"))
    assert waiting.refusal(0) is None
    assert waiting.refusal(10) is not None


def test_nobody_waits_for_what_will_not_come() -> None:
    async def main() -> None:
        waiting = Settling()
        tasks = [asyncio.ensure_future(waiting.wait(revision)) for revision in (9, 1)]
        gone = asyncio.ensure_future(waiting.wait(4))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        waiting.abandon(StoreUnavailable("closed"))
        for task in tasks:
            with pytest.raises(StoreUnavailable, match="closed"):
                await task

    asyncio.run(main())


def test_those_who_gave_up_are_forgotten() -> None:
    async def main() -> None:
        waiting = Settling()
        stays = asyncio.ensure_future(waiting.wait(10**9))
        for n in range(10 * settling.GONE_MAX):
            gone = asyncio.ensure_future(waiting.wait(10**6 + n))
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
        assert len(waiting._waiting) <= settling.GONE_MAX + 2
        waiting.reach(10**9)
        await stays

    asyncio.run(main())


def test_each_caller_gets_an_error_of_its_own() -> None:
    error = StoreUnavailable("x.db: full")
    copy = again(error)
    assert copy is not error
    assert (type(copy), str(copy), copy.__cause__) == (StoreUnavailable, "x.db: full", error)
