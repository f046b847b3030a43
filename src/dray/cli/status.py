"""`dray status`: whether a cluster runs on this machine, and how it is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import click
import msgspec

from dray.api.core import Node, Pod
from dray.api.resource import ResourceClaim, ResourceSlice
from dray.cli.data_directory import data_directory_option
from dray.cli.embedded.census import Census, take_census
from dray.cli.embedded.instance import find_instance
from dray.cli.embedded.process_age import process_seconds
from dray.cli.output import examples, printable
from dray.client import Call, Client, Config, HTTPTransport, load_kubeconfig
from dray.clock import Clock, SystemClock, within
from dray.errors import DrayError

__all__ = ["EXIT_NOT_RUNNING", "Status", "command", "lines_of", "read_checks"]

# What service managers mean by it: not running, for no bad reason.
EXIT_NOT_RUNNING: Final = 3

# A cluster that does not answer for so long is not well, which is an answer, too.
ANSWER_SECONDS: Final = 5.0

PENDING_SINGLY_MAX: Final = 5
"""Pods that wait and are told of one by one."""

_CHECK: Final = re.compile(r"^\[([+-])\](\S+) (?:ok|failed: (.*)|excluded: ok)$")


class Status(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is known of a cluster; `problem` says why not more is."""

    running: bool
    data_directory: str
    pid: int = 0
    version: str = ""
    url: str = ""
    kubeconfig: str = ""
    uptime_seconds: float | None = None
    components: Mapping[str, str] = {}  # ok, or what is wrong
    census: Census | None = None
    problem: str = ""


@click.command(
    "status",
    short_help="Say whether a cluster runs on this machine, and how it is.",
    epilog=examples("dray status", "dray status -o json"),
)
@data_directory_option
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to say it."
)
def command(data_directory: Path, output: str) -> int:
    """Say whether `dray up` runs, where, and how its cluster is.

    The exit code is 0 if it runs and 3 if not.
    """
    status = asyncio.run(_look(data_directory, SystemClock()))
    if output == "json":
        click.echo(msgspec.json.encode(status).decode())
    else:
        for line in lines_of(status):
            click.echo(line)
    return 0 if status.running else EXIT_NOT_RUNNING


async def _look(directory: Path, clock: Clock) -> Status:
    instance = find_instance(directory)
    if instance is None:
        return Status(running=False, data_directory=str(directory))
    components: dict[str, str] = {}
    census, problem = None, ""
    if not instance.url:
        problem = "it is starting, or stopping"
    else:
        try:
            config = load_kubeconfig(instance.kubeconfig)
            components, census = await within(clock, ANSWER_SECONDS, _ask(config, clock))
        except TimeoutError:
            problem = f"it did not answer within {ANSWER_SECONDS:g} s"
        except DrayError as error:
            problem = str(error)
    return Status(
        running=True,
        data_directory=str(directory),
        pid=instance.pid,
        version=instance.version,
        url=instance.url,
        kubeconfig=instance.kubeconfig,
        uptime_seconds=process_seconds(instance.pid),
        components=components,
        census=census,
        problem=problem,
    )


async def _ask(config: Config, clock: Clock) -> tuple[dict[str, str], Census]:
    transport = HTTPTransport(
        config.server, clock=clock, trust=config.trust, credentials=config.credentials(clock)
    )
    client = Client(transport, clock=clock)
    try:
        readiness = await transport.request(Call("GET", "/readyz", (("verbose", ""),)))
        nodes, pods = await client.list(Node), await client.list(Pod)
        claims, slices = await client.list(ResourceClaim), await client.list(ResourceSlice)
    finally:
        await client.close()
    census = take_census(nodes.items, pods.items, claims.items, slices.items)
    return read_checks(readiness.body.decode(errors="replace")), census


def read_checks(text: str) -> dict[str, str]:
    """The checks of a /readyz?verbose, by name: ok, or what is wrong."""
    found = {}
    for line in text.splitlines():
        match = _CHECK.match(line)
        if match is not None:
            sign, name, why = match.groups()
            found[name] = "ok" if sign == "+" else why or "failed"
    return found


def lines_of(status: Status) -> Iterator[str]:
    """The status for people."""
    if not status.running:
        yield f"dray up does not run in {status.data_directory}"
        yield f"start it: dray up --data-dir {status.data_directory}"
        return
    up = "" if status.uptime_seconds is None else f", up {_duration(status.uptime_seconds)}"
    version = f", dray {status.version}" if status.version else ""
    yield f"dray up runs in {status.data_directory}: process {status.pid}{up}{version}"
    if status.url:
        yield f"  server      {status.url}"
        yield f"  kubeconfig  {status.kubeconfig}"
    if status.components:
        well = [name for name, said in status.components.items() if said == "ok"]
        yield f"  ready       {', '.join(well) or 'nothing'}"
        for name, said in status.components.items():
            if said != "ok":
                yield f"  not ready   {name}: {printable(said)}"
    if status.problem:
        yield f"  problem     {printable(status.problem)}"
    if status.census is not None:
        yield from _numbers(status.census)


def _numbers(census: Census) -> Iterator[str]:
    nodes, claims, devices = census.nodes, census.claims, census.devices
    phases = ", ".join(f"{count} {phase}" for phase, count in census.pods.items())
    yield f"  nodes       {nodes.total}, {nodes.ready} ready"
    yield f"  pods        {phases or 'none'}"
    yield f"  claims      {claims.total}, {claims.allocated} allocated, {claims.in_use} in use"
    yield (
        f"  devices     {devices.total}, {devices.in_use} in use, {devices.tainted} tainted, "
        f"{devices.unhealthy} unhealthy in use"
    )
    for line in _pending(census):
        yield f"  pending     {printable(line)}"


def _pending(census: Census) -> Iterator[str]:
    """Who waits and why; where many do, each reason once."""
    total = len(census.pending) + census.pending_more
    if total <= PENDING_SINGLY_MAX:
        yield from (f"{pod.namespace}/{pod.name}: {pod.reason}" for pod in census.pending)
        return
    for one in census.pending_reasons:
        more = ", …" if one.count > len(one.pods) else ""
        count = f"{one.count} pods, " if one.count > 1 else ""
        yield f"{count}{', '.join(one.pods)}{more}: {one.reason}"
    left = total - sum(one.count for one in census.pending_reasons)
    if left:
        yield f"and {left} more"


def _duration(seconds: float) -> str:
    """142 s, 12 min, 5 h, 3 d: exact enough for people."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 3 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
