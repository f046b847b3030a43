"""Rows 1 to 14 of the fault matrix: what happens to the processes of drivers, and their sockets."""

from __future__ import annotations

import socket
from pathlib import Path

from dray.agent.plugins.plugin import HealthUnsupported
from dray.drivers.simulated import FaultKind, Faults
from dray.proto.dra_v1_pb2 import NodePrepareResourceResponse, NodePrepareResourcesResponse
from tests.sim.matrix import row
from tests.sim.players import OTHER, Script, prepared
from tests.sim.stage import DRIVER, NODE, Stage, fleet_of
from tests.unit.agent.plugins.drivers import TestDriver, tick

SLICE = f"slice {DRIVER}"


def leave_behind(path: Path) -> None:
    """A socket at which nobody listens, as a killed process leaves it."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))


def on_sockets(stage: Stage, *, uid: str = "", endpoint: str | None = None) -> TestDriver:
    """A driver whose sockets are where the node looks."""
    stage.expect_sockets()
    driver = TestDriver(stage.root, OTHER, uid=uid, endpoint=endpoint)
    driver.registration_path = stage.root / "plugins_registry" / driver.registration_path.name
    return driver


@row(1)
async def test_a_driver_that_returns_prepares_at_once_what_waited_for_it(stage: Stage) -> None:
    await stage.run_pod("one")
    stage.troupe.crash()
    await stage.add_claim("two", ["gpu-1"])
    await stage.add_pod("two", "two")
    await stage.expect(
        0, lambda: stage.shows("pod two", "condition dray.dev/DevicesPrepared", "False")
    )
    await stage.expect(5, lambda: stage.health("one").startswith("Unknown"))
    await stage.after(20 - stage.elapsed)
    stage.mark()
    stage.troupe.come_back()
    await stage.expect(0, lambda: stage.shows("pod two", "phase", "Running"))
    await stage.expect(0, lambda: stage.health("one") == "Healthy")
    assert stage.seen.history(SLICE, "gpu-0") == ["untainted"], "slices stay"
    assert stage.seen.read("pod two", "condition dray.dev/DevicesPrepared") == "True Prepared"


@row(1, detail=True)
async def test_health_does_not_flicker_while_a_driver_restarts_quickly(stage: Stage) -> None:
    await stage.run_pod("one")
    stage.troupe.crash()
    await stage.after(4)
    stage.troupe.come_back()
    await stage.after(60)
    assert stage.history("pod one", "main claim:one") == []


@row(2)
async def test_a_driver_that_stays_away_loses_its_slices_and_pods_say_why_they_wait(
    stage: Stage,
) -> None:
    await stage.run_pod("one")
    await stage.run_pod("two", ["gpu-1"])
    stage.troupe.crash()
    await stage.delete_pod("two")
    await stage.expect(5, lambda: stage.health("one").startswith("Unknown"))
    await stage.expect(30, lambda: not stage.seen.facts[SLICE])
    assert stage.shows("pod one", "phase", "Running")
    assert stage.shows("pod two", "exists", "terminating")
    assert stage.shows("pod two", "condition dray.dev/DevicesReleased", "False UnprepareFailed")
    assert stage.events("pod two", "FailedUnprepareDynamicResources")
    stage.mark()
    stage.troupe.come_back()
    await stage.expect(0, lambda: not stage.seen.read("pod two", "exists"))
    await stage.until(lambda: stage.seen.read(SLICE, "gpu-0"))


@row(3)
async def test_a_hung_driver_is_noticed_and_its_words_lapse(stage: Stage) -> None:
    await stage.run_pod("one")
    assert stage.troupe.wire is not None
    stage.troupe.wire.hung = True
    await stage.add_claim("two", ["gpu-1"])
    await stage.add_pod("two", "two")
    await stage.expect(20, lambda: stage.health("one").startswith("Unknown"))
    await stage.expect(45, lambda: "DeadlineExceeded" in stage.seen.read("pod two", "event"))
    await stage.expect(50, lambda: stage.events(f"node {NODE}", "DriverHung"))
    assert stage.seen.history(SLICE, "gpu-0") == ["untainted"], "slices stay"
    assert stage.shows("pod one", "phase", "Running")
    stage.troupe.wire.mend()
    await stage.until(lambda: stage.events(f"node {NODE}", "DriverResponsive"), seconds_max=15)
    await stage.until(lambda: stage.shows("pod two", "phase", "Running"))


@row(3, detail=True)
async def test_an_older_instance_that_answers_is_preferred_to_a_hung_one(stage: Stage) -> None:
    await stage.after(1)
    newer = await stage.add_driver()
    assert newer.wire is not None
    newer.wire.hung = True
    await stage.add_claim("one")
    await stage.add_pod("one", "one")
    await stage.until(lambda: stage.shows("pod one", "phase", "Running"))
    assert stage.troupe.wire is not None
    assert ("prepare", ("one",)) in stage.troupe.wire.calls


@row(4)
async def test_slow_drivers_of_a_pod_work_side_by_side(stage: Stage) -> None:
    other = await stage.add_driver(fleet=fleet_of("fpga.simulated.dev"))
    stage.troupe.fail(FaultKind.SLOW, seconds=20.0)
    other.fail(FaultKind.SLOW, seconds=15.0)
    await stage.add_claim("one", {DRIVER: ["gpu-0"], "fpga.simulated.dev": ["gpu-0"]})
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(20, lambda: stage.shows("pod one", "phase", "Running"))


@row(5, disk=True, driver=False)
async def test_an_update_with_an_outage_goes_by_unseen(stage: Stage) -> None:
    old = await stage.add_socket_driver()
    await stage.connected()
    await stage.run_pod("one")
    await stage.remove(old)
    await stage.after(2)
    assert not stage.agent.plugins.instances(DRIVER)
    stage.mark()
    await stage.add_socket_driver()
    await stage.connected()
    await stage.add_claim("two", ["gpu-1"])
    await stage.add_pod("two", "two")
    await stage.until(lambda: stage.shows("pod two", "phase", "Running"), seconds_max=5)
    stage.measured(2)
    await stage.after(30, stride=2)
    assert stage.seen.history("pod one", "main claim:one") == ["Healthy"]
    assert stage.seen.history(SLICE, "gpu-0") == ["untainted"]


@row(6, disk=True, driver=False)
async def test_a_rolling_update_goes_by_unseen(stage: Stage) -> None:
    old = await stage.add_socket_driver(pod_uid="old")
    await stage.connected()
    await stage.run_pod("one")
    await stage.add_socket_driver(pod_uid="new")
    await stage.connected(count=2)
    stage.mark()
    await stage.add_claim("two", ["gpu-1"])
    await stage.add_pod("two", "two")
    await stage.expect(0, lambda: stage.shows("pod two", "phase", "Running"))
    await stage.remove(old)
    await stage.connected(count=1)
    await stage.delete_pod("one")
    await stage.until(lambda: not stage.seen.read("pod one", "exists"), seconds_max=10)
    assert stage.seen.history("pod two", "main claim:two") == ["Healthy"]
    assert stage.seen.history(SLICE, "gpu-0") == ["untainted"]


@row("6a")
async def test_the_end_of_an_old_instance_does_not_wipe_what_the_new_one_said(
    stage: Stage,
) -> None:
    await stage.run_pod("one")
    await stage.after(1)
    faults = Faults()
    new = await stage.add_driver(faults=faults)
    stage.mark()
    new.fail(FaultKind.UNHEALTHY, message="too hot")
    await stage.expect(0, lambda: stage.health("one") == "Unhealthy (too hot)")
    await stage.remove(stage.troupe)
    await stage.after(120)
    assert [text for _, text in stage.history("pod one", "main claim:one")] == [
        "Unhealthy (too hot)"
    ]


@row(7, disk=True, driver=False)
async def test_a_stale_registration_socket_is_in_nobodys_way(stage: Stage) -> None:
    registry = stage.root / "plugins_registry"
    leave_behind(registry / f"{DRIVER}-dead-reg.sock")
    await stage.after(30, stride=1)
    assert not stage.agent.plugins.drivers()
    stage.mark()
    await stage.add_socket_driver(pod_uid="alive")
    await stage.connected()
    assert stage.elapsed < 1
    await stage.run_pod("one")
    stage.measured(1)


@row(8, disk=True, driver=False)
async def test_a_killed_driver_leaves_sockets_and_its_heir_takes_over(stage: Stage) -> None:
    killed = await stage.add_socket_driver()
    await stage.connected()
    await stage.run_pod("one")
    await stage.remove(killed)
    leave_behind(stage.root / "plugins" / DRIVER / "dra.sock")
    leave_behind(stage.root / "plugins_registry" / f"{DRIVER}-reg.sock")
    stage.mark()
    await stage.expect(30, lambda: not stage.seen.facts[SLICE], jitter=0.5)
    assert stage.health("one").startswith("Unknown")
    assert stage.shows("pod one", "phase", "Running")
    await stage.add_socket_driver()
    await stage.connected()
    await stage.until(lambda: stage.health("one") == "Healthy", seconds_max=10)
    await stage.until(lambda: stage.seen.read(SLICE, "gpu-0"), seconds_max=10)


@row(9, disk=True, driver=False)
async def test_a_driver_that_does_not_say_who_it_is_is_asked_again(stage: Stage) -> None:
    driver = on_sockets(stage)
    driver.info_failures = 1
    await driver.start()
    stage.mark()
    await stage.connected(OTHER)
    assert 0.4 < stage.elapsed < 1, "one retry after half a second, and a look at the directory"
    stage.measured(0.5)
    await driver.stop()


@row(10, disk=True, driver=False)
async def test_a_driver_that_was_not_told_is_registered_again(stage: Stage) -> None:
    driver = on_sockets(stage)
    driver.notify_failures = 1
    await driver.start()
    stage.mark()
    await stage.until(lambda: not driver.statuses.empty(), seconds_max=10)
    assert driver.statuses.get_nowait().plugin_registered
    assert 0.4 < stage.elapsed < 1
    stage.measured(0.5)
    await driver.stop()


@row(11, disk=True, driver=False)
async def test_an_endpoint_is_one_registrations_and_a_name_may_be_two_instances(
    stage: Stage,
) -> None:
    first = on_sockets(stage, uid="first")
    second = on_sockets(stage, uid="second")
    thief = on_sockets(stage, uid="thief", endpoint=str(first.service_path))
    for driver in (first, second):
        await driver.start()
        tick(stage.root)
    await stage.connected(OTHER, count=2)
    stage.mark()
    await thief.start()
    await stage.until(lambda: not thief.statuses.empty(), seconds_max=10)
    refusal = thief.statuses.get_nowait()
    assert not refusal.plugin_registered
    assert "already registered" in refusal.error
    found = stage.agent.plugins.find(OTHER)
    assert found is not None
    assert found.endpoint == str(second.service_path), "the newest is called"
    for driver in (first, second, thief):
        await driver.stop()


@row(12, disk=True, driver=False)
async def test_a_connection_that_idled_for_half_an_hour_still_works(stage: Stage) -> None:
    await stage.add_socket_driver()
    await stage.connected()
    await stage.after(1800, stride=30)
    stage.mark()
    await stage.add_claim("one")
    await stage.add_pod("one", "one")
    await stage.expect(0, lambda: stage.shows("pod one", "phase", "Running"))


@row(13, driver=False)
async def test_answers_that_make_no_sense_are_errors_that_are_tried_again(stage: Stage) -> None:
    def nothing(request: object) -> NodePrepareResourcesResponse:
        del request
        return NodePrepareResourcesResponse()

    def another(request: object) -> NodePrepareResourcesResponse:
        del request
        return NodePrepareResourcesResponse(claims={"stranger": NodePrepareResourceResponse()})

    await stage.attach(OTHER, Script(nothing, another, prepared("nic-0")))
    await stage.add_claim("one", {OTHER: ["nic-0"]})
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(
        0, lambda: stage.shows("pod one", "condition dray.dev/DevicesPrepared", "False")
    )
    await stage.expect(2.4, lambda: stage.shows("pod one", "phase", "Running"), jitter=0.6)
    assert len(stage.events("pod one", "FailedPrepareDynamicResources")) == 2


@row(14, driver=False)
async def test_a_driver_without_health_is_asked_once_and_serves_claims(stage: Stage) -> None:
    script = Script(health_error=HealthUnsupported("no such service", driver=OTHER))
    await stage.attach(OTHER, script)
    await stage.add_claim("one", {OTHER: ["nic-0"]})
    stage.mark()
    await stage.add_pod("one", "one")
    await stage.expect(0, lambda: stage.shows("pod one", "phase", "Running"))
    await stage.after(300)
    assert script.streams_count == 1
    assert stage.health("one").startswith("Unknown")
