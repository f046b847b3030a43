"""Clients that mean harm, against a server in a process of its own: does it still answer?

    python -m tests.fuzz.hostile
    python -m tests.fuzz.hostile --attack storm --size 1000

During each attack a probe asks for one object every 50 ms over a connection of its own. Reported
are how long the probe waited, the memory of the server and how many files it had open: before, at
the worst, and after the attackers have gone. `tests/e2e/test_hostile.py` plays the cheap ones.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import select
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["ATTACKS", "SIZES", "Client", "Report", "Target", "attack", "main", "probe"]

ROOT = Path(__file__).parent.parent.parent
TOKEN = "token-of-the-administrator"
PROBE_SECONDS = 0.05
MAPS = "/api/v1/namespaces/default/configmaps"


class Target:
    """The server."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="dray-hostile-")
        self.host, self.port = "127.0.0.1", 0
        self._process: subprocess.Popen[str] | None = None
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE

    def __enter__(self) -> Self:
        directory = Path(self._directory.name)
        tokens = directory / "tokens.csv"
        tokens.write_text(f'{TOKEN},admin,1,"system:masters"\n')
        tokens.chmod(0o600)
        command = [sys.executable, "-m", "dray", "server", "--port", "0"]
        command += ["--data-dir", str(directory / "data"), "--token-auth-file", str(tokens)]
        with (directory / "log").open("w") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if "ready at" not in line:
            raise AssertionError(f"the server did not start: {line}{self.log}")
        self.port = int(line.partition(",")[0].rpartition(":")[2])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.terminate()
        self._process.wait(30)
        self._process.stdout.close()
        self._directory.cleanup()

    @property
    def log(self) -> str:
        return (Path(self._directory.name) / "log").read_text()

    @property
    def rss_bytes(self) -> int:
        assert self._process is not None
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    @property
    def files_open(self) -> int:
        assert self._process is not None
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))


class Client:
    """A connection on which requests are made by hand."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    async def __aenter__(self) -> Self:
        target = self._target
        self.reader, self.writer = await asyncio.open_connection(
            target.host, target.port, ssl=target.tls, limit=1024
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        # Gone without a word, as attackers go.
        self.writer.transport.abort()

    def begin(self, method: str, path: str, length: int = 0, headers: str = "") -> None:
        """Send a head."""
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n{headers}"
        if length:
            head += f"Content-Type: application/json\r\nContent-Length: {length}\r\n"
        self.writer.write(f"{head}\r\n".encode())

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """A request and its whole answer."""
        data = b"" if body is None else json.dumps(body).encode()
        self.begin(method, path, len(data))
        self.writer.write(data)
        return await self.answer()

    async def answer(self) -> tuple[int, bytes]:
        status = int((await self.reader.readline()).split(b" ")[1])
        length = 0
        while (line := await self.reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode().partition(":")
            if name.lower() == "content-length":
                length = int(value)
        return status, await self.reader.readexactly(length)


@dataclass
class Report:
    """What an attack did."""

    name: str
    waits: list[float] = field(default_factory=list)
    rss_before: int = 0
    rss_worst: int = 0
    rss_after: int = 0
    files_before: int = 0
    files_worst: int = 0
    files_after: int = 0

    def wait(self, part: float) -> float:
        """How long the probe waited, for this part of its requests at most."""
        ordered = sorted(self.waits)
        return ordered[min(int(len(ordered) * part), len(ordered) - 1)]

    def __str__(self) -> str:
        megabytes = [n >> 20 for n in (self.rss_before, self.rss_worst, self.rss_after)]
        files = [self.files_before, self.files_worst, self.files_after]
        return (
            f"{self.name:14} probe p50 {self.wait(0.5) * 1000:6.1f}  p99 "
            f"{self.wait(0.99) * 1000:7.1f}  worst {max(self.waits) * 1000:7.1f} ms of "
            f"{len(self.waits):4}   RSS {megabytes} MiB   files {files}"
        )


async def attack(target: Target, name: str, size: int) -> Report:
    """One attack, watched by a probe in a process of its own, which no attack keeps busy."""
    report = Report(name)
    async with Client(target) as client:
        await client.ask("POST", MAPS, {"metadata": {"name": "probe"}})
    report.rss_before, report.files_before = target.rss_bytes, target.files_open
    command = [sys.executable, "-m", "tests.fuzz.hostile", "--probe", str(target.port)]
    probe = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert probe.stdout is not None
    await probe.stdout.readline()  # it is ready
    watching = asyncio.ensure_future(_watch(target, report))
    try:
        await ATTACKS[name](target, size)
    finally:
        watching.cancel()
        told, _ = await probe.communicate(b"\n")
    report.waits = json.loads(told)
    await _gone(target, report.files_before)
    report.rss_after, report.files_after = target.rss_bytes, target.files_open
    return report


async def _watch(target: Target, report: Report) -> None:
    while True:
        report.rss_worst = max(report.rss_worst, target.rss_bytes)
        report.files_worst = max(report.files_worst, target.files_open)
        await asyncio.sleep(PROBE_SECONDS)


def probe(port: int) -> None:
    """Ask until something arrives on the standard input; then say how long each answer took."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    waits: list[float] = []
    request = f"GET {MAPS}/probe HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with context.wrap_socket(plain) as connection:
            print("ready", flush=True)  # noqa: T201
            told = False
            while not told:
                told = bool(select.select([sys.stdin], [], [], PROBE_SECONDS)[0])
                begun = time.monotonic()
                connection.sendall(request.encode())
                status = connection.recv(1 << 16).split(b" ")[1]
                waits.append(time.monotonic() - begun)
                assert status == b"200", status
    print(json.dumps(waits))  # noqa: T201


async def _gone(target: Target, files: int) -> None:
    """Until the server noticed that its attackers went; it has a minute for most of it."""
    for _ in range(100):
        if target.files_open <= files:
            return
        await asyncio.sleep(0.1)


# Attacks ---------------------------------------------------------------------------------------


async def half_open(target: Target, size: int) -> None:
    """Connections that never begin TLS, and some that stop in the middle of it."""
    writers = []
    for number in range(size):
        _, writer = await asyncio.open_connection(target.host, target.port)
        if number % 2:
            writer.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(20))
        writers.append(writer)
    await asyncio.sleep(PROBE_SECONDS * 10)
    for writer in writers:
        writer.transport.abort()


async def slow_heads(target: Target, size: int) -> None:
    """Requests that come a byte at a time."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Client(target)) for _ in range(size)]
        for byte in b"GET /api/v1/pods HTTP/1.1\r\nX: y":
            for client in clients:
                client.writer.write(bytes([byte]))
            await asyncio.sleep(0.02)


async def large_heads(target: Target, size: int) -> None:
    """Headers that have no end."""
    for _ in range(size):
        async with Client(target) as client:
            client.writer.write(b"GET / HTTP/1.1\r\n")
            with suppress(OSError):
                for number in range(200):
                    client.writer.write(b"X-%d: %b\r\n" % (number, b"y" * 1000))
                    await client.writer.drain()


async def resets(target: Target, size: int) -> None:
    """Bodies that break off."""
    for _ in range(size):
        async with Client(target) as client:
            client.begin("POST", MAPS, 1_000_000)
            client.writer.write(b'{"metadata":{"name":"x"},"data":{"a":"' + b"x" * 200_000)
            await client.writer.drain()


async def writers(target: Target, size: int) -> None:
    """Everybody writes at once."""

    async def one(number: int) -> None:
        async with Client(target) as client:
            for turn in range(10):
                name = f"w{number}-{turn}"
                body = {"metadata": {"name": name}, "data": {"a": "b" * 500}}
                await client.ask("POST", MAPS, body)
                await client.ask("DELETE", f"{MAPS}/{name}")

    await asyncio.gather(*(one(number) for number in range(size)))


async def slow_lists(target: Target, size: int) -> None:
    """Large lists that nobody reads."""
    await _fill(target, 100, 50_000)
    async with AsyncExitStack() as stack:
        for _ in range(size):
            client = await stack.enter_async_context(Client(target))
            client.begin("GET", MAPS)
            await client.writer.drain()
        await asyncio.sleep(3)
    await _empty(target)


async def storm(target: Target, size: int) -> None:
    """Many watch what changes all the time, and read it."""

    async def watch(client: Client) -> None:
        client.begin("GET", f"{MAPS}?watch=true")
        with suppress(OSError, asyncio.CancelledError):
            while await client.reader.read(1 << 16):
                pass

    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Client(target)) for _ in range(size)]
        tasks = [asyncio.ensure_future(watch(client)) for client in clients]
        await _write(target, 100, 500)
        for task in tasks:
            task.cancel()
    await _empty(target)


async def slow_watches(target: Target, size: int) -> None:
    """Many watch what changes all the time, and read nothing."""
    async with AsyncExitStack() as stack:
        for _ in range(size):
            client = await stack.enter_async_context(Client(target))
            client.begin("GET", f"{MAPS}?watch=true")
            await client.writer.drain()
        await _write(target, 300, 100_000)
    await _empty(target)


async def heavy(target: Target, size: int) -> None:
    """Objects that take long to check."""
    expressions = [
        "&&".join(f"device.attributes['a.example'].x{n} == {seed}" for n in range(60))
        for seed in range(16)
    ]
    for number in range(size):
        selectors = [{"cel": {"expression": f"{each}&&{number}==1"}} for each in expressions]
        request = {"name": "r", "exactly": {"deviceClassName": "a", "selectors": selectors}}
        body = {"metadata": {"name": f"c{number}"}, "spec": {"devices": {"requests": [request]}}}
        async with Client(target) as client:
            path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
            await client.ask("POST", path, body)


async def _fill(target: Target, count: int, size_bytes: int) -> None:
    async with Client(target) as client:
        for number in range(count):
            body = {"metadata": {"name": f"f{number}"}, "data": {"a": "x" * size_bytes}}
            await client.ask("POST", MAPS, body)


async def _write(target: Target, count: int, size_bytes: int) -> None:
    async with Client(target) as client:
        await client.ask("POST", MAPS, {"metadata": {"name": "busy"}})
        for number in range(count):
            body = {"metadata": {"name": "busy"}, "data": {"a": f"{number}" + "x" * size_bytes}}
            await client.ask("PUT", f"{MAPS}/busy", body)


async def _empty(target: Target) -> None:
    async with Client(target) as client:
        await client.ask("DELETE", f"{MAPS}?fieldSelector=metadata.name!=probe")


ATTACKS: dict[str, Callable[[Target, int], Awaitable[None]]] = {
    "half-open": half_open,
    "slow-heads": slow_heads,
    "large-heads": large_heads,
    "resets": resets,
    "writers": writers,
    "slow-lists": slow_lists,
    "storm": storm,
    "slow-watches": slow_watches,
    "heavy": heavy,
}

SIZES = {
    "half-open": 1000,
    "slow-heads": 200,
    "large-heads": 50,
    "resets": 100,
    "writers": 500,
    "slow-lists": 50,
    "storm": 1000,
    "slow-watches": 100,
    "heavy": 5,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attack", action="append", choices=ATTACKS, help="all without it")
    parser.add_argument("--size", type=int, help="connections, or requests; as many as usual")
    parser.add_argument("--rounds", type=int, default=1, help="of all attacks, on one server")
    parser.add_argument("--probe", type=int, metavar="PORT", help="be the probe")
    options = parser.parse_args()
    if options.probe:
        probe(options.probe)
        return 0
    with Target() as target:
        for name in [*(options.attack or ATTACKS)] * options.rounds:
            report = asyncio.run(attack(target, name, options.size or SIZES[name]))
            print(report, flush=True)  # noqa: T201
        if "Traceback" in target.log:
            print(target.log)  # noqa: T201
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
