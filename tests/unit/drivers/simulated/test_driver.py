"""The simulated driver as a node meets it: through the SDK, in memory, in no time."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dray.api.quantity import Quantity
from dray.drivers.simulated import driver_factory
from dray.drivers.simulated.control import SOCKET_NAME, command
from dray.drivers.simulated.driver import SimulatedDriver
from dray.drivers.simulated.faults import ErrorClass, Fault, FaultKind, Operation
from dray.drivers.simulated.fleet import Fleet, default_fleet, read_fleet
from dray.entropy import SeededEntropy
from dray.proto import dra_v1_pb2 as v1
from dray.proto.health_v1_pb2 import HEALTHY, UNHEALTHY, UNKNOWN
from dray.sdk import OpaqueConfig, RunningDriver, Settings, serve
from dray.testing import FakeClock
from tests.unit.sdk.drivers import (
    Claims,
    as_client,
    claim,
    prepare_request,
    result,
    short_directory,
    unprepare_request,
)
from tests.unit.sdk.turns import pass_time, settle

DRIVER = "gpu.simulated.dev"

MODELS = read_fleet("""
models:
  l4: {shared: true, capacity: {memory: 24Gi}, environment: {VENDOR: sim}}
nodes: [{devices: [{model: l4, count: 2}]}]
""")


class Scene:
    """A running driver, its clock, and what it said of its devices."""

    def __init__(self, running: RunningDriver, driver: SimulatedDriver, clock: FakeClock) -> None:
        self.running, self.driver, self.clock = running, driver, clock
        self.health: dict[str, tuple[int, str]] = {}

    def inject(self, kind: FaultKind, device: str = "gpu-0", **more: Any) -> None:
        self.driver.faults.inject(Fault(kind=kind, device=device, **more))

    async def listen(self) -> None:
        async for report in self.running.service.watch_health():
            for one in report.devices:
                self.health[one.device.device_name] = (one.health, one.message)

    async def pass_time(self, seconds: float) -> None:
        await pass_time(self.clock, seconds)

    async def prepare(self, uid: str = "uid-1") -> v1.NodePrepareResourceResponse:
        response = await self.running.service.prepare(prepare_request(of(uid)))
        return response.claims[uid]

    async def unprepare(self, uid: str = "uid-1") -> v1.NodeUnprepareResourceResponse:
        response = await self.running.service.unprepare(unprepare_request(of(uid)))
        return response.claims[uid]

    async def outcome(self, call: Awaitable[Any]) -> Any:
        """What a call comes to while time passes, as far as a kubelet would wait."""
        calling = asyncio.ensure_future(call)
        for _ in range(45):
            await pass_time(self.clock, 1.0)
            if calling.done():
                break
        return await calling


def of(uid: str, device: str = "gpu-0") -> Any:
    return claim(uid, result(device, driver=DRIVER))


@asynccontextmanager
async def scene(
    fleet: Fleet | None = None,
    claims: Sequence[Any] = (),
    *,
    crash: Callable[[], None] | None = None,
) -> AsyncIterator[Scene]:
    clock = FakeClock()
    driver = SimulatedDriver(fleet or default_fleet(), crash=crash)
    settings = Settings(node_name="n1", in_memory=True, publish=False)
    client = as_client(Claims(*(claims or (of("uid-1"),))))
    async with serve(
        driver, settings, client=client, clock=clock, entropy=SeededEntropy(1)
    ) as running:
        made = Scene(running, driver, clock)
        listening = asyncio.ensure_future(made.listen())
        try:
            await made.pass_time(1.0)
            yield made
        finally:
            listening.cancel()
            await asyncio.wait((listening,))


def play(scenario: Callable[[Scene], Awaitable[None]], **options: Any) -> None:
    async def body() -> None:
        async with scene(**options) as stage:
            await scenario(stage)

    asyncio.run(body())


# Health -----------------------------------------------------------------------------------------


def test_devices_are_healthy_until_a_fault_says_otherwise() -> None:
    async def scenario(stage: Scene) -> None:
        assert stage.health == {f"gpu-{number}": (HEALTHY, "") for number in range(4)}
        # Nothing lapses either, as long as nothing happens.
        await stage.pass_time(120.0)
        assert stage.health == {f"gpu-{number}": (HEALTHY, "") for number in range(4)}

    play(scenario)


@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        (FaultKind.UNHEALTHY, (UNHEALTHY, "too hot")),
        (FaultKind.DEGRADED, (HEALTHY, "Degraded: too hot")),
        (FaultKind.UNKNOWN, (UNKNOWN, "too hot")),
    ],
)
def test_a_fault_is_reported_at_once_and_so_is_recovery(
    kind: FaultKind, seen: tuple[int, str]
) -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(kind, message="too hot")
        await stage.pass_time(0.1)
        assert stage.health["gpu-0"] == seen
        assert stage.health["gpu-1"] == (HEALTHY, "")
        stage.driver.faults.recover("gpu-0")
        await stage.pass_time(0.1)
        assert stage.health["gpu-0"] == (HEALTHY, "")

    play(scenario)


def test_a_fault_of_all_devices_is_reported_of_each() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.UNHEALTHY, "*")
        await stage.pass_time(0.1)
        assert {health for health, _ in stage.health.values()} == {UNHEALTHY}

    play(scenario)


def test_a_flapping_device_is_unhealthy_every_other_half() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.FLAPPING, seconds=10.0)
        seen = []
        for _ in range(6):
            await stage.pass_time(10.0)
            seen.append(stage.health["gpu-0"][0])
        assert seen in ([UNHEALTHY, HEALTHY] * 3, [HEALTHY, UNHEALTHY] * 3)

    play(scenario)


def test_a_silent_device_becomes_unknown_when_its_word_lapses() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.SILENT)
        await stage.pass_time(15.0)
        assert stage.health["gpu-0"] == (HEALTHY, "")
        await stage.pass_time(10.0)
        health, message = stage.health["gpu-0"]
        assert health == UNKNOWN
        assert "silent for 20 s" in message
        assert stage.health["gpu-1"] == (HEALTHY, "")
        stage.driver.faults.recover()
        await stage.pass_time(1.0)
        assert stage.health["gpu-0"] == (HEALTHY, "")

    play(scenario)


def test_a_vanished_device_is_published_no_longer_until_it_recovers() -> None:
    async def scenario(stage: Scene) -> None:
        def published() -> list[str]:
            return [each.name for _pool, each in stage.running.devices()]

        stage.inject(FaultKind.VANISHED, "gpu-1")
        await stage.pass_time(0.1)
        assert published() == ["gpu-0", "gpu-2", "gpu-3"]
        stage.driver.faults.recover("gpu-1")
        await stage.pass_time(0.1)
        assert published() == ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]
        stage.inject(FaultKind.VANISHED, "*")
        await stage.pass_time(0.1)
        assert published() == []

    play(scenario)


STRICT = read_fleet("""
models: {gpu: {}}
unhealthy: {effect: NoExecute, recoverSeconds: 5}
nodes: [{devices: [{model: gpu, count: 2}]}]
""")


@pytest.mark.parametrize(
    ("fleet", "effect", "seconds"),
    [
        pytest.param(default_fleet(), "NoSchedule", 60.0, id="usual"),
        pytest.param(STRICT, "NoExecute", 5.0, id="said-otherwise"),
    ],
)
def test_an_unhealthy_device_is_tainted_until_it_was_well_for_as_long_as_its_fleet_says(
    fleet: Fleet, effect: str, seconds: float
) -> None:
    async def scenario(stage: Scene) -> None:
        def tainted() -> list[tuple[str, str, str]]:
            inventory = stage.running.taints.apply(stage.driver._inventory(), "n1")
            return [
                (each.name, taint.key, taint.effect)
                for _pool, each in inventory.devices()
                for taint in each.taints
            ]

        stage.inject(FaultKind.UNHEALTHY, "gpu-0")
        await stage.pass_time(0.1)
        assert tainted() == [("gpu-0", f"{DRIVER}/unhealthy", effect)]
        stage.driver.faults.recover("gpu-0")
        await stage.pass_time(seconds - 1)
        assert tainted()
        await stage.pass_time(2.0)
        assert tainted() == []

    play(scenario, fleet=fleet)


# Partitions -------------------------------------------------------------------------------------


PARTITIONED = read_fleet("""
models:
  a100:
    partitions:
      counters: {slices: 2}
      profiles: [{name: half, count: 2, consumes: {slices: 1}}]
  parts:
    partitions:
      whole: false
      counters: {slices: 1}
      profiles: [{name: all, consumes: {slices: 1}}]
nodes: [{devices: [{model: a100, count: 2, name: gpu}, {model: parts}]}]
""")
CARD = {"gpu-0", "gpu-0-half-0", "gpu-0-half-1"}


@pytest.mark.parametrize(
    ("kind", "message", "card", "partition"),
    [
        (
            FaultKind.UNHEALTHY,
            "xid 79",
            (UNHEALTHY, "xid 79"),
            (UNHEALTHY, "parent gpu-0 is unhealthy: xid 79"),
        ),
        (FaultKind.UNHEALTHY, "", (UNHEALTHY, ""), (UNHEALTHY, "parent gpu-0 is unhealthy")),
        (
            FaultKind.DEGRADED,
            "hot",
            (HEALTHY, "Degraded: hot"),
            (HEALTHY, "Degraded: parent gpu-0 is degraded: hot"),
        ),
        (
            FaultKind.UNKNOWN,
            "lost",
            (UNKNOWN, "lost"),
            (UNKNOWN, "parent gpu-0 is unknown: lost"),
        ),
    ],
)
def test_a_fault_of_a_device_is_that_of_its_partitions_until_it_recovers(
    kind: FaultKind, message: str, card: tuple[int, str], partition: tuple[int, str]
) -> None:
    async def scenario(stage: Scene) -> None:
        others = {name: (HEALTHY, "") for name in stage.health if name not in CARD}
        assert len(others) == 4
        stage.inject(kind, message=message)
        await stage.pass_time(0.1)
        assert stage.health == {
            "gpu-0": card,
            "gpu-0-half-0": partition,
            "gpu-0-half-1": partition,
            **others,
        }
        assert [fault.device for fault in stage.driver.faults.all()] == ["gpu-0"]
        stage.driver.faults.recover("gpu-0")
        await stage.pass_time(0.1)
        assert set(stage.health.values()) == {(HEALTHY, "")}

    play(scenario, fleet=PARTITIONED)


def test_a_fault_of_a_partition_is_its_own() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.UNHEALTHY, "gpu-0-half-1", message="ecc")
        await stage.pass_time(0.1)
        ill = {name: word for name, word in stage.health.items() if word != (HEALTHY, "")}
        assert ill == {"gpu-0-half-1": (UNHEALTHY, "ecc")}

    play(scenario, fleet=PARTITIONED)


def test_a_partition_is_as_well_as_the_worse_of_itself_and_its_parent() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.UNHEALTHY, "gpu-0", message="xid 79")
        stage.inject(FaultKind.DEGRADED, "gpu-0-half-0", message="hot")
        stage.inject(FaultKind.DEGRADED, "gpu-1")
        stage.inject(FaultKind.UNHEALTHY, "gpu-1-half-0", message="ecc")
        await stage.pass_time(0.1)
        assert stage.health["gpu-0-half-0"] == (UNHEALTHY, "parent gpu-0 is unhealthy: xid 79")
        assert stage.health["gpu-1-half-0"] == (UNHEALTHY, "ecc")
        stage.driver.faults.recover("gpu-0")
        await stage.pass_time(0.1)
        assert stage.health["gpu-0-half-0"] == (HEALTHY, "Degraded: hot")

    play(scenario, fleet=PARTITIONED)


def test_partitions_are_tainted_with_their_device_in_one_go_and_untainted_with_it() -> None:
    async def scenario(stage: Scene) -> None:
        seen: list[set[str]] = []

        def tainted() -> set[str]:
            inventory = stage.running.taints.apply(stage.driver._inventory(), "n1")
            return {each.name for _pool, each in inventory.devices() if each.taints}

        stage.running.taints._on_change = lambda: seen.append(tainted())
        stage.inject(FaultKind.UNHEALTHY)
        await stage.pass_time(5.0)
        assert seen == [CARD]
        stage.driver.faults.recover("gpu-0")
        await stage.pass_time(70.0)
        assert seen == [CARD, set()]

    play(scenario, fleet=PARTITIONED)


def test_partitions_of_a_vanished_device_vanish_with_it() -> None:
    async def scenario(stage: Scene) -> None:
        def published() -> set[str]:
            return {each.name for _pool, each in stage.running.devices()}

        everything = published()
        stage.inject(FaultKind.VANISHED, "gpu-0")
        await stage.pass_time(0.1)
        assert published() == everything - CARD
        stage.driver.faults.recover("gpu-0")
        await stage.pass_time(0.1)
        assert published() == everything
        stage.inject(FaultKind.VANISHED, "gpu-0-half-0")
        await stage.pass_time(0.1)
        assert published() == everything - {"gpu-0-half-0"}

    play(scenario, fleet=PARTITIONED)


def test_nothing_is_heard_of_partitions_of_a_silent_device() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.SILENT, "gpu-0")
        await stage.pass_time(25.0)
        unheard = {name for name, (health, _) in stage.health.items() if health == UNKNOWN}
        assert unheard == CARD

    play(scenario, fleet=PARTITIONED)


def test_what_can_only_be_had_in_partitions_can_break_as_well() -> None:
    async def scenario(stage: Scene) -> None:
        assert "parts-0" in stage.driver._device_names()
        stage.inject(FaultKind.UNHEALTHY, "parts-0")
        await stage.pass_time(0.1)
        assert stage.health["parts-0-all-0"] == (UNHEALTHY, "parent parts-0 is unhealthy")

    play(scenario, fleet=PARTITIONED)


def test_calls_for_a_partition_meet_the_faults_of_its_device() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.FAILING, error_class=ErrorClass.PERMANENT, message="no power")
        answer = await stage.outcome(stage.prepare())
        assert "parent gpu-0: no power" in answer.error
        stage.driver.faults.recover("gpu-0")
        stage.inject(FaultKind.FAILING, "gpu-0-half-1", error_class=ErrorClass.PERMANENT)
        assert not (await stage.prepare()).error

    play(scenario, fleet=PARTITIONED, claims=(of("uid-1", "gpu-0-half-0"),))


# Calls ------------------------------------------------------------------------------------------


def test_a_container_is_told_which_devices_it_has() -> None:
    async def scenario(stage: Scene) -> None:
        edits = await stage.driver.prepare(_claimed("l4-1", memory="2Gi"))
        assert edits.env == (
            "SIMULATED_DEVICE_L4_1=l4-1",
            "SIMULATED_DEVICE_L4_1_POOL=n1",
            "SIMULATED_DEVICE_L4_1_MEMORY=2Gi",
            "VENDOR=sim",
        )

    play(scenario, fleet=MODELS)


def test_a_container_is_told_how_its_device_was_configured() -> None:
    async def scenario(stage: Scene) -> None:
        told = b'{"apiVersion":"simulated.dev/v1","kind":"GpuConfig","powerLimitWatts":250}'
        config = OpaqueConfig("FromClaim", (), msgspec.Raw(told))
        edits = await stage.driver.prepare(_claimed("gpu-0", config=(config,)))
        assert "SIMULATED_DEVICE_GPU_0_POWER_LIMIT_WATTS=250" in edits.env

    play(scenario)


def _claimed(device: str, config: tuple[OpaqueConfig, ...] = (), **capacity: str) -> Any:
    from dray.sdk import ClaimedDevice

    return ClaimedDevice(
        driver=DRIVER,
        pool="n1",
        device=device,
        request="gpu",
        requests=("gpu",),
        claim=of("uid-1", device),
        config=config,
        consumed_capacity={name: Quantity.parse(value) for name, value in capacity.items()},
    )


def test_claims_are_prepared_and_given_back() -> None:
    async def scenario(stage: Scene) -> None:
        answer = await stage.prepare()
        assert [device.device_name for device in answer.devices] == ["gpu-0"]
        assert not (await stage.unprepare()).error

    play(scenario)


@pytest.mark.parametrize(
    ("error_class", "wire"),
    [
        (ErrorClass.TRANSIENT, "TRANSIENT"),
        (ErrorClass.PERMANENT, "PERMANENT"),
        (ErrorClass.INVALID_CONFIG, "INVALID_CONFIG"),
        (ErrorClass.DEVICE_FAILED, "DEVICE_FAILED"),
        (ErrorClass.UNKNOWN, "UNKNOWN"),
    ],
)
def test_every_class_of_error_reaches_the_node_as_such(error_class: ErrorClass, wire: str) -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.FAILING, error_class=error_class, message="no power")
        answer = await stage.outcome(stage.prepare())
        assert "no power" in answer.error
        assert v1.NodePrepareResourceErrorType.Name(answer.error_type) == wire

    play(scenario)


def test_a_fault_of_unpreparing_leaves_preparing_alone() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(
            FaultKind.FAILING, operation=Operation.UNPREPARE, error_class=ErrorClass.PERMANENT
        )
        assert not (await stage.prepare()).error
        assert "simulated: permanent" in (await stage.outcome(stage.unprepare())).error
        stage.driver.faults.recover()
        assert not (await stage.unprepare()).error

    play(scenario)


def test_a_call_that_fails_so_many_times_succeeds_after_that() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.FAILING, times=1, error_class=ErrorClass.PERMANENT)
        assert (await stage.outcome(stage.prepare())).error
        assert not (await stage.prepare()).error

    play(scenario)


def test_a_slow_device_takes_its_time() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.SLOW, seconds=3.0)
        calling = asyncio.ensure_future(stage.prepare())
        await stage.pass_time(2.0)
        assert not calling.done()
        await stage.pass_time(1.5)
        assert not (await calling).error

    play(scenario)


def test_a_hanging_device_is_given_up_in_time() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.HANGING)
        answer = await stage.outcome(stage.prepare())
        assert "not done after 30 s" in answer.error
        stage.driver.faults.recover()
        assert not (await stage.outcome(stage.prepare())).error

    play(scenario)


def test_a_crash_is_what_the_process_makes_of_it() -> None:
    crashes: list[str] = []

    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.CRASHING, times=1)
        await stage.prepare()
        assert crashes == ["crash"]

    play(scenario, crash=lambda: crashes.append("crash"))


def test_a_crash_spares_a_process_that_is_not_the_drivers_alone() -> None:
    async def scenario(stage: Scene) -> None:
        stage.inject(FaultKind.CRASHING)
        answer = await stage.outcome(stage.prepare())
        assert "the node in the same process was spared" in answer.error

    play(scenario, crash=None)


# Commands ---------------------------------------------------------------------------------------


def test_a_driver_with_a_directory_takes_faults_on_command() -> None:
    async def body(root: Path) -> None:
        driver = driver_factory(None)()
        settings = Settings(
            node_name="n1", kubelet_directory=root, cdi_directory=root / "cdi", publish=False
        )
        path = root / "plugins" / DRIVER / SOCKET_NAME
        async with serve(driver, settings, client=as_client(Claims()), clock=FakeClock()):
            await command(path, {"inject": {"kind": "vanished", "device": "gpu-1"}})
            await settle()
            # What has vanished can still be named, else nobody could bring it back.
            assert (await command(path, {"recover": "gpu-1"}))["ended"] == 1
        assert not path.exists()

    with short_directory() as root:
        asyncio.run(body(root))


def test_a_driver_that_cannot_listen_for_faults_runs_without(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(root: Path) -> None:
        driver = driver_factory(None)()
        # Long enough for the service's socket, and too long for that of faults.
        plugin = root / ("x" * (107 - len(str(root)) - len("//dra.sock")))
        settings = Settings(
            node_name="n1",
            kubelet_directory=root,
            plugin_directory=plugin,
            cdi_directory=root / "cdi",
            publish=False,
        )
        async with serve(driver, settings, client=as_client(Claims()), clock=FakeClock()):
            pass

    with short_directory() as root:
        asyncio.run(body(root))
    assert "no faults on command" in caplog.text


@pytest.mark.slow
def test_a_crash_of_a_process_is_one() -> None:
    script = "from dray.drivers.simulated.driver import kill_oneself; kill_oneself()"
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
