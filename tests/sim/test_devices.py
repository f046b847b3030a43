"""Rows 40 to 58 of the fault matrix: what happens to devices, and how it is told."""

from __future__ import annotations

from dray.api.resource import DeviceTaint, ResourceSlice
from dray.drivers.simulated import FaultKind, read_fleet
from dray.drivers.simulated.faults import ErrorClass
from dray.proto.health_v1_pb2 import (
    HEALTHY,
    DeviceHealth,
    DeviceIdentifier,
    NodeWatchResourcesResponse,
)
from dray.sdk import Health, TaintPolicy
from tests.sim.matrix import row
from tests.sim.players import OTHER, Listener, Prober, Script, prepared
from tests.sim.stage import DRIVER, NODE, Stage

SLICE = f"slice {DRIVER}"
UNHEALTHY_TAINT = f"{DRIVER}/unhealthy:NoSchedule"


def calls(stage: Stage, method: str) -> int:
    """How often the node called the first driver."""
    assert stage.troupe.wire is not None
    return sum(name == method for name, _ in stage.troupe.wire.calls)


@row(40)
async def test_an_unhealthy_device_shows_in_the_status_of_its_running_pod_at_once(
    stage: Stage,
) -> None:
    await stage.run_pod("one", init=True)
    stage.troupe.fail(FaultKind.UNHEALTHY, message="too hot")
    await stage.expect(0, lambda: stage.health("one") == "Unhealthy (too hot)")
    assert stage.health("one", "side") == "Unhealthy (too hot)", "sidecars show it too"
    await stage.after(60)
    assert stage.shows("pod one", "phase", "Running")
    assert stage.seen.read("pod one", "restarts main") == "0"


@row(41)
async def test_an_unhealthy_device_is_tainted_so_that_nobody_new_gets_it(stage: Stage) -> None:
    await stage.run_pod("one")
    stage.troupe.fail(FaultKind.UNHEALTHY, message="too hot")
    await stage.expect(0, lambda: stage.seen.read(SLICE, "gpu-0") == UNHEALTHY_TAINT)
    assert stage.seen.read(SLICE, "gpu-1") == "untainted"
    assert stage.shows("pod one", "phase", "Running")


@row(42, driver=False)
async def test_a_driver_may_ask_for_the_eviction_of_whoever_has_the_device(stage: Stage) -> None:
    taint = DeviceTaint(key=f"{OTHER}/unhealthy", effect="NoExecute")
    nics = Prober(taint_policy=TaintPolicy({Health.UNHEALTHY: taint}))
    await stage.add_driver(nics)
    await stage.add_claim("one", {OTHER: ["nic-0"]})
    await stage.add_pod("one", "one")
    await stage.until(lambda: stage.health("one") == "Healthy")
    stage.mark()
    nics.health["nic-0"] = Health.UNHEALTHY
    await stage.expect(
        5, lambda: stage.seen.read(f"slice {OTHER}", "nic-0") == f"{OTHER}/unhealthy:NoExecute"
    )
    await stage.expect(5, lambda: stage.health("one") == "Unhealthy")


@row(43)
async def test_a_device_that_broke_before_the_start_fails_the_pod_at_once(stage: Stage) -> None:
    stage.troupe.fail(
        FaultKind.FAILING, error_class=ErrorClass.DEVICE_FAILED, message="fell off the bus"
    )
    await stage.add_claim("one")
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(0, lambda: stage.shows("pod one", "phase", "Failed DeviceFailed"))
    assert stage.shows("pod one", "condition DisruptionTarget", "True DeviceFailed")
    assert "gpu-0: fell off the bus" in stage.seen.read("pod one", "phase")
    assert stage.seen.read(SLICE, "gpu-0") == f"{DRIVER}/failed:NoSchedule"
    assert stage.shows("claim one", "gpu-0 dray.dev/Prepared", "False DeviceFailed")
    tainted = stage.seen.entries.index(
        next(entry for entry in stage.seen.entries if entry.text.startswith(f"{DRIVER}/failed"))
    )
    failed = stage.seen.entries.index(
        next(entry for entry in stage.seen.entries if entry.text.startswith("Failed Device"))
    )
    assert tainted < failed, "whoever is scheduled next does not get it again"
    await stage.after(300)
    assert calls(stage, "prepare") == 1


@row(44)
async def test_a_device_nobody_has_is_tainted_as_soon_as_it_is_unhealthy(stage: Stage) -> None:
    stage.mark()
    stage.troupe.fail(FaultKind.UNHEALTHY, "gpu-3")
    await stage.expect(0, lambda: stage.seen.read(SLICE, "gpu-3") == UNHEALTHY_TAINT)


@row(45, driver=False)
async def test_a_device_that_is_no_longer_published_stays_with_its_pod(stage: Stage) -> None:
    nics = Prober()
    troupe = await stage.add_driver(nics)
    await stage.add_claim("one", {OTHER: ["nic-0"]})
    await stage.add_pod("one", "one")
    await stage.until(lambda: stage.health("one") == "Healthy")
    stage.mark()
    nics.devices.remove("nic-0")
    await troupe.running.refresh()
    await stage.expect(0, lambda: not stage.seen.read(f"slice {OTHER}", "nic-0"))
    assert stage.seen.read(f"slice {OTHER}", "nic-1") == "untainted"
    assert stage.shows("pod one", "phase", "Running")
    await stage.expect(30, lambda: stage.health("one").startswith("Unknown"))
    await stage.delete_pod("one")
    await stage.until(lambda: not stage.seen.read("pod one", "exists"), seconds_max=5)
    assert nics.unprepared == ["nic-0"]


@row(46)
async def test_a_device_that_was_pulled_out_is_unknown_with_what_was_last_known(
    stage: Stage,
) -> None:
    await stage.run_pod("one")
    stage.troupe.fail(FaultKind.VANISHED)
    await stage.expect(0, lambda: not stage.seen.read(SLICE, "gpu-0"))
    await stage.expect(20, lambda: stage.health("one").startswith("Unknown"))
    assert "last known Healthy at 2026-01-01T00:00:00Z" in stage.health("one")
    assert stage.shows("pod one", "phase", "Running")
    stage.mark()
    stage.troupe.faults.recover()
    await stage.expect(0, lambda: stage.health("one") == "Healthy")
    await stage.expect(0, lambda: stage.seen.read(SLICE, "gpu-0") == "untainted")


@row(47)
async def test_a_device_that_recovers_is_offered_again_after_a_while(stage: Stage) -> None:
    await stage.run_pod("one")
    stage.troupe.fail(FaultKind.UNHEALTHY)
    await stage.after(30)
    stage.mark()
    stage.troupe.faults.recover()
    await stage.expect(0, lambda: stage.health("one") == "Healthy")
    await stage.expect(60, lambda: stage.seen.read(SLICE, "gpu-0") == "untainted")


@row(48, slow=True)
async def test_a_device_that_flaps_keeps_its_taint_and_costs_few_writes(stage: Stage) -> None:
    await stage.run_pod("one")
    before = await published(stage)
    stage.troupe.fail(FaultKind.FLAPPING, seconds=2.0)
    await stage.expect(2, lambda: stage.seen.read(SLICE, "gpu-0") == UNHEALTHY_TAINT)
    await stage.after(100)
    assert stage.history(SLICE, "gpu-0") == [(2.0, UNHEALTHY_TAINT)]
    after = await published(stage)
    assert after.metadata.generation - before.metadata.generation == 1
    assert len(stage.history("pod one", "main claim:one")) <= 51, "one write for a flip"
    stage.mark()
    stage.troupe.faults.recover()
    await stage.expect(60, lambda: stage.seen.read(SLICE, "gpu-0") == "untainted", jitter=4)


async def published(stage: Stage) -> ResourceSlice:
    (found,) = (await stage.cluster.client.list(ResourceSlice)).items
    return found


@row(49)
async def test_a_degraded_device_is_healthy_with_a_message_and_is_still_offered(
    stage: Stage,
) -> None:
    await stage.run_pod("one")
    stage.troupe.fail(FaultKind.DEGRADED, message="half the lanes")
    await stage.expect(0, lambda: stage.health("one") == "Healthy (Degraded: half the lanes)")
    await stage.after(60)
    assert stage.seen.history(SLICE, "gpu-0") == ["untainted"]


@row(49, driver=False, detail=True)
async def test_a_driver_may_mark_degraded_devices_for_schedulers(stage: Stage) -> None:
    taint = DeviceTaint(key=f"{OTHER}/degraded", effect="None")
    nics = Prober(taint_policy=TaintPolicy({Health.DEGRADED: taint}))
    await stage.add_driver(nics)
    stage.mark()
    nics.health["nic-0"] = Health.DEGRADED
    await stage.expect(
        5, lambda: stage.seen.read(f"slice {OTHER}", "nic-0") == f"{OTHER}/degraded:None"
    )


@row(50)
async def test_a_permanent_error_fails_the_pod_and_is_tried_once(stage: Stage) -> None:
    stage.troupe.fail(
        FaultKind.FAILING, error_class=ErrorClass.PERMANENT, message="the model has no such mode"
    )
    await stage.add_claim("one")
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(0, lambda: stage.shows("pod one", "phase", "Failed DevicePrepareFailed"))
    assert stage.shows("pod one", "condition dray.dev/DevicesPrepared", "False DevicePrepareFailed")
    assert not stage.seen.read("pod one", "condition DisruptionTarget")
    assert stage.shows("claim one", "gpu-0 dray.dev/Prepared", "False DevicePrepareFailed")
    assert stage.seen.read(SLICE, "gpu-0") == "untainted", "as the driver says"
    await stage.after(300)
    assert calls(stage, "prepare") == 1


@row(51)
async def test_each_device_of_a_claim_tells_its_own_story(stage: Stage) -> None:
    for device in ("gpu-1", "gpu-2"):
        stage.troupe.fail(
            FaultKind.FAILING,
            device,
            error_class=ErrorClass.DEVICE_FAILED,
            message=f"{device} is dead",
        )
    await stage.add_claim("one", ["gpu-0", "gpu-1", "gpu-2"])
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(0, lambda: stage.shows("pod one", "phase", "Failed DeviceFailed"))
    phase = stage.seen.read("pod one", "phase")
    assert "gpu-1 is dead" in phase
    assert "gpu-2 is dead" in phase
    assert stage.shows("claim one", "gpu-0 dray.dev/Prepared", "False OtherDeviceFailed")
    assert stage.shows("claim one", "gpu-1 dray.dev/Prepared", "False DeviceFailed")
    assert stage.shows("claim one", "gpu-2 dray.dev/Prepared", "False DeviceFailed")
    assert stage.seen.read(SLICE, "gpu-0") == "untainted"
    assert stage.seen.read(SLICE, "gpu-1") == f"{DRIVER}/failed:NoSchedule"
    assert not stage.troupe.running.prepared(), "what could be prepared was undone"


PARTITIONED = """
models:
  a100:
    partitions:
      counters: {slices: 7}
      profiles: [{name: 1g, count: 3, consumes: {slices: 1}}]
nodes:
- devices: [{model: a100, count: 1, name: gpu}]
"""


@row(52, driver=False)
async def test_partitions_of_a_broken_device_are_unhealthy_with_it(stage: Stage) -> None:
    troupe = await stage.add_driver(fleet=read_fleet(PARTITIONED))
    for number in (0, 1):
        await stage.run_pod(f"p{number}", [f"gpu-0-1g-{number}"])
    before = await generations(stage)
    stage.mark()
    troupe.fail(FaultKind.UNHEALTHY, message="double-bit error")
    told = "Unhealthy (parent gpu-0 is unhealthy: double-bit error)"
    await stage.expect(0, lambda: {stage.health("p0"), stage.health("p1")} == {told})
    await stage.expect(
        0,
        lambda: {UNHEALTHY_TAINT} == set(stage.seen.facts[SLICE].values()),
    )
    assert await generations(stage) == before + 1, "all of them in one write"
    stage.mark()
    troupe.faults.recover("gpu-0")
    await stage.expect(0, lambda: {stage.health("p0"), stage.health("p1")} == {"Healthy"})
    await stage.expect(60, lambda: {"untainted"} == set(stage.seen.facts[SLICE].values()))
    assert await generations(stage) == before + 2


@row(52, driver=False, detail=True)
async def test_a_broken_partition_leaves_the_others_and_their_device_alone(stage: Stage) -> None:
    troupe = await stage.add_driver(fleet=read_fleet(PARTITIONED))
    for number in (0, 1):
        await stage.run_pod(f"p{number}", [f"gpu-0-1g-{number}"])
    troupe.fail(FaultKind.UNHEALTHY, "gpu-0-1g-1", message="double-bit error")
    await stage.expect(0, lambda: stage.health("p1") == "Unhealthy (double-bit error)")
    await stage.after(30)
    assert stage.health("p0") == "Healthy"
    tainted = [name for name, told in stage.seen.facts[SLICE].items() if told == UNHEALTHY_TAINT]
    assert tainted == ["gpu-0-1g-1"]


async def generations(stage: Stage) -> int:
    """How often slices were written, each of them counted."""
    return sum(one.metadata.generation for one in (await stage.client.list(ResourceSlice)).items)


@row(53)
async def test_everybody_who_has_a_shared_device_is_told(stage: Stage) -> None:
    await stage.add_claim("both")
    first = await stage.add_pod("first", "both")
    await stage.add_pod("second", "both", with_pods=[first])
    await stage.until(
        lambda: (
            stage.health("first", claim="both") == "Healthy"
            and stage.health("second", claim="both") == "Healthy"
        )
    )
    stage.mark()
    stage.troupe.fail(FaultKind.UNHEALTHY, message="too hot")
    await stage.expect(
        0,
        lambda: (
            {stage.health(pod, claim="both") for pod in ("first", "second")}
            == {"Unhealthy (too hot)"}
        ),
    )
    assert calls(stage, "prepare") == 1
    await stage.delete_pod("first")
    await stage.until(lambda: not stage.seen.read("pod first", "exists"))
    assert calls(stage, "unprepare") == 0, "the other still has it"


@row(54)
async def test_a_broken_health_stream_is_believed_for_a_while_and_opened_again(
    stage: Stage,
) -> None:
    await stage.run_pod("one")
    assert stage.troupe.wire is not None
    stage.troupe.wire.cut()
    await stage.expect(5, lambda: stage.health("one").startswith("Unknown"))
    assert "last known Healthy" in stage.health("one")
    stage.troupe.wire.mend()
    await stage.expect(7, lambda: stage.health("one") == "Healthy")


@row(55, driver=False)
async def test_a_monitor_that_is_stuck_is_found_out_by_its_silence(stage: Stage) -> None:
    await stage.add_driver(Listener())
    await stage.add_claim("one", {OTHER: ["nic-0"]})
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(0, lambda: stage.health("one") == "Healthy")
    await stage.expect(30, lambda: stage.health("one").startswith("Unknown"))
    assert stage.shows("pod one", "phase", "Running")


@row(56, driver=False, slow=True)
async def test_a_driver_that_sends_changes_only_says_so_and_stays_believed(
    stage: Stage,
) -> None:
    await stage.add_driver(Listener(heartbeat=True))
    await stage.add_claim("one", {OTHER: ["nic-0"]})
    await stage.add_pod("one", "one")
    await stage.until(lambda: stage.health("one") == "Healthy")
    await stage.never(600, lambda: stage.health("one") != "Healthy")


def report(*devices: tuple[str, str]) -> NodeWatchResourcesResponse:
    return NodeWatchResourcesResponse(
        devices=[
            DeviceHealth(
                device=DeviceIdentifier(pool_name=NODE, device_name=name),
                health=HEALTHY,
                message=message,
            )
            for name, message in devices
        ]
    )


@row(57, driver=False, slow=True)
async def test_a_hostile_report_is_cut_to_size_and_hides_nothing(stage: Stage) -> None:
    hostile = report(
        ("nic-0", "ü" * 5000),
        ("", "nameless"),
        ("x" * 100_000, "endless"),
        *((f"made-up-{number}", "") for number in range(20_000)),
    )
    await stage.attach(OTHER, Script(reports=[hostile, hostile]))
    await stage.add_claim("one", {OTHER: ["nic-0"]})
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(0, lambda: stage.health("one").startswith("Healthy (üüü"), jitter=1)
    assert len(stage.health("one")) < 1024
    assert len(stage.agent.health.facts()) <= 16_384
    assert stage.shows("pod one", "phase", "Running")


@row(58, driver=False)
async def test_two_devices_with_one_cdi_name_are_both_shown(stage: Stage) -> None:
    await stage.attach(
        OTHER,
        Script(
            prepared("nic-0", "nic-1", cdi=lambda _name: "example.com/nic=both"),
            reports=[report(("nic-0", "one"), ("nic-1", "other"))],
        ),
    )
    await stage.add_claim("one", {OTHER: ["nic-0", "nic-1"]})
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(0, lambda: stage.health("one") == "Healthy (one); Healthy (other)")
    (entry,) = stage.seen.pods["one"].status.container_statuses[0].allocated_resources_status
    assert [each.resource_id for each in entry.resources] == [
        f"{OTHER}/{NODE}/nic-0",
        f"{OTHER}/{NODE}/nic-1",
    ]
