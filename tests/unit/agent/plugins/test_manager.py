"""Drivers come, crash, hang and leave; the manager always knows whom to call."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from dray.agent.plugins.manager import PluginManager
from dray.agent.plugins.plugin import Change, Plugins
from dray.clock import SystemClock
from dray.entropy import SeededEntropy
from dray.errors import ParseError, TransportError
from dray.proto.dra_v1_pb2 import (
    Claim,
    NodePrepareResourcesRequest,
    NodeUnprepareResourcesRequest,
)
from dray.testing import FakeClock
from tests.unit.agent.plugins import drivers
from tests.unit.agent.plugins.drivers import (
    DRIVER,
    Changes,
    TestDriver,
    running,
    scenario,
    tick,
    told,
)
from tests.unit.agent.plugins.in_process import InProcess

REQUEST = NodePrepareResourcesRequest(claims=[Claim(namespace="default", name="c", uid="1")])


def test_a_driver_that_appears_is_registered_connected_and_told() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        async with running(root) as (manager, changes):
            plugins: Plugins = manager
            assert plugins.find(DRIVER) is None
            await driver.start()
            change = await changes.until(Change.CONNECTED)
            assert (await driver.statuses.get()).plugin_registered
            plugin = plugins.find(DRIVER)
            assert plugin is change.plugin
            assert plugin.connected
            assert plugin.offers_health
            answer = await plugin.service.prepare(REQUEST)
            assert list(answer.claims) == ["1"]
            await driver.stop()
            await changes.until(Change.DEREGISTERED)
            assert plugins.drivers() == ()

    scenario(body)


def test_drivers_that_were_there_first_are_found_by_a_restarted_agent() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        await driver.start()
        for _ in range(2):
            async with running(root) as (_, changes):
                await changes.until(Change.CONNECTED)
                assert (await driver.statuses.get()).plugin_registered
        await driver.stop()

    scenario(body)


@pytest.mark.slow
def test_a_service_that_goes_away_and_comes_back_stays_registered() -> None:
    """Row 1: calls fail fast meanwhile, and its return is noticed without any."""

    async def body(root: Path) -> None:
        driver = TestDriver(root)
        await driver.start()
        async with running(root) as (manager, changes):
            plugin = (await changes.until(Change.CONNECTED)).plugin
            await driver.stop_service()
            await changes.until(Change.DISCONNECTED)
            assert manager.find(DRIVER) is plugin
            assert not plugin.connected
            with pytest.raises(TransportError, match=r"driver gpu\.example\.com: .*Unavailable"):
                await plugin.service.prepare(REQUEST)
            await driver.start_service()
            await changes.until(Change.CONNECTED)
            await plugin.service.prepare(REQUEST)
        await driver.stop()

    scenario(body)


async def start_process(root: Path) -> asyncio.subprocess.Process:
    """A driver in a process of its own, serving."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, drivers.__file__, DRIVER, str(root), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"serving\n"
    return process


@pytest.mark.slow
def test_a_killed_process_is_noticed_and_its_successor_registered_at_once() -> None:
    """Rows 1, 7 and 8: SIGKILL leaves both sockets behind; the new process replaces them."""

    async def body(root: Path) -> None:
        process = await start_process(root)
        async with running(root) as (manager, changes):
            first = (await changes.until(Change.CONNECTED)).plugin
            await told(manager)
            process.send_signal(signal.SIGKILL)
            await changes.until(Change.DISCONNECTED)
            await process.wait()
            assert manager.find(DRIVER) is first, "its socket is still there"
            with pytest.raises(TransportError):
                await first.service.prepare(REQUEST)

            process = await start_process(root)
            second = (await changes.until(Change.REGISTERED)).plugin
            assert second is not first
            await changes.until(Change.CONNECTED)
            assert manager.instances(DRIVER) == (second,)
            await second.service.prepare(REQUEST)
            process.send_signal(signal.SIGKILL)
            await process.wait()

    scenario(body)


@pytest.mark.slow
def test_a_stopped_process_is_hung_until_it_goes_on() -> None:
    """Row 3, with a process that really does not run: its kernel still accepts and buffers."""

    async def body(root: Path) -> None:
        clock = FakeClock()
        process = await start_process(root)
        async with running(root, clock=clock) as (manager, changes):
            plugin = (await changes.until(Change.CONNECTED)).plugin
            await told(manager)
            process.send_signal(signal.SIGSTOP)
            call = asyncio.ensure_future(plugin.service.prepare(REQUEST))
            await turn()
            clock.advance(45.0)
            with pytest.raises(TimeoutError):
                await call
            await turn()
            clock.advance(5.0)
            await changes.until(Change.HUNG)
            assert plugin.connected
            process.send_signal(signal.SIGCONT)
            await turn()
            clock.advance(10.0)
            await changes.until(Change.RESPONSIVE)
            process.send_signal(signal.SIGKILL)
            await changes.until(Change.DISCONNECTED)
            await process.wait()

    scenario(body)


def test_during_a_rolling_update_the_newer_instance_is_called_and_only_the_older_one_leaves() -> (
    None
):
    """Row 6."""

    async def body(root: Path) -> None:
        old, new = TestDriver(root, uid="old"), TestDriver(root, uid="new")
        await old.start()
        async with running(root) as (manager, changes):
            first = (await changes.until(Change.CONNECTED)).plugin
            tick(root)
            await new.start()
            second = (await changes.until(Change.CONNECTED)).plugin
            assert manager.instances(DRIVER) == (first, second)
            assert manager.find(DRIVER) is second
            await old.stop()
            assert (await changes.until(Change.DEREGISTERED)).plugin is first
            assert manager.find(DRIVER) is second
            assert second.connected
            await new.stop()

    scenario(body)


def test_an_older_instance_is_called_while_the_newer_is_not_there() -> None:
    async def body(root: Path) -> None:
        old, new = TestDriver(root, uid="old"), TestDriver(root, uid="new")
        await old.start()
        async with running(root) as (manager, changes):
            first = (await changes.until(Change.CONNECTED)).plugin
            tick(root)
            await new.start()
            await changes.until(Change.CONNECTED)
            await new.stop_service()
            await changes.until(Change.DISCONNECTED)
            assert manager.find(DRIVER) is first
            await new.stop()
            await old.stop()

    scenario(body)


def test_a_re_created_socket_is_a_new_registration() -> None:
    """Row 5: the same path and endpoint, between two reads of the directory."""

    async def body(root: Path) -> None:
        clock = FakeClock()
        driver, successor = TestDriver(root), TestDriver(root)
        await driver.start()
        async with running(root, clock=clock) as (manager, changes):
            first = (await changes.until(Change.CONNECTED)).plugin
            await driver.stop()
            tick(root)
            await successor.start()
            clock.advance(0.25)
            second = (await changes.until(Change.REGISTERED)).plugin
            order = [change for _, change in changes.heard]
            assert order[-2:] == [Change.DEREGISTERED, Change.REGISTERED]
            assert first.instance != second.instance
            assert manager.instances(DRIVER) == (second,)
            await changes.until(Change.CONNECTED)
            await second.service.prepare(REQUEST)
            await successor.stop()

    scenario(body)


def test_a_call_under_way_ends_when_its_instance_is_deregistered() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        await driver.start()
        async with running(root) as (_, changes):
            plugin = (await changes.until(Change.CONNECTED)).plugin
            driver.answering.clear()
            call = asyncio.ensure_future(plugin.service.prepare(REQUEST))
            await driver.called.wait()
            os.unlink(driver.registration_path)
            with pytest.raises(TransportError, match="deregistered"):
                await call
            driver.answering.set()
            await driver.stop()

    scenario(body)


def test_a_hung_driver_is_reported_and_an_older_instance_that_answers_is_preferred() -> None:
    """Row 3."""

    async def body(root: Path) -> None:
        clock = FakeClock()
        old, new = TestDriver(root, uid="old"), TestDriver(root, uid="new")
        await old.start()
        async with running(root, clock=clock) as (manager, changes):
            first = (await changes.until(Change.CONNECTED)).plugin
            tick(root)
            await new.start()
            clock.advance(0.25)
            second = (await changes.until(Change.CONNECTED)).plugin
            await told(manager)
            new.answering.clear()
            call = asyncio.ensure_future(second.service.prepare(REQUEST))
            await new.called.wait()
            new.called.clear()
            clock.advance(45.0)
            with pytest.raises(TimeoutError, match=r"gpu.example.com: no answer within 45 s"):
                await call
            assert manager.find(DRIVER) is first

            await new.called.wait()  # asked to prepare nothing
            new.called.clear()
            clock.advance(5.0)
            assert (await changes.until(Change.HUNG)).plugin is second
            assert second.connected

            new.answering.set()
            await asyncio.sleep(0)
            clock.advance(10.0)
            assert (await changes.until(Change.RESPONSIVE)).plugin is second
            assert manager.find(DRIVER) is second
            await new.stop()
            await old.stop()

    scenario(body)


def test_two_sockets_may_not_register_one_endpoint_until_the_first_leaves() -> None:
    """Row 11."""

    async def body(root: Path) -> None:
        first = TestDriver(root, uid="a")
        second = TestDriver(root, uid="b", endpoint=str(first.service_path))
        await first.start()
        async with running(root) as (manager, changes):
            await changes.until(Change.CONNECTED)
            await second.start()
            refusal = await second.statuses.get()
            assert not refusal.plugin_registered
            assert refusal.error == (
                "RegisterPlugin error -- plugin registration failed with err: endpoint"
                f" {first.service_path} already registered for DRA driver plugin {DRIVER}"
            )
            assert len(manager.instances(DRIVER)) == 1
            os.unlink(first.registration_path)
            while not (await second.statuses.get()).plugin_registered:
                pass
            assert len(manager.instances(DRIVER)) == 1
            await first.stop()
            await second.stop()

    scenario(body)


def test_two_drivers_may_share_an_endpoint() -> None:
    async def body(root: Path) -> None:
        first = TestDriver(root, "a.example.com")
        second = TestDriver(root, "b.example.com", uid="b", endpoint=str(first.service_path))
        await first.start()
        await second.start()
        async with running(root) as (manager, changes):
            await changes.until(Change.CONNECTED)
            await changes.until(Change.CONNECTED)
            assert manager.drivers() == ("a.example.com", "b.example.com")
        await second.stop()
        await first.stop()

    scenario(body)


@pytest.mark.slow
def test_two_hundred_sockets_most_of_them_dead_or_silent_do_not_delay_the_others() -> None:
    """Row 7, many times over."""

    async def body(root: Path) -> None:
        registry = root / "registry"
        registry.mkdir()
        sockets = []
        for number in range(190):
            dead = socket.socket(socket.AF_UNIX)
            dead.bind(str(registry / f"dead-{number}.sock"))
            if number % 2:
                dead.listen()  # accepts, and says nothing
            sockets.append(dead)
        alive = [
            TestDriver(root, f"d{number}.example.com", uid=str(number)) for number in range(10)
        ]
        for driver in alive:
            await driver.start()
        async with running(root) as (manager, changes):
            for _ in alive:
                await changes.until(Change.CONNECTED)
            assert len(manager.drivers()) == 10
            for driver in alive:
                plugin = manager.find(driver.name)
                assert plugin is not None
                await plugin.service.prepare(REQUEST)
        for driver in alive:
            await driver.stop()
        for dead in sockets:
            dead.close()
        assert len(list(registry.iterdir())) == 190, "nothing of others is ever removed"

    scenario(body)


def manager_of(root: Path, clock: FakeClock | None = None) -> PluginManager:
    return PluginManager(root / "registry", clock=clock or SystemClock(), entropy=SeededEntropy(1))


def test_a_driver_in_this_process_is_like_any_other() -> None:
    async def body(root: Path) -> None:
        manager = manager_of(root)
        changes = Changes(manager)
        detach = manager.attach(DRIVER, InProcess(TransportError("gone")), offers_health=False)
        plugin = manager.find(DRIVER)
        assert plugin is not None
        assert plugin.connected
        assert not plugin.offers_health
        await plugin.service.prepare(REQUEST)
        with pytest.raises(TransportError):
            await plugin.service.unprepare(NodeUnprepareResourcesRequest())
        detach()
        detach()
        assert manager.find(DRIVER) is None
        assert [change for _, change in changes.heard] == [
            Change.REGISTERED,
            Change.CONNECTED,
            Change.DEREGISTERED,
        ]
        with pytest.raises(ParseError, match="driver's name"):
            manager.attach("x" * 64, InProcess())

    scenario(body)


def test_a_hung_driver_in_this_process_is_noticed_while_the_manager_runs() -> None:
    async def body(root: Path) -> None:
        clock = FakeClock()
        service = InProcess()
        async with running(root, clock=clock) as (manager, changes):
            await asyncio.sleep(0)
            detach = manager.attach(DRIVER, service)
            service.answering.clear()
            plugin = manager.find(DRIVER)
            assert plugin is not None
            call = asyncio.ensure_future(plugin.service.prepare(REQUEST))
            await turn()
            clock.advance(45.0)
            with pytest.raises(TimeoutError):
                await call
            await turn()
            clock.advance(5.0)
            await changes.until(Change.HUNG)
            detach()

    scenario(body)


async def turn() -> None:
    """Let every task get to where it waits for the clock."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_stopping_is_no_news_about_drivers() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        await driver.start()
        async with running(root) as (_, changes):
            plugin = (await changes.until(Change.CONNECTED)).plugin
        assert [change for _, change in changes.heard] == [Change.REGISTERED, Change.CONNECTED]
        with pytest.raises(TransportError):
            await plugin.service.prepare(REQUEST)
        await driver.stop()

    scenario(body)


def test_a_restarted_agent_knows_which_of_two_instances_is_the_newer() -> None:
    async def body(root: Path) -> None:
        old, new = TestDriver(root, uid="z"), TestDriver(root, uid="a")
        await old.start()
        tick(root)
        await new.start()
        async with running(root) as (manager, changes):
            await changes.until(Change.CONNECTED)
            await changes.until(Change.CONNECTED)
            newest = manager.find(DRIVER)
            assert newest is not None
            assert newest.endpoint == str(new.service_path)
        await new.stop()
        await old.stop()

    scenario(body)


@pytest.mark.slow
def test_the_endpoint_of_a_killed_process_is_free_for_its_heir() -> None:
    """Row 11, with a registration socket that nobody will ever remove."""

    async def body(root: Path) -> None:
        process = await start_process(root)
        async with running(root) as (manager, changes):
            await changes.until(Change.CONNECTED)
            await told(manager)
            process.send_signal(signal.SIGKILL)
            await changes.until(Change.DISCONNECTED)
            await process.wait()
            heir = TestDriver(root, uid="heir", endpoint=str(root / "dra.sock"))
            heir.service_path = root / "dra.sock"
            await heir.start()
            assert (await heir.statuses.get()).plugin_registered
            await changes.until(Change.CONNECTED)
            (instance,) = manager.instances(DRIVER)
            await instance.prepare(REQUEST)
            await heir.stop()

    scenario(body)


def test_a_manager_that_runs_again_registers_again() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        await driver.start()
        manager = manager_of(root)
        changes = Changes(manager)
        detach = manager.attach("in-process.example.com", InProcess())
        await changes.until(Change.CONNECTED)
        for _ in range(2):
            task = asyncio.create_task(manager.run())
            await changes.until(Change.CONNECTED)
            assert len(manager.instances(DRIVER)) == 1
            task.cancel()
            await asyncio.wait((task,))
        assert [change for name, change in changes.heard if "dra.sock" in name] == [
            Change.REGISTERED,
            Change.CONNECTED,
            Change.DEREGISTERED,
            Change.REGISTERED,
            Change.CONNECTED,
        ]
        attached = manager.find("in-process.example.com")
        assert attached is not None
        assert attached.connected
        detach()
        await driver.stop()

    scenario(body)


def test_a_node_without_a_directory_has_the_drivers_that_are_attached() -> None:
    async def body(root: Path) -> None:
        manager = PluginManager(None, clock=FakeClock(), entropy=SeededEntropy(1))
        task = asyncio.create_task(manager.run())
        await turn()
        detach = manager.attach(DRIVER, InProcess())
        assert manager.drivers() == (DRIVER,)
        detach()
        task.cancel()
        await asyncio.wait((task,))

    scenario(body)


def test_a_directory_that_is_removed_takes_its_drivers_with_it_and_is_made_again() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        await driver.start()
        async with running(root) as (_, changes):
            await changes.until(Change.CONNECTED)
            driver.registration_path.unlink()
            driver.registration_path.parent.rmdir()
            await changes.until(Change.DEREGISTERED)
            successor = TestDriver(root, uid="next")
            await successor.start()
            await changes.until(Change.CONNECTED)
            await successor.stop()
        await driver.stop()

    scenario(body)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_after_a_storm_exactly_those_who_stayed_are_connected(seed: int) -> None:
    """Drivers come, go, lose their service and are replaced, faster than anybody follows."""

    async def body(root: Path) -> None:
        chance = SeededEntropy(seed)
        up: dict[str, TestDriver] = {}
        async with running(root) as (manager, changes):
            for _ in range(60):
                name = f"d{int(chance.uniform(0, 5))}.example.com"
                driver = up.pop(name, None)
                if driver is None:
                    up[name] = TestDriver(root, name, uid=name[:2])
                    await up[name].start()
                elif chance.uniform(0, 1) < 0.3:
                    await driver.stop_service()
                    await driver.stop()
                else:
                    await driver.stop()
                for _ in range(int(chance.uniform(0, 30))):
                    await asyncio.sleep(0)
            while not (
                manager.drivers() == tuple(sorted(up))
                and all(plugin.connected for name in up for plugin in manager.instances(name))
            ):
                await changes.until(*Change)
            for name in up:
                (plugin,) = manager.instances(name)
                assert list((await plugin.prepare(REQUEST)).claims) == ["1"]
        for driver in up.values():
            await driver.stop()

    scenario(body)
