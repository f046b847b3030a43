"""Words on health, and their form on the wire."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dray.proto import health_v1_pb2
from dray.sdk._health import DeviceHealth, Health, as_v1alpha1, cut_message, responses

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_a_word_crosses_the_wire_with_its_pool_time_and_timeout() -> None:
    word = DeviceHealth("gpu-0", Health.UNHEALTHY, "XID 79", "node-1", timeout_seconds=12.5)
    (response,) = responses([word], now=NOW)
    (sent,) = response.devices
    assert (sent.device.pool_name, sent.device.device_name) == ("node-1", "gpu-0")
    assert sent.health == health_v1_pb2.UNHEALTHY
    assert sent.message == "XID 79"
    assert sent.last_updated_time == int(NOW.timestamp())
    assert sent.health_check_timeout_seconds == 13


def test_a_degraded_device_is_healthy_to_peers_and_says_how() -> None:
    (response,) = responses([DeviceHealth("gpu-0", Health.DEGRADED, "slow link")], now=NOW)
    assert response.devices[0].health == health_v1_pb2.HEALTHY
    assert response.devices[0].message == "Degraded: slow link"


def test_the_older_version_says_the_same() -> None:
    (response,) = responses([DeviceHealth("gpu-0", Health.HEALTHY, "fine", "p")], now=NOW)
    older = as_v1alpha1(response)
    assert older.devices[0].device.device_name == "gpu-0"
    assert older.SerializeToString() == response.SerializeToString()


@pytest.mark.parametrize("text", ["a" * 1025, "é" * 600, "𝄞" * 300, "a" + "日" * 400])
def test_a_long_message_is_cut_between_characters(text: str) -> None:
    cut = cut_message(text)
    assert len(cut.encode()) <= 1024
    assert len(cut.encode()) > 1024 - 8
    assert text.startswith(cut.removesuffix("…"))


def test_a_message_that_fits_stays_and_broken_text_becomes_text() -> None:
    assert cut_message("é" * 512) == "é" * 512
    assert cut_message("bad \udcff byte") == "bad ? byte"


def test_many_devices_travel_in_several_responses_of_bounded_size() -> None:
    words = [
        DeviceHealth(f"device-{n:058}", Health.UNHEALTHY, "m" * 2000, "p" * 253)
        for n in range(2500)
    ]
    sent = list(responses(words, now=NOW))
    assert [len(response.devices) for response in sent] == [1000, 1000, 500]
    assert all(response.ByteSize() < 2 * 1024 * 1024 for response in sent)


def test_no_devices_are_one_empty_response() -> None:
    (response,) = responses([], now=NOW)
    assert not response.devices


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_word_holds_for_some_time(seconds: float) -> None:
    with pytest.raises(ValueError, match="gpu-0"):
        DeviceHealth("gpu-0", Health.HEALTHY, timeout_seconds=seconds)
