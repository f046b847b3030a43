"""How GPUs are judged, and what it takes to be called healthy again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.drivers.nvml.config import HealthRules
from dray.drivers.nvml.health import GpuHealth, Verdict
from dray.drivers.nvml.probe import Reading
from dray.sdk import Health

FINE = Reading(
    temperature=40,
    slowdown_at=89,
    shutdown_at=92,
    uncorrected_errors=0,
    links_up=2,
    link_errors=0,
    recovery_action=0,
)
RECOVER = 60.0


def healthy() -> GpuHealth:
    health = GpuHealth(HealthRules(recover_seconds=RECOVER))
    health.hear_reading(FINE, now=0.0)
    assert health.verdict() == Verdict(Health.HEALTHY)
    return health


def judged(reading: Reading) -> Verdict:
    health = healthy()
    health.hear_reading(reading, now=1.0)
    return health.verdict()


def test_nothing_is_known_before_the_first_look() -> None:
    assert GpuHealth(HealthRules()).verdict().health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("reading", "health", "message"),
    [
        (replace(FINE, temperature=89), Health.DEGRADED, "slows down above 89 °C"),
        (replace(FINE, temperature=92), Health.UNHEALTHY, "shuts down above 92 °C"),
        (replace(FINE, uncorrected_errors=2), Health.UNHEALTHY, "2 new uncorrectable"),
        (replace(FINE, remap_failed=True), Health.UNHEALTHY, "replace the GPU"),
        (replace(FINE, remap_pending=True), Health.DEGRADED, "next reset"),
        (replace(FINE, retirement_pending=True), Health.DEGRADED, "pages are retired"),
        (replace(FINE, links_up=1), Health.DEGRADED, "1 of 2 NVLinks are down"),
        (replace(FINE, link_errors=101), Health.DEGRADED, "NVLinks have many errors"),
        (replace(FINE, link_errors=100), Health.HEALTHY, ""),
        (replace(FINE, recovery_action=1), Health.UNHEALTHY, "asks for a reset of the GPU"),
        (Reading(lost="GPU is lost"), Health.UNHEALTHY, "does not answer: GPU is lost"),
        (Reading(unreadable="Unknown Error"), Health.UNKNOWN, "cannot be read: Unknown Error"),
        (Reading(), Health.HEALTHY, ""),
    ],
)
def test_a_look_says_how_a_gpu_is(reading: Reading, health: Health, message: str) -> None:
    verdict = judged(reading)
    assert verdict.health is health
    assert message in verdict.message


def test_errors_from_before_the_driver_started_are_no_news() -> None:
    health = GpuHealth(HealthRules())
    health.hear_reading(replace(FINE, uncorrected_errors=5), now=0.0)
    assert health.verdict() == Verdict(
        Health.DEGRADED, "5 uncorrectable memory errors since the last reset"
    )
    health.hear_reading(replace(FINE, uncorrected_errors=6), now=1.0)
    assert health.verdict().health is Health.UNHEALTHY


def test_an_xid_is_a_fault_until_the_gpu_was_well_for_a_while() -> None:
    health = healthy()
    health.hear_xid(94, instance=None, now=10.0)
    assert health.verdict().health is Health.UNHEALTHY
    health.hear_reading(FINE, now=11.0)
    verdict = health.verdict()
    assert verdict.health is Health.UNHEALTHY
    assert verdict.message.startswith("XID 94: contained memory error; the GPU is without fault")
    health.hear_reading(FINE, now=10.0 + RECOVER - 1)
    assert health.verdict() == verdict
    health.hear_reading(FINE, now=10.0 + RECOVER)
    assert health.verdict() == Verdict(Health.HEALTHY)


def test_another_fault_while_being_watched_begins_the_watch_anew() -> None:
    health = healthy()
    health.hear_xid(94, instance=None, now=10.0)
    health.hear_reading(replace(FINE, temperature=95), now=50.0)
    health.hear_reading(FINE, now=75.0)
    assert health.verdict().health is Health.UNHEALTHY
    health.hear_reading(FINE, now=50.0 + RECOVER)
    assert health.verdict().health is Health.HEALTHY


def test_a_gpu_that_cannot_be_read_does_not_recover() -> None:
    health = healthy()
    health.hear_xid(94, instance=None, now=10.0)
    health.hear_reading(Reading(unreadable="Unknown Error"), now=100.0)
    assert health.verdict().health is Health.UNHEALTHY
    health.hear_reading(FINE, now=101.0)
    assert health.verdict().health is Health.UNHEALTHY


def test_after_some_xids_only_a_reset_helps() -> None:
    without = replace(FINE, recovery_action=None)
    health = GpuHealth(HealthRules(recover_seconds=RECOVER))
    health.hear_reading(without, now=0.0)
    health.hear_xid(79, instance=None, now=10.0)
    health.hear_reading(without, now=10_000.0)
    assert health.verdict() == Verdict(
        Health.UNHEALTHY, "XID 79: GPU has fallen off the bus; it needs a reset"
    )
    # It was away and came back: that was a reset. Still it is watched for a while.
    health.hear_reading(Reading(lost="GPU is lost"), now=10_001.0)
    assert health.verdict().health is Health.UNHEALTHY
    health.hear_reading(without, now=10_002.0)
    assert health.verdict().health is Health.UNHEALTHY
    health.hear_reading(without, now=10_001.0 + RECOVER)
    assert health.verdict() == Verdict(Health.HEALTHY)


def test_a_reset_also_shows_in_what_the_kernel_driver_asks_for() -> None:
    health = healthy()
    health.hear_xid(48, instance=None, now=10.0)
    health.hear_reading(replace(FINE, recovery_action=1), now=11.0)
    assert "it needs a reset" in health.verdict().message
    health.hear_reading(FINE, now=20.0)
    assert "being watched" in health.verdict().message
    health.hear_reading(FINE, now=11.0 + RECOVER)
    assert health.verdict().health is Health.HEALTHY


def test_a_reset_also_shows_in_counters_that_begin_anew() -> None:
    without = replace(FINE, recovery_action=None)
    health = GpuHealth(HealthRules(recover_seconds=RECOVER))
    health.hear_reading(without, now=0.0)
    health.hear_xid(48, instance=None, now=10.0)
    health.hear_reading(replace(without, uncorrected_errors=1), now=11.0)
    health.hear_reading(without, now=20.0)
    assert "it needs a reset" not in health.verdict().message
    health.hear_reading(without, now=11.0 + RECOVER)
    assert health.verdict().health is Health.HEALTHY


def test_an_applications_own_doing_degrades_and_what_is_ignored_does_nothing() -> None:
    health = GpuHealth(HealthRules(ignore_xids=(63,), recover_seconds=RECOVER))
    health.hear_reading(FINE, now=0.0)
    health.hear_xid(63, instance=None, now=1.0)
    assert health.verdict() == Verdict(Health.HEALTHY)
    health.hear_xid(31, instance=None, now=1.0)
    assert health.verdict().health is Health.DEGRADED
    assert health.verdict().message.startswith("XID 31: ")
    health.hear_reading(FINE, now=1.0 + RECOVER)
    assert health.verdict() == Verdict(Health.HEALTHY)


def test_the_worse_of_two_xids_is_told() -> None:
    health = healthy()
    health.hear_xid(94, instance=None, now=1.0)
    health.hear_xid(31, instance=None, now=2.0)
    assert health.verdict().message.startswith("XID 94")
    health.hear_xid(79, instance=None, now=3.0)
    assert health.verdict().message.startswith("XID 79")


def test_a_fault_of_an_instance_is_its_own_and_one_of_the_gpu_is_everybodys() -> None:
    health = healthy()
    health.hear_xid(94, instance=3, now=1.0)
    assert health.verdict(3).health is Health.UNHEALTHY
    assert health.verdict(4).health is Health.HEALTHY
    assert health.verdict().health is Health.HEALTHY
    health.hear_xid(95, instance=3, now=2.0)
    for instance in (None, 3, 4):
        assert health.verdict(instance).health is Health.UNHEALTHY


def test_a_gpu_without_events_says_that_it_is_only_probed() -> None:
    health = healthy()
    health.unwatched = "Not Supported"
    assert health.verdict() == Verdict(
        Health.HEALTHY, "only probed, XID errors go unseen: Not Supported"
    )


readings = st.sampled_from(
    [
        FINE,
        replace(FINE, temperature=95),
        replace(FINE, recovery_action=1),
        replace(FINE, uncorrected_errors=1),
        Reading(lost="GPU is lost"),
        Reading(unreadable="Unknown Error"),
    ]
)
steps = st.lists(st.tuples(st.sampled_from([1.0, 30.0, RECOVER]), readings | st.just(79)))


@pytest.mark.slow
@given(steps)
def test_nobody_is_healthy_within_a_while_of_a_fault(told: list[tuple[float, object]]) -> None:
    health, now, bad_at = healthy(), 0.0, float("-inf")
    for wait_seconds, step in told:
        now += wait_seconds
        if isinstance(step, Reading):
            health.hear_reading(step, now=now)
            # Not to be readable for a moment is no fault.
            if step != FINE and not step.unreadable:
                bad_at = now
        else:
            health.hear_xid(79, instance=None, now=now)
            bad_at = now
        if now - bad_at < RECOVER and bad_at > float("-inf"):
            assert health.verdict().health is not Health.HEALTHY
