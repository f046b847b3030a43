"""How a device is, by what its files and commands say."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.clock import SystemClock
from dray.drivers.host.checks import examine
from dray.drivers.host.files import HostFiles
from dray.drivers.host.inventory import find_devices
from dray.drivers.host.reading import read_config
from dray.sdk import DeviceHealth, Health
from tests.unit.drivers.surroundings import context


def examined(root: Path, *checks: str, name: str = "board") -> DeviceHealth:
    (root / name).touch()
    text = f"""
driver: a.example.com
root: {root}
groups: [{{match: /{name}, health: {{checks: [{", ".join(checks)}]}}}}]
"""
    surroundings = context(clock=SystemClock())

    async def ask() -> DeviceHealth:
        found = (await find_devices(read_config(text), surroundings)).devices[name]
        return await examine(found, HostFiles(root), surroundings)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("check", "health", "message"),
    [
        ("{exists: /state}", Health.HEALTHY, ""),
        ("{exists: /gone}", Health.UNHEALTHY, "/gone is gone"),
        ("{exists: /gone, message: '{name} lost'}", Health.UNHEALTHY, "board lost: /gone is gone"),
        ("{exists: /gone, health: Degraded}", Health.DEGRADED, "/gone is gone"),
        ("{file: /state, equals: running}", Health.HEALTHY, ""),
        ("{file: /state, equals: ok}", Health.UNHEALTHY, "/state says 'running', not 'ok'"),
        ("{file: /state, matches: '^run'}", Health.HEALTHY, ""),
        ("{file: /state, matches: '^ok'}", Health.UNHEALTHY, "does not match '^ok'"),
        ("{file: /gone, equals: ok}", Health.UNHEALTHY, "/gone cannot be read: No such file"),
        ("{file: /temperature, atMost: 90}", Health.HEALTHY, ""),
        ("{file: /temperature, equals: 85}", Health.HEALTHY, ""),
        ("{file: /temperature, atMost: 80}", Health.UNHEALTHY, "says 85, more than 80"),
        ("{file: /temperature, atLeast: 86}", Health.UNHEALTHY, "says 85, less than 86"),
        ("{file: /state, atMost: 80}", Health.UNKNOWN, "which is no number"),
        ("{command: [/bin/true]}", Health.HEALTHY, ""),
        ("{command: [/bin/false]}", Health.UNHEALTHY, "/bin/false exited with 1"),
        ("{command: [/bin/false], exitCode: 1}", Health.HEALTHY, ""),
        (
            "{command: [/bin/sh, -c, 'echo it burns; exit 2']}",
            Health.UNHEALTHY,
            "/bin/sh exited with 2: it burns",
        ),
        ("{command: [/bin/echo, bad], equals: good}", Health.UNHEALTHY, "not 'good'"),
        ("{command: [/no/such]}", Health.UNKNOWN, "cannot be started"),
        (
            "{command: [/bin/sleep, '600'], timeoutSeconds: 0.1}",
            Health.UNKNOWN,
            "did not end within 0.1 s",
        ),
    ],
)
def test_a_check_says_how_a_device_is_and_why(
    tmp_path: Path, check: str, health: Health, message: str
) -> None:
    (tmp_path / "state").write_text("running\n")
    (tmp_path / "temperature").write_text("85\n")
    word = examined(tmp_path, check)
    assert word.health is health
    assert message in word.message


def test_the_worst_answer_counts(tmp_path: Path) -> None:
    degraded, unknown = "{exists: /a, health: Degraded}", "{command: [/no/such]}"
    assert examined(tmp_path, unknown, degraded).health is Health.DEGRADED
    assert examined(tmp_path, degraded, unknown, "{exists: /b}").health is Health.UNHEALTHY
