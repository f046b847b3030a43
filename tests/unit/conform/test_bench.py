"""What a check works with: the driver kept running, claims given back whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dray.api.resource import ResourceClaim
from dray.conform.bench import Bench
from dray.conform.check import NotApplicable, Violation
from dray.conform.cluster import uid_of
from dray.errors import NotFound
from tests.unit.conform.benches import bench_of
from tests.unit.sdk.drivers import short_directory

pytestmark = pytest.mark.slow


def play(scenario: Callable[[Bench], Awaitable[None]], *defects: str) -> None:
    async def body(root: Path) -> None:
        async with bench_of(root, *defects) as bench:
            await scenario(bench)

    with short_directory() as root:
        asyncio.run(body(root))


def test_a_driver_is_started_when_it_is_first_needed_and_after_it_was_killed() -> None:
    async def scenario(bench: Bench) -> None:
        first = await bench.registered()
        assert await bench.registered() is first
        await bench.kill()
        assert await bench.registered() is not first

    play(scenario)


def test_a_driver_that_ends_before_it_is_registered_is_not_waited_for() -> None:
    async def scenario(bench: Bench) -> None:
        bench.options = replace(bench.options, start_seconds=3600)
        await bench.start()
        await bench.kill()
        assert bench.process is not None
        bench.process.output = "no hardware"  # type: ignore[misc]
        with pytest.raises(Violation, match="which has ended, wrote last:\nno hardware"):
            await bench.register()

    play(scenario)


def test_a_claim_is_given_back_and_deleted_when_a_check_fails() -> None:
    async def scenario(bench: Bench) -> None:
        seen = []

        async def fail() -> None:
            async with bench.claim(await bench.devices()) as claim:
                await bench.prepared(claim)
                seen.append(claim)
                assert bench.cdi.naming(claim.metadata.uid)
                raise Violation("on purpose")

        with pytest.raises(Violation, match="on purpose"):
            await fail()
        assert not bench.cdi.files()
        namespace, name, _uid = uid_of(seen[0])
        with pytest.raises(NotFound):
            await bench.cluster.client.get(ResourceClaim, name, namespace=namespace)

    play(scenario)


def test_a_refusal_is_told_and_what_was_not_refused_is_given_back() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.devices()
        assert "not found" in await bench.refusal("dray-conform", "missing", "uid-1")
        claim = await bench.cluster.claim(await bench.devices())
        assert await bench.refusal(*uid_of(claim)) == ""
        assert not bench.cdi.files()

    play(scenario)


def test_too_few_devices_are_no_fault() -> None:
    async def scenario(bench: Bench) -> None:
        with pytest.raises(NotApplicable, match="needs 4 devices, and there are 3"):
            await bench.devices(4)

    play(scenario)


@pytest.mark.parametrize(
    ("defect", "told"),
    [
        ("", "claim was not prepared: .* not found"),
        ("all-or-nothing", "NodePrepareResources failed: INTERNAL"),
    ],
)
def test_what_should_work_and_does_not_is_a_violation(defect: str, told: str) -> None:
    async def scenario(bench: Bench) -> None:
        gone = await bench.cluster.claim(await bench.devices())
        await bench.cluster.delete(gone)
        with pytest.raises(Violation, match=told):
            await bench.prepared(gone)

    play(scenario, defect)


def test_unpreparing_that_fails_is_a_violation() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.devices()
        with pytest.raises(Violation, match="uid-1 was not unprepared: never heard of it"):
            await bench.unprepare_names([("dray-conform", "x", "uid-1")])

    play(scenario, "unprepare-unknown-fails")
