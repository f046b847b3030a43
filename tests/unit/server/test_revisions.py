from __future__ import annotations

import asyncio

import pytest

from dray.errors import BadRequest, Timeout
from dray.server.revisions import WAIT_SECONDS, parse_revision, reach
from dray.store.memory import MemoryStore
from dray.testing import FakeClock


@pytest.mark.parametrize(("text", "number"), [("", 0), ("0", 0), ("7", 7), ("007", 7)])
def test_a_revision_is_a_number(text: str, number: int) -> None:
    assert parse_revision(text) == number


@pytest.mark.parametrize("text", ["-1", "x", "1.5", "٣", "9" * 21, " 1"])
def test_what_is_not_a_revision_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="invalid resource version"):
        parse_revision(text)


async def turns() -> None:
    for _turn in range(5):
        await asyncio.sleep(0)


def test_what_is_reached_is_not_waited_for() -> None:
    store = MemoryStore()
    asyncio.run(reach(store, FakeClock(), store.revision))


def test_a_wait_ends_with_the_write_it_waits_for() -> None:
    async def main() -> None:
        store = MemoryStore()
        wait = asyncio.create_task(reach(store, FakeClock(), store.revision + 2))
        await store.put("core/pods/a", b"1")
        await turns()
        assert not wait.done()
        await store.put("core/pods/b", b"1")
        await wait

    asyncio.run(main())


def test_a_revision_that_does_not_come_is_too_large() -> None:
    async def main() -> None:
        store, clock = MemoryStore(), FakeClock()
        wait = asyncio.create_task(reach(store, clock, 99))
        await turns()
        clock.advance(WAIT_SECONDS)
        with pytest.raises(Timeout, match="Too large resource version: 99, current: 1") as caught:
            await wait
        assert caught.value.details.retry_after_seconds == 1

    asyncio.run(main())
