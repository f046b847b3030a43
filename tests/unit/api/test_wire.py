"""The struct base and timestamps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.meta import Object, ObjectMeta
from dray.api.wire import MicroTime, Time, UnknownFields, blank, replace
from dray.errors import ParseError
from dray.testing.strategies import times

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z", id="canonical"),
        pytest.param("2026-01-31T13:30:00+01:30", "2026-01-31T12:00:00Z", id="other-zone"),
        pytest.param("2026-01-31T12:00:00.999999999Z", "2026-01-31T12:00:00Z", id="fraction-cut"),
        pytest.param("0099-01-31T12:00:00Z", "0099-01-31T12:00:00Z", id="year-padded"),
    ],
)
def test_a_time_is_written_in_utc_to_the_second(text: str, canonical: str) -> None:
    assert str(Time.parse(text)) == canonical


def test_a_micro_time_keeps_six_digits() -> None:
    assert str(MicroTime.parse("2026-01-31T12:00:00.1234567Z")) == "2026-01-31T12:00:00.123456Z"
    assert str(MicroTime(NOON)) == "2026-01-31T12:00:00.000000Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-01-31 12:00:00Z",
        "2026-1-31T12:00:00Z",
        "2026-02-30T12:00:00Z",
        "2026-01-31T24:00:01Z",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00.5xZ",
        "2026-01-31T12:00:00+0100",
        "2026-W05-6T12:00:00Z",
        "2026-01-31T12:00:00Z" * 1000,
        "0001-01-01T00:00:00+23:59",
    ],
)
def test_anything_but_rfc_3339_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="RFC 3339"):
        Time.parse(text)


def test_a_time_needs_a_zone() -> None:
    with pytest.raises(ParseError, match="time zone"):
        Time(datetime(2026, 1, 31))  # noqa: DTZ001 - that is the point


@given(times())
def test_times_round_trip(instant: datetime) -> None:
    assert MicroTime.parse(str(MicroTime(instant))).instant == instant
    assert Time.parse(str(Time(instant))) == Time(instant)


@given(times(), st.integers(-14 * 60, 14 * 60))
def test_a_time_is_its_instant_whatever_the_zone(instant: datetime, minutes: int) -> None:
    elsewhere = instant.astimezone(timezone(timedelta(minutes=minutes)))
    assert Time(elsewhere) == Time(instant)
    assert hash(Time(elsewhere)) == hash(Time(instant))


def test_times_are_ordered_and_immutable() -> None:
    earlier, later = Time(NOON), Time(NOON + timedelta(seconds=1))
    assert earlier < later <= later
    with pytest.raises(AttributeError):
        earlier.instant = NOON


def test_structs_are_frozen_and_replaced() -> None:
    meta = ObjectMeta(name="a", unknown_fields=UnknownFields({"x": 1}))
    with pytest.raises(AttributeError):
        meta.name = "b"  # type: ignore[misc]  # that is the point
    changed = replace(meta, name="b")
    assert (changed.name, changed.unknown_fields) == ("b", UnknownFields({"x": 1}))


def test_there_is_one_blank_struct_of_each_kind() -> None:
    assert blank(ObjectMeta) == ObjectMeta()
    assert blank(ObjectMeta) is blank(ObjectMeta)
    assert isinstance(blank(Object), Object)
