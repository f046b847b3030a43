"""Which events are stored, counted up, combined or left out."""

from __future__ import annotations

import pytest

from dray.api.core import Event, EventSource, ObjectReference
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.client._correlator import BURST, REMEMBERED_MAX, Correlator, event_name
from dray.testing import FakeClock


def event(message: str, *, name: str = "p.1", reason: str = "Failed", pod: str = "p") -> Event:
    clock = FakeClock()
    return Event(
        metadata=ObjectMeta(name=name, namespace="default"),
        involved_object=ObjectReference(kind="Pod", name=pod, namespace="default", uid=pod),
        reason=reason,
        message=message,
        source=EventSource(component="test"),
        first_timestamp=Time(clock.now()),
        last_timestamp=Time(clock.now()),
        count=1,
        type="Warning",
    )


def test_what_repeats_is_counted_in_the_first_event() -> None:
    correlator = Correlator(FakeClock())
    first = correlator.correlate(event("no", name="p.1"))
    assert first is not None
    assert first.patch is None
    second = correlator.correlate(event("no", name="p.2"))
    assert second is not None
    assert second.event.metadata.name == "p.1"
    assert second.patch == {"count": 2, "lastTimestamp": "2026-01-01T00:00:00Z", "message": "no"}


def test_the_tenth_message_of_a_reason_is_combined_and_later_ones_with_it() -> None:
    correlator = Correlator(FakeClock())
    found = [correlator.correlate(event(f"try {n}", name=f"p.{n}")) for n in range(12)]
    messages = [each.event.message for each in found if each]
    assert messages[8:11] == [
        "try 8",
        "(combined from similar events): try 9",
        "(combined from similar events): try 10",
    ]
    assert found[9] is not None
    assert found[9].patch is None
    assert found[10] is not None
    assert found[10].event.metadata.name == "p.9"
    assert found[10].patch is not None
    assert found[10].patch["count"] == 2


def test_similar_events_that_are_far_apart_are_not_combined() -> None:
    clock = FakeClock()
    correlator = Correlator(clock)
    for number in range(15):
        found = correlator.correlate(event(f"try {number}"))
        assert found is not None
        assert found.event.message == f"try {number}"
        clock.advance(601)


def test_a_source_that_says_too_much_about_an_object_is_left_out_for_a_while() -> None:
    clock = FakeClock()
    correlator = Correlator(clock)
    allowed = [correlator.correlate(event("no")) is not None for _ in range(30)]
    assert allowed == [True] * int(BURST) + [False] * 5
    assert correlator.correlate(event("no", pod="other")) is not None
    clock.advance(301)
    assert correlator.correlate(event("no")) is not None
    assert correlator.correlate(event("no")) is None


def test_what_is_remembered_is_bounded() -> None:
    correlator = Correlator(FakeClock())
    for number in range(REMEMBERED_MAX + 10):
        correlator.correlate(event("no", pod=f"p{number}"))
    assert len(correlator._seen._values) == REMEMBERED_MAX
    again = correlator.correlate(event("no", pod="p0"))
    assert again is not None
    assert again.patch is None


@pytest.mark.parametrize(
    ("regarding", "name"),
    [("p", "p.ff"), ("system:node", ""), ("Upper", ""), ("a" * 252, "")],
    ids=["plain", "colon", "upper-case", "too-long"],
)
def test_an_event_is_called_after_its_object_if_that_can_be_a_name(
    regarding: str, name: str
) -> None:
    assert event_name(regarding, 255) == name
