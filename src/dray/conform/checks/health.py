"""How a driver reports health, if it does."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc.aio

from dray.clock import within
from dray.conform.bench import Bench
from dray.conform.check import Checks, NotApplicable, Violation
from dray.conform.kubelet import HEALTH_V1, HEALTH_V1ALPHA1
from dray.proto.health_v1_pb2 import HealthStatus, NodeWatchResourcesResponse

__all__ = [
    "CHECKS",
    "declines",
    "keeps_reporting",
    "names_published_devices",
    "next_report",
    "offered",
    "reports_after_crash",
    "reports_at_once",
    "takes_several_streams",
    "values_are_in_range",
]

check = Checks("Health")
CHECKS = check

FIRST_REPORT_SECONDS = 5.0
DEFAULT_TIMEOUT_SECONDS = 30
MESSAGE_BYTES_MAX = 1024


async def offered(bench: Bench) -> list[str]:
    versions = (await bench.registered()).versions
    found: list[str] = [version for version in (HEALTH_V1, HEALTH_V1ALPHA1) if version in versions]
    if not found:
        raise NotApplicable("the driver offers no health service")
    return found


async def next_report(
    bench: Bench, reports: AsyncIterator[NodeWatchResourcesResponse], seconds: float
) -> NodeWatchResourcesResponse:
    try:
        return await within(bench.clock, seconds, anext(reports))
    except TimeoutError as error:
        raise Violation(f"no report within {seconds:g} s") from error
    except StopAsyncIteration as error:
        raise Violation("the stream ended") from error
    except grpc.aio.AioRpcError as error:
        raise Violation(f"the stream failed: {error.code().name}: {error.details()}") from error


@check("every version of the service that is offered sends a first report at once")
async def reports_at_once(bench: Bench) -> None:
    for version in await offered(bench):
        async with bench.kubelet.health(await bench.registered(), version) as reports:
            await next_report(bench, reports, FIRST_REPORT_SECONDS)


@check("reports name devices that are published", must=False)
async def names_published_devices(bench: Bench) -> None:
    version = (await offered(bench))[0]
    await bench.devices()
    known = {(one.pool, one.device) for one in await bench.cluster.devices(bench.driver)}
    async with bench.kubelet.health(await bench.registered(), version) as reports:
        report = await next_report(bench, reports, FIRST_REPORT_SECONDS)
    told = {(one.device.pool_name, one.device.device_name) for one in report.devices}
    if not told:
        raise Violation("the first report is empty")
    if told - known:
        raise Violation(f"not published: {sorted(told - known)}")


@check("values are in range: known states, timeouts, short messages")
async def values_are_in_range(bench: Bench) -> None:
    version = (await offered(bench))[0]
    async with bench.kubelet.health(await bench.registered(), version) as reports:
        report = await next_report(bench, reports, FIRST_REPORT_SECONDS)
    for one in report.devices:
        name = f"{one.device.pool_name}/{one.device.device_name}"
        if one.health not in HealthStatus.values():
            raise Violation(f"{name}: health {one.health}")
        if one.health_check_timeout_seconds < 0:
            raise Violation(f"{name}: timeout {one.health_check_timeout_seconds}")
        if len(one.message.encode()) > MESSAGE_BYTES_MAX:
            raise Violation(f"{name}: a message of {len(one.message.encode())} bytes")


@check(
    "no device is silent for longer than its timeout",
    rule="a kubelet takes silence for Unknown, also when nothing changed",
)
async def keeps_reporting(bench: Bench) -> None:
    version = (await offered(bench))[0]
    async with bench.kubelet.health(await bench.registered(), version) as reports:
        report = await next_report(bench, reports, FIRST_REPORT_SECONDS)
        timeouts = {
            (one.device.pool_name, one.device.device_name): float(
                one.health_check_timeout_seconds or DEFAULT_TIMEOUT_SECONDS
            )
            for one in report.devices
        }
        if not timeouts:
            raise NotApplicable("the first report is empty")
        shortest = min(timeouts.values())
        if shortest > bench.options.watch_seconds:
            raise NotApplicable(f"the shortest timeout is {shortest:g} s: see --watch-seconds")
        began = bench.clock.monotonic()
        waiting = {device for device, seconds in timeouts.items() if seconds == shortest}
        while waiting:
            left = shortest - (bench.clock.monotonic() - began)
            try:
                report = await next_report(bench, reports, max(left, 0.0))
            except Violation as violation:
                pool, device = min(waiting)
                raise Violation(
                    f"{pool}/{device} was not mentioned for {shortest:g} s: {violation}"
                ) from violation
            waiting -= {(one.device.pool_name, one.device.device_name) for one in report.devices}


@check(
    "several streams can be open, and one that is cut can be opened again",
    rule="a kubelet opens a new one whenever the old one fails",
)
async def takes_several_streams(bench: Bench) -> None:
    version = (await offered(bench))[0]
    instance = await bench.registered()
    async with bench.kubelet.health(instance, version) as first:
        await next_report(bench, first, FIRST_REPORT_SECONDS)
        async with bench.kubelet.health(instance, version) as second:
            await next_report(bench, second, FIRST_REPORT_SECONDS)
    async with bench.kubelet.health(instance, version) as third:
        await next_report(bench, third, FIRST_REPORT_SECONDS)


@check("after a crash health is reported again")
async def reports_after_crash(bench: Bench) -> None:
    version = (await offered(bench))[0]
    await bench.kill()
    async with bench.kubelet.health(await bench.start(), version) as reports:
        await next_report(bench, reports, FIRST_REPORT_SECONDS)


@check(
    "a driver without health says so at once",
    rule="kubelets before 1.37 ask everybody, and again every five seconds",
    must=False,
)
async def declines(bench: Bench) -> None:
    instance = await bench.registered()
    if {HEALTH_V1, HEALTH_V1ALPHA1} & set(instance.versions):
        raise NotApplicable("the driver offers health")
    try:
        async with bench.kubelet.health(instance, HEALTH_V1ALPHA1) as reports:
            await within(bench.clock, FIRST_REPORT_SECONDS, anext(reports))
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
            raise Violation(f"{error.code().name}: {error.details()}") from error
        return
    except TimeoutError as error:
        raise Violation("no answer") from error
    raise Violation("it reports health, and does not list the service")
