"""Giving back the claims of a pod."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.agent.claims.failures import ErrorClass, UnprepareFailed
from dray.errors import TransportError
from dray.proto.dra_v1_pb2 import NodeUnprepareResourcesResponse
from tests.unit.agent.claims.world import GPU, NIC, World, claim, pod, result

BOTH = claim("both", results=[result(GPU), result(NIC, "nic-0")])


def prepared(world: World, *pods: tuple[str, str]) -> World:
    for uid, name in pods:
        asyncio.run(world.manager.prepare(pod(uid, name)))
    world.gpu.calls.clear()
    world.nic.calls.clear()
    return world


def failure_of(world: World, uid: str = "pod-1") -> UnprepareFailed:
    with pytest.raises(UnprepareFailed) as caught:
        asyncio.run(world.manager.unprepare(pod(uid)))
    return caught.value


def test_what_is_given_back_is_what_was_recorded_whatever_the_pod_says_now(tmp_path: Path) -> None:
    world = prepared(World(tmp_path, claim()), ("pod-1", "gpu"))
    asyncio.run(world.manager.unprepare(pod("pod-1", missing_templates=["lost"])))
    assert world.gpu.calls == [("unprepare", ("uid-gpu",))]


def test_a_pod_without_claims_gives_nothing_back(tmp_path: Path) -> None:
    world = prepared(World(tmp_path, claim()), ("pod-1", "gpu"))
    asyncio.run(world.start().unprepare(pod("pod-2", "gpu")))
    assert not world.gpu.calls


def test_a_shared_claim_only_loses_the_pod(tmp_path: Path) -> None:
    world = World(tmp_path, claim(pods=["pod-1", "pod-2"]))
    prepared(world, ("pod-1", "gpu"), ("pod-2", "gpu"))
    asyncio.run(world.manager.unprepare(pod("pod-1")))
    assert not world.gpu.calls
    assert world.start().claims()[0].pods == {"pod-2"}
    asyncio.run(world.manager.unprepare(pod("pod-2")))
    assert world.gpu.operations == ["unprepare"]


def test_pods_that_leave_together_cause_one_call(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asyncio.TaskGroup() as group:
            for uid in ("pod-1", "pod-2"):
                group.create_task(world.manager.unprepare(pod(uid)))

    world = World(tmp_path, claim(pods=["pod-1", "pod-2"]))
    prepared(world, ("pod-1", "gpu"), ("pod-2", "gpu"))
    asyncio.run(scenario())
    assert world.gpu.operations == ["unprepare"]


def test_a_failure_has_upstreams_text_and_can_be_tried_again(tmp_path: Path) -> None:
    world = prepared(World(tmp_path, claim()), ("pod-1", "gpu"))
    world.gpu.unprepare_errors["uid-gpu"] = "busy"
    assert str(failure_of(world)) == (
        "unprepare dynamic resources: NodeUnprepareResources failed for ResourceClaim gpu: busy"
    )
    world.gpu.unprepare_errors.clear()
    asyncio.run(world.manager.unprepare(pod("pod-1")))
    assert not world.manager.claims()


def test_drivers_that_are_done_are_not_asked_again(tmp_path: Path) -> None:
    world = prepared(World(tmp_path, BOTH), ("pod-1", "both"))
    world.nic.unprepare_errors["uid-both"] = "busy"
    failure_of(world)
    world.nic.unprepare_errors.clear()
    asyncio.run(world.start().unprepare(pod("pod-1")))
    assert world.gpu.operations == ["unprepare"]
    assert world.nic.operations == ["unprepare", "unprepare"]
    assert not world.manager.claims()


def test_claims_that_are_done_go_though_others_stay(tmp_path: Path) -> None:
    world = World(tmp_path, claim("a"), claim("b"))
    prepared(world, ("pod-1", "a"), ("pod-1", "b"))
    world.gpu.unprepare_errors["uid-b"] = "busy"
    failed = failure_of(world)
    assert [failure.claim.name for failure in failed.failures] == ["b"]
    assert [info.claim.name for info in world.start().claims()] == ["b"]


def test_a_driver_that_is_gone_is_waited_for(tmp_path: Path) -> None:
    world = prepared(World(tmp_path, BOTH), ("pod-1", "both"))
    gone = world.plugins.registered.pop(GPU)
    failed = failure_of(world)
    assert str(failed) == (
        "unprepare dynamic resources: DRA driver gpu.example.com is not registered"
    )
    assert failed.failures[0].error_class is ErrorClass.TRANSIENT
    world.plugins.registered[GPU] = gone
    asyncio.run(world.manager.unprepare(pod("pod-1")))
    assert not world.gpu.prepared


def test_a_call_that_never_arrived_is_made_again(tmp_path: Path) -> None:
    def fault(operation: str) -> None:
        raise TransportError("rpc error: code = Unavailable desc = gone")

    world = prepared(World(tmp_path, claim()), ("pod-1", "gpu"))
    world.gpu.fault = fault
    assert str(failure_of(world)).endswith(
        ": NodeUnprepareResources: rpc error: code = Unavailable desc = gone"
    )
    world.gpu.fault = lambda operation: None
    asyncio.run(world.manager.unprepare(pod("pod-1")))
    assert not world.manager.claims()


def test_answers_must_be_about_the_claims_asked_about(tmp_path: Path) -> None:
    def alter(response: NodeUnprepareResourcesResponse) -> None:
        response.claims.clear()
        response.claims["stranger"].SetInParent()

    world = prepared(World(tmp_path, claim()), ("pod-1", "gpu"))
    world.gpu.alter_unprepared = alter
    assert str(failure_of(world)) == (
        "unprepare dynamic resources:"
        " NodeUnprepareResources returned result for unknown claim UID stranger;"
        " NodeUnprepareResources skipped 1 ResourceClaims"
    )
    assert world.manager.claims()


def test_drivers_work_at_the_same_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        world.gpu.gate = world.nic.gate = asyncio.Event()
        world.gpu.entered.clear()
        world.nic.entered.clear()
        async with asyncio.TaskGroup() as group:
            group.create_task(world.manager.unprepare(pod("pod-1")))
            await world.gpu.entered.wait()
            await world.nic.entered.wait()
            world.gpu.gate.set()

    world = prepared(World(tmp_path, BOTH), ("pod-1", "both"))
    asyncio.run(scenario())
    assert not world.manager.claims()


def test_a_claim_deleted_by_force_is_given_back_all_the_same(tmp_path: Path) -> None:
    world = prepared(World(tmp_path, claim()), ("pod-1", "gpu"))
    world.api.claims.clear()
    asyncio.run(world.manager.unprepare(pod("pod-1")))
    assert not world.gpu.prepared


def test_who_joins_while_the_last_pod_waits_to_leave_keeps_the_claim(tmp_path: Path) -> None:
    async def scenario() -> None:
        world.gpu.gate = asyncio.Event()
        first = asyncio.create_task(world.manager.refresh(pod("pod-1", "gpu")))
        await asyncio.sleep(0)
        while not world.gpu.calls:
            await asyncio.sleep(0)
        second = asyncio.create_task(world.manager.prepare(pod("pod-2", "gpu")))
        while len(world.api.reads) < 3:
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        leaving = asyncio.create_task(world.manager.unprepare(pod("pod-1", "gpu")))
        await asyncio.sleep(0)
        world.gpu.gate.set()
        await asyncio.gather(first, second, leaving)

    world = World(tmp_path, claim(pods=["pod-1", "pod-2"]))
    prepared(world, ("pod-1", "gpu"))
    asyncio.run(scenario())
    assert world.gpu.operations == ["prepare"]
    assert world.manager.claims()[0].pods == {"pod-2"}
