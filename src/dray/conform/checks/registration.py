"""How a driver makes itself known."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import grpc.aio

from dray.api.names import dns_subdomain
from dray.conform.bench import Bench
from dray.conform.check import Checks, NotApplicable, Violation
from dray.conform.kubelet import DRA_V1, DRA_V1BETA1

__all__ = [
    "CHECKS",
    "DRIVER_NAME_MAX",
    "answers",
    "answers_again",
    "empty_request",
    "endpoint_is_there",
    "has_known_service",
    "newest_first",
    "paths_are_short",
    "says_who_it_is",
    "survives_refusal",
]

check = Checks("Registration")
CHECKS = check

DRIVER_NAME_MAX: Final = 63


@check(
    "a registration socket appears, and GetInfo answers within a second",
    rule="a kubelet gives up on a plugin that is slower, and tries again with growing pauses",
)
async def answers(bench: Bench) -> None:
    await bench.registered()


@check("the plugin says that it is a DRAPlugin, under the driver's name")
async def says_who_it_is(bench: Bench) -> None:
    info = (await bench.registered()).info
    if info.type != "DRAPlugin":
        raise Violation(f"type is {info.type!r}")
    if len(info.name) > DRIVER_NAME_MAX or dns_subdomain(info.name):
        raise Violation(
            f"{info.name!r} is not a DNS subdomain of at most {DRIVER_NAME_MAX} characters"
        )


@check("the endpoint is an absolute path, and somebody listens there already")
async def endpoint_is_there(bench: Bench) -> None:
    instance = await bench.registered()
    if not os.path.isabs(instance.endpoint):
        raise Violation(f"endpoint {instance.endpoint!r} is not absolute")
    await bench.prepare()


@check("a known DRAPlugin service is among the supported versions")
async def has_known_service(bench: Bench) -> None:
    versions = (await bench.registered()).versions
    if not {DRA_V1, DRA_V1BETA1} & set(versions):
        raise Violation(f"supported versions are {list(versions)}")


@check(
    "the newest version is listed first",
    rule="a kubelet takes the first it knows",
    must=False,
)
async def newest_first(bench: Bench) -> None:
    versions = (await bench.registered()).versions
    known = [version for version in versions if version in (DRA_V1, DRA_V1BETA1)]
    if not known:
        raise NotApplicable("no version is known")
    if known[0] != DRA_V1:
        raise Violation(f"supported versions are {list(versions)}")


@check(
    "asking again gives the same answer",
    rule="a kubelet that restarts registers every plugin anew",
)
async def answers_again(bench: Bench) -> None:
    instance = await bench.registered()
    # A kubelet, too, asks once more when an answer is late.
    again = await bench.kubelet.find(bench.driver, seconds=bench.options.start_seconds)
    if again.info != instance.info:
        raise Violation(f"first {instance.info!r}, then {again.info!r}")
    await bench.kubelet.notify(instance.socket)


@check(
    "a driver that is told that registration failed goes on, and can be registered later",
    rule="a kubelet tries again",
)
async def survives_refusal(bench: Bench) -> None:
    instance = await bench.registered()
    try:
        await bench.kubelet.notify(instance.socket, error="conformance test: not this time")
    except grpc.aio.AioRpcError as error:
        # Upstream's helper answers a failed registration with an error of its own.
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            raise Violation(f"the driver is gone: {error.details()}") from error
    if bench.process is not None and not bench.process.running:
        raise Violation(f"the driver ended:\n{bench.process.output}")
    await bench.kubelet.notify(instance.socket)


@check("an empty list of claims is answered", rule="liveness probes ask it")
async def empty_request(bench: Bench) -> None:
    instance = await bench.registered()
    if await bench.prepare():
        raise Violation("NodePrepareResources answered for claims nobody asked about")
    if await bench.kubelet.unprepare(instance, []):
        raise Violation("NodeUnprepareResources answered for claims nobody asked about")


@check("socket paths fit into 107 bytes", rule="no unix socket can have a longer one")
async def paths_are_short(bench: Bench) -> None:
    instance = await bench.registered()
    for path in (instance.socket, Path(instance.endpoint)):
        if len(os.fsencode(path)) > 107:
            raise Violation(f"{path} has {len(os.fsencode(path))}")
