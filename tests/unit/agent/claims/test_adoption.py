"""Claims taken back from the API after the checkpoint was lost."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

from dray.agent.claims import checkpoint
from dray.errors import Unavailable
from tests.unit.agent.claims.world import GPU, World, claim, pod, result


def test_pods_that_share_a_claim_are_all_recorded(tmp_path: Path) -> None:
    world = World(tmp_path, claim(pods=["pod-1", "pod-2"]))
    assert not asyncio.run(world.manager.rebuild([pod("pod-1", "gpu"), pod("pod-2", "gpu")]))
    assert world.manager.claims()[0].pods == {"pod-1", "pod-2"}
    assert world.manager.pods_using(GPU, "node-1", "gpu-0") == {"pod-1", "pod-2"}


def test_claims_that_are_gone_or_not_allocated_need_no_giving_back(tmp_path: Path) -> None:
    world = World(tmp_path, claim(results=None))
    assert not asyncio.run(world.manager.rebuild([pod("pod-1", "gpu", "lost")]))
    assert not world.manager.claims()
    assert not world.manager.needs_rebuild


def test_what_is_known_is_not_overwritten(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(pod("pod-1", "gpu"))
        await world.manager.rebuild([pod("pod-1", "gpu"), pod("pod-2", "gpu")])

    world = World(tmp_path, claim(pods=["pod-1", "pod-2"]))
    asyncio.run(scenario())
    [info] = world.manager.claims()
    assert info.prepared
    assert info.pods == {"pod-1", "pod-2"}
    assert [device.device for device in info.drivers[GPU]] == ["dev-uid-gpu"]


def test_a_claim_of_the_same_name_that_came_later_is_not_mistaken_for_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(pod("pod-1", "gpu"))
        world.api.add(claim(uid="new", pods=["pod-2"]))
        await world.manager.rebuild([pod("pod-2", "gpu")])

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert world.manager.claims()[0].pods == {"pod-1"}


def test_what_can_be_read_is_taken_though_the_rest_cannot(tmp_path: Path) -> None:
    async def scenario() -> None:
        world.api.error = Unavailable("starting")
        [failure] = await world.manager.rebuild([pod("pod-1", "gpu")])
        assert failure.message == "fetch ResourceClaim gpu: starting"
        world.api.error = None
        assert not await world.manager.rebuild([pod("pod-1", "gpu")])

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert world.manager.pods() == {"pod-1"}


def test_a_full_disk_means_that_it_has_to_be_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    world = World(tmp_path, claim())
    monkeypatch.setattr(checkpoint, "write_file", full)
    [failure] = asyncio.run(world.manager.rebuild([pod("pod-1", "gpu")]))
    assert "No space" in failure.message
    assert world.manager.needs_rebuild


def test_hundreds_of_claims_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    names = [f"c{n}" for n in range(200)]
    world = World(tmp_path, *(claim(name, results=[result(device=name)]) for name in names))
    assert not asyncio.run(world.manager.rebuild([pod("pod-1", *names)]))
    assert len(world.manager.claims_of("pod-1")) == 200
