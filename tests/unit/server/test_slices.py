from __future__ import annotations

import asyncio

import pytest

from dray.server.slices import SLICE, in_slices


@pytest.mark.parametrize("count", [0, 1, SLICE, SLICE + 1, 3 * SLICE + 7])
def test_every_item_is_worked_on_once_in_order(count: int) -> None:
    assert asyncio.run(in_slices(range(count), lambda item: -item)) == [-n for n in range(count)]


def test_others_get_their_turn_between_slices() -> None:
    async def scenario() -> list[str]:
        said: list[str] = []

        async def other() -> None:
            for _ in range(3):
                said.append("other")
                await asyncio.sleep(0)

        def work(item: int) -> None:
            if item % SLICE == 0:
                said.append("slice")

        task = asyncio.ensure_future(other())
        await in_slices(range(3 * SLICE), work)
        await task
        return said

    assert asyncio.run(scenario()) == ["slice", "other"] * 3
