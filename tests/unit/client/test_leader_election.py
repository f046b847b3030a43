"""Leaders: one at a time, whatever happens to them, and soon another when one is gone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from dray.api.coordination import Lease, LeaseSpec
from dray.api.core import Event
from dray.api.meta import ObjectMeta
from dray.api.wire import MicroTime, replace
from dray.client import (
    Call,
    Client,
    EventRecorder,
    LeaderElector,
    Reply,
    StreamedReply,
    Transport,
)
from dray.client._leader_election import LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS
from dray.entropy import SeededEntropy
from dray.errors import ConfigurationError, LeadershipLost, TransportError
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

from .transports import Faulty

# The longest that a candidate waits before it looks again.
LONGEST_RETRY_SECONDS = 2.2 * RETRY_SECONDS


class Election:
    """A lease that several want."""

    def __init__(self, cluster: Cluster, clock: FakeClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.candidates: list[Candidate] = []
        self.leading: list[str] = []  # whose work runs now
        self.most_leading_count = 0

    def candidate(self, identity: str, **options: Any) -> Candidate:
        candidate = Candidate(self, identity, **options)
        self.candidates.append(candidate)
        return candidate

    async def lease(self) -> Lease:
        return await self.cluster.client.get(Lease, "boss", namespace="kube-system")

    async def settle(self) -> None:
        """Let everything happen that needs no time."""
        ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        while ready:
            await asyncio.sleep(0)

    async def pass_time(self, seconds: float) -> None:
        await self.settle()
        for _ in range(round(seconds * 8)):
            self.clock.advance(0.125)  # eighths, so that no sum is off by a little
            await self.settle()


class Candidate:
    """One that wants to lead, and whose connection can be cut."""

    def __init__(self, election: Election, identity: str, **options: Any) -> None:
        self.identity = identity
        self.election = election
        self.transport = Faulty(election.cluster.transport())
        self.client = Client(self.transport, clock=election.clock)
        self.elector = LeaderElector(
            self.client,
            name="boss",
            identity=identity,
            clock=election.clock,
            entropy=SeededEntropy(len(election.candidates)),
            **options,
        )
        self.finish = asyncio.Event()
        self.ended_at = -1.0
        self.task = asyncio.create_task(self.elector.lead(self.work))

    async def work(self) -> None:
        leading = self.election.leading
        leading.append(self.identity)
        self.election.most_leading_count = max(self.election.most_leading_count, len(leading))
        try:
            await self.finish.wait()
        finally:
            leading.remove(self.identity)
            self.ended_at = self.election.clock.monotonic()

    def cut_off(self) -> None:
        self.transport.fail = lambda _call: True

    async def kill(self) -> None:
        """End without a word to anybody."""
        self.cut_off()
        self.task.cancel()
        await self.election.settle()


@asynccontextmanager
async def elections() -> AsyncIterator[Election]:
    clock = FakeClock()
    async with Cluster(clock=clock) as cluster:
        election = Election(cluster, clock)
        try:
            yield election
        finally:
            for candidate in election.candidates:
                await candidate.kill()
            tasks = [each.task for each in election.candidates]
            await asyncio.gather(*tasks, return_exceptions=True)
        assert election.most_leading_count <= 1


def play(scenario: Callable[[Election], Any]) -> None:
    async def main() -> None:
        async with elections() as election:
            await scenario(election)

    asyncio.run(asyncio.wait_for(main(), 20))


def test_the_first_leads_and_says_so_in_the_lease() -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        await election.settle()
        second = election.candidate("b")
        await election.pass_time(3 * LEASE_SECONDS)
        assert election.leading == ["a"]
        assert (first.elector.is_leader, second.elector.is_leader) == (True, False)
        assert second.elector.leader == "a"
        spec = (await election.lease()).spec
        assert (spec.holder_identity, spec.lease_duration_seconds) == ("a", 15)
        assert (str(spec.acquire_time), spec.lease_transitions) == (
            "2026-01-01T00:00:00.000000Z",
            0,
        )
        assert str(spec.renew_time) > "2026-01-01T00:00:42"

    play(scenario)


def test_when_a_leader_dies_another_leads_once_the_lease_has_run_out() -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        await election.settle()
        election.candidate("b")
        await election.pass_time(7.5)
        await first.kill()
        await election.pass_time(LEASE_SECONDS - RETRY_SECONDS)
        assert election.leading == []
        await election.pass_time(LONGEST_RETRY_SECONDS + LONGEST_RETRY_SECONDS)
        assert election.leading == ["b"]
        spec = (await election.lease()).spec
        assert (spec.holder_identity, spec.lease_transitions) == ("b", 1)
        assert str(spec.acquire_time) > "2026-01-01T00:00:20"

    play(scenario)


def test_a_leader_that_reaches_no_server_stops_before_another_begins() -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        await election.settle()
        election.candidate("b")
        await election.pass_time(5)
        first.cut_off()
        await election.pass_time(RENEW_SECONDS)
        assert election.leading == []
        assert not first.elector.is_leader
        assert first.ended_at == 4 + RENEW_SECONDS  # it was renewed at 4
        with pytest.raises(
            LeadershipLost, match=r"a no longer leads kube-system/boss: it was not "
        ):
            await first.task
        await election.pass_time(LEASE_SECONDS)
        assert election.leading == ["b"]

    play(scenario)


def test_a_request_that_is_never_answered_does_not_keep_a_leader_from_stopping(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        await election.pass_time(5)

        async def never(_call: Any) -> Any:
            await asyncio.Event().wait()

        monkeypatch.setattr(first.transport, "request", never)
        await election.pass_time(RENEW_SECONDS)
        with pytest.raises(LeadershipLost, match="not renewed within 10 s"):
            await first.task

    play(scenario)


def test_a_few_failures_are_survived() -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        election.candidate("b")
        await election.pass_time(5)
        for _ in range(5):
            first.cut_off()
            await election.pass_time(RENEW_SECONDS - 2 * RETRY_SECONDS - 1)
            first.transport.fail = lambda _call: False
            await election.pass_time(RETRY_SECONDS)
        assert election.leading == ["a"]

    play(scenario)


def test_work_that_ends_gives_the_lease_back_and_another_leads_at_once() -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        await election.settle()
        election.candidate("b")
        await election.pass_time(5)
        first.finish.set()
        await election.settle()
        assert first.task.done()
        spec = (await election.lease()).spec
        assert (spec.holder_identity, spec.lease_duration_seconds) == ("", 1)
        assert (str(spec.renew_time), spec.lease_transitions) == ("2026-01-01T00:00:05.000000Z", 0)
        await election.pass_time(LONGEST_RETRY_SECONDS)
        assert election.leading == ["b"]
        assert (await election.lease()).spec.lease_transitions == 1

    play(scenario)


def test_work_that_fails_gives_the_lease_back_and_is_the_failure() -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")

        async def fail() -> None:
            await election.clock.sleep(5)
            raise ZeroDivisionError

        first.task.cancel()
        task = asyncio.create_task(first.elector.lead(fail))
        await election.pass_time(6)
        with pytest.raises(ZeroDivisionError):
            await task
        assert (await election.lease()).spec.holder_identity == ""

    play(scenario)


def test_who_is_cancelled_keeps_the_lease_until_its_work_has_ended_and_gives_it_back_then() -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        first.task.cancel()
        ending = asyncio.Event()

        async def end_slowly() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await election.clock.sleep(3 * LEASE_SECONDS)
                ending.set()

        task = asyncio.create_task(first.elector.lead(end_slowly))
        await election.settle()
        election.candidate("b")
        await election.pass_time(1)
        task.cancel()
        await election.pass_time(2 * LEASE_SECONDS)
        assert (await election.lease()).spec.holder_identity == "a"
        assert election.leading == []
        await election.pass_time(LEASE_SECONDS)
        assert ending.is_set()
        assert task.cancelled()
        await election.pass_time(LONGEST_RETRY_SECONDS)
        assert election.leading == ["b"]

    play(scenario)


@pytest.mark.parametrize(
    ("thief", "said"), [("thief", "thief holds it"), ("", "somebody gave it back")]
)
def test_a_leader_whose_lease_is_taken_stops_at_its_next_renewal(thief: str, said: str) -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        await election.pass_time(5)
        lease = await election.lease()
        stolen = replace(lease, spec=replace(lease.spec, holder_identity=thief))
        await election.cluster.client.update(stolen)
        await election.pass_time(RETRY_SECONDS)
        assert election.leading == []
        with pytest.raises(LeadershipLost, match=said):
            await first.task
        assert (await election.lease()).spec.holder_identity == thief  # it is not ours to give

    play(scenario)


def test_who_only_labels_the_lease_changes_nothing() -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        await election.settle()
        election.candidate("b")
        await election.pass_time(5)
        await label(election, "1")
        await election.pass_time(3 * LEASE_SECONDS)
        assert election.leading == ["a"]
        await first.kill()
        for number in range(2 * LEASE_SECONDS):
            await label(election, str(number))
            await election.pass_time(1)
        assert election.leading == ["b"]

    async def label(election: Election, value: str) -> None:
        patch = {"metadata": {"labels": {"x": value}}}
        await election.cluster.client.patch(Lease, "boss", patch, namespace="kube-system")

    play(scenario)


def test_a_lease_that_is_deleted_is_made_anew_by_its_leader() -> None:
    async def scenario(election: Election) -> None:
        election.candidate("a")
        await election.pass_time(5)
        await election.cluster.client.delete(Lease, "boss", namespace="kube-system")
        await election.pass_time(RETRY_SECONDS)
        assert election.leading == ["a"]
        spec = (await election.lease()).spec
        assert str(spec.acquire_time) == "2026-01-01T00:00:00.000000Z"

    play(scenario)


def test_a_machine_that_slept_too_long_leads_no_longer_though_nobody_took_its_place() -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        await election.pass_time(5)
        election.clock.advance(3600)
        await election.settle()
        with pytest.raises(LeadershipLost):
            await first.task

    play(scenario)


@pytest.mark.parametrize("wrong_seconds", [-3600, 3600], ids=["behind", "ahead"])
def test_times_that_another_machine_wrote_mean_nothing(wrong_seconds: int) -> None:
    """A lease counts from when it was seen, whatever the clock of its holder says."""

    async def scenario(election: Election) -> None:
        lease = Lease(
            metadata=ObjectMeta(name="boss", namespace="kube-system"),
            spec=LeaseSpec(holder_identity="other", lease_duration_seconds=LEASE_SECONDS),
        )
        wrong = FakeClock()
        wrong.advance(wrong_seconds)
        lease = replace(lease, spec=replace(lease.spec, renew_time=MicroTime(wrong.now())))
        await election.cluster.client.create(lease)
        election.candidate("a")
        await election.pass_time(LEASE_SECONDS - 1)
        assert election.leading == []
        await election.pass_time(1 + LONGEST_RETRY_SECONDS)
        assert election.leading == ["a"]

    play(scenario)


def test_a_candidate_waits_for_a_server_that_is_away() -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        first.cut_off()
        await election.pass_time(60)
        assert election.leading == []
        first.transport.fail = lambda _call: False
        await election.pass_time(LONGEST_RETRY_SECONDS)
        assert election.leading == ["a"]

    play(scenario)


def test_who_lost_may_try_again() -> None:
    async def scenario(election: Election) -> None:
        first = election.candidate("a")
        await election.pass_time(5)
        first.cut_off()
        await election.pass_time(RENEW_SECONDS)
        first.transport.fail = lambda _call: False
        first.task = asyncio.create_task(first.elector.lead(first.work))
        await election.settle()
        assert election.leading == ["a"]

    play(scenario)


def test_of_many_one_leads_at_a_time() -> None:
    async def scenario(election: Election) -> None:
        for number in range(5):
            election.candidate(f"c{number}")
        led = set()
        for _ in range(5):
            await election.pass_time(LEASE_SECONDS + 2 * LONGEST_RETRY_SECONDS)
            (leader,) = election.leading
            led.add(leader)
            (candidate,) = (each for each in election.candidates if each.identity == leader)
            await candidate.kill()
        assert len(led) == 5

    play(scenario)


class Unreliable:
    """A transport whose requests and answers take their time, and are lost at times."""

    def __init__(self, inner: Transport, clock: FakeClock, chance: random.Random) -> None:
        self._inner = inner
        self._clock = clock
        self._chance = chance
        self.is_bad = False

    async def request(self, call: Call) -> Reply:
        await self._travel(call)
        reply = await self._inner.request(call)
        await self._travel(call)
        return reply

    async def _travel(self, call: Call) -> None:
        if self.is_bad:
            await self._clock.sleep(self._chance.choice((0, 0, 0.5, 3, 12)))
            if self._chance.random() < 0.3:
                raise TransportError(f"{call}: lost")

    async def stream(self, call: Call) -> StreamedReply:
        return await self._inner.stream(call)

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize("seed", range(12))
def test_never_do_two_lead_and_in_calm_one_does(seed: int) -> None:
    """Safety in any weather, and progress once it is over."""
    chance = random.Random(seed)

    async def scenario(election: Election) -> None:
        candidates = [election.candidate(f"c{number}") for number in range(4)]
        weather = []
        for candidate in candidates:
            unreliable = Unreliable(candidate.transport._inner, election.clock, chance)
            candidate.transport._inner = unreliable
            weather.append(unreliable)
        led: set[str] = set()
        for _ in range(30):
            number = chance.randrange(len(candidates))
            candidate = candidates[number]
            match chance.randrange(6):
                case 0 | 1:
                    weather[number].is_bad = not weather[number].is_bad
                case 2:
                    cut = chance.random() < 0.6
                    candidate.transport.fail = lambda _call, cut=cut: cut  # type: ignore[misc]  # bound now
                case 3:
                    candidate.task.cancel()
                case 4 if chance.random() < 0.3:
                    election.clock.advance(chance.uniform(0, 8))  # a machine that stood still
                case _:
                    pass
            await election.pass_time(chance.choice((0.5, 2, 7)))
            led |= set(election.leading)
            assert len(election.leading) <= 1
            for each in candidates:
                if each.task.done():
                    await asyncio.wait([each.task])
                    each.task = asyncio.create_task(again(each))
        for candidate, unreliable in zip(candidates, weather, strict=True):
            candidate.transport.fail = lambda _call: False
            unreliable.is_bad = False
        # A request that is under way, a lease that was taken with it, and then a retry.
        await election.pass_time(24 + LEASE_SECONDS + LONGEST_RETRY_SECONDS)
        assert len(election.leading) == 1
        assert led
        assert election.most_leading_count == 1

    async def again(candidate: Candidate) -> None:
        with suppress(LeadershipLost):
            await candidate.elector.lead(candidate.work)

    play(scenario)


def test_who_becomes_leader_and_ceases_to_be_is_recorded() -> None:
    async def scenario(election: Election) -> None:
        client = election.cluster.client
        recorder = EventRecorder(
            client, component="boss", clock=election.clock, entropy=SeededEntropy(1)
        )
        first = election.candidate("a", events=recorder)
        await election.settle()
        first.finish.set()
        await election.settle()
        await recorder.drain()
        events = (await client.list(Event, namespace="kube-system")).items
        assert [(each.reason, each.message) for each in events] == [
            ("LeaderElection", "a became leader"),
            ("LeaderElection", "a stopped leading"),
        ]
        assert events[0].involved_object.kind == "Lease"
        assert events[0].involved_object.name == "boss"

    play(scenario)


@pytest.mark.parametrize(
    "options",
    [
        {"identity": ""},
        {"renew_seconds": 15},
        {"retry_seconds": 9},
        {"retry_seconds": 0},
    ],
    ids=str,
)
def test_times_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    clock = FakeClock()
    with pytest.raises(ConfigurationError, match="leader election for boss"):
        LeaderElector(
            Client(Faulty(None), clock=clock),  # type: ignore[arg-type]  # nobody asks it anything
            name="boss",
            clock=clock,
            entropy=SeededEntropy(1),
            **{"identity": "a", **options},
        )
