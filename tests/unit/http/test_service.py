"""What connections share."""

from __future__ import annotations

import asyncio

from dray.http.limits import Limits
from dray.http.service import Counters, Service
from dray.testing import FakeClock
from tests.unit.http.wire import echo


class Member:
    def wind_down(self) -> None: ...

    def abort(self) -> None: ...


def test_one_waits_until_no_connection_is_open() -> None:
    async def scenario() -> None:
        service = Service(echo, limits=Limits(), clock=FakeClock())
        await service.emptied()
        members = [Member(), Member()]
        service.connections.update(members)
        waiting = asyncio.ensure_future(service.emptied())
        await asyncio.sleep(0)
        service.remove(members[0])
        await asyncio.sleep(0)
        assert not waiting.done()
        service.remove(members[1])
        await waiting

    asyncio.run(scenario())


def test_flushes_of_one_turn_are_one_call_of_the_loop() -> None:
    async def scenario() -> None:
        service = Service(echo, limits=Limits(), clock=FakeClock())
        calls: list[int] = []
        service.flush_soon(lambda: calls.append(1))
        service.flush_soon(lambda: calls.append(2))
        assert calls == []
        await asyncio.sleep(0)
        assert calls == [1, 2]
        service.flush_soon(lambda: calls.append(3))
        await asyncio.sleep(0)
        assert calls == [1, 2, 3]

    asyncio.run(scenario())


def test_counters_begin_at_nothing() -> None:
    counters = Counters()
    assert {name: getattr(counters, name) for name in Counters.__slots__} == dict.fromkeys(
        Counters.__slots__, 0
    )
