"""Faults on command, over a real socket, with whatever somebody may write to it."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dray.drivers.simulated import control as module
from dray.drivers.simulated.control import SOCKET_NAME, command, controlled
from dray.drivers.simulated.faults import Fault, FaultKind, Faults
from dray.sdk import ConfigurationError
from tests.unit.sdk.drivers import short_directory


def names() -> list[str]:
    return ["gpu-0", "gpu-1"]


def run_with(scenario: Callable[[Faults, Path], Awaitable[None]]) -> None:
    async def body(path: Path) -> None:
        faults = Faults()
        async with controlled(faults, path, devices=names):
            await scenario(faults, path)

    with short_directory() as root:
        asyncio.run(body(root / "deep" / SOCKET_NAME))
        assert not (root / "deep" / SOCKET_NAME).exists()


async def say(path: Path, *lines: bytes) -> list[Any]:
    """Lines as they are, and what comes back until the other side is done."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        writer.write(b"".join(lines))
        writer.write_eof()
        return [json.loads(line) async for line in reader]
    finally:
        writer.close()


def test_faults_are_injected_listed_and_recovered_from() -> None:
    async def scenario(faults: Faults, path: Path) -> None:
        told = {"kind": "slow", "device": "gpu-0", "seconds": 2, "operation": "both"}
        assert await command(path, {"inject": told}) == {"ok": True}
        (fault,) = faults.all()
        assert (fault.kind, fault.seconds) == (FaultKind.SLOW, 2.0)
        (listed,) = (await command(path, {"list": True}))["faults"]
        assert listed == {
            "kind": "slow",
            "device": "gpu-0",
            "message": "",
            "seconds": 2.0,
            "errorClass": "transient",
            "operation": "both",
            "times": 0,
        }
        assert (await command(path, {"recover": "*"}))["ended"] == 1
        assert not faults.all()

    run_with(scenario)


def test_the_socket_is_its_owners_alone() -> None:
    async def scenario(_: Faults, path: Path) -> None:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    run_with(scenario)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param(b"hello", "malformed", id="no-json"),
        pytest.param(b"\xff\x00", "malformed", id="no-text"),
        pytest.param(b"", "truncated", id="empty"),
        pytest.param(b"[1]", "say inject, recover or list", id="no-object"),
        pytest.param(b'{"inject": 7}', "say inject, recover or list", id="no-fault"),
        pytest.param(b'{"inject": {}}', "missing required field `kind`", id="no-kind"),
        pytest.param(b'{"inject": {"kind": "sad"}}', "Invalid enum value 'sad'", id="kind"),
        pytest.param(b'{"inject": {"kind": "slow"}}', "say how many seconds", id="rule"),
        pytest.param(
            b'{"inject": {"kind": "silent", "who": 1}}', "unknown field `who`", id="member"
        ),
        pytest.param(
            b'{"inject": {"kind": "silent", "device": "gpu-9"}}',
            "there is no device 'gpu-9'; there are: gpu-0, gpu-1",
            id="device",
        ),
        pytest.param(b'{"recover": "gpu-9"}', "there is no device 'gpu-9'", id="recover"),
        pytest.param(b"[" * 20_000, "", id="deep"),
    ],
)
def test_garbage_is_answered_and_changes_nothing(line: bytes, told: str) -> None:
    async def scenario(faults: Faults, path: Path) -> None:
        refused, after = await say(path, line + b"\n", b'{"list": true}\n')
        assert refused["ok"] is False
        assert told in refused["error"]
        assert after == {"ok": True, "faults": []}

    run_with(scenario)


def test_names_of_a_thousand_devices_are_not_all_told() -> None:
    async def body(path: Path) -> None:
        many = [f"gpu-{number:03}" for number in range(1000)]
        async with controlled(Faults(), path, devices=lambda: many):
            with pytest.raises(ConfigurationError, match=r"gpu-000, .*gpu-009 and 990 more$"):
                await command(path, {"recover": "x"})

    with short_directory() as root:
        asyncio.run(body(root / SOCKET_NAME))


def test_a_line_without_an_end_is_not_kept() -> None:
    async def scenario(_: Faults, path: Path) -> None:
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(b"x" * (4 * module.COMMAND_BYTES_MAX))
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        assert await say(path, b'{"list": true}\n') == [{"ok": True, "faults": []}]

    run_with(scenario)


def test_connections_beyond_a_few_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONNECTIONS_MAX", 1)

    async def scenario(_: Faults, path: Path) -> None:
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(b'{"list": true}\n')
        await reader.readline()
        other, closed = await asyncio.open_unix_connection(str(path))
        assert await other.read() == b""
        closed.close()
        writer.close()

    run_with(scenario)


def test_somebody_who_stays_connected_does_not_keep_the_driver_from_ending() -> None:
    async def body(path: Path) -> None:
        async with controlled(Faults(), path, devices=names):
            reader, writer = await asyncio.open_unix_connection(str(path))
            writer.write(b'{"list": true}\n')
            await reader.readline()
        assert await reader.read() == b""
        writer.close()

    with short_directory() as root:
        asyncio.run(body(root / SOCKET_NAME))


def test_what_a_killed_driver_left_is_replaced() -> None:
    async def body(path: Path) -> None:
        path.write_text("a stale socket")
        async with controlled(Faults(), path, devices=names):
            assert (await command(path, {"list": True}))["ok"]

    with short_directory() as root:
        asyncio.run(body(root / SOCKET_NAME))


def test_the_elder_of_two_instances_leaves_the_socket_of_the_younger() -> None:
    async def body(path: Path) -> None:
        younger = Faults()
        async with controlled(Faults(), path, devices=names):
            taking_over = controlled(younger, path, devices=names)
            await taking_over.__aenter__()
        await command(path, {"inject": {"kind": "silent"}})
        assert younger.all() == (Fault(kind=FaultKind.SILENT),)
        await taking_over.__aexit__(None, None, None)
        assert not path.exists()

    with short_directory() as root:
        asyncio.run(body(root / SOCKET_NAME))


def test_a_driver_that_is_not_there_is_said_so() -> None:
    with (
        short_directory() as root,
        pytest.raises(ConfigurationError, match=r"no simulated driver answers at .*: No such"),
    ):
        asyncio.run(command(root / SOCKET_NAME, {"list": True}))


@pytest.mark.parametrize("answer", [b"", b"nonsense\n", b"[]\n", b"{}\n"])
def test_somebody_else_at_the_socket_is_noticed(answer: bytes) -> None:
    async def body(path: Path) -> None:
        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(answer)
            await writer.drain()
            writer.close()

        server = await asyncio.start_unix_server(serve, str(path))
        try:
            with pytest.raises(ConfigurationError, match=os.fspath(path)):
                await command(path, {"list": True})
        finally:
            server.close()
            await server.wait_closed()

    with short_directory() as root:
        asyncio.run(body(root / SOCKET_NAME))
