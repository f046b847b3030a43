from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.agent.health.words import (
    DEFAULT_TIMEOUT_SECONDS,
    DEVICES_PER_DRIVER_MAX,
    MESSAGE_BYTES_MAX,
    DeviceID,
    Health,
    Word,
    cut_text,
    read_report,
)
from dray.proto.health_v1_pb2 import DeviceHealth, DeviceIdentifier, NodeWatchResourcesResponse

DRIVER = "gpu.example.com"
GPU0 = DeviceID(DRIVER, "node-1", "gpu-0")


def said(
    pool: str = "node-1",
    device: str = "gpu-0",
    *,
    health: int = 1,
    message: str = "",
    timeout_seconds: int = 0,
) -> DeviceHealth:
    return DeviceHealth(
        device=DeviceIdentifier(pool_name=pool, device_name=device),
        health=health,  # type: ignore[arg-type] # also values that the enumeration lacks
        message=message,
        health_check_timeout_seconds=timeout_seconds,
    )


def read(*devices: DeviceHealth) -> dict[DeviceID, Word]:
    return read_report(DRIVER, NodeWatchResourcesResponse(devices=devices)).words


@pytest.mark.parametrize(
    ("number", "health"),
    [
        pytest.param(0, Health.UNKNOWN, id="unknown"),
        pytest.param(1, Health.HEALTHY, id="healthy"),
        pytest.param(2, Health.UNHEALTHY, id="unhealthy"),
        pytest.param(77, Health.UNKNOWN, id="a-value-from-the-future"),
        pytest.param(-1, Health.UNKNOWN, id="negative"),
    ],
)
def test_health_is_read_as_what_it_says(number: int, health: Health) -> None:
    assert read(said(health=number))[GPU0].health is health


@pytest.mark.parametrize(
    ("said_seconds", "seconds"),
    [
        pytest.param(0, DEFAULT_TIMEOUT_SECONDS, id="not-said"),
        pytest.param(-5, DEFAULT_TIMEOUT_SECONDS, id="negative"),
        pytest.param(7, 7.0, id="said"),
        pytest.param(2**63 - 1, 365 * 24 * 3600.0, id="beyond-what-a-file-can-hold"),
    ],
)
def test_a_timeout_that_makes_no_sense_is_not_taken(said_seconds: int, seconds: float) -> None:
    assert read(said(timeout_seconds=said_seconds))[GPU0].timeout_seconds == seconds


@pytest.mark.parametrize(
    ("pool", "device"),
    [
        pytest.param("", "gpu-0", id="no-pool"),
        pytest.param("node-1", "", id="no-device"),
        pytest.param("p" * 254, "gpu-0", id="a-name-no-slice-can-have"),
    ],
)
def test_entries_that_name_no_device_are_counted_and_left_out(pool: str, device: str) -> None:
    report = read_report(DRIVER, NodeWatchResourcesResponse(devices=[said(pool, device), said()]))
    assert list(report.words) == [GPU0]
    assert report.ignored_count == 1


def test_an_entry_without_a_device_is_left_out() -> None:
    report = read_report(DRIVER, NodeWatchResourcesResponse(devices=[DeviceHealth()]))
    assert report == ({}, 1)


def test_the_last_word_on_a_device_counts() -> None:
    assert read(said(health=1), said(health=2))[GPU0].health is Health.UNHEALTHY


@pytest.mark.slow
def test_a_hundred_thousand_devices_are_not_read_to_the_end() -> None:
    many = NodeWatchResourcesResponse(devices=[said(device=f"d{n}") for n in range(100_000)])
    report = read_report(DRIVER, many)
    assert len(report.words) == DEVICES_PER_DRIVER_MAX
    assert report.ignored_count == 100_000 - DEVICES_PER_DRIVER_MAX


@given(st.text(st.sampled_from("a\u00e9\u20ac\U0001f525"), max_size=40), st.integers(0, 60))
def test_a_cut_never_splits_a_character(text: str, bytes_max: int) -> None:
    cut = cut_text(text, bytes_max)
    assert text.startswith(cut)
    assert len(cut.encode()) <= bytes_max
    # And as much as fits is kept.
    assert cut == text or len((cut + text[len(cut)]).encode()) > bytes_max


def test_a_long_message_is_cut_to_what_the_api_takes() -> None:
    message = read(said(message="\u20ac" * 1000))[GPU0].message
    assert message == "\u20ac" * (MESSAGE_BYTES_MAX // 3)
