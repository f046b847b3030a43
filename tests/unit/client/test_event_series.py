"""Series: what repeats is counted, what is over begins anew, and memory has its bounds."""

from __future__ import annotations

import pytest

from dray.api.core import Event, ObjectReference
from dray.api.meta import ObjectMeta
from dray.api.wire import MicroTime, replace
from dray.client import _event_series
from dray.client._correlator import BURST
from dray.client._event_series import FINISHED_SECONDS, SeriesCorrelator
from dray.testing import FakeClock

EVENT = Event(
    metadata=ObjectMeta(name="p.1", namespace="default"),
    involved_object=ObjectReference(kind="Pod", namespace="default", name="p", uid="u"),
    type="Warning",
    reason="FailedScheduling",
    action="Scheduling",
    message="no room",
    reporting_component="scheduler",
    reporting_instance="scheduler-n1",
)


class Happening:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.correlator = SeriesCorrelator(self.clock)

    def happens(self, event: Event = EVENT) -> tuple[str, int]:
        """What is written: nothing, or `create` or `patch` and the count."""
        event = replace(event, event_time=MicroTime(self.clock.now()))
        correlated = self.correlator.correlate(event)
        if correlated is None:
            return "nothing", 0
        if correlated.patch is None:
            return "create", 1
        assert correlated.event.series is not None
        assert correlated.patch["series"]["count"] == correlated.event.series.count
        return "patch", correlated.event.series.count

    def unwritten(self) -> list[int]:
        return [each.patch["series"]["count"] for each in self.correlator.unwritten() if each.patch]


def test_the_first_is_created_the_second_patched_and_the_rest_kept_for_later() -> None:
    happening = Happening()
    assert [happening.happens() for _ in range(4)] == [
        ("create", 1),
        ("patch", 2),
        ("nothing", 0),
        ("nothing", 0),
    ]
    assert happening.unwritten() == [4]
    assert happening.unwritten() == []


def test_what_has_not_happened_for_long_is_new() -> None:
    happening = Happening()
    happening.happens()
    happening.clock.advance(FINISHED_SECONDS)
    assert happening.happens() == ("patch", 2)
    happening.clock.advance(FINISHED_SECONDS + 1)
    assert happening.happens() == ("create", 1)


@pytest.mark.parametrize(
    "other",
    [
        replace(EVENT, involved_object=replace(EVENT.involved_object, uid="v")),
        replace(EVENT, involved_object=replace(EVENT.involved_object, field_path="spec.x")),
        replace(EVENT, type="Normal"),
        replace(EVENT, reason="Preempted"),
        replace(EVENT, action="Preempting"),
        replace(EVENT, message="no devices"),
        replace(EVENT, related=ObjectReference(kind="Node", name="n1")),
        replace(EVENT, reporting_component="another"),
    ],
)
def test_what_differs_is_another_event(other: Event) -> None:
    happening = Happening()
    happening.happens()
    assert happening.happens(other) == ("create", 1)
    assert happening.happens() == ("patch", 2)


def test_what_was_written_to_an_object_meanwhile_starts_no_new_series() -> None:
    happening = Happening()
    happening.happens()
    later = replace(EVENT.involved_object, resource_version="7")
    assert happening.happens(replace(EVENT, involved_object=later)) == ("patch", 2)


def test_who_says_too_many_different_things_about_an_object_is_not_heard() -> None:
    happening = Happening()
    written = [
        happening.happens(replace(EVENT, message=str(number)))[0]
        for number in range(int(BURST) + 5)
    ]
    assert written == ["create"] * int(BURST) + ["nothing"] * 5
    # What is known already is counted all the same.
    assert happening.happens(replace(EVENT, message="0")) == ("patch", 2)


def test_of_too_many_the_one_that_happened_least_lately_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_event_series, "REMEMBERED_MAX", 3)
    happening = Happening()
    for message in "abcabca":
        happening.happens(replace(EVENT, message=message))
    happening.happens(replace(EVENT, message="d"))
    assert len(happening.correlator._series) == 3
    assert happening.happens(replace(EVENT, message="a")) == ("nothing", 0)
    assert happening.happens(replace(EVENT, message="b")) == ("create", 1)
    assert happening.unwritten() == [4]
