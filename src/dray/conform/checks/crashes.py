"""What is left after a driver was killed, stopped, or its node rebooted."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import grpc.aio

from dray.api.resource import ResourceClaim
from dray.conform.bench import Bench
from dray.conform.check import Checks, NotApplicable, Violation
from dray.conform.checks.preparation import expect_devices, expect_resolvable
from dray.conform.cluster import uid_of

__all__ = [
    "CHECKS",
    "publishes_after_crash",
    "remembers",
    "rewrites_files",
    "starts_again",
    "stops_cleanly",
    "survives_kills",
    "survives_reboot",
    "unprepares_after_crash",
]

check = Checks("Crashes and restarts")
CHECKS = check


@check(
    "a driver that was killed starts again, past its old sockets",
    rule="nobody removes what a killed process leaves behind",
)
async def starts_again(bench: Bench) -> None:
    await bench.registered()
    await bench.kill()
    await bench.start()
    await bench.prepare()


@check("a claim that was prepared before a crash is answered the same after it")
async def remembers(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        before = await bench.prepared(claim)
        await bench.kill()
        after = await bench.prepared(claim)
        if sorted(before.devices) != sorted(after.devices):
            raise Violation(f"before {before.devices}, after {after.devices}")
        expect_resolvable(bench, after)


@check("a claim that was prepared before a crash can be unprepared after it")
async def unprepares_after_crash(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        await bench.prepared(claim)
        await bench.kill()
        await bench.unprepare(claim)
        if left := bench.cdi.naming(claim.metadata.uid):
            raise Violation(f"left in {bench.cdi.path}: {left}")


@check(
    "killed at any moment of preparing, the driver prepares or unprepares the claim afterwards",
    rule="the kubelet asks again, or the pod is deleted; both have to come out clean",
)
async def survives_kills(bench: Bench) -> None:
    if not bench.subject.startable:
        raise NotApplicable("needs the driver's command, to start and kill it")
    devices = await bench.devices()
    async with bench.claim(devices) as claim:
        began = bench.clock.monotonic()
        await bench.prepared(claim)
        usual = bench.clock.monotonic() - began
    for number in range(bench.options.kills):
        async with bench.claim(devices) as claim:
            await _survive_kill(bench, claim, usual, prepares=bool(number % 2))
            if left := bench.cdi.naming(claim.metadata.uid):
                raise Violation(f"after kill {number + 1}, left in {bench.cdi.path}: {left}")
            if damage := bench.cdi.damage():
                raise Violation(f"after kill {number + 1}: " + "\n".join(damage))


async def _survive_kill(
    bench: Bench, claim: ResourceClaim, usual: float, *, prepares: bool
) -> None:
    instance = await bench.registered()
    preparing = asyncio.ensure_future(bench.kubelet.prepare(instance, [uid_of(claim)]))
    await bench.clock.sleep(bench.entropy.uniform(0.0, usual))
    await bench.kill()
    with suppress(grpc.aio.AioRpcError):
        await preparing
    if prepares:
        prepared = await bench.prepared(claim)
        expect_devices(claim, prepared, bench.driver)
        expect_resolvable(bench, prepared)
    await bench.unprepare(claim)


@check(
    "after a reboot that lost the CDI files, preparing again writes them",
    rule="they are kept in memory, the driver's own state is not",
)
async def survives_reboot(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        await bench.prepared(claim)
        await bench.kill()
        bench.cdi.lose()
        expect_resolvable(bench, await bench.prepared(claim))


@check(
    "CDI files that vanish while the driver runs are written again by preparing",
    must=False,
)
async def rewrites_files(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        await bench.prepared(claim)
        bench.cdi.lose()
        expect_resolvable(bench, await bench.prepared(claim))


@check("after a crash its devices are published as before")
async def publishes_after_crash(bench: Bench) -> None:
    await bench.devices()
    before = set(await bench.cluster.devices(bench.driver))
    await bench.kill()
    await bench.start()
    found = set(await bench.devices(len(before)))
    if before != found:
        raise Violation(f"gone: {sorted(before - found)}, new: {sorted(found - before)}")


@check(
    "SIGTERM ends the driver and removes its sockets",
    rule="a kubelet deregisters a plugin when its socket is removed, and not before",
)
async def stops_cleanly(bench: Bench) -> None:
    instance = await bench.registered()
    if bench.process is None:
        raise NotApplicable("needs the driver's command, to start and stop it")
    await bench.process.terminate()
    left = [path for path in (instance.socket, Path(instance.endpoint)) if path.exists()]
    if left:
        raise Violation(f"left: {', '.join(map(str, left))}")
