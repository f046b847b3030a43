"""Preparing and unpreparing: once, twice, at the same time, too late, and for the wrong claim."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from dray.api.resource import DeviceID, ResourceClaim
from dray.conform.bench import Bench
from dray.conform.check import Checks, NotApplicable, Violation
from dray.conform.cluster import uid_of
from dray.conform.kubelet import DRA_V1, DRA_V1BETA1, Prepared
from dray.errors import Conflict

__all__ = [
    "CHECKS",
    "all_of",
    "allows_admin_access",
    "cdi_files_are_valid",
    "cdi_ids_resolve",
    "expect_devices",
    "expect_resolvable",
    "frees_devices",
    "ids",
    "leaves_others_alone",
    "prepares",
    "prepares_again",
    "prepares_and_unprepares",
    "prepares_at_once",
    "prepares_batch",
    "prepares_several",
    "refuses_double_use",
    "refuses_missing",
    "refuses_stale",
    "refuses_unallocated",
    "siblings_are_independent",
    "unprepares",
    "unprepares_again",
    "unprepares_deleted",
    "unprepares_unknown",
    "versions_agree",
]

check = Checks("Preparing claims")
CHECKS = check

T = TypeVar("T")

AT_ONCE = 10


def expect_devices(claim: ResourceClaim, prepared: Prepared, driver: str) -> None:
    assert claim.status.allocation is not None, "the claim is allocated"
    results = claim.status.allocation.devices.results
    wanted = sorted((one.pool, one.device) for one in results if one.driver == driver)
    found = sorted((device.pool, device.name) for device in prepared.devices)
    if found != wanted:
        raise Violation(f"allocated are {wanted}, the answer has {found}")
    requests = {(one.pool, one.device): one.request for one in results}
    for device in prepared.devices:
        request = requests[device.pool, device.name]
        if device.requests and request not in device.requests:
            raise Violation(f"{device.name} was for {request}, the answer says {device.requests}")


async def all_of(*calls: Awaitable[T]) -> list[T]:
    """What all of these come to. When one fails, the others are waited for before that is told."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


def ids(prepared: Prepared) -> list[str]:
    return [one for device in prepared.devices for one in device.cdi_ids]


def expect_resolvable(bench: Bench, prepared: Prepared) -> None:
    if unresolved := bench.cdi.unresolved(ids(prepared)):
        raise Violation(f"no file in {bench.cdi.path} defines {', '.join(unresolved)}")


@check("the devices of a claim are prepared, each under its name and request")
async def prepares(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        expect_devices(claim, await bench.prepared(claim), bench.driver)


@check("CDI device IDs are well-formed, and files of the CDI directory define them")
async def cdi_ids_resolve(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        prepared = await bench.prepared(claim)
        if malformed := bench.cdi.malformed(ids(prepared)):
            raise Violation("\n".join(malformed))
        expect_resolvable(bench, prepared)


@check("CDI files are valid", rule="a runtime does not read a file that is not")
async def cdi_files_are_valid(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        await bench.prepared(claim)
        if damage := bench.cdi.damage():
            raise Violation("\n".join(damage))


@check("several devices of one claim are prepared together")
async def prepares_several(bench: Bench) -> None:
    async with bench.claim(await bench.devices(2)) as claim:
        prepared = await bench.prepared(claim)
        expect_devices(claim, prepared, bench.driver)
        expect_resolvable(bench, prepared)


@check("several claims in one call are each answered")
async def prepares_batch(bench: Bench) -> None:
    one, other = await bench.devices(2)
    async with bench.claim([one]) as first, bench.claim([other]) as second:
        answer = await bench.prepare(first, second)
        for claim in (first, second):
            prepared = answer.get(claim.metadata.uid)
            if prepared is None or prepared.error:
                raise Violation(f"claim {claim.metadata.name}: {prepared}")
            expect_devices(claim, prepared, bench.driver)


@check("devices of other drivers in the claim are left alone")
async def leaves_others_alone(bench: Bench) -> None:
    own = await bench.devices()
    foreign = DeviceID("other.conform.dray.dev", "pool", "device")
    async with bench.claim([*own, foreign]) as claim:
        expect_devices(claim, await bench.prepared(claim), bench.driver)


@check(
    "preparing again gives the same answer",
    rule="a kubelet repeats the call after every restart of its own",
)
async def prepares_again(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        first = await bench.prepared(claim)
        second = await bench.prepared(claim)
        if sorted(first.devices) != sorted(second.devices):
            raise Violation(f"first {first.devices}, then {second.devices}")
        expect_resolvable(bench, second)


@check(
    f"{AT_ONCE} calls for one claim at the same time give the same answer",
    rule="two pods that share a claim are started at the same time",
)
async def prepares_at_once(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        answers = await all_of(*(bench.prepared(claim) for _ in range(AT_ONCE)))
        if any(sorted(one.devices) != sorted(answers[0].devices) for one in answers):
            raise Violation(f"answers differ: {set(answers)}")
        expect_resolvable(bench, answers[0])


@check("a claim that does not exist is refused")
async def refuses_missing(bench: Bench) -> None:
    await bench.devices()
    if not await bench.refusal("dray-conform", "missing", bench.entropy.uid()):
        raise Violation("it was prepared")


@check("a claim that is not allocated is refused")
async def refuses_unallocated(bench: Bench) -> None:
    devices = await bench.devices()
    claim = await bench.cluster.claim(devices, allocated=False)
    try:
        if not await bench.refusal(*uid_of(claim)):
            raise Violation("it was prepared")
    finally:
        await bench.cluster.delete(claim)


@check(
    "a claim that was replaced by another of the same name is refused",
    rule="the UID tells them apart; the new one is somebody else's",
)
async def refuses_stale(bench: Bench) -> None:
    devices = await bench.devices()
    old = await bench.cluster.claim(devices, name="replaced")
    await bench.cluster.delete(old)
    new = await bench.cluster.claim(devices, name="replaced")
    try:
        if not await bench.refusal(*uid_of(old)):
            raise Violation(f"UID {old.metadata.uid} was prepared, the claim's is now another")
        await bench.prepared(new)
        await bench.unprepare(new)
    finally:
        await bench.cluster.delete(new)


@check(
    "a bad claim does not keep others of the same call from being prepared",
    rule="one deleted claim would block the whole pod",
    must=False,
)
async def siblings_are_independent(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        gone = await bench.cluster.claim([])
        await bench.cluster.delete(gone)
        answer = await bench.prepare(claim, gone)
        prepared = answer.get(claim.metadata.uid)
        if prepared is None or prepared.error:
            raise Violation(f"the good claim's answer: {prepared}")
        if not answer.get(gone.metadata.uid, Prepared()).error:
            await bench.unprepare(gone)
            raise Violation("the deleted claim got no error")


@check(
    "a device that is prepared for one claim is refused to another",
    rule="after a forced deletion the API gives a device away that the node still uses; "
    "the driver is the last to notice",
)
async def refuses_double_use(bench: Bench) -> None:
    devices = await bench.devices()
    slices = await bench.cluster.slices(bench.driver)
    shared = {
        (one.spec.pool.name, device.name)
        for one in slices
        for device in one.spec.devices or ()
        if device.allow_multiple_allocations
    }
    if (devices[0].pool, devices[0].device) in shared:
        raise NotApplicable("the device may be allocated several times")
    async with bench.claim(devices) as first:
        await bench.prepared(first)
        try:
            second = await bench.cluster.claim(devices)
        except Conflict as error:
            raise NotApplicable("the API server gives no device to two claims") from error
        try:
            if not await bench.refusal(*uid_of(second)):
                raise Violation(f"{devices[0].device} is prepared for two claims")
        finally:
            await bench.unprepare(second)
            await bench.cluster.delete(second)
        # The refused claim's unprepare must not have taken the device from the first.
        expect_resolvable(bench, await bench.prepared(first))


@check(
    "a claim with admin access gets a device that is in use",
    rule="that is what admin access is for",
    must=False,
)
async def allows_admin_access(bench: Bench) -> None:
    devices = await bench.devices()
    async with bench.claim(devices) as first:
        await bench.prepared(first)
        admin = await bench.cluster.claim(devices, admin=True)
        try:
            await bench.prepared(admin)
        finally:
            await bench.unprepare(admin)
            await bench.cluster.delete(admin)


@check("unpreparing removes what preparing wrote", rule="orphaned CDI files pile up")
async def unprepares(bench: Bench) -> None:
    before = bench.cdi.files()
    async with bench.claim(await bench.devices()) as claim:
        await bench.prepared(claim)
        await bench.unprepare(claim)
        left = bench.cdi.naming(claim.metadata.uid)
        if left or len(bench.cdi.files()) > len(before) + 1:
            # One file that all claims share may stay.
            raise Violation(f"left in {bench.cdi.path}: {left or bench.cdi.files()}")


@check("a device is free for another claim once it is unprepared")
async def frees_devices(bench: Bench) -> None:
    devices = await bench.devices()
    for _ in range(2):
        async with bench.claim(devices) as claim:
            await bench.prepared(claim)
            await bench.unprepare(claim)


@check("unpreparing twice is no error")
async def unprepares_again(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        await bench.prepared(claim)
        await bench.unprepare(claim)
        await bench.unprepare(claim)


@check("unpreparing a claim that was never prepared is no error")
async def unprepares_unknown(bench: Bench) -> None:
    await bench.devices()
    await bench.unprepare_names([("dray-conform", "never-seen", bench.entropy.uid())])


@check(
    "a claim that is gone from the API can be unprepared",
    rule="force-deleted objects do not wait for the node",
)
async def unprepares_deleted(bench: Bench) -> None:
    claim = await bench.cluster.claim(await bench.devices())
    await bench.prepared(claim)
    await bench.cluster.delete(claim)
    await bench.unprepare(claim)
    if left := bench.cdi.naming(claim.metadata.uid):
        raise Violation(f"left in {bench.cdi.path}: {left}")


@check("preparing after unpreparing works, also when both come at the same time")
async def prepares_and_unprepares(bench: Bench) -> None:
    async with bench.claim(await bench.devices()) as claim:
        for _ in range(AT_ONCE):
            await all_of(bench.prepare(claim), bench.unprepare(claim))
        expect_resolvable(bench, await bench.prepared(claim))


@check("both versions of the service give the same answers")
async def versions_agree(bench: Bench) -> None:
    instance = await bench.registered()
    if not {DRA_V1, DRA_V1BETA1} <= set(instance.versions):
        raise NotApplicable(f"offers {list(instance.versions)}")
    async with bench.claim(await bench.devices()) as claim:
        new = await bench.prepared(claim, version=DRA_V1)
        old = await bench.prepared(claim, version=DRA_V1BETA1)
        if sorted(new.devices) != sorted(old.devices):
            raise Violation(f"v1: {new.devices}, v1beta1: {old.devices}")
        await bench.unprepare(claim, version=DRA_V1BETA1)
