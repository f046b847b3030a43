"""Rows 20 to 32 of the fault matrix: the agent, its files, the machine and the API server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from dray.api.coordination import Lease
from dray.drivers.simulated import FaultKind
from dray.drivers.simulated.faults import Operation
from tests.sim.matrix import row
from tests.sim.stage import DRIVER, NODE, Stage

SLICE = f"slice {DRIVER}"
PREPARED = "condition dray.dev/DevicesPrepared"


def called(stage: Stage) -> list[str]:
    """What the node asked of the first driver for claims, in order."""
    assert stage.troupe.wire is not None
    return [method for method, _ in stage.troupe.wire.calls if method != "watch_health"]


def damaged(stage: Stage) -> list[str]:
    """The files that were set aside."""
    return sorted(path.name for path in stage.root.glob("*.damaged-*"))


@row(20, disk=True)
async def test_pods_and_slices_do_not_notice_that_the_agent_restarts(stage: Stage) -> None:
    await stage.run_pod("one")
    container = stage.seen.pods["one"].status.container_statuses[0].container_id
    await stage.stop_agent()
    await stage.start_agent()
    await stage.expect(0, lambda: stage.health("one") == "Healthy")
    await stage.after(60, stride=1)
    (status,) = stage.seen.pods["one"].status.container_statuses
    assert (status.container_id, status.restart_count) == (container, 0)
    assert stage.seen.history(SLICE, "gpu-0") == ["untainted"]
    assert stage.seen.history("pod one", "phase")[-1] == "Running"


@row(21, disk=True)
async def test_pods_go_on_while_the_agent_is_away_for_long(stage: Stage) -> None:
    await stage.run_pod("one")
    await stage.stop_agent()
    stage.troupe.fail(FaultKind.UNHEALTHY, message="too hot")
    await stage.after(600, stride=5)
    (container,) = await stage.runtime.list_containers()
    assert container.finished_at is None
    lease = await stage.cluster.client.get(Lease, NODE, namespace="kube-node-lease")
    assert lease.spec.renew_time is not None
    assert stage.clock.now() - lease.spec.renew_time.instant > timedelta(seconds=500)
    stage.mark()
    await stage.start_agent()
    await stage.expect(0, lambda: stage.health("one") == "Unhealthy (too hot)")
    assert stage.shows("pod one", "phase", "Running")
    assert called(stage) == ["prepare"]


@row(22, disk=True)
async def test_what_an_agent_was_about_to_do_the_next_one_does(stage: Stage) -> None:
    stage.troupe.fail(FaultKind.SLOW, seconds=20.0, operation=Operation.BOTH)
    await stage.add_claim("one")
    await stage.add_pod("one", "one")
    await stage.until(lambda: called(stage) == ["prepare"])
    await stage.after(5)
    await stage.stop_agent()
    await stage.start_agent()
    await stage.until(lambda: stage.shows("pod one", "phase", "Running"), seconds_max=30)
    assert called(stage) == ["prepare", "prepare"]
    await stage.delete_pod("one")
    await stage.until(lambda: called(stage)[-1] == "unprepare", seconds_max=5)
    await stage.stop_agent()
    await stage.start_agent()
    await stage.until(lambda: not stage.seen.read("pod one", "exists"), seconds_max=60)
    assert called(stage)[2:] == ["unprepare", "unprepare"]
    assert not stage.troupe.running.prepared()


@row(23, disk=True)
async def test_devices_of_a_pod_that_went_while_no_agent_was_there_are_given_back(
    stage: Stage,
) -> None:
    await stage.run_pod("one")
    await stage.stop_agent()
    await stage.delete_pod("one", grace_seconds=0)
    await stage.after(10, stride=1)
    assert called(stage) == ["prepare"]
    stage.mark()
    await stage.start_agent()
    await stage.expect(0, lambda: called(stage) == ["prepare", "unprepare"], jitter=3)
    await stage.until(lambda: not stage.agent.claims.claims())
    assert not await stage.runtime.list_sandboxes()


@row(23, disk=True, detail=True)
async def test_devices_of_a_pod_of_which_nothing_is_left_are_given_back_too(stage: Stage) -> None:
    await stage.run_pod("one")
    await stage.stop_agent()
    await stage.delete_pod("one", grace_seconds=0)
    for sandbox in await stage.runtime.list_sandboxes():
        await stage.runtime.remove_sandbox(sandbox.id)
    await stage.start_agent()
    await stage.until(lambda: called(stage) == ["prepare", "unprepare"], seconds_max=61)


@row(24, disk=True, driver=False)
async def test_a_reboot_has_devices_prepared_again_and_their_files_written(
    stage: Stage,
) -> None:
    await stage.add_socket_driver(boot_id="boot-1")
    await stage.connected()
    await stage.run_pod("one")
    (file,) = stage.cdi_directory.iterdir()
    await stage.reboot()
    assert not file.exists()
    await stage.start_agent()
    await stage.until(lambda: stage.shows("pod one", PREPARED, "False"), seconds_max=5)
    await stage.after(10, stride=1)
    await stage.add_socket_driver(boot_id="boot-2")
    await stage.connected()
    stage.mark()
    await stage.expect(0, lambda: stage.shows("pod one", "container main", "running"))
    assert file.exists()
    assert stage.seen.read("pod one", "restarts main") == "1"
    await stage.until(lambda: stage.health("one") == "Healthy", seconds_max=5)


@row(28, disk=True)
async def test_a_damaged_checkpoint_is_set_aside_and_rebuilt(stage: Stage) -> None:
    await stage.run_pod("one")
    await stage.stop_agent()
    (stage.root / "dra_manager_state").write_bytes(b"{broken")
    stage.mark()
    await stage.start_agent()
    await stage.expect(0, lambda: stage.events(f"node {NODE}", "DamagedClaimCheckpoint"))
    assert damaged(stage) == ["dra_manager_state.damaged-0"]
    await stage.after(10, stride=1)
    assert stage.shows("pod one", "phase", "Running")
    assert stage.health("one").startswith("Healthy")
    await stage.delete_pod("one")
    await stage.until(lambda: not stage.seen.read("pod one", "exists"), seconds_max=5)
    assert called(stage)[-1] == "unprepare"
    assert not stage.troupe.running.prepared()


@row(29, disk=True)
async def test_a_deleted_checkpoint_is_rebuilt_and_containers_restart(stage: Stage) -> None:
    pod = await stage.run_pod("one")
    await stage.stop_agent()
    (stage.root / "dra_manager_state").unlink()
    stage.mark()
    await stage.start_agent()
    await stage.settle()
    stage.runtime.exit_container(pod.metadata.uid, "main", 1)
    await stage.expect(0, lambda: stage.seen.read("pod one", "restarts main") == "1")
    await stage.expect(0, lambda: stage.shows("pod one", "container main", "running"))
    await stage.delete_pod("one")
    await stage.until(lambda: not stage.seen.read("pod one", "exists"), seconds_max=5)
    assert called(stage)[-1] == "unprepare"
    assert not stage.troupe.running.prepared()


@contextmanager
def full_disk(file: Path) -> Iterator[None]:
    """Keeps a file from being written, as a full disk would, also by root."""
    kept = file.rename(file.with_name("kept"))
    file.mkdir()
    (file / "obstacle").touch()
    try:
        yield
    finally:
        shutil.rmtree(file)
        kept.rename(file)


@row(30, disk=True)
async def test_nothing_is_prepared_that_cannot_be_recorded(stage: Stage) -> None:
    with full_disk(stage.root / "dra_manager_state"):
        await stage.add_claim("one")
        stage.mark()
        await stage.add_pod("one", "one")
        await stage.expect(0, lambda: stage.shows("pod one", PREPARED, "False PrepareFailed"))
        assert "checkpoint" in stage.seen.read("pod one", PREPARED)
        assert called(stage) == []
        await stage.after(5)
    await stage.until(lambda: stage.shows("pod one", "phase", "Running"), seconds_max=10)
    released = "condition dray.dev/DevicesReleased"
    with full_disk(stage.root / "dra_manager_state"):
        await stage.delete_pod("one")
        await stage.until(lambda: stage.shows("pod one", released, "False"))
    await stage.until(lambda: not stage.seen.read("pod one", "exists"), seconds_max=10)


@row(31, disk=True)
async def test_a_damaged_health_file_costs_nothing_but_the_past(stage: Stage) -> None:
    await stage.run_pod("one")
    await stage.after(5)
    await stage.stop_agent()
    (stage.root / "dra_health_state").write_bytes(b"\x00\xff")
    stage.mark()
    await stage.start_agent()
    await stage.expect(0, lambda: stage.health("one") == "Healthy")
    assert damaged(stage) == ["dra_health_state.damaged-0"]


@row(32)
async def test_without_the_api_pods_go_on_and_what_happened_is_told_later(stage: Stage) -> None:
    await stage.run_pod("one")
    ending = await stage.run_pod("two", ["gpu-1"], restart_policy="Never")
    stage.link.go_down()
    stage.troupe.fail(FaultKind.UNHEALTHY, message="too hot")
    await stage.after(10)
    stage.troupe.fail(FaultKind.UNHEALTHY, message="much too hot")
    stage.runtime.exit_container(ending.metadata.uid, "main", 0)
    await stage.after(10)
    assert called(stage).count("unprepare") == 1, "devices are given back without the API"
    assert stage.health("one") == "Healthy"
    stage.mark()
    stage.link.come_back()
    await stage.expect(0, lambda: stage.health("one") == "Unhealthy (much too hot)", jitter=60)
    await stage.until(lambda: stage.shows("pod two", "phase", "Succeeded"), seconds_max=60)
    await stage.until(
        lambda: stage.seen.read(SLICE, "gpu-0") == f"{DRIVER}/unhealthy:NoSchedule",
        seconds_max=60,
    )
    assert "Unhealthy (too hot)" not in stage.seen.history("pod one", "main claim:one")


@row(32, detail=True)
async def test_a_container_restarts_without_the_api(stage: Stage) -> None:
    pod = await stage.run_pod("one")
    stage.link.go_down()
    await stage.after(5)
    stage.runtime.exit_container(pod.metadata.uid, "main", 1)
    await stage.after(15)
    running = [one for one in await stage.runtime.list_containers() if one.finished_at is None]
    assert [one.attempt for one in running] == [1]


@row(32, disk=True, detail=True)
async def test_an_agent_that_starts_without_the_api_leaves_pods_alone_until_it_is_there(
    stage: Stage,
) -> None:
    pod = await stage.run_pod("one")
    await stage.stop_agent()
    stage.link.go_down()
    await stage.start_agent(wait=False)
    await stage.after(60, stride=1)
    (container,) = await stage.runtime.list_containers()
    assert container.finished_at is None
    stage.runtime.exit_container(pod.metadata.uid, "main", 1)
    stage.link.come_back()
    await stage.until(lambda: stage.seen.read("pod one", "restarts main") == "1", seconds_max=60)
    await stage.until(lambda: stage.health("one") == "Healthy", seconds_max=10)
    assert called(stage).count("unprepare") == 0


@row(28, disk=True, detail=True)
async def test_a_damaged_checkpoint_is_rebuilt_when_there_is_something_to_rebuild_it_from(
    stage: Stage,
) -> None:
    await stage.run_pod("one")
    await stage.run_pod("gone", ["gpu-1"])
    await stage.stop_agent()
    (stage.root / "dra_manager_state").write_bytes(b"{broken")
    stage.link.go_down()
    await stage.start_agent(wait=False)
    await stage.after(30, stride=1)
    await stage.delete_pod("gone", grace_seconds=0)
    stage.link.come_back()
    await stage.until(lambda: stage.health("one") == "Healthy", seconds_max=60)
    await stage.after(120, stride=1)
    assert [info.claim.name for info in stage.agent.claims.claims()] == ["one"]
    assert stage.shows("pod one", "phase", "Running")
    assert stage.seen.read("pod one", "restarts main") == "0"
