"""The API server beside kube-apiserver and etcd: the same load, in turns, on the same machine.

Both run with TLS and with writes on disk before they are answered. The client is one process with
one kept connection per worker (`benchmarks.load`); it takes a core for itself, the server gets what
is left. Servers run one at a time, several rounds each, and the best round of each counts.

`python -m benchmarks.server` runs it alone; `--quick` does a tenth of the work. Without the real
server (`python -m tests.interop.build`, which needs Go) dray is measured alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import uvloop

from benchmarks.load import Report, Target, Watch, client_context, run
from tests.interop.build import path_of
from tests.interop.dray_server import DrayServer
from tests.interop.endpoint import Endpoint
from tests.interop.upstream import Upstream

__all__ = ["main"]

ROUNDS: Final = 2
OBJECTS: Final = 5000
CONNECTIONS: Final = (1, 16, 64)
WATCHERS: Final = 100
IDLE_WATCHES: Final = 1000
LIST_SECONDS: Final = 3.0

CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
CLAIMS: Final = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"

# How many times as fast as the real server each has to be, and how much of its memory it may take.
FLOOR: Final = 1.0
MEMORY_SHARE_MAX: Final = 0.25
IDLE_WATCHES_MEGABYTES_MAX: Final = 100.0


@dataclass(frozen=True)
class Figure:
    """One measured thing: more is better, unless it is a size or a time."""

    value: float
    unit: str
    note: str = ""


Figures = dict[str, Figure]


def config_map(name: str, letter: str = "x") -> bytes:
    """About as large as real ones are: 900 bytes of payload and a label."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"app": "load"}},
            "data": {"payload": letter * 900},
        }
    ).encode()


def claim(name: str) -> bytes:
    """One request with one selector."""
    expression = 'device.attributes["gpu.example.com"].model == "a100"'
    exactly = {
        "deviceClassName": "gpu.example.com",
        "selectors": [{"cel": {"expression": expression}}],
    }
    return json.dumps(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
        }
    ).encode()


class Measurement:
    """All figures of one running server."""

    def __init__(self, endpoint: Endpoint, process_ids: list[int], *, objects: int) -> None:
        context = client_context(
            endpoint.ca_file.read_text(), certificate=endpoint.cert_file, key=endpoint.key_file
        )
        self._target = Target(endpoint.host, endpoint.port, ssl=context)
        self._process_ids = process_ids
        self._objects = objects
        self.figures: Figures = {}

    async def all(self) -> Figures:
        before = self._megabytes()
        for workers in CONNECTIONS:
            await self._writes_and_reads(workers)
        await self._lists()
        await self._fan_out()
        self.figures["memory after the load"] = Figure(
            self._megabytes(), "MB", f"{before:.0f} idle"
        )
        await self._idle_watches()
        return self.figures

    async def _writes_and_reads(self, workers: int) -> None:
        count = self._objects // len(CONNECTIONS)
        names = [f"c{workers}-{index}" for index in range(count)]
        post, put, get = self._post, self._put, self._target.get
        await self._rate(
            "create ConfigMap", workers, [post(CONFIG_MAPS, config_map(n)) for n in names]
        )
        await self._rate("create ResourceClaim", workers, [post(CLAIMS, claim(n)) for n in names])
        await self._rate("update ConfigMap", workers, [put(n) for n in names])
        await self._rate("get ConfigMap", workers, [get(f"{CONFIG_MAPS}/{n}") for n in names] * 2)

    def _post(self, path: str, body: bytes) -> bytes:
        return self._target.request("POST", path, body)

    def _put(self, name: str, letter: str = "y") -> bytes:
        return self._target.request("PUT", f"{CONFIG_MAPS}/{name}", config_map(name, letter))

    async def _rate(self, title: str, workers: int, requests: list[bytes]) -> None:
        report = await run(self._target, requests, workers=workers)
        _check(title, report)
        note = f"p50 {report.p50:.1f} ms, p99 {report.p99:.1f} ms"
        self.figures[f"{title}, {workers} connections"] = Figure(report.rate, "/s", note)

    async def _lists(self) -> None:
        for title, path in (("ResourceClaims", CLAIMS), ("ConfigMaps", CONFIG_MAPS)):
            report = await run(
                self._target, [self._target.get(path)], workers=1, seconds=LIST_SECONDS
            )
            _check(title, report)
            megabytes = report.bytes_received / report.requests / 1e6
            note = f"p50 {report.p50:.0f} ms, {megabytes:.1f} MB each"
            self.figures[f"list all {title}"] = Figure(report.rate, "/s", note)

    async def _fan_out(self) -> None:
        """Every watcher sees every write; how many events arrive a second, all together."""
        revision = await self._now()
        path = f"{CONFIG_MAPS}?watch=true&resourceVersion={revision}"
        watches = [Watch(self._target, path) for _ in range(WATCHERS)]
        for watch in watches:
            await watch.start()
        count = self._objects // 5
        requests = [self._put(f"c1-{index % (self._objects // 3)}", "z") for index in range(count)]
        started = perf_counter()
        report = await run(self._target, requests, workers=16)
        _check("fan-out", report)
        await asyncio.gather(*(watch.until(count) for watch in watches))
        seconds = perf_counter() - started
        for watch in watches:
            watch.close()
        note = f"{report.rate:,.0f} writes/s, p99 {report.p99:.0f} ms"
        self.figures[f"events to {WATCHERS} watchers"] = Figure(
            WATCHERS * count / seconds, "/s", note
        )

    async def _now(self) -> str:
        connection = await self._target.connect()
        _, body = await connection.send(self._target.get(f"{CONFIG_MAPS}?limit=1"))
        connection.close()
        return str(json.loads(body)["metadata"]["resourceVersion"])

    async def _idle_watches(self) -> None:
        before = self._megabytes()
        revision = await self._now()
        watches = [
            Watch(self._target, f"{CLAIMS}?watch=true&resourceVersion={revision}")
            for _ in range(IDLE_WATCHES)
        ]
        for watch in watches:
            await watch.start()
        after = self._megabytes()
        used = self._cpu_seconds()
        await asyncio.sleep(10)
        used = self._cpu_seconds() - used
        for watch in watches:
            watch.close()
        note = f"{used * 10:.1f} % of a core while nothing happens"
        self.figures[f"memory of {IDLE_WATCHES} idle watches"] = Figure(after - before, "MB", note)

    def _megabytes(self) -> float:
        return sum(_status(pid, "VmRSS") for pid in self._process_ids) / 1024

    def _cpu_seconds(self) -> float:
        return sum(_cpu_seconds(pid) for pid in self._process_ids)


def _check(title: str, report: Report) -> None:
    if report.failures:
        raise SystemExit(f"{title}: {report.failures} of {report.requests} requests failed")


def _status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def measure(make: Callable[[], Any], *, objects: int) -> Figures:
    """Start a server on an empty store, measure it, stop it."""
    server = make()
    try:
        measurement = Measurement(server.endpoint, server.process_ids, objects=objects)
        figures: Coroutine[Any, Any, Figures] = measurement.all()
        return uvloop.run(figures)
    finally:
        server.stop()


def better(one: Figures | None, other: Figures) -> Figures:
    """The best of two rounds, figure by figure."""
    if one is None:
        return other
    return {
        name: max(figure, other[name], key=lambda each: each.value)
        if figure.unit == "/s"
        else min(figure, other[name], key=lambda each: each.value)
        for name, figure in one.items()
    }


def show(ours: Figures, theirs: Figures | None) -> bool:
    """Print the table, and say whether all targets hold."""
    held = True
    print(f"\n{'':<38}{'dray':>12}{'kube-apiserver':>16}{'ratio':>8}")
    for name, figure in ours.items():
        other = theirs[name] if theirs else None
        line = f"{name:<38}{figure.value:>9,.0f} {figure.unit:<2}"
        if other is None:
            print(f"{line}  {figure.note}")
            continue
        ratio = figure.value / other.value if other.value > 0 else float("inf")
        holds = _holds(name, figure, ratio)
        held &= holds
        told = "" if holds else "  MISSED"
        print(f"{line}{other.value:>13,.0f} {other.unit:<2}{ratio:>8.2f}{told}")
        print(f"{'':<38}{figure.note}; {other.note}")
    return held


def _holds(name: str, figure: Figure, ratio: float) -> bool:
    if figure.unit == "/s":
        return ratio >= FLOOR
    if "idle watches" in name:
        return figure.value < IDLE_WATCHES_MEGABYTES_MAX
    return ratio <= MEMORY_SHARE_MAX


def main(arguments: list[str] | None = None) -> bool:
    """Run the comparison, and say whether all targets hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, one round")
    parser.add_argument("--alone", action="store_true", help="without the real server")
    options = parser.parse_args(arguments or [])
    objects = OBJECTS // 10 if options.quick else OBJECTS
    real = not options.alone and all(path_of(name).exists() for name in ("kube-apiserver", "etcd"))
    if not real:
        print("\nkube-apiserver is not built: dray is measured alone")
    ours: Figures | None = None
    theirs: Figures | None = None
    for _round in range(1 if options.quick else ROUNDS):
        ours = better(ours, measure(DrayServer, objects=objects))
        if real:
            theirs = better(theirs, measure(lambda: Upstream(durable=True), objects=objects))
    assert ours is not None
    return show(ours, theirs)


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
