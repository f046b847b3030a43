"""Turns: simulated handlers on a loop whose turns are counted, with a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import pytest

from dray.api.coordination import Lease, LeaseSpec
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.server.operations.fairness import Fairness, FairnessLimits, Flow
from dray.server.operations.flows import LEVELS
from dray.server.routing import Route
from dray.server.user import SYSTEM_MASTERS, User
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

GET = Route("get", "/api/v1/nodes/a", version="v1", resource="nodes", name="a")
FLOODER, VICTIM = User("flooder"), User("victim")
ADMIN = User("admin", groups=(SYSTEM_MASTERS,))
SMALL = FairnessLimits(turn_width=4, burst_width=4, seats=60, flow_queue_max=8, level_queue_max=20)


def lease(name: str) -> Route:
    """The renewal of a node's lease."""
    group, namespace = "coordination.k8s.io", "kube-node-lease"
    path = f"/apis/{group}/v1/namespaces/{namespace}/leases/{name}"
    return Route(
        "update",
        path,
        group=group,
        version="v1",
        resource="leases",
        namespace=namespace,
        name=name,
    )


class Desk:
    """Requests at a Fairness: what started, in order, and what was refused."""

    def __init__(self, limits: FairnessLimits = SMALL, *, reads: bool = True) -> None:
        self.reads = reads
        self.clock = FakeClock()
        self.turns: list[Callable[[], None]] = []
        self.fairness = Fairness(self.clock, limits=limits, defer=self.turns.append)
        self.started: list[str] = []
        self.refused: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def ask(
        self,
        user: User,
        label: str = "",
        *,
        where: Route = GET,
        width: int = 1,
        count: int = 1,
    ) -> None:
        for number in range(count):
            handle = self._handle(user, label or f"{user.name}-{number}", where, width)
            self.tasks.append(asyncio.create_task(handle))
        await self.settle()

    async def _handle(self, user: User, label: str, where: Route, width: int) -> None:
        flow = self.fairness.flow(user, where, reads=self.reads)
        if not self.fairness.begin(flow, width):
            reason = await self.fairness.wait(flow, width)
            if reason is not None:
                self.refused.append(f"{label}: {reason}")
                return
        self.started.append(label)
        if flow.level.seated:
            self.fairness.end(flow)

    async def settle(self) -> None:
        """Let every task run as far as it can."""
        for _ in range(3):
            await asyncio.sleep(0)

    async def turn(self) -> list[str]:
        """One turn of the loop; what it started."""
        before = len(self.started)
        turns, self.turns[:] = list(self.turns), []
        for turn in turns:
            turn()
        await self.settle()
        return self.started[before:]

    async def drain(self) -> int:
        """Turns until nothing waits."""
        turns = 0
        while self.turns:
            await self.turn()
            turns += 1
        return turns


def simulate(
    scenario: Callable[[Desk], Coroutine[Any, Any, None]],
    limits: FairnessLimits = SMALL,
    *,
    kinds: Sequence[bool] = (True, False),
) -> None:
    """Play a scenario with reads, and with writes."""

    async def run(reads: bool) -> None:
        desk = Desk(limits, reads=reads)
        await scenario(desk)
        await desk.drain()
        desk.fairness.sweep()
        for task in desk.tasks:
            task.cancel()
        await asyncio.gather(*desk.tasks, return_exceptions=True)
        assert all(c.executing == c.queued == 0 for c in desk.fairness.counts)

    for reads in kinds:
        asyncio.run(run(reads))


def test_while_nothing_waits_requests_start_at_once() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=4)
        assert len(desk.started) == 4

    simulate(scenario)


def test_few_requests_need_no_turns() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=1)
        assert desk.turns == []

    simulate(scenario)


def test_a_burst_may_be_more_than_a_turn() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=20)
        assert len(desk.started) == 6
        assert len(await desk.turn()) == 4

    simulate(scenario, FairnessLimits(turn_width=4, burst_width=6))


def test_a_turn_starts_no_more_than_its_width() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=9)
        assert len(desk.started) == 4
        assert len(await desk.turn()) == 4
        assert len(await desk.turn()) == 1

    simulate(scenario)


def test_the_first_request_of_a_flow_in_a_turn_overtakes_those_who_flood() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=12)
        await desk.ask(VICTIM)
        assert desk.started[4:] == ["victim-0"]

    simulate(scenario)


def test_a_flow_cannot_overtake_others_twice_in_one_turn() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=12)
        await desk.ask(VICTIM, count=2)
        assert desk.started[4:] == ["victim-0"]
        assert "victim-1" in await desk.turn()

    simulate(scenario)


def test_waiting_flows_take_turns() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=10)
        await desk.ask(VICTIM, count=5)
        started = await desk.turn()
        assert sorted(label.split("-")[0] for label in started) == [
            "flooder",
            "flooder",
            "victim",
            "victim",
        ]

    simulate(scenario)


def test_a_flow_keeps_its_own_order() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=12)
        await desk.drain()
        assert desk.started == [f"flooder-{number}" for number in range(12)]

    simulate(scenario)


def test_wide_requests_are_charged_for_their_width() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, "wide", width=3, count=6)
        await desk.ask(VICTIM, "narrow", width=1, count=8)
        await desk.drain()
        waited = desk.started[3:]  # two wide ones and a narrow one began at once
        assert waited[:6].count("narrow") >= 4

    simulate(scenario)


def test_past_service_is_not_held_against_a_flow() -> None:
    """Someone who had the server to themselves for a day is not starved by a newcomer."""

    async def scenario(desk: Desk) -> None:
        for _ in range(20):
            await desk.ask(FLOODER, count=8)
            await desk.drain()
        desk.started.clear()
        await desk.ask(FLOODER, count=10)
        await desk.ask(VICTIM, count=8)
        assert [label.split("-")[0] for label in await desk.turn()].count("flooder") == 2

    simulate(scenario)


def test_a_full_queue_refuses() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=4 + 8 + 2)
        assert desk.refused == ["flooder-12: queue-full", "flooder-13: queue-full"]

    simulate(scenario)


def test_bodies_that_wait_are_bounded() -> None:
    async def run() -> None:
        fairness = Desk(FairnessLimits(turn_width=1, burst_width=1, flow_bytes_max=100)).fairness
        flow = fairness.flow(FLOODER, GET, reads=False)
        assert fairness.begin(flow, 1)
        waiting = asyncio.ensure_future(fairness.wait(flow, 1, 60))
        await asyncio.sleep(0)
        assert await fairness.wait(flow, 1, 41) == "queue-full"
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        fairness.sweep()
        assert flow.bytes_waiting == 0

    asyncio.run(run())


def test_a_full_level_refuses_every_flow_that_would_wait() -> None:
    async def scenario(desk: Desk) -> None:
        for number in range(4):
            await desk.ask(User(f"user-{number}"), count=9)
        assert sum(counts.queued for counts in desk.fairness.counts) == 20
        assert desk.refused
        assert all(refusal.startswith("user-3") for refusal in desk.refused[-3:])

    simulate(scenario)


def test_whoever_waits_too_long_is_refused() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=6)
        desk.clock.advance(14.0)
        desk.fairness.sweep()
        await desk.settle()
        assert not desk.refused
        desk.clock.advance(1.0)
        desk.fairness.sweep()
        await desk.settle()
        assert desk.refused == ["flooder-4: time-out", "flooder-5: time-out"]

    simulate(scenario)


def test_an_exempt_flow_takes_turns_but_is_never_refused() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(ADMIN, count=40)
        assert len(desk.started) == 4
        desk.clock.advance(60.0)
        desk.fairness.sweep()
        await desk.ask(VICTIM)
        assert desk.started[4:] == ["victim-0"]
        await desk.drain()
        assert len(desk.started) == 41
        assert not desk.refused

    simulate(scenario)


def test_what_an_administrator_renews_passes_what_else_they_asked_for() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(ADMIN, count=40)
        for node in ("a", "b", "c"):
            await desk.ask(ADMIN, f"lease-{node}", where=lease(node))
        assert desk.started[4:] == ["lease-a", "lease-b", "lease-c"]

    simulate(scenario, kinds=[False])


def test_a_renewal_passes_what_else_its_user_asked_for() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=12)
        await desk.ask(FLOODER, "lease", where=lease("a"))
        assert desk.started[4:] == ["lease"]

    simulate(scenario, kinds=[False])


def test_one_object_renewed_again_and_again_takes_turns() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(ADMIN, count=12)
        await desk.ask(ADMIN, "lease", where=lease("a"), count=20)
        assert desk.started[4:] == ["lease"]
        assert "admin-4" in await desk.turn()

    simulate(scenario, kinds=[False])


def test_what_an_administrator_renews_is_never_refused() -> None:
    async def scenario(desk: Desk) -> None:
        under_way = [desk.fairness.flow(ADMIN, lease(f"n{n}"), reads=False) for n in range(100)]
        under_way = [flow for flow in under_way if desk.fairness.begin(flow, 0)]
        assert len(under_way) < 100  # no seats are left
        await desk.ask(ADMIN, "late", where=lease("late"))
        desk.clock.advance(60.0)
        desk.fairness.sweep()
        assert (desk.started, desk.refused) == ([], [])
        for flow in under_way:
            desk.fairness.end(flow)
        await desk.drain()
        assert desk.started == ["late"]

    simulate(scenario, kinds=[False])


def test_what_is_never_refused_has_nobody_else_refused() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(ADMIN, "flood", where=lease("a"), count=30)  # more than may wait in a level
        node = User("system:node:n", groups=("system:nodes",))
        await desk.ask(node, "own", where=lease("n"), count=2)
        await desk.drain()
        assert not desk.refused
        assert desk.started.count("own") == 2

    simulate(scenario, kinds=[False])


def test_a_server_renews_leases_while_their_client_floods_it() -> None:
    """As a fleet of simulated nodes does whose pods are all deleted at once."""

    async def run() -> None:
        answered: list[str] = []
        async with Cluster() as cluster:
            client = cluster.client
            leases = [
                await client.create(
                    Lease(metadata=ObjectMeta(name=f"n{n}", namespace="kube-node-lease"))
                )
                for n in range(20)
            ]

            async def note(label: str, request: Awaitable[object]) -> None:
                await request
                answered.append(label)

            async with asyncio.TaskGroup() as tasks:
                for number in range(300):
                    tasks.create_task(note("pod", cluster.add_pod(f"p{number}")))
                for lease in leases:
                    spec = LeaseSpec(holder_identity=lease.metadata.name)
                    tasks.create_task(note("lease", client.update(replace(lease, spec=spec))))
        # No later than the pods that need not wait, of which a turn has a few.
        assert answered[: len(leases) + 20].count("lease") == len(leases)

    asyncio.run(run())


def test_probes_never_wait() -> None:
    async def run() -> None:
        desk = Desk()
        probe = Route("get", "/readyz")
        await desk.ask(FLOODER, count=12)
        flow = desk.fairness.flow(FLOODER, probe, reads=True)
        assert all(desk.fairness.begin(flow, 1) for _ in range(10))

    asyncio.run(run())


def test_a_client_that_goes_away_leaves_its_place() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=7)
        desk.tasks[4].cancel()
        await desk.settle()
        assert await desk.turn() == ["flooder-5", "flooder-6"]

    simulate(scenario)


def test_a_client_that_goes_away_when_its_turn_comes_gives_the_seat_back() -> None:
    async def scenario(desk: Desk) -> None:
        await desk.ask(FLOODER, count=5)
        turns, desk.turns[:] = list(desk.turns), []
        turns[0]()  # grants the place; its task has not run yet
        desk.tasks[4].cancel()
        await desk.settle()
        assert desk.started[4:] == []

    simulate(scenario)


def held(fairness: Fairness, user: User, count: int) -> list[Flow]:
    """Requests that start and stay under way, as those that wait for the disk do."""
    flow = fairness.flow(user, GET, reads=False)
    return [flow for _ in range(count) if fairness.begin(flow, 0)]


def test_a_level_borrows_what_the_others_do_not_keep() -> None:
    async def run() -> None:
        desk = Desk()
        nominal = desk.fairness.nominal_seats()["global-default"]
        assert nominal < len(held(desk.fairness, FLOODER, 100)) < 60

    asyncio.run(run())


def test_what_a_level_keeps_is_there_however_busy_the_others_are() -> None:
    async def run() -> None:
        desk = Desk()
        node = User("system:node:a", groups=("system:nodes",))
        account = User("system:serviceaccount:a:b", groups=("system:serviceaccounts",))
        for user in (FLOODER, account):
            held(desk.fairness, user, 100)
        assert held(desk.fairness, node, 1)

    asyncio.run(run())


def test_a_freed_seat_starts_the_next() -> None:
    async def scenario(desk: Desk) -> None:
        under_way = held(desk.fairness, FLOODER, 100)
        await desk.ask(FLOODER)
        await desk.drain()
        assert desk.started == []
        for flow in under_way:
            desk.fairness.end(flow)
        await desk.drain()
        assert desk.started == ["flooder-0"]

    simulate(scenario, kinds=[False])


def test_a_disk_that_hangs_does_not_hold_up_reads() -> None:
    async def run() -> None:
        desk = Desk(reads=True)
        assert held(desk.fairness, FLOODER, 100)
        assert not desk.fairness.begin(desk.fairness.flow(FLOODER, GET, reads=False), 0)
        await desk.ask(FLOODER, count=12)
        await desk.drain()
        assert len(desk.started) == 12

    asyncio.run(run())


def test_probes_are_not_taken_for_other_requests_of_their_user() -> None:
    async def run() -> None:
        fairness = Desk().fairness
        ordinary = fairness.flow(FLOODER, GET, reads=True)
        assert fairness.flow(FLOODER, Route("get", "/livez"), reads=True) is not ordinary
        assert fairness.flow(FLOODER, GET, reads=True) is ordinary

    asyncio.run(run())


def test_users_that_are_equal_share_a_flow() -> None:
    async def run() -> None:
        fairness = Desk().fairness
        flows = {fairness.flow(User("bob"), GET, reads=True) for _ in range(3)}
        assert len(flows) == 1

    asyncio.run(run())


def test_levels_share_turns_by_their_shares() -> None:
    async def scenario(desk: Desk) -> None:
        account = User("system:serviceaccount:a:b", groups=("system:serviceaccounts",))
        await desk.ask(account, "low", count=60)
        await desk.ask(FLOODER, "default", count=60)
        desk.started.clear()
        for _ in range(6):
            await desk.turn()
        # workload-low has five times the shares of global-default.
        assert 3 <= desk.started.count("default") <= 5

    simulate(scenario, FairnessLimits(turn_width=4, burst_width=4, seats=60))


def test_flows_that_are_idle_are_forgotten() -> None:
    async def run() -> None:
        desk = Desk(FairnessLimits(flows_max=10))
        for number in range(100):
            await desk.ask(User(f"user-{number}"))
        assert len(desk.fairness._flows) <= 10

    asyncio.run(run())


@pytest.mark.parametrize("level", [each.name for each in LEVELS if not each.exempt])
def test_every_level_that_is_not_exempt_has_seats(level: str) -> None:
    assert Fairness(FakeClock()).nominal_seats()[level] > 0
