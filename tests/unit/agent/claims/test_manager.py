"""What the rest of the agent can rely on of a node's claims."""

from __future__ import annotations

import asyncio
import errno
import shutil
import tempfile
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.agent.claims import checkpoint
from dray.agent.claims.failures import ClaimInfoMissing, ErrorClass, PrepareFailed, UnprepareFailed
from dray.agent.claims.manager import ClaimManager
from dray.entropy import SeededEntropy
from dray.errors import TransportError
from dray.proto.dra_v1_pb2 import NodePrepareResourceErrorType
from tests.unit.agent.claims.crashes import (
    check_safety,
    fragile_world,
    known,
    life,
    live_until,
)
from tests.unit.agent.claims.world import GPU, NIC, World, claim, container, failing, pod, result

POD = pod("pod-1", "gpu", containers=[container("main", "gpu")])


def test_a_prepared_claim_has_its_devices_and_its_pod(tmp_path: Path) -> None:
    world = World(tmp_path, claim())
    asyncio.run(world.manager.prepare(POD))
    info = world.manager.info("ml", "gpu")
    assert info is not None
    assert info.prepared
    assert info.pods == {"pod-1"}
    assert world.manager.cdi_devices(POD, "main") == ("example.com/gpu=dev-uid-gpu",)
    assert world.manager.pods_using(GPU, "node-1", "dev-uid-gpu") == {"pod-1"}
    assert world.manager.claims_in_use() == {"<any>": 1, GPU: 1}


def test_a_claim_is_prepared_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        await world.manager.prepare(POD)

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert world.gpu.operations == ["prepare"]


def test_after_a_restart_a_claim_is_prepared_again_and_devices_are_not_doubled(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        again = world.start()
        assert again.cdi_devices(POD, "main") == ("example.com/gpu=dev-uid-gpu",)
        await again.prepare(POD)

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert world.gpu.operations == ["prepare", "prepare"]
    assert len(world.manager.claims_of("pod-1")[0].drivers[GPU]) == 1


def test_what_is_given_back_is_gone_also_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        await world.manager.unprepare(POD)

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert world.gpu.operations == ["prepare", "unprepare"]
    assert not world.manager.claims_of("pod-1")
    assert not world.start().claims()
    with pytest.raises(ClaimInfoMissing):
        world.manager.cdi_devices(POD, "main")


def test_a_pod_deleted_while_the_agent_was_down_is_given_back_by_the_first_round(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        again = world.start()
        assert not await again.reconcile(["another"])

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert not world.gpu.prepared
    assert not world.manager.claims()


def test_pods_that_are_active_keep_their_claims(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        await world.manager.reconcile(["pod-1"])

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert world.gpu.prepared == {"uid-gpu"}


async def turns() -> None:
    """What a round does takes no time, only turns of the loop."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_claims_of_vanished_pods_are_given_back_as_soon_as_drivers_let(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        world.gpu.unprepare_errors["uid-gpu"] = "busy"
        task = asyncio.create_task(world.manager.run(list))
        await turns()
        for seconds in (1.2, 2.4):
            world.clock.advance(seconds)
            await turns()
        assert world.gpu.operations == ["prepare", "unprepare", "unprepare", "unprepare"]
        world.gpu.unprepare_errors.clear()
        world.clock.advance(4.8)
        await turns()
        await cancel(task)

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert not world.manager.claims()
    # At first, a driver may not be back itself.
    assert len(world.events) == 2
    assert {reason for reason, _ in world.events} == {"FailedUnprepareDynamicResources"}
    assert world.events[0][1].endswith("NodeUnprepareResources failed for ResourceClaim gpu: busy")


def test_nothing_is_given_back_before_it_is_known_which_pods_there_are(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        sources = iter([None, None, ["pod-1"], []])
        task = asyncio.create_task(world.manager.run(lambda: next(sources)))
        await turns()
        for seconds in (1.0, 1.0):
            assert world.gpu.operations == ["prepare"]
            world.clock.advance(seconds)
            await turns()
        world.clock.advance(59.0)
        await turns()
        assert world.gpu.operations == ["prepare"]
        world.clock.advance(1.0)
        await turns()
        assert world.gpu.operations == ["prepare", "unprepare"]
        await cancel(task)

    world = World(tmp_path, claim())
    asyncio.run(scenario())


async def cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_refreshing_replaces_what_a_driver_prepared(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        world.gpu.devices = lambda uid: []
        await world.manager.refresh(POD)

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert world.gpu.operations == ["prepare", "prepare"]
    assert world.manager.cdi_devices(POD, "main") == ()


def test_durations_are_measured_with_their_outcome(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        world.gpu.unprepare_errors["uid-gpu"] = "busy"
        with pytest.raises(UnprepareFailed):
            await world.manager.unprepare(POD)

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert world.observed.operations == [
        ("PrepareResources", 0.0, False),
        ("UnprepareResources", 0.0, True),
    ]


# Without a checkpoint --------------------------------------------------------------------------


def test_a_lost_checkpoint_is_rebuilt_from_claims_reserved_for_pods(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        world.path.unlink()
        again = world.start()
        assert again.needs_rebuild
        assert not await again.rebuild([POD, pod("other", "nic")])
        assert not again.needs_rebuild
        [info] = again.claims_of("pod-1")
        assert not info.prepared
        assert [found.device for found in info.drivers[GPU]] == ["gpu-0"]
        # Nobody knows yet what a container needs; to start it without devices would be wrong.
        with pytest.raises(ClaimInfoMissing):
            again.cdi_devices(POD, "main")
        await again.prepare(POD)
        assert again.cdi_devices(POD, "main") == ("example.com/gpu=dev-uid-gpu",)

    world = World(tmp_path, claim(), claim("nic", results=[result(NIC)], pods=["not-it"]))
    asyncio.run(scenario())
    assert world.manager.info("ml", "nic") is None


def test_an_adopted_claim_is_still_unknown_to_containers_after_another_restart(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        await world.manager.rebuild([POD])
        again = world.start()
        assert not again.needs_rebuild
        assert again.pods() == {"pod-1"}
        with pytest.raises(ClaimInfoMissing):
            again.cdi_devices(POD, "main")

    world = World(tmp_path, claim())
    asyncio.run(scenario())


def test_an_agent_that_stopped_before_it_rebuilt_leaves_it_to_the_next(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        world.path.write_bytes(b"{")
        world.start()
        assert world.start().needs_rebuild
        await world.manager.prepare(pod("pod-2", "nic"))
        again = world.start()
        assert again.needs_rebuild
        await again.rebuild([POD])
        assert not world.start().needs_rebuild

    world = World(tmp_path, claim(), claim("nic", results=[result(NIC)], pods=["pod-2"]))
    asyncio.run(scenario())
    assert world.manager.pods() == {"pod-1", "pod-2"}


def test_a_damaged_checkpoint_is_set_aside_and_reported(tmp_path: Path) -> None:
    world = World(tmp_path, claim())
    asyncio.run(world.manager.prepare(POD))
    world.path.write_bytes(b"{")
    again = world.start()
    assert again.needs_rebuild
    assert (tmp_path / "dra_manager_state.damaged-0").read_bytes() == b"{"
    [(reason, message)] = world.events
    assert reason == "DamagedClaimCheckpoint"
    assert "damaged-0" in message


def test_a_pod_that_ends_before_the_rebuild_is_given_back_all_the_same(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(POD)
        world.path.unlink()
        await world.start().unprepare(POD)

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert not world.gpu.prepared


def test_without_the_api_nobody_says_that_an_unknown_pod_has_no_claims(tmp_path: Path) -> None:
    async def scenario() -> None:
        world.api.error = TransportError("connection refused")
        assert await world.manager.rebuild([POD])
        assert world.manager.needs_rebuild
        with pytest.raises(UnprepareFailed, match="fetch ResourceClaim gpu: connection refused"):
            await world.manager.unprepare(POD)

    world = World(tmp_path, claim())
    asyncio.run(scenario())


def test_a_node_that_keeps_nothing_has_nothing_to_rebuild(tmp_path: Path) -> None:
    world = World(tmp_path, claim())
    manager = ClaimManager(
        world.api,
        world.plugins,
        path=None,
        node_name="node-1",
        clock=world.clock,
        entropy=SeededEntropy(1),
    )
    asyncio.run(manager.prepare(POD))
    assert not manager.needs_rebuild
    assert manager.claims()[0].prepared


def test_pods_of_other_nodes_are_not_adopted(tmp_path: Path) -> None:
    async def scenario() -> None:
        elsewhere = pod("pod-1", "gpu")
        elsewhere = type(elsewhere)(metadata=elsewhere.metadata, status=elsewhere.status)
        assert not await world.manager.rebuild([elsewhere])

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert not world.manager.claims()


def test_a_full_disk_fails_the_pod_before_any_driver_is_called(tmp_path: Path) -> None:
    world = World(tmp_path / "node", claim())
    shutil.rmtree(world.path.parent)
    with pytest.raises(PrepareFailed, match="could not save checkpoint") as caught:
        asyncio.run(world.manager.prepare(POD))
    assert caught.value.error_class is ErrorClass.TRANSIENT
    assert not world.gpu.calls
    assert not world.manager.claims()


# Stopping at any point -------------------------------------------------------------------------


@pytest.mark.slow
def test_wherever_it_stops_everything_can_be_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        for stop_at in count():
            stopped = await live_until(world, stop_at, monkeypatch)
            check_safety(world)
            world.start()
            assert not await world.manager.reconcile([])
            assert not world.gpu.prepared
            assert not world.nic.prepared
            assert not known(world)
            if not stopped:
                break
        assert stop_at > 30

    world = fragile_world(tmp_path)
    asyncio.run(scenario())


@pytest.mark.slow
def test_wherever_it_stops_pods_can_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        for stop_at in count():
            stopped = await live_until(world, stop_at, monkeypatch)
            world.start()
            await life(world)
            check_safety(world)
            assert not world.manager.claims()
            if not stopped:
                break

    world = fragile_world(tmp_path)
    asyncio.run(scenario())


@pytest.mark.slow
def test_wherever_it_stops_twice_everything_can_be_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        for first in range(0, 40, 3):
            for second in range(0, 40, 3):
                for stop_at in (first, second):
                    await live_until(world, stop_at, monkeypatch)
                    check_safety(world)
                    world.start()
                assert not await world.manager.reconcile([])
                assert not world.gpu.prepared | world.nic.prepared

    world = fragile_world(tmp_path)
    asyncio.run(scenario())


@pytest.mark.slow
def test_wherever_it_is_cancelled_everything_can_be_given_back(tmp_path: Path) -> None:
    """As when the agent stops: the same process goes on a little, and the file is the same."""

    async def scenario() -> None:
        for turns in range(120):
            task = asyncio.create_task(life(world))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            check_safety(world)
            world.start()
            assert not await world.manager.reconcile([])
            assert not world.gpu.prepared | world.nic.prepared
        assert not task.cancelled()  # it was done by then

    world = fragile_world(tmp_path)
    asyncio.run(scenario())


# Storm, then calm --------------------------------------------------------------------------------


PODS = {
    "pod-1": pod("pod-1", "a", "b"),
    "pod-2": pod("pod-2", "b", "c"),
    "pod-3": pod("pod-3", "c", "a"),
}
RESULTS = {"a": [GPU], "b": [GPU, NIC], "c": [NIC]}
steps = st.one_of(
    st.tuples(st.sampled_from(["prepare", "unprepare", "refresh"]), st.sampled_from(sorted(PODS))),
    st.tuples(st.sampled_from(["prepare", "unprepare"]), st.just("together")),
    st.tuples(st.just("reconcile"), st.sampled_from(["", *PODS])),
    st.tuples(st.just("fail"), st.sampled_from(["uid-a", "uid-b", "uid-c"])),
    st.tuples(st.just("fail for good"), st.sampled_from(["uid-a", "uid-b", "uid-c"])),
    st.tuples(st.just("fail to undo"), st.sampled_from(["uid-a", "uid-b", "uid-c"])),
    st.tuples(
        st.sampled_from(["restart", "mend", "api away", "disk full", "gpu left"]), st.just("")
    ),
)


async def storm(world: World, what: str, whom: str, disk: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    match what:
        case "prepare" | "unprepare" | "refresh":
            act = getattr(world.manager, what)
            pods = PODS.values() if whom == "together" else [PODS[whom]]
            for outcome in await asyncio.gather(*map(act, pods), return_exceptions=True):
                assert outcome is None or isinstance(outcome, PrepareFailed | UnprepareFailed)
        case "reconcile":
            await world.manager.reconcile([whom])
        case "fail" | "fail for good":
            for driver in (world.gpu, world.nic):
                driver.errors[whom] = failing("no", FAULTS[what])
        case "fail to undo":
            world.gpu.unprepare_errors[whom] = world.nic.unprepare_errors[whom] = "busy"
        case "restart":
            world.start()
        case "api away":
            world.api.error = TransportError("refused")
        case "disk full":
            disk.setattr(checkpoint, "write_file", full)
        case "gpu left":
            world.plugins.registered.pop(GPU, None)
        case _:
            mend(world, disk)


FAULTS = {
    "fail": NodePrepareResourceErrorType.TRANSIENT,
    "fail for good": NodePrepareResourceErrorType.PERMANENT,
}


def mend(world: World, disk: pytest.MonkeyPatch) -> None:
    disk.undo()
    world.api.error = None
    world.plugins.registered[GPU] = world.gpu
    for driver in (world.gpu, world.nic):
        driver.errors.clear()
        driver.unprepare_errors.clear()


def check_readers(world: World) -> None:
    """What is said to be prepared is, at every driver; and indexes agree."""
    for info in world.manager.claims():
        assert info.pods
        if info.prepared:
            for name in info.drivers:
                driver = {GPU: world.gpu, NIC: world.nic}[name]
                assert info.claim.uid in driver.prepared
        for uid in info.pods:
            assert info in world.manager.claims_of(uid)


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(steps, max_size=25))
def test_whatever_happens_nothing_is_lost_and_all_can_be_given_back(
    script: list[tuple[str, str]],
) -> None:
    async def scenario(world: World, disk: pytest.MonkeyPatch) -> None:
        assert not await world.manager.rebuild([])
        for what, whom in script:
            await storm(world, what, whom, disk)
            check_safety(world)
            check_readers(world)
        mend(world, disk)
        assert not await world.manager.reconcile([])
        assert not world.gpu.prepared | world.nic.prepared
        assert not known(world)
        for found in PODS.values():
            await world.manager.prepare(found)

    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as disk:
        claims = [
            claim(name, pods=sorted(PODS), results=[result(driver, name) for driver in drivers])
            for name, drivers in RESULTS.items()
        ]
        asyncio.run(scenario(World(Path(directory), *claims), disk))
