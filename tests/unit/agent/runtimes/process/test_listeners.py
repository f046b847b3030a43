from __future__ import annotations

import asyncio

from dray.agent.runtimes.process.listeners import Listeners


def test_every_listener_hears_of_a_pod_once_however_often_it_changed() -> None:
    async def main() -> None:
        listeners = Listeners()
        first, second = listeners.listen(), listeners.listen()
        for uid in ("a", "b", "a"):
            listeners.tell(uid)
        assert [await anext(first), await anext(first)] == ["a", "b"]
        listeners.tell("c")
        assert [await anext(second) for _ in range(3)] == ["a", "b", "c"]
        assert await anext(first) == "c"

    asyncio.run(main())


def test_who_listens_later_hears_what_comes_later() -> None:
    async def main() -> None:
        listeners = Listeners()
        listeners.tell("before")
        late = listeners.listen()
        waiting = asyncio.ensure_future(anext(late))
        await asyncio.sleep(0)
        listeners.tell("after")
        assert await waiting == "after"

    asyncio.run(main())
