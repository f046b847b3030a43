from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from dray.errors import BadRequest
from dray.server.aside import LARGE_BYTES, Aside


def played(scenario: Callable[[Aside], Awaitable[None]]) -> None:
    async def main() -> None:
        aside = Aside()
        aside.start()
        try:
            await scenario(aside)
        finally:
            aside.stop()

    asyncio.run(main())


def here() -> int:
    return threading.get_ident()


def test_small_work_is_done_at_once() -> None:
    async def scenario(aside: Aside) -> None:
        assert await aside.do(LARGE_BYTES - 1, here) == here()

    played(scenario)


def test_large_work_is_done_in_one_thread_that_is_not_the_loops() -> None:
    async def scenario(aside: Aside) -> None:
        found = [await aside.do(LARGE_BYTES, here) for _ in range(3)]
        assert len(set(found)) == 1
        assert found[0] != here()

    played(scenario)


def test_the_loop_goes_on_while_there_is_work_aside() -> None:
    async def scenario(aside: Aside) -> None:
        released = threading.Event()
        work = asyncio.ensure_future(aside.do(LARGE_BYTES, released.wait))
        await asyncio.sleep(0)
        assert not work.done()
        released.set()
        assert await work

    played(scenario)


def test_what_work_raises_is_raised() -> None:
    def refuse() -> None:
        raise BadRequest("no")

    async def scenario(aside: Aside) -> None:
        with pytest.raises(BadRequest, match="no"):
            await aside.do(LARGE_BYTES, refuse)

    played(scenario)


def test_without_a_thread_everything_is_done_at_once() -> None:
    async def scenario(aside: Aside) -> None:
        aside.stop()
        assert await aside.do(LARGE_BYTES, here) == here()

    played(scenario)
