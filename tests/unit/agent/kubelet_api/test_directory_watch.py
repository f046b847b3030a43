from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.agent.kubelet_api.directory_watch import LOOK_AGAIN_SECONDS, DirectoryWatch
from dray.testing import FakeClock


def test_all_who_wait_for_a_directory_hear_of_changes(tmp_path: Path) -> None:
    async def main() -> None:
        watch = DirectoryWatch(FakeClock())
        watch.open()
        first, second = asyncio.Event(), asyncio.Event()
        with watch.watching(tmp_path, first) as is_watched:
            assert is_watched
            with watch.watching(tmp_path, second):
                (tmp_path / "file").write_text("x")
                await watch.wait(first, is_watched=True)
                await watch.wait(second, is_watched=True)
            first.clear()
            second.clear()
            (tmp_path / "file").rename(tmp_path / "other")
            await first.wait()
            assert not second.is_set()
        assert watch._waiters == {}
        watch.close()
        watch.close()

    asyncio.run(main())


@pytest.mark.parametrize("is_open", [True, False])
def test_where_the_kernel_does_not_help_one_looks_again(tmp_path: Path, *, is_open: bool) -> None:
    async def main() -> None:
        clock = FakeClock()
        watch = DirectoryWatch(clock)
        if is_open:
            watch.open()
        event = asyncio.Event()
        with watch.watching(tmp_path / "missing", event) as is_watched:
            assert not is_watched
            waiting = asyncio.ensure_future(watch.wait(event, is_watched=is_watched))
            await asyncio.sleep(0)
            assert not waiting.done()
            clock.advance(LOOK_AGAIN_SECONDS)
            await waiting
        watch.close()

    asyncio.run(main())
