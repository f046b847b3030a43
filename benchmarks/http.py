"""What HTTP costs below the API server: requests, events of watches, idle watches.

    python -m benchmarks.http

A listener with a handler that does nothing serves TLS in a process of its own, and says how much
processor time it used. Rates depend on what else the machine does; floors are therefore on
processor time and memory, and one on the rate that is far below what is usual.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.load import Target, Watch, client_context, run
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.http.chunks import frame
from dray.http.listener import Listener
from dray.http.loop import run as run_loop
from dray.http.messages import Answer, Channel, Request, Response, Stream
from dray.http.tls import server_context
from dray.server.pki import Authority

__all__ = ["main"]

# A ConfigMap as it is read and as it is watched.
OBJECT: Final = json.dumps({"kind": "ConfigMap", "data": {"payload": "x" * 1350}}).encode()
EVENT: Final = json.dumps({"type": "MODIFIED", "object": "x" * 860}).encode() + b"\n"
HEADERS: Final = (
    ("Content-Type", "application/json"),
    ("Cache-Control", "no-cache, private"),
    ("Audit-Id", "8f1d3f0e-7c5d-4b7e-9a55-2f6f9a3f4c11"),
)
SECONDS: Final = 2.0
EVENTS: Final = 100_000
WATCHES: Final = (100, 1000)

RATE_MIN: Final = 8_000
REQUEST_MICROSECONDS_MAX: Final = 60
EVENT_MICROSECONDS_MAX: Final = 15
WATCH_KIB_MAX: Final = 100


@dataclass(frozen=True)
class Usage:
    """What the server has used so far."""

    cpu_seconds: float
    memory_kib: int


def main() -> bool:
    """Whether all floors hold."""
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.http", folder], stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            authority = (Path(folder) / "ca.crt").read_text()
            target = Target("127.0.0.1", port, ssl=client_context(authority), token="x" * 900)
            return run_loop(_measure(target))
        finally:
            server.kill()
            server.wait()


async def _measure(target: Target) -> bool:
    held = True
    for workers in (1, 16, 64):
        await run(target, [target.get("/object")], workers=workers, seconds=SECONDS / 4)
        before = await _usage(target)
        report = await run(target, [target.get("/object")], workers=workers, seconds=SECONDS)
        cost = (await _usage(target)).cpu_seconds - before.cpu_seconds
        each = cost / report.requests * 1e6
        print(f"GET {report}, server {each:.1f} us each")
        if workers > 1:
            held &= _holds("requests a second", report.rate, least=RATE_MIN)
            held &= _holds("us for a request", each, most=REQUEST_MICROSECONDS_MAX)
    for count in WATCHES:
        held &= await _measure_watches(target, count)
    return held


async def _measure_watches(target: Target, count: int) -> bool:
    before = await _usage(target)
    watches = [Watch(target, "/watch") for _ in range(count)]
    for watch in watches:
        await watch.start()
    idle = await _usage(target)
    each_kib = (idle.memory_kib - before.memory_kib) / count
    writes = EVENTS // count
    report = await run(target, [target.request("POST", "/event")] * writes, workers=1)
    for watch in watches:
        await watch.until(writes)
    cost = (await _usage(target)).cpu_seconds - idle.cpu_seconds
    each = cost / (writes * count) * 1e6
    rate = writes * count / report.seconds
    print(
        f"{count} watches: {each_kib:.0f} KiB each; {rate:,.0f} events/s, server {each:.1f} us each"
    )
    for watch in watches:
        watch.close()
    held = _holds("KiB for a watch", each_kib, most=WATCH_KIB_MAX)
    return held & _holds("us for an event", each, most=EVENT_MICROSECONDS_MAX)


def _holds(what: str, value: float, *, least: float = 0, most: float = float("inf")) -> bool:
    if least <= value <= most:
        return True
    print(f"  MISSED: {value:.0f} {what}; at least {least}, at most {most}")
    return False


async def _usage(target: Target) -> Usage:
    connection = await target.connect()
    _, body = await connection.send(target.get("/usage"))
    connection.close()
    return Usage(**json.loads(body))


# The server --------------------------------------------------------------------------------------


class _Server:
    """Objects from memory, and watches that are told to say something."""

    def __init__(self) -> None:
        self._channels: set[Channel] = set()
        self._chunk = frame(EVENT)

    async def handle(self, request: Request) -> Answer:
        if request.path == "/object":
            return Response(200, HEADERS, OBJECT)
        if request.path == "/watch":
            return self._watch()
        if request.path == "/event":
            for channel in self._channels:
                channel.write_framed(self._chunk)
            return Response(200, HEADERS, b"{}")
        used = resource.getrusage(resource.RUSAGE_SELF)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        usage = {
            "cpu_seconds": used.ru_utime + used.ru_stime,
            "memory_kib": pages * resource.getpagesize() // 1024,
        }
        return Response(200, HEADERS, json.dumps(usage).encode())

    def _watch(self) -> Stream:
        opened: list[Channel] = []

        def start(channel: Channel) -> None:
            opened.append(channel)
            self._channels.add(channel)

        return Stream(200, HEADERS, start, lambda: self._channels.difference_update(opened))


async def _serve(folder: Path) -> None:
    clock = SystemClock()
    authority = Authority(folder, clock, SystemEntropy())
    files = authority.server_certificate(["127.0.0.1"])
    context = server_context(
        files.certificate, files.key, client_authority=authority.certificate_file
    )
    listener = Listener(_Server().handle, clock=clock, ssl_context=context)
    await listener.start()
    print(listener.port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run_loop(_serve(Path(sys.argv[1])))
    else:
        sys.exit(0 if main() else 1)
