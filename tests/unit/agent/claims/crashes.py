"""The agent may stop at any point, and nothing is left behind that nobody knows of.

Every place where something outside changes (the file is written, a driver does something) is a
point. Each run stops at one of them, before or after the change; then a new agent starts over what
is on disk. At each restart the file must know every claim that a driver has prepared, and giving
back all pods must leave drivers and file empty.
"""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path

import pytest

from dray.agent.claims import checkpoint
from dray.agent.claims.checkpoint import decode_checkpoint
from dray.agent.claims.failures import PrepareFailed
from dray.files import write_file
from dray.proto.dra_v1_pb2 import NodePrepareResourceErrorType
from tests.unit.agent.claims.world import GPU, NIC, World, claim, failing, pod, result

SHARED = claim("shared", pods=["pod-1", "pod-2"], results=[result(GPU), result(NIC, "nic-0")])
OWN = claim("own", pods=["pod-1"], results=[result(GPU, "gpu-1")])
BAD = claim("bad", pods=["pod-3"], results=[result(GPU, "gpu-2"), result(NIC, "nic-1")])
FIRST, SECOND = pod("pod-1", "shared", "own"), pod("pod-2", "shared")
THIRD = pod("pod-3", "bad")


class Crash(Exception):
    """The process is gone."""


class Points:
    """Counts the points that are passed, and stops at one of them."""

    def __init__(self, stop_at: int | None) -> None:
        self._stop_at = stop_at
        self._passed = count()

    def passed(self, _where: str = "") -> None:
        if next(self._passed) == self._stop_at:
            raise Crash


def fragile_world(tmp_path: Path) -> World:
    world = World(tmp_path, SHARED, OWN, BAD)
    asyncio.run(world.manager.rebuild([]))  # nothing ran before, so that pods are rolled back
    world.nic.errors["uid-bad"] = failing("never", NodePrepareResourceErrorType.PERMANENT)
    return world


async def life(world: World) -> None:
    """Two pods that share a claim come and go, and one that cannot be helped."""
    await world.manager.prepare(FIRST)
    await world.manager.prepare(SECOND)
    with pytest.raises(PrepareFailed):
        await world.manager.prepare(THIRD)
    await world.manager.unprepare(FIRST)
    await world.manager.unprepare(SECOND)
    await world.manager.unprepare(THIRD)


def watch(world: World, points: Points, monkeypatch: pytest.MonkeyPatch) -> None:
    def watched(path: Path, data: bytes) -> None:
        points.passed()
        write_file(path, data)
        points.passed()

    monkeypatch.setattr(checkpoint, "write_file", watched)
    world.gpu.fault = world.nic.fault = points.passed


def known(world: World) -> set[str]:
    return {info.claim.uid for info in decode_checkpoint(world.path.read_bytes())}


def check_safety(world: World) -> None:
    assert world.gpu.prepared | world.nic.prepared <= known(world)


async def live_until(world: World, stop_at: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether it stopped there: there may be fewer points."""
    stopped = False
    with monkeypatch.context() as patched:
        watch(world, Points(stop_at), patched)
        try:
            await life(world)
        except* Crash:
            stopped = True
        finally:
            world.gpu.fault = world.nic.fault = lambda _where: None
    return stopped
