from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.agent.health.cache import DRIVERS_MAX, HealthCache, Opinion
from dray.agent.health.words import DEFAULT_TIMEOUT_SECONDS, DeviceID, Health, Word
from dray.testing import FakeClock

DRIVER = "gpu.example.com"
GPU0, GPU1, GPU2 = (DeviceID(DRIVER, "node-1", f"gpu-{n}") for n in range(3))
HEALTHY = Word(Health.HEALTHY)
UNHEALTHY = Word(Health.UNHEALTHY, "ECC error")
SHORT = partial(Word, Health.HEALTHY, timeout_seconds=3.0)

Words = dict[DeviceID, Word]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cache(clock: FakeClock) -> HealthCache:
    return HealthCache(clock, devices_max=2)


@pytest.mark.parametrize(
    ("first", "second", "changed"),
    [
        pytest.param({}, {GPU0: HEALTHY}, [GPU0], id="new-device"),
        pytest.param({GPU0: HEALTHY}, {GPU0: HEALTHY}, [], id="same-word-again"),
        pytest.param({GPU0: HEALTHY}, {GPU0: UNHEALTHY}, [GPU0], id="health-flips"),
        pytest.param(
            {GPU0: UNHEALTHY},
            {GPU0: UNHEALTHY._replace(message="page retired")},
            [GPU0],
            id="another-message",
        ),
        pytest.param({GPU0: HEALTHY}, {GPU0: SHORT()}, [], id="another-timeout-shows-nowhere"),
        pytest.param({GPU0: HEALTHY}, {}, [], id="silence-within-the-timeout"),
        pytest.param({}, {GPU0: Word()}, [], id="unknown-as-before"),
    ],
)
def test_a_report_names_only_what_changed(
    cache: HealthCache, first: Words, second: Words, changed: list[DeviceID]
) -> None:
    cache.apply_report(DRIVER, first)
    assert list(cache.apply_report(DRIVER, second).changed) == changed


def test_a_device_nobody_spoke_of_is_unknown_and_says_nothing(cache: HealthCache) -> None:
    assert cache.read(GPU0) == Opinion(Health.UNKNOWN, "")


def test_a_word_lapses_exactly_at_its_timeout(cache: HealthCache, clock: FakeClock) -> None:
    cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
    deadline = cache.next_deadline()
    assert deadline == DEFAULT_TIMEOUT_SECONDS
    clock.advance(deadline - 0.001)
    assert cache.expire() == ()
    assert cache.read(GPU0).health is Health.UNHEALTHY
    clock.advance(0.001)
    assert cache.read(GPU0).health is Health.UNKNOWN  # also before anybody calls expire
    assert cache.expire() == (GPU0,)
    assert cache.expire() == ()
    assert cache.next_deadline() is None


def test_an_unknown_device_tells_why_and_what_was_last_known(
    cache: HealthCache, clock: FakeClock
) -> None:
    cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
    clock.advance(DEFAULT_TIMEOUT_SECONDS)
    expected = (
        "driver gpu.example.com has not reported this device for 30 s; "
        "last known Unhealthy at 2026-01-01T00:00:00Z: ECC error"
    )
    assert cache.read(GPU0).message == expected
    cache.expire()
    clock.advance(1000)
    assert cache.read(GPU0).message == expected  # it does not change by looking at it


def test_each_device_has_its_own_timeout(cache: HealthCache, clock: FakeClock) -> None:
    cache.apply_report(DRIVER, {GPU0: HEALTHY, GPU1: SHORT()})
    clock.advance(3.0)
    assert cache.expire() == (GPU1,)
    assert cache.next_deadline() == DEFAULT_TIMEOUT_SECONDS


def test_a_renewed_word_moves_its_deadline(cache: HealthCache, clock: FakeClock) -> None:
    cache.apply_report(DRIVER, {GPU0: HEALTHY})
    clock.advance(20)
    cache.apply_report(DRIVER, {GPU0: HEALTHY})
    clock.advance(20)
    assert cache.expire() == ()
    assert cache.next_deadline() == 20 + DEFAULT_TIMEOUT_SECONDS


def test_a_shorter_timeout_moves_the_deadline_forward(cache: HealthCache) -> None:
    cache.apply_report(DRIVER, {GPU0: HEALTHY})
    cache.apply_report(DRIVER, {GPU0: SHORT()})
    assert cache.next_deadline() == 3.0


def test_a_lapsed_device_comes_back_with_a_report(cache: HealthCache, clock: FakeClock) -> None:
    cache.apply_report(DRIVER, {GPU0: HEALTHY})
    clock.advance(60)
    cache.expire()
    assert cache.apply_report(DRIVER, {GPU0: HEALTHY}).changed == (GPU0,)
    assert cache.read(GPU0) == (Health.HEALTHY, "")
    assert cache.next_deadline() == 60 + DEFAULT_TIMEOUT_SECONDS


# Streams that end ------------------------------------------------------------------------------


def test_after_the_grace_period_words_of_an_ended_stream_are_not_believed(
    cache: HealthCache, clock: FakeClock
) -> None:
    cache.apply_report(DRIVER, {GPU0: HEALTHY, GPU1: UNHEALTHY})
    clock.advance(12)
    cache.end(DRIVER, "health stream of driver gpu.example.com ended: killed", grace_seconds=5)
    assert cache.next_deadline() == 17
    clock.advance(4.9)
    assert cache.read(GPU0).health is Health.HEALTHY
    clock.advance(0.1)
    assert cache.expire() == (GPU0, GPU1)
    health, message = cache.read(GPU0)
    assert health is Health.UNKNOWN
    assert message == (
        "health stream of driver gpu.example.com ended: killed; "
        "last known Healthy at 2026-01-01T00:00:00Z"
    )


def test_a_report_within_the_grace_period_undoes_the_end(
    cache: HealthCache, clock: FakeClock
) -> None:
    cache.apply_report(DRIVER, {GPU0: HEALTHY, GPU1: HEALTHY})
    cache.end(DRIVER, "ended", grace_seconds=5)
    clock.advance(4)
    assert cache.apply_report(DRIVER, {GPU0: HEALTHY}).changed == ()
    clock.advance(10)
    assert cache.expire() == ()
    # Whoever the new stream does not mention lapses at its own timeout.
    clock.advance(DEFAULT_TIMEOUT_SECONDS - 14)
    assert cache.expire() == (GPU1,)


def test_ends_that_follow_do_not_prolong_the_grace_period(
    cache: HealthCache, clock: FakeClock
) -> None:
    cache.apply_report(DRIVER, {GPU0: HEALTHY})
    cache.end(DRIVER, "first", grace_seconds=5)
    clock.advance(3)
    cache.end(DRIVER, "second", grace_seconds=5)
    clock.advance(2)
    assert cache.expire() == (GPU0,)
    # And once it is over, further failures are no news.
    cache.end(DRIVER, "third", grace_seconds=5)
    before = cache.read(GPU0)
    clock.advance(5)
    assert cache.expire() == ()
    assert cache.read(GPU0) == before


def test_the_end_of_one_driver_leaves_the_others_alone(
    cache: HealthCache, clock: FakeClock
) -> None:
    nic = DeviceID("nic.example.com", "node-1", "eth0")
    cache.apply_report(DRIVER, {GPU0: HEALTHY})
    cache.apply_report("nic.example.com", {nic: HEALTHY})
    cache.end(DRIVER, "ended", grace_seconds=0)
    cache.end("nobody.example.com", "ended", grace_seconds=0)
    assert cache.expire() == (GPU0,)
    assert cache.read(nic).health is Health.HEALTHY


# Limits ----------------------------------------------------------------------------------------


def test_at_the_cap_new_devices_wait_until_a_known_one_lapses(
    cache: HealthCache, clock: FakeClock
) -> None:
    cache.apply_report(DRIVER, {GPU0: HEALTHY, GPU1: HEALTHY})
    refused = cache.apply_report(DRIVER, {GPU0: HEALTHY, GPU2: HEALTHY})
    assert refused == ((), 1)
    clock.advance(DEFAULT_TIMEOUT_SECONDS)
    taken = cache.apply_report(DRIVER, {GPU0: HEALTHY, GPU2: HEALTHY})
    assert taken.ignored_count == 0
    assert GPU1 in taken.changed  # forgotten, it has no message any more
    assert cache.read(GPU1) == (Health.UNKNOWN, "")


def test_lapsed_devices_are_remembered_while_there_is_room(
    cache: HealthCache, clock: FakeClock
) -> None:
    cache.apply_report(DRIVER, {GPU0: HEALTHY})
    clock.advance(1000)
    cache.apply_report(DRIVER, {GPU1: HEALTHY})
    assert "last known Healthy" in cache.read(GPU0).message


def test_drivers_beyond_the_limit_take_the_place_of_silent_ones(clock: FakeClock) -> None:
    cache = HealthCache(clock)

    def device(n: int) -> DeviceID:
        return DeviceID(f"d{n}.example.com", "pool", "device")

    for n in range(DRIVERS_MAX):
        cache.apply_report(device(n).driver, {device(n): HEALTHY})
    late = device(DRIVERS_MAX)
    assert cache.apply_report(late.driver, {late: HEALTHY}) == ((), 1)
    clock.advance(60)
    assert cache.apply_report(late.driver, {late: HEALTHY}).ignored_count == 0
    assert len(cache) == DRIVERS_MAX


def test_alarms_that_were_overtaken_do_not_pile_up(clock: FakeClock) -> None:
    cache = HealthCache(clock)
    for seconds in range(5000, 10, -1):
        cache.apply_report(DRIVER, {GPU0: HEALTHY._replace(timeout_seconds=float(seconds))})
    assert len(cache._alarms) < 100
    assert cache.next_deadline() == 11.0


# Facts -----------------------------------------------------------------------------------------


def test_facts_tell_belief_from_report(cache: HealthCache, clock: FakeClock) -> None:
    cache.apply_report(DRIVER, {GPU0: HEALTHY})
    clock.advance(10)
    cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
    told = clock.now()
    clock.advance(5)
    cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
    (fact,) = cache.facts()
    assert (fact.health, fact.since, fact.last_report, fact.stale) == (
        Health.UNHEALTHY,
        told,
        clock.now(),
        False,
    )
    heard = clock.now()
    clock.advance(DEFAULT_TIMEOUT_SECONDS)
    cache.expire()
    (fact,) = cache.facts()
    assert (fact.health, fact.since, fact.last_report, fact.stale, fact.reported) == (
        Health.UNKNOWN,
        clock.now(),
        heard,
        True,
        UNHEALTHY,
    )


def test_what_was_known_before_a_restart_is_remembered_but_not_believed(
    cache: HealthCache, clock: FakeClock
) -> None:
    cache.apply_report(DRIVER, {GPU0: HEALTHY, GPU1: UNHEALTHY})
    successor = HealthCache(clock)
    successor.restore(cache.facts())
    health, message = successor.read(GPU1)
    assert health is Health.UNKNOWN
    assert message == (
        "not reported since the agent was restarted; "
        "last known Unhealthy at 2026-01-01T00:00:00Z: ECC error"
    )
    assert successor.next_deadline() is None
    assert successor.apply_report(DRIVER, {GPU0: HEALTHY}).changed == (GPU0,)
    # Restarts do not pile up in the message.
    third = HealthCache(clock)
    third.restore(successor.facts())
    assert third.read(GPU1) == successor.read(GPU1)


def test_the_version_moves_with_every_change_worth_keeping_and_with_no_other(
    cache: HealthCache, clock: FakeClock
) -> None:
    versions = [cache.version]
    for words in ({GPU0: HEALTHY}, {GPU0: HEALTHY}, {GPU0: SHORT()}, {GPU0: SHORT()}):
        cache.apply_report(DRIVER, words)
        versions.append(cache.version)
    clock.advance(60)
    cache.expire()
    versions.append(cache.version)
    grew = [after > before for before, after in pairwise(versions)]
    assert grew == [True, False, True, False, True]


# Against a model -------------------------------------------------------------------------------

reports = st.dictionaries(
    st.sampled_from([GPU0, GPU1]),
    st.builds(Word, st.sampled_from(Health), timeout_seconds=st.sampled_from([3.0, 30.0])),
)
waits = st.sampled_from([0.0, 1.0, 3.0, 5.0, 30.0])
steps = st.lists(st.tuples(waits, st.one_of(reports, st.just("end"), st.just("expire"))))


@pytest.mark.slow
@given(steps)
def test_readers_cannot_tell_when_the_timer_came(steps: list[tuple[float, Words | str]]) -> None:
    """Against a model without timers: health is a function of what was said, and when."""
    clock = FakeClock()
    cache = HealthCache(clock)
    heard: dict[DeviceID, tuple[Health, float]] = {}  # and until when it is believed
    ends_at = inf
    for wait_seconds, step in steps:
        clock.advance(wait_seconds)
        now = clock.monotonic()
        if now >= ends_at:
            heard, ends_at = {}, inf
        for device in (GPU0, GPU1):
            health, deadline = heard.get(device, (Health.UNKNOWN, -inf))
            assert cache.read(device).health is (health if now < deadline else Health.UNKNOWN)
        if step == "end":
            cache.end(DRIVER, "ended", grace_seconds=5)
            ends_at = min(ends_at, now + 5) if cache.facts() else inf
        elif step == "expire":
            cache.expire()
            deadline = cache.next_deadline() or inf
            assert all(deadline <= until for health, until in heard.values() if until > now), (
                "a timer would come too late"
            )
        elif isinstance(step, dict):
            cache.apply_report(DRIVER, step)
            ends_at = inf
            heard.update({d: (w.health, now + w.timeout_seconds) for d, w in step.items()})
