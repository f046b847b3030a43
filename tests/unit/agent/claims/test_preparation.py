"""Preparing the claims of a pod, whatever drivers and the API do meanwhile."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

from dray.agent.claims import checkpoint
from dray.agent.claims.failures import ErrorClass, PrepareFailed, UnprepareFailed
from dray.api.core import PodExtendedResourceClaimStatus
from dray.api.resource import ResourceClaim
from dray.errors import DriverError, TransportError, Unavailable
from dray.proto.dra_v1_pb2 import (
    DeviceError,
    NodePrepareResourceErrorType,
    NodePrepareResourcesResponse,
)
from tests.unit.agent.claims.world import (
    GPU,
    NIC,
    FakeDriver,
    World,
    claim,
    device,
    failing,
    pod,
    result,
)

BOTH = claim("both", results=[result(GPU), result(NIC, "nic-0")])
PERMANENT = NodePrepareResourceErrorType.PERMANENT
TRANSIENT = NodePrepareResourceErrorType.TRANSIENT
FAILED = NodePrepareResourceErrorType.DEVICE_FAILED


def failure_of(world: World, uid: str = "pod-1", *claims: str) -> PrepareFailed:
    with pytest.raises(PrepareFailed) as caught:
        asyncio.run(world.manager.prepare(pod(uid, *claims)))
    return caught.value


# Checks that leave no trace --------------------------------------------------------------------


def untouched(world: World) -> bool:
    return not world.manager.claims() and not world.gpu.calls and not world.nic.calls


def test_a_claim_that_is_not_made_yet_is_waited_for(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(PrepareFailed) as caught:
        asyncio.run(world.manager.prepare(pod("pod-1", missing_templates=["gpu"])))
    assert str(caught.value) == (
        'prepare dynamic resources: pod "ml/pod-1": ResourceClaim not created yet'
    )
    assert caught.value.error_class is ErrorClass.TRANSIENT


def test_an_entry_without_a_claim_needs_none(tmp_path: Path) -> None:
    world = World(tmp_path)
    asyncio.run(world.manager.prepare(pod("pod-1", templates={"gpu": None})))
    assert untouched(world)


def test_a_claim_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    world = World(tmp_path)
    failed = failure_of(world, "pod-1", "gpu")
    assert str(failed) == (
        "prepare dynamic resources: fetch ResourceClaim gpu:"
        ' resourceclaims.resource.k8s.io "gpu" not found'
    )
    assert failed.error_class is ErrorClass.TRANSIENT


def test_a_generated_claim_must_belong_to_the_pod(tmp_path: Path) -> None:
    world = World(tmp_path, claim("made", owner="another"))
    with pytest.raises(PrepareFailed) as caught:
        asyncio.run(world.manager.prepare(pod("pod-1", templates={"gpu": "made"})))
    assert str(caught.value) == (
        "prepare dynamic resources: ResourceClaim ml/made was not created for Pod ml/pod-1"
        " (Pod is not owner)"
    )
    assert untouched(world)


def test_a_generated_claim_of_the_pod_is_prepared(tmp_path: Path) -> None:
    world = World(tmp_path, claim("made", owner="pod-1"))
    asyncio.run(world.manager.prepare(pod("pod-1", templates={"gpu": "made"})))
    assert world.gpu.prepared == {"uid-made"}


def test_a_claim_must_be_reserved_for_the_pod(tmp_path: Path) -> None:
    world = World(tmp_path, claim(pods=["another"]))
    failed = failure_of(world, "pod-1", "gpu")
    assert str(failed) == (
        "prepare dynamic resources: pod pod-1 (pod-1) is not allowed to use"
        " ResourceClaim gpu (uid-gpu)"
    )
    assert untouched(world)


def test_a_reservation_for_the_pods_group_is_one_for_the_pod(tmp_path: Path) -> None:
    world = World(tmp_path, claim(pods=[], groups=["training"]))
    asyncio.run(world.manager.prepare(pod("pod-1", "gpu", group="training")))
    assert world.gpu.prepared == {"uid-gpu"}


def test_a_claim_must_be_allocated(tmp_path: Path) -> None:
    world = World(tmp_path, claim(results=None))
    failed = failure_of(world, "pod-1", "gpu")
    assert str(failed) == "prepare dynamic resources: ResourceClaim gpu: not allocated"
    assert untouched(world)


def test_every_driver_must_be_registered_before_any_is_called(tmp_path: Path) -> None:
    world = World(tmp_path, BOTH)
    del world.plugins.registered[NIC]
    failed = failure_of(world, "pod-1", "both")
    assert str(failed) == (
        "prepare dynamic resources: DRA driver nic.example.com is not registered"
    )
    assert failed.error_class is ErrorClass.TRANSIENT
    assert [failure.driver for failure in failed.failures] == [NIC]
    assert untouched(world)


def test_all_that_is_wrong_is_said_the_first_first(tmp_path: Path) -> None:
    world = World(tmp_path, claim("a", results=None), claim("b", pods=[]))
    failed = failure_of(world, "pod-1", "a", "b", "c")
    assert str(failed).startswith("prepare dynamic resources: ResourceClaim a: not allocated; pod ")
    assert [failure.claim.name for failure in failed.failures] == ["a", "b", "c"]


def test_another_claim_of_the_same_name_has_to_wait(tmp_path: Path) -> None:
    world = World(tmp_path, claim())
    asyncio.run(world.manager.prepare(pod("pod-1", "gpu")))
    world.api.add(claim(uid="new", pods=["pod-2"]))
    failed = failure_of(world, "pod-2", "gpu")
    assert str(failed) == (
        "prepare dynamic resources: old ResourceClaim with same name gpu and different UID uid-gpu"
        " still exists (previous pod force-deleted?!)"
    )
    assert world.manager.claims_of("pod-2") == ()


# What is prepared ------------------------------------------------------------------------------


def test_each_driver_is_called_once_with_all_of_its_claims(tmp_path: Path) -> None:
    world = World(tmp_path, BOTH, claim("a"), claim("b", results=[result(NIC, "n")]))
    asyncio.run(world.manager.prepare(pod("pod-1", "both", "a", "b", "a")))
    assert world.gpu.calls == [("prepare", ("uid-both", "uid-a"))]
    assert world.nic.calls == [("prepare", ("uid-both", "uid-b"))]


def test_drivers_work_at_the_same_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        world.gpu.gate = world.nic.gate = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(world.manager.prepare(pod("pod-1", "both")))
            await world.gpu.entered.wait()
            await world.nic.entered.wait()
            world.gpu.gate.set()

    world = World(tmp_path, BOTH)
    asyncio.run(scenario())
    assert world.manager.claims()[0].prepared


def test_the_claim_of_extended_resources_is_prepared_too(tmp_path: Path) -> None:
    world = World(tmp_path, claim("extended"))
    status = PodExtendedResourceClaimStatus(resource_claim_name="extended")
    asyncio.run(world.manager.prepare(pod("pod-1", extended=status)))
    assert world.gpu.prepared == {"uid-extended"}


@pytest.mark.parametrize(
    ("skip", "called"),
    [
        pytest.param(["*"], [], id="everything"),
        pytest.param(["NodePrepareResources"], ["unprepare"], id="preparing"),
        pytest.param(["NodeUnprepareResources"], ["prepare"], id="unpreparing"),
        pytest.param(["Unheard"], ["prepare", "unprepare"], id="something-else"),
    ],
)
def test_operations_a_slice_says_to_skip_are_skipped(
    tmp_path: Path, skip: list[str], called: list[str]
) -> None:
    async def scenario() -> None:
        await world.manager.prepare(pod("pod-1", "gpu"))
        assert world.manager.claims()[0].prepared
        await world.start().unprepare(pod("pod-1", "gpu"))

    world = World(tmp_path, claim(results=[result(skip=skip)]))
    asyncio.run(scenario())
    assert world.gpu.operations == called
    assert len(world.observed.skips) == 2 - len(called)


def test_a_driver_whose_operations_are_skipped_need_not_be_there(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(pod("pod-1", "gpu"))
        await world.manager.unprepare(pod("pod-1", "gpu"))

    world = World(tmp_path, claim(results=[result(skip=["*"])]))
    world.plugins.registered.clear()
    asyncio.run(scenario())
    assert not world.manager.claims()


# What fails ------------------------------------------------------------------------------------


def test_the_text_of_a_failure_is_upstreams(tmp_path: Path) -> None:
    world = World(tmp_path, claim())
    world.gpu.errors["uid-gpu"] = failing("no power")
    failed = failure_of(world, "pod-1", "gpu")
    assert str(failed) == (
        "prepare dynamic resources: NodePrepareResources failed for ResourceClaim gpu: no power"
    )
    assert failed.error_class is ErrorClass.UNKNOWN


def test_a_failure_names_its_class_and_its_devices(tmp_path: Path) -> None:
    world = World(tmp_path, claim())
    world.gpu.errors["uid-gpu"] = failing(
        "no power",
        FAILED,
        [DeviceError(pool_name="n", device_name="gpu-0", error="cable", error_type=FAILED)],
    )
    [failure] = failure_of(world, "pod-1", "gpu").failures
    assert failure.error_class is ErrorClass.DEVICE_FAILED
    assert failure.driver == GPU
    [found] = failure.devices
    assert (found.device, found.message) == ("gpu-0", "cable")
    assert found.error_class is ErrorClass.DEVICE_FAILED


def test_failures_of_all_claims_and_drivers_are_collected(tmp_path: Path) -> None:
    world = World(tmp_path, BOTH, claim("a"))
    world.gpu.errors["uid-a"] = failing("one")
    world.nic.errors["uid-both"] = failing("two")
    failed = failure_of(world, "pod-1", "both", "a")
    assert str(failed) == (
        "prepare dynamic resources: NodePrepareResources failed for ResourceClaim a: one;"
        " NodePrepareResources failed for ResourceClaim both: two"
    )


def test_a_claim_that_is_ready_stays_so_when_another_fails(tmp_path: Path) -> None:
    world = World(tmp_path, claim("a"), claim("b"))
    world.gpu.errors["uid-b"] = failing("no", TRANSIENT)
    failure_of(world, "pod-1", "a", "b")
    world.gpu.errors.clear()
    asyncio.run(world.manager.prepare(pod("pod-1", "a", "b")))
    assert world.gpu.calls == [("prepare", ("uid-a", "uid-b")), ("prepare", ("uid-b",))]


def test_what_one_driver_prepared_is_known_though_another_failed(tmp_path: Path) -> None:
    world = World(tmp_path, BOTH)
    world.nic.errors["uid-both"] = failing("no", TRANSIENT)
    failure_of(world, "pod-1", "both")
    info = world.start().claims()[0]
    assert [found.device for found in info.drivers[GPU]] == ["dev-uid-both"]
    assert info.drivers[NIC] == ()
    assert world.gpu.prepared == {"uid-both"}


def test_trying_again_replaces_what_a_driver_said(tmp_path: Path) -> None:
    world = World(tmp_path, BOTH)
    world.nic.errors["uid-both"] = failing("no", TRANSIENT)
    failure_of(world, "pod-1", "both")
    world.nic.errors.clear()
    world.gpu.devices = lambda uid: [device("other")]
    asyncio.run(world.manager.prepare(pod("pod-1", "both")))
    info = world.manager.claims()[0]
    assert info.prepared
    assert [found.device for found in info.drivers[GPU]] == ["other"]


@pytest.mark.parametrize(
    ("error", "text", "error_class"),
    [
        pytest.param(
            TransportError("rpc error: code = Unavailable desc = connection refused"),
            "NodePrepareResources: rpc error: code = Unavailable desc = connection refused",
            ErrorClass.TRANSIENT,
            id="nobody-there",
        ),
        pytest.param(
            TimeoutError(),
            "NodePrepareResources:"
            " rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            ErrorClass.TRANSIENT,
            id="too-slow",
        ),
        pytest.param(
            DriverError("refused", driver=GPU),
            "NodePrepareResources: driver gpu.example.com: refused",
            ErrorClass.UNKNOWN,
            id="refused-as-a-whole",
        ),
    ],
)
def test_a_call_that_fails_fails_all_of_its_claims(
    tmp_path: Path, error: Exception, text: str, error_class: ErrorClass
) -> None:
    def fault(operation: str) -> None:
        raise error

    world = World(tmp_path, claim("a"), claim("b"))
    world.gpu.fault = fault
    failed = failure_of(world, "pod-1", "a", "b")
    assert str(failed) == f"prepare dynamic resources: {text}"
    assert failed.error_class is error_class
    assert [failure.claim.name for failure in failed.failures] == ["a", "b"]


def test_a_driver_that_does_not_answer_is_given_up_on_in_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        world.gpu.gate = asyncio.Event()
        task = asyncio.create_task(world.manager.prepare(pod("pod-1", "gpu")))
        await world.gpu.entered.wait()
        world.clock.advance(45)
        with pytest.raises(PrepareFailed, match="DeadlineExceeded"):
            await task

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert world.manager.claims_of("pod-1")


def test_answers_must_be_about_the_claims_asked_about(tmp_path: Path) -> None:
    def alter(response: NodePrepareResourcesResponse) -> None:
        del response.claims["uid-a"]
        response.claims["stranger"].SetInParent()

    world = World(tmp_path, claim("a"), claim("b"))
    world.gpu.alter = alter
    failed = failure_of(world, "pod-1", "a", "b")
    assert str(failed) == (
        "prepare dynamic resources:"
        " NodePrepareResources returned result for unknown claim UID stranger;"
        " NodePrepareResources skipped 1 ResourceClaims"
    )
    [prepared] = [info.claim.name for info in world.manager.claims() if info.prepared]
    assert prepared == "b"


def test_a_driver_that_left_meanwhile_is_said_to_be_missing(tmp_path: Path) -> None:
    async def scenario() -> None:
        world.gpu.gate = asyncio.Event()
        first = asyncio.create_task(world.manager.refresh(pod("pod-1", "gpu")))
        await world.gpu.entered.wait()
        second = asyncio.create_task(world.manager.refresh(pod("pod-1", "gpu")))
        while len(world.api.reads) < 2:
            await asyncio.sleep(0)
        for _ in range(10):  # until it waits for the claim
            await asyncio.sleep(0)
        world.plugins.registered.clear()
        world.gpu.gate.set()
        await first
        with pytest.raises(PrepareFailed, match="not registered"):
            await second

    world = World(tmp_path, claim())
    asyncio.run(scenario())


# Rolling back ----------------------------------------------------------------------------------


def settled(tmp_path: Path, *claims: ResourceClaim) -> World:
    """A node that knows that nothing ran on it before."""
    world = World(tmp_path, *claims)
    asyncio.run(world.manager.rebuild([]))
    return world


def test_what_succeeded_is_undone_when_another_driver_fails_for_good(tmp_path: Path) -> None:
    world = settled(tmp_path, BOTH, claim("a"))
    world.nic.errors["uid-both"] = failing("never", PERMANENT)
    failed = failure_of(world, "pod-1", "both", "a")
    assert failed.error_class is ErrorClass.PERMANENT
    assert world.gpu.calls[-1] == ("unprepare", ("uid-both", "uid-a"))
    assert world.gpu.prepared == set()
    assert world.nic.operations == ["prepare"]
    # Until the pod is gone it stays recorded: only then is it known that nothing is left.
    assert [info.prepared for info in world.start().claims_of("pod-1")] == [False, False]


def test_what_succeeded_stays_while_trying_again_may_help(tmp_path: Path) -> None:
    world = settled(tmp_path, BOTH)
    world.nic.errors["uid-both"] = failing("later", TRANSIENT)
    failure_of(world, "pod-1", "both")
    assert world.gpu.prepared == {"uid-both"}


def test_claims_that_other_pods_use_are_not_undone(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(pod("pod-2", "a"))
        world.gpu.errors["uid-b"] = failing("never", PERMANENT)
        with pytest.raises(PrepareFailed):
            await world.manager.prepare(pod("pod-1", "a", "b"))

    world = settled(tmp_path, claim("a", pods=["pod-1", "pod-2"]), claim("b"))
    asyncio.run(scenario())
    assert world.gpu.prepared == {"uid-a"}


def test_what_cannot_be_undone_is_remembered(tmp_path: Path) -> None:
    async def scenario() -> None:
        with pytest.raises(PrepareFailed, match="never"):
            await world.manager.prepare(pod("pod-1", "both"))
        world.gpu.unprepare_errors.clear()
        await world.start().unprepare(pod("pod-1", "both"))

    world = settled(tmp_path, BOTH)
    world.nic.errors["uid-both"] = failing("never", PERMANENT)
    world.gpu.unprepare_errors["uid-both"] = "busy"
    asyncio.run(scenario())
    assert not world.gpu.prepared
    assert not world.manager.claims()


def test_devices_that_containers_may_be_using_are_not_taken_away(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(pod("pod-1", "both"))
        world.nic.errors["uid-both"] = failing("never", PERMANENT)
        with pytest.raises(PrepareFailed):
            await world.manager.refresh(pod("pod-1", "both"))
        with pytest.raises(PrepareFailed):
            await world.start().prepare(pod("pod-1", "both"))

    world = settled(tmp_path, BOTH)
    asyncio.run(scenario())
    assert world.gpu.prepared == {"uid-both"}
    assert "unprepare" not in world.gpu.operations


def test_nothing_is_undone_while_nobody_knows_what_ran_before(tmp_path: Path) -> None:
    world = World(tmp_path, BOTH)
    assert world.manager.needs_rebuild
    world.nic.errors["uid-both"] = failing("never", PERMANENT)
    failure_of(world, "pod-1", "both")
    assert world.gpu.prepared == {"uid-both"}


# Sharing ---------------------------------------------------------------------------------------


def test_pods_that_start_together_cause_one_call_for_the_claim_they_share(tmp_path: Path) -> None:
    async def scenario() -> None:
        world.gpu.gate = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for uid in uids:
                group.create_task(world.manager.prepare(pod(uid, "gpu")))
            await world.gpu.entered.wait()
            world.gpu.gate.set()

    uids = [f"pod-{n}" for n in range(20)]
    world = World(tmp_path, claim(pods=uids))
    asyncio.run(scenario())
    assert world.gpu.operations == ["prepare"]
    assert world.manager.claims()[0].pods == set(uids)


async def started_together(world: World, *uids: str) -> list[BaseException | None]:
    """What becomes of pods that all came before the driver answered the first of them."""
    world.gpu.gate = asyncio.Event()
    tasks = [asyncio.create_task(world.manager.prepare(pod(uid, "gpu"))) for uid in uids]
    await world.gpu.entered.wait()
    while len(world.api.reads) < len(uids):
        await asyncio.sleep(0)
    for _ in range(10):  # until they all wait for the claim
        await asyncio.sleep(0)
    world.gpu.gate.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_whoever_waited_hears_why_the_first_failed(tmp_path: Path) -> None:
    uids = [f"pod-{n}" for n in range(5)]
    world = World(tmp_path, claim(pods=uids))
    world.gpu.errors["uid-gpu"] = failing("no power")
    outcomes = asyncio.run(started_together(world, *uids))
    assert {str(outcome) for outcome in outcomes} == {
        "prepare dynamic resources: NodePrepareResources failed for ResourceClaim gpu: no power"
    }
    assert world.gpu.operations == ["prepare"]
    # Nothing was prepared for those who waited, so they have nothing to give back.
    assert world.manager.claims()[0].pods == {"pod-0"}


def test_whoever_comes_later_tries_for_itself(tmp_path: Path) -> None:
    async def scenario() -> None:
        await started_together(world, "pod-1", "pod-2")
        world.gpu.errors.clear()
        await world.manager.prepare(pod("pod-2", "gpu"))

    world = World(tmp_path, claim(pods=["pod-1", "pod-2"]))
    world.gpu.errors["uid-gpu"] = failing()
    asyncio.run(scenario())
    assert world.manager.claims()[0].prepared


def test_nobody_joins_a_claim_that_is_being_given_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(pod("pod-1", "gpu"))
        world.gpu.gate = asyncio.Event()
        world.gpu.entered.clear()
        leaving = asyncio.create_task(world.manager.unprepare(pod("pod-1", "gpu")))
        await world.gpu.entered.wait()
        with pytest.raises(PrepareFailed, match=r": ResourceClaim gpu is being unprepared$"):
            await world.manager.prepare(pod("pod-2", "gpu"))
        world.gpu.gate.set()
        await leaving
        await world.manager.prepare(pod("pod-2", "gpu"))

    world = World(tmp_path, claim(pods=["pod-1", "pod-2"]))
    asyncio.run(scenario())
    assert world.manager.claims()[0].pods == {"pod-2"}


def test_a_claim_given_back_in_part_is_prepared_whole_for_the_next_pod(tmp_path: Path) -> None:
    async def scenario() -> None:
        await world.manager.prepare(pod("pod-1", "both"))
        world.nic.unprepare_errors["uid-both"] = "busy"
        with pytest.raises(UnprepareFailed):
            await world.manager.unprepare(pod("pod-1", "both"))
        await world.start().prepare(pod("pod-2", "both"))

    world = World(tmp_path, claim("both", results=BOTH_RESULTS, pods=["pod-1", "pod-2"]))
    asyncio.run(scenario())
    assert world.gpu.prepared == {"uid-both"}
    assert set(world.manager.claims()[0].drivers) == {GPU, NIC}


BOTH_RESULTS = [result(GPU), result(NIC, "nic-0")]


# Without the API -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [TransportError("refused"), Unavailable("starting"), TimeoutError("late")]
)
def test_a_pod_that_was_here_goes_on_without_the_api(tmp_path: Path, error: Exception) -> None:
    async def scenario() -> None:
        await world.manager.prepare(pod("pod-1", "gpu"))
        world.api.error = error
        await world.manager.prepare(pod("pod-1", "gpu"))
        await world.start().prepare(pod("pod-1", "gpu"))

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert world.gpu.operations == ["prepare", "prepare"]


def test_a_new_pod_has_to_wait_for_the_api(tmp_path: Path) -> None:
    world = World(tmp_path, claim(pods=["pod-1", "pod-2"]))
    asyncio.run(world.manager.prepare(pod("pod-1", "gpu")))
    world.api.error = TransportError("connection refused")
    failed = failure_of(world, "pod-2", "gpu")
    assert str(failed).endswith("fetch ResourceClaim gpu: connection refused")
    assert failed.error_class is ErrorClass.TRANSIENT


# The disk --------------------------------------------------------------------------------------


def test_a_disk_that_fills_up_while_drivers_work_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def scenario() -> None:
        with monkeypatch.context() as patched:
            world.gpu.fault = lambda operation: patched.setattr(checkpoint, "write_file", full)
            with pytest.raises(PrepareFailed, match="checkpoint ResourceClaim state: could not"):
                await world.manager.prepare(pod("pod-1", "gpu"))
            with pytest.raises(UnprepareFailed, match="checkpoint ResourceClaim state: could not"):
                await world.manager.unprepare(pod("pod-1", "gpu"))
            world.gpu.fault = lambda operation: None
        assert world.start().claims_of("pod-1")
        await world.manager.prepare(pod("pod-1", "gpu"))
        await world.manager.unprepare(pod("pod-1", "gpu"))

    world = World(tmp_path, claim())
    asyncio.run(scenario())
    assert not world.manager.claims()
    assert not world.gpu.prepared


@pytest.mark.slow
def test_a_hundred_pods_start_together(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asyncio.TaskGroup() as group:
            for n in range(100):
                group.create_task(world.manager.prepare(pod(f"pod-{n}", f"c{n}")))
        async with asyncio.TaskGroup() as group:
            for n in range(100):
                group.create_task(world.manager.unprepare(pod(f"pod-{n}", f"c{n}")))

    world = World(
        tmp_path,
        *(claim(f"c{n}", pods=[f"pod-{n}"]) for n in range(100)),
        drivers=[driver := FakeDriver(GPU)],
    )
    asyncio.run(scenario())
    assert len(driver.calls) == 200
    assert not driver.prepared
    assert not world.manager.claims()
