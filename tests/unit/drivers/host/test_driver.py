"""Devices of a machine come and go, and are given to claims."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.drivers.host import HostDriver, driver_factory, read_config
from dray.sdk import ConfigurationError, DeviceFailed, Health
from dray.testing import FakeClock
from tests.unit.drivers.surroundings import claimed, placed, prepared


def driver(root: Path, more: str = "", clock: FakeClock | None = None) -> HostDriver:
    text = f"driver: a.example.com\nroot: {root}\ngroups: [{{match: /board* {more}}}]"
    made: HostDriver = placed(HostDriver(read_config(text)), clock=clock)
    return made


def test_devices_come_and_go(tmp_path: Path) -> None:
    async def scenario() -> None:
        host = driver(tmp_path)
        assert await host.discover() == []
        (tmp_path / "board0").touch()
        (tmp_path / "board1").touch()
        assert [each.name for each in await host.discover()] == ["board0", "board1"]
        (tmp_path / "board0").unlink()
        assert [each.name for each in await host.discover()] == ["board1"]

    asyncio.run(scenario())


def test_a_device_that_was_just_plugged_in_is_found_when_it_is_claimed(tmp_path: Path) -> None:
    async def scenario() -> None:
        host = driver(tmp_path, ", container: {env: {BOARD: '{path}'}}")
        (tmp_path / "board0").touch()
        assert (await host.prepare(claimed("board0"))).env == ("BOARD=/board0",)
        await host.unprepare(prepared("board0"))
        with pytest.raises(DeviceFailed, match="no longer there"):
            await host.prepare(claimed("board7"))

    asyncio.run(scenario())


def test_a_device_is_asked_no_more_often_than_its_group_says(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        checks = "{file: '{path}', equals: ok, message: broken}"
        more = f", health: {{everySeconds: 60, checks: [{checks}]}}"
        host = driver(tmp_path, more, clock)
        (tmp_path / "board0").write_text("ok")
        (device,) = await host.discover()
        first = await host.probe(device)
        assert first is not None
        assert first.health is Health.HEALTHY
        # The word holds until the next one, and that one getting lost.
        assert first.timeout_seconds == 2 * (60 + 10)
        (tmp_path / "board0").write_text("bad")
        clock.advance(59.0)
        assert await host.probe(device) == first
        clock.advance(1.0)
        word = await host.probe(device)
        assert word is not None
        assert word.health is Health.UNHEALTHY
        assert word.message.startswith("broken: ")

    asyncio.run(scenario())


def test_without_checks_a_device_must_at_least_be_there(tmp_path: Path) -> None:
    async def scenario() -> None:
        host = driver(tmp_path, clock=FakeClock())
        (tmp_path / "board0").touch()
        (device,) = await host.discover()
        (tmp_path / "board0").unlink()
        word = await host.probe(device)
        assert word is not None
        assert (word.health, word.message) == (Health.UNHEALTHY, "/board0 is gone")

    asyncio.run(scenario())


def test_nothing_is_said_of_devices_that_only_a_command_knows() -> None:
    async def scenario() -> None:
        text = (
            "driver: a.example.com\ngroups: [{command: {run: [/bin/echo, '[\"a\"]']}, name: '{0}'}]"
        )
        host: HostDriver = placed(HostDriver(read_config(text)))
        (device,) = await host.discover()
        assert await host.probe(device) is None

    asyncio.run(scenario())


def test_a_factory_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="needs a file"):
        driver_factory(None)
    (tmp_path / "a.yaml").write_text("driver: b.example.com\ngroups: [{match: /dev/null}]")
    make = driver_factory(tmp_path / "a.yaml")
    assert make().name == "b.example.com"
    assert make() is not make()
