"""Rows 60 to 74 of the fault matrix: claims, configuration, pods and containers."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from dray.api.resource import ResourceClaim
from dray.drivers.simulated import FaultKind
from dray.drivers.simulated.faults import ErrorClass, Operation
from dray.proto.dra_v1_pb2 import (
    DEVICE_FAILED,
    NodePrepareResourceResponse,
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
)
from tests.sim.matrix import row
from tests.sim.players import OTHER, Prober, Script, prepared
from tests.sim.stage import DRIVER, Stage

SLICE = f"slice {DRIVER}"
PREPARED = "condition dray.dev/DevicesPrepared"
RELEASED = "condition dray.dev/DevicesReleased"


def calls(stage: Stage, method: str) -> int:
    """How often the node called the first driver."""
    assert stage.troupe.wire is not None
    return sum(name == method for name, _ in stage.troupe.wire.calls)


def tried(stage: Stage, attempt: int) -> bool:
    return f"(attempt {attempt}, next try at" in stage.seen.read("pod one", PREPARED)


@row(60, slow=True)
async def test_an_error_that_may_pass_is_tried_again_from_one_second_to_sixty(
    stage: Stage,
) -> None:
    stage.troupe.fail(FaultKind.FAILING, error_class=ErrorClass.UNKNOWN, message="busy")
    await stage.add_claim("one")
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(0, lambda: stage.shows("pod one", PREPARED, "False PrepareFailed"))
    for attempt, seconds in enumerate((0.8, 2.4, 5.6, 12.0), start=2):
        await stage.expect(seconds, partial(tried, stage, attempt), jitter=seconds / 4)
    assert stage.shows("claim one", "gpu-0 dray.dev/Prepared", "False DevicePrepareRetrying")
    await stage.after(600)
    tries = [seconds for seconds, _ in stage.history("pod one", PREPARED)]
    gaps = [later - sooner for sooner, later in pairwise(tries)]
    assert all(48 <= gap <= 60.1 for gap in gaps[7:]), gaps
    stage.measured(48, 60)
    assert len(stage.events("pod one", "FailedPrepareDynamicResources")) > 0
    stage.troupe.faults.recover()
    await stage.until(lambda: stage.shows("pod one", "phase", "Running"), seconds_max=61)
    assert stage.seen.read("pod one", PREPARED) == "True Prepared"
    assert stage.shows("claim one", "gpu-0 dray.dev/Prepared", "True Prepared")


@row(60, detail=True)
async def test_what_a_driver_calls_transient_is_tried_again_by_its_sdk_within_a_second(
    stage: Stage,
) -> None:
    stage.troupe.fail(FaultKind.FAILING, error_class=ErrorClass.TRANSIENT, times=2)
    await stage.add_claim("one")
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.until(lambda: stage.shows("pod one", "phase", "Running"), seconds_max=1)
    assert calls(stage, "prepare") == 1
    assert not stage.seen.read("pod one", PREPARED), "nobody needs to know"


@row(61)
async def test_a_bad_configuration_fails_the_pod_and_blames_no_device(stage: Stage) -> None:
    stage.troupe.fail(
        FaultKind.FAILING, error_class=ErrorClass.INVALID_CONFIG, message="no such sharing mode"
    )
    await stage.add_claim("one")
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(0, lambda: stage.shows("pod one", "phase", "Failed InvalidDeviceConfig"))
    assert "no such sharing mode" in stage.seen.read("pod one", "phase")
    assert not stage.seen.read("pod one", "condition DisruptionTarget")
    assert stage.shows("claim one", "gpu-0 dray.dev/Prepared", "False InvalidDeviceConfig")
    await stage.after(300)
    assert stage.seen.history(SLICE, "gpu-0") == ["untainted"]
    assert calls(stage, "prepare") == 1
    assert len(stage.events("pod one", "FailedPrepareDynamicResources")) == 1


@row(62)
async def test_what_one_driver_prepared_is_undone_when_another_fails_for_good(
    stage: Stage,
) -> None:
    nics = Prober()
    await stage.add_driver(nics)
    stage.troupe.fail(FaultKind.SLOW, seconds=3.0)
    stage.troupe.fail(FaultKind.FAILING, error_class=ErrorClass.PERMANENT, message="no")
    await stage.add_claim("one", {DRIVER: ["gpu-0"], OTHER: ["nic-0"]})
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(3, lambda: stage.shows("pod one", "phase", "Failed DevicePrepareFailed"))
    assert nics.prepared == ["nic-0"]
    assert nics.unprepared == ["nic-0"]
    assert not stage.agent.claims.claims()


@row(62, detail=True)
async def test_what_one_driver_prepared_stays_while_another_is_tried_again(stage: Stage) -> None:
    nics = Prober()
    await stage.add_driver(nics)
    stage.troupe.fail(FaultKind.FAILING, error_class=ErrorClass.UNKNOWN, times=3)
    await stage.add_claim("one", {DRIVER: ["gpu-0"], OTHER: ["nic-0"]})
    await stage.add_pod("one", "one")
    await stage.until(lambda: stage.shows("pod one", "phase", "Running"), seconds_max=8)
    assert nics.prepared == ["nic-0"], "the SDK answers from its journal"
    assert nics.unprepared == []


@row(63)
async def test_devices_that_cannot_be_given_back_hold_the_pod_and_say_why(stage: Stage) -> None:
    await stage.run_pod("one")
    stage.troupe.fail(
        FaultKind.FAILING,
        error_class=ErrorClass.UNKNOWN,
        operation=Operation.UNPREPARE,
        message="does not let go",
    )
    await stage.delete_pod("one")
    await stage.expect(0, lambda: stage.shows("pod one", RELEASED, "False UnprepareFailed"))
    assert "does not let go" in stage.seen.read("pod one", RELEASED)
    assert stage.events("pod one", "FailedUnprepareDynamicResources")
    await stage.expect(
        0.8, lambda: "(attempt 2, next try at" in stage.seen.read("pod one", RELEASED), jitter=0.2
    )
    await stage.after(60)
    assert stage.shows("pod one", "exists", "terminating")
    assert stage.seen.read("pod one", "phase") == "Running", "it is not over"
    stage.troupe.faults.recover()
    await stage.until(lambda: not stage.seen.read("pod one", "exists"), seconds_max=61)
    assert stage.seen.history("pod one", RELEASED)[-2:] == ["True Unprepared", ""]


@row(66)
async def test_a_claim_that_is_deleted_stays_until_its_pods_are_done(stage: Stage) -> None:
    pod = await stage.run_pod("one", grace_seconds=0)
    await stage.cluster.client.delete(ResourceClaim, "one", namespace="default")
    await stage.expect(0, lambda: stage.shows("claim one", "exists", "terminating"))
    stage.runtime.exit_container(pod.metadata.uid, "main", 1)
    await stage.until(lambda: stage.seen.read("pod one", "restarts main") == "1")
    assert stage.health("one") == "Healthy"
    await stage.delete_pod("one")
    await stage.until(lambda: not stage.seen.read("pod one", "exists"), seconds_max=5)
    assert calls(stage, "unprepare") == 1
    assert stage.shows("claim one", "exists", "terminating"), "its finalizer is a controller's"


async def remove_by_force(stage: Stage, claim: str) -> None:
    client = stage.cluster.client
    await client.delete(ResourceClaim, claim, namespace="default")
    await client.patch(
        ResourceClaim, claim, {"metadata": {"finalizers": None}}, namespace="default"
    )
    await stage.until(lambda: not stage.seen.read(f"claim {claim}", "exists"), seconds_max=1)


@row(67)
async def test_a_claim_that_took_the_name_of_another_waits_until_that_is_given_back(
    stage: Stage,
) -> None:
    await stage.run_pod("one")
    await remove_by_force(stage, "one")
    await stage.add_claim("one", ["gpu-1"])
    stage.mark()
    await stage.add_pod("two", "one")
    await stage.expect(0, lambda: stage.shows("pod two", PREPARED, "False PrepareFailed"))
    assert "old ResourceClaim with same name one" in stage.seen.read("pod two", PREPARED)
    await stage.after(10)
    await stage.delete_pod("one")
    await stage.until(lambda: not stage.seen.read("pod one", "exists"), seconds_max=5)
    await stage.until(lambda: stage.shows("pod two", "phase", "Running"), seconds_max=20)


@row(68)
async def test_a_device_of_a_pod_deleted_by_force_is_not_given_to_the_next_too_early(
    stage: Stage,
) -> None:
    await stage.run_pod("one", annotations={"simulation.dray.dev/stop-after": "1s"})
    stage.mark()
    await stage.delete_pod("one", grace_seconds=0)
    # As the controller does: to the API, nobody uses the claim any more.
    await stage.cluster.client.patch(
        ResourceClaim,
        "one",
        {"status": {"allocation": None, "reservedFor": None}},
        namespace="default",
        subresource="status",
    )
    await stage.add_claim("two")
    await stage.add_pod("two", "two")
    await stage.expect(0, lambda: not stage.seen.read("pod one", "exists"))
    await stage.until(lambda: stage.shows("pod two", "phase", "Running"), seconds_max=5)
    order = [call for call in called(stage) if call[0] != "watch_health"]
    assert order[0] == ("prepare", ("one",))
    assert order.index(("unprepare", ("one",))) < len(order) - 1
    assert order[-1] == ("prepare", ("two",))
    assert [each.claim_name for each in stage.troupe.running.prepared()] == ["two"]


def called(stage: Stage) -> list[tuple[str, tuple[str, ...]]]:
    assert stage.troupe.wire is not None
    return stage.troupe.wire.calls


@row(69)
async def test_a_pod_that_joins_a_claim_while_it_is_given_back_waits_for_that(
    stage: Stage,
) -> None:
    await stage.add_claim("both")
    first = await stage.add_pod("first", "both")
    await stage.until(lambda: stage.shows("pod first", "phase", "Running"))
    stage.troupe.fail(FaultKind.SLOW, seconds=10.0, operation=Operation.UNPREPARE)
    await stage.delete_pod("first")
    await stage.until(lambda: calls(stage, "unprepare") == 1)
    stage.mark()
    await stage.add_pod("second", "both", with_pods=[first])
    await stage.expect(0, lambda: stage.shows("pod second", PREPARED, "False PrepareFailed"))
    assert "is being unprepared" in stage.seen.read("pod second", PREPARED)
    await stage.until(lambda: stage.shows("pod second", "phase", "Running"), seconds_max=20)
    methods = [method for method, _ in called(stage) if method != "watch_health"]
    assert methods == ["prepare", "unprepare", "prepare"]


@row(70)
async def test_a_container_that_crashes_restarts_on_the_device_it_has(stage: Stage) -> None:
    pod = await stage.run_pod("one")
    stage.runtime.exit_container(pod.metadata.uid, "main", 1)
    await stage.expect(0, lambda: stage.seen.read("pod one", "restarts main") == "1")
    stage.runtime.exit_container(pod.metadata.uid, "main", 1)
    await stage.expect(
        0, lambda: stage.shows("pod one", "container main", "waiting CrashLoopBackOff")
    )
    await stage.expect(10, lambda: stage.seen.read("pod one", "restarts main") == "2")
    assert stage.health("one") == "Healthy"
    assert stage.seen.history("pod one", "main claim:one")[-1] == "Healthy"
    assert calls(stage, "prepare") == 1
    assert calls(stage, "unprepare") == 0


@row(71)
async def test_a_pod_that_died_with_its_device_shows_that_for_as_long_as_it_exists(
    stage: Stage,
) -> None:
    pod = await stage.run_pod("one", restart_policy="Never")
    stage.troupe.fail(FaultKind.UNHEALTHY, message="double-bit error")
    await stage.expect(0, lambda: stage.health("one") == "Unhealthy (double-bit error)")
    stage.runtime.exit_container(pod.metadata.uid, "main", 139)
    await stage.expect(0, lambda: stage.shows("pod one", "phase", "Failed"))
    assert stage.shows("pod one", "container main", "terminated Error 139")
    assert calls(stage, "unprepare") == 1
    stage.troupe.faults.recover()
    await stage.after(300)
    assert stage.health("one") == "Unhealthy (double-bit error)"


@row(71, detail=True)
async def test_a_pod_that_is_deleted_shows_its_device_to_the_end(stage: Stage) -> None:
    await stage.run_pod("one")
    stage.troupe.fail(FaultKind.UNHEALTHY, message="double-bit error")
    await stage.until(lambda: stage.health("one").startswith("Unhealthy"))
    stage.mark()
    await stage.delete_pod("one")
    await stage.until(lambda: not stage.seen.read("pod one", "exists"), seconds_max=5)
    shown = [text for _, text in stage.history("pod one", "main claim:one")]
    assert shown == [""], "nothing but that the pod is gone"


@row(74, disk=True, driver=False)
async def test_devices_that_the_runtime_does_not_find_are_prepared_again(stage: Stage) -> None:
    await stage.add_socket_driver()
    await stage.connected()
    pod = await stage.run_pod("one")
    (file,) = stage.cdi_directory.iterdir()
    file.unlink()
    stage.mark()
    stage.runtime.exit_container(pod.metadata.uid, "main", 1)
    await stage.expect(0, lambda: stage.seen.read("pod one", "restarts main") == "1")
    await stage.expect(0, lambda: stage.shows("pod one", "container main", "running"))
    assert file.exists()


OLD, NEW = "example.com/nic=old", "example.com/nic=new"


@row(74, driver=False, detail=True)
async def test_a_container_gets_the_names_that_its_driver_gives_devices_now(stage: Stage) -> None:
    old, new = (prepared("nic-0", cdi=lambda _name: OLD), prepared("nic-0", cdi=lambda _name: NEW))
    await stage.attach(OTHER, Script(old, new))
    await stage.add_claim("one", {OTHER: ["nic-0"]})
    pod = await stage.add_pod("one", "one")
    await stage.until(lambda: stage.shows("pod one", "phase", "Running"))
    stage.lost.add(OLD)
    stage.mark()
    stage.runtime.exit_container(pod.metadata.uid, "main", 1)
    await stage.expect(0, lambda: stage.seen.read("pod one", "restarts main") == "1")


@row(74, driver=False, detail=True)
async def test_a_device_that_cannot_be_prepared_again_ends_the_pod(stage: Stage) -> None:
    def broken(request: NodePrepareResourcesRequest) -> NodePrepareResourcesResponse:
        failed = NodePrepareResourceResponse(error="it burned", error_type=DEVICE_FAILED)
        return NodePrepareResourcesResponse(claims={each.uid: failed for each in request.claims})

    await stage.attach(OTHER, Script(prepared("nic-0", cdi=lambda _name: OLD), broken))
    await stage.add_claim("one", {OTHER: ["nic-0"]})
    pod = await stage.add_pod("one", "one")
    await stage.until(lambda: stage.shows("pod one", "phase", "Running"))
    stage.lost.add(OLD)
    stage.mark()
    stage.runtime.exit_container(pod.metadata.uid, "main", 1)
    await stage.expect(0, lambda: stage.shows("pod one", "phase", "Failed DeviceFailed"))
    assert "it burned" in stage.seen.read("pod one", "phase")
