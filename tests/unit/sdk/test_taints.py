"""Taints over an inventory: set by hand, called for by health, kept over restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dray.api.resource import DeviceTaint
from dray.sdk._health import DeviceHealth, Health
from dray.sdk._health_board import HealthBoard
from dray.sdk._inventory import Inventory, InventoryError, Pool, device
from dray.sdk._taints import TaintPolicy, Taints
from dray.testing import FakeClock
from tests.unit.sdk.turns import pass_time, settle

DRIVER = "gpu.example.com"
POLICY = TaintPolicy.usual(DRIVER)
UNHEALTHY = DeviceHealth("a", Health.UNHEALTHY, pool="n")
HEALTHY = DeviceHealth("a", Health.HEALTHY, pool="n")
UNKNOWN = DeviceHealth("a", Health.UNKNOWN, pool="n")


class Fixture:
    def __init__(self, path: Path | None = None, policy: TaintPolicy | None = POLICY) -> None:
        self.clock = FakeClock()
        self.publications = 0
        self.taints = Taints(clock=self.clock, on_change=self._publish, path=path, policy=policy)

    def _publish(self) -> None:
        self.publications += 1

    def keys(self) -> list[str]:
        return [taint.key for taint in self.taints.of("n", "a")]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.taints.run())
        await settle()
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def test_a_taint_is_laid_over_the_device_and_taken_away() -> None:
    fixture = Fixture()
    inventory = Inventory.of([device("a"), device("b")])
    assert fixture.taints.apply(inventory, "n") is inventory
    fixture.taints.set("n", "a", "k.example.com/x", "v", "NoExecute")
    tainted, plain = fixture.taints.apply(inventory, "n").pools[0].devices
    (taint,) = tainted.taints
    assert (taint.key, taint.value, taint.effect) == ("k.example.com/x", "v", "NoExecute")
    assert taint.time_added is not None
    assert plain is inventory.pools[0].devices[1]
    assert fixture.taints.clear("n", "a", "k.example.com/x")
    assert fixture.taints.apply(inventory, "n") == inventory
    assert fixture.publications == 2


def test_the_same_taint_again_changes_nothing() -> None:
    fixture = Fixture()
    fixture.taints.set("n", "a", "k.example.com/x")
    (before,) = fixture.taints.of("n", "a")
    fixture.clock.advance(100)
    fixture.taints.set("n", "a", "k.example.com/x")
    assert fixture.taints.of("n", "a") == (before,)
    assert fixture.publications == 1
    fixture.taints.set("n", "a", "k.example.com/x", "other")
    (after,) = fixture.taints.of("n", "a")
    assert after.time_added != before.time_added
    assert not fixture.taints.clear("n", "a", "nothing")


def test_two_processes_have_the_taints_of_both(tmp_path: Path) -> None:
    one, two = Fixture(tmp_path / "taints.json"), Fixture(tmp_path / "taints.json")
    one.taints.set("n", "a", "k.example.com/one", recovers=True)
    two.taints.hear([HEALTHY])
    two.taints.set("n", "b", "k.example.com/two")
    assert two.keys() == ["k.example.com/one"]
    assert one.taints.clear("n", "a", "k.example.com/one")
    assert one.taints.of("n", "b") == two.taints.of("n", "b")
    two.taints.clear("n", "b", "k.example.com/two")
    assert two.keys() == []
    assert two.taints._well_since == {}


def test_one_effect_of_a_key_may_be_cleared() -> None:
    fixture = Fixture()
    fixture.taints.set("n", "a", "k", effect="NoSchedule")
    fixture.taints.set("n", "a", "k", effect="None")
    fixture.taints.clear("n", "a", "k", "None")
    assert [taint.effect for taint in fixture.taints.of("n", "a")] == ["NoSchedule"]


@pytest.mark.parametrize(
    ("key", "value", "effect"),
    [("no key", "", "NoSchedule"), ("k", "no value!", "NoSchedule"), ("k", "", "PreferNoSchedule")],
)
def test_what_the_api_would_refuse_is_refused(key: str, value: str, effect: str) -> None:
    fixture = Fixture()
    with pytest.raises(InventoryError, match="device n/a"):
        fixture.taints.set("n", "a", key, value, effect)
    assert fixture.publications == 0


def test_a_device_has_so_many_taints_and_no_more() -> None:
    fixture = Fixture()
    for n in range(16):
        fixture.taints.set("n", "a", f"k{n}")
    with pytest.raises(InventoryError, match="16 taints"):
        fixture.taints.set("n", "a", "k16")


def test_what_does_not_fit_beside_the_inventorys_own_taints_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fixture = Fixture()
    own = [DeviceTaint(key=f"own{n}", effect="None") for n in range(15)]
    fixture.taints.set("n", "a", "k", effect="None")
    fixture.taints.set("n", "a", "k", effect="NoExecute")
    (tainted,) = fixture.taints.apply(Inventory.of([device("a", taints=own)]), "n").pools[0].devices
    assert len(tainted.taints) == 16
    assert tainted.taints[-1].effect == "NoExecute"
    assert "no room for the taints k:None" in caplog.text


def test_an_unhealthy_device_is_tainted_at_once_and_stays_so_while_unknown() -> None:
    async def body() -> None:
        fixture = Fixture()
        async with fixture.running():
            fixture.taints.hear([UNHEALTHY])
            await settle()
            assert fixture.keys() == [f"{DRIVER}/unhealthy"]
            assert fixture.publications == 1
            fixture.taints.hear([UNKNOWN])
            await pass_time(fixture.clock, 500, step=10)
            assert fixture.keys() == [f"{DRIVER}/unhealthy"]

    asyncio.run(body())


def test_a_device_is_offered_again_after_it_was_well_for_a_while() -> None:
    async def body() -> None:
        fixture = Fixture()
        async with fixture.running():
            fixture.taints.hear([UNHEALTHY])
            fixture.taints.hear([HEALTHY])
            await pass_time(fixture.clock, 59)
            assert fixture.keys()
            await pass_time(fixture.clock, 2)
            assert fixture.keys() == []
            assert fixture.publications == 2

    asyncio.run(body())


def test_a_while_is_over_when_it_is_even_if_numbers_are_rounded() -> None:
    async def body() -> None:
        fixture = Fixture()
        fixture.clock.advance(4.07)
        assert (4.07 + 60) - 4.07 < 60, "what this is about"
        async with fixture.running():
            fixture.taints.hear([UNHEALTHY])
            fixture.taints.hear([HEALTHY])
            await settle()
            fixture.clock.advance(60)
            await settle()
            assert fixture.keys() == []

    asyncio.run(body())


def test_flapping_keeps_the_taint_and_its_time_and_publishes_once() -> None:
    async def body() -> None:
        fixture = Fixture()
        async with fixture.running():
            fixture.taints.hear([UNHEALTHY])
            await settle()
            (before,) = fixture.taints.of("n", "a")
            for n in range(500):
                fixture.taints.hear([HEALTHY if n % 2 else UNHEALTHY])
                fixture.clock.advance(0.5)
                await settle(5)
            assert fixture.taints.of("n", "a") == (before,)
            assert fixture.publications == 1

    asyncio.run(body())


def test_many_failures_in_a_moment_are_few_publications() -> None:
    async def body() -> None:
        fixture = Fixture()
        async with fixture.running():
            for n in range(200):
                fixture.taints.hear([DeviceHealth(f"d{n}", Health.UNHEALTHY, pool="n")])
                fixture.clock.advance(0.01)
                await settle(5)
            await pass_time(fixture.clock, 2)
            assert fixture.publications <= 4

    asyncio.run(body())


def test_other_states_may_call_for_other_taints() -> None:
    async def body() -> None:
        slow = DeviceTaint(key="gpu.example.com/slow", effect="None")
        policy = TaintPolicy({**POLICY.taints, Health.DEGRADED: slow}, hold_seconds=5)
        fixture = Fixture(policy=policy)
        async with fixture.running():
            fixture.taints.hear([UNHEALTHY])
            fixture.taints.hear([DeviceHealth("a", Health.DEGRADED, pool="n")])
            await pass_time(fixture.clock, 10)
            assert fixture.keys() == ["gpu.example.com/slow"]
            fixture.taints.hear([HEALTHY])
            await pass_time(fixture.clock, 6)
            assert fixture.keys() == []

    asyncio.run(body())


def test_without_a_policy_health_taints_nothing() -> None:
    fixture = Fixture(policy=None)
    fixture.taints.hear([UNHEALTHY])
    assert fixture.keys() == []


def test_a_taint_set_by_hand_goes_with_good_health_only_if_it_may() -> None:
    async def body() -> None:
        fixture = Fixture()
        async with fixture.running():
            fixture.taints.hear([HEALTHY])
            await pass_time(fixture.clock, 100, step=10)
            fixture.taints.set("n", "a", "stays")
            fixture.taints.set("n", "a", "goes", recovers=True)
            await pass_time(fixture.clock, 59)
            assert fixture.keys() == ["stays", "goes"]
            await pass_time(fixture.clock, 2)
            assert fixture.keys() == ["stays"]

    asyncio.run(body())


def test_taints_survive_a_restart_with_their_time(tmp_path: Path) -> None:
    path = tmp_path / "taints.json"
    first = Fixture(path)
    first.taints.set("n", "a", "failed")
    second = Fixture(path)
    assert second.taints.of("n", "a") == first.taints.of("n", "a")
    second.taints.clear("n", "a", "failed")
    assert Fixture(path).keys() == []


def test_what_health_called_for_survives_and_goes_when_the_policy_does(tmp_path: Path) -> None:
    async def body() -> None:
        path = tmp_path / "taints.json"
        first = Fixture(path)
        async with first.running():
            first.taints.hear([UNHEALTHY])
            await settle()
        second = Fixture(path)
        async with second.running():
            assert second.keys() == [f"{DRIVER}/unhealthy"]
            second.taints.hear([HEALTHY])
            await pass_time(second.clock, 61)
            assert second.keys() == []
        first.taints.set("n", "b", "k")
        for policy in (None, TaintPolicy()):
            third = Fixture(path, policy=policy)
            assert third.keys() == []
            assert third.taints.of("n", "b")

    asyncio.run(body())


def test_a_taint_of_health_that_somebody_sets_as_well_is_theirs() -> None:
    async def body() -> None:
        fixture = Fixture()
        async with fixture.running():
            fixture.taints.hear([UNHEALTHY])
            fixture.taints.set("n", "a", f"{DRIVER}/unhealthy")
            fixture.taints.hear([HEALTHY])
            await pass_time(fixture.clock, 61)
            assert fixture.keys() == [f"{DRIVER}/unhealthy"]

    asyncio.run(body())


def test_health_leaves_a_taint_that_was_set_by_hand_as_it_is() -> None:
    async def scenario() -> None:
        fixture = Fixture()
        fixture.taints.set("n", "a", f"{DRIVER}/unhealthy", "by-hand")
        before = fixture.taints.of("n", "a")
        async with fixture.running():
            for word in (UNHEALTHY, HEALTHY):
                fixture.taints.hear([word])
                await pass_time(fixture.clock, 61)
                assert fixture.taints.of("n", "a") == before

    asyncio.run(scenario())


def test_a_device_that_nobody_speaks_of_any_more_is_not_taken_for_well() -> None:
    async def scenario() -> None:
        fixture = Fixture()
        board = HealthBoard(
            clock=fixture.clock, on_change=fixture.taints.hear, on_forget=fixture.taints.forget
        )
        board.hear([HEALTHY])
        fixture.taints.set("n", "a", "k.example.com/failed", recovers=True)
        async with fixture.running():
            board.place([])
            await pass_time(fixture.clock, 120)
            assert fixture.keys() == ["k.example.com/failed"]
            board.hear([HEALTHY])
            await pass_time(fixture.clock, 61)
            assert fixture.keys() == []

    asyncio.run(scenario())


def test_pools_by_name_are_tainted_by_name() -> None:
    fixture = Fixture()
    fixture.taints.set("fabric", "a", "k")
    pools = [Pool([device("a")]), Pool([device("a")], name="fabric")]
    plain, tainted = fixture.taints.apply(Inventory(pools), "n").pools
    assert plain is pools[0]
    assert tainted.devices[0].taints


class _Ticking(FakeClock):
    """Time passes between two readings, as it does on a machine."""

    def monotonic(self) -> float:
        self._elapsed_seconds += 1e-6
        return super().monotonic()


def test_the_first_taint_is_published_on_a_clock_that_moves() -> None:
    async def scenario() -> None:
        fixture = Fixture()
        fixture.clock = _Ticking()
        fixture.taints = Taints(clock=fixture.clock, on_change=fixture._publish, policy=POLICY)
        async with fixture.running():
            fixture.taints.hear([UNHEALTHY])
            await settle()
            assert fixture.publications == 1

    asyncio.run(scenario())
