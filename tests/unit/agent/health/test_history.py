from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from dray.agent.health import history as module
from dray.agent.health.cache import HealthCache
from dray.agent.health.history import HealthHistory, decode_facts, encode_facts
from dray.agent.health.words import DeviceID, Health, Word
from dray.testing import FakeClock
from tests.unit.agent.health.fakes import settle

DRIVER = "gpu.example.com"
GPU0, GPU1 = (DeviceID(DRIVER, "node-1", f"gpu-{n}") for n in range(2))
UNHEALTHY = Word(Health.UNHEALTHY, "ECC error", 7.5)

# As kubelet 1.37 writes it.
FROM_A_KUBELET = (
    '{"gpu.example.com":{"Devices":{"node-1/gpu-0":{"PoolName":"node-1","DeviceName":"gpu-0",'
    '"Health":"Unhealthy","LastUpdated":"2026-01-01T02:03:04.123456789+02:00",'
    '"HealthCheckTimeout":7500000000,"Message":"ECC error"}}},"empty.example.com":{"Devices":null}}'
)


def written(path: Path) -> dict[str, Any]:
    devices: dict[str, Any] = json.loads(path.read_text())[DRIVER]["Devices"]
    return devices


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cache(clock: FakeClock) -> HealthCache:
    return HealthCache(clock)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / module.FILE_NAME


def test_what_a_kubelet_wrote_is_read(path: Path, clock: FakeClock, cache: HealthCache) -> None:
    path.write_text(FROM_A_KUBELET)
    HealthHistory(path, cache, clock=clock).load()
    (fact,) = cache.facts()
    assert fact.reported == UNHEALTHY
    assert fact.last_report.isoformat() == "2026-01-01T00:03:04.123456+00:00"
    assert fact.stale
    assert fact.message == (
        "not reported since the agent was restarted; "
        "last known Unhealthy at 2026-01-01T00:03:04Z: ECC error"
    )


def test_what_a_kubelet_reads_is_what_is_believed(cache: HealthCache, clock: FakeClock) -> None:
    cache.apply_report(DRIVER, {GPU0: UNHEALTHY, GPU1: Word(Health.HEALTHY)})
    clock.advance(10)
    cache.expire()
    devices = json.loads(encode_facts(cache.facts()))[DRIVER]["Devices"]
    silent, fresh = devices["node-1/gpu-0"], devices["node-1/gpu-1"]
    assert {key: fresh[key] for key in list(fresh)[:6]} == {
        "PoolName": "node-1",
        "DeviceName": "gpu-1",
        "Health": "Healthy",
        "LastUpdated": "2026-01-01T00:00:00Z",
        "HealthCheckTimeout": 30_000_000_000,
        "Message": "",
    }
    assert "Reported" not in fresh
    assert (silent["Health"], silent["Reported"], silent["ReportedMessage"]) == (
        "Unknown",
        "Unhealthy",
        "ECC error",
    )


def test_added_members_are_none_of_a_kubelets_in_any_case() -> None:
    """Go matches members without regard to case."""
    cache = HealthCache(FakeClock())
    cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
    cache.end(DRIVER, "ended", grace_seconds=0)
    cache.expire()
    members = list(json.loads(encode_facts(cache.facts()))[DRIVER]["Devices"]["node-1/gpu-0"])
    assert members[6:] == ["Reported", "ReportedMessage", "Since"]
    assert not {name.lower() for name in members[6:]} & {name.lower() for name in members[:6]}


def test_facts_survive_the_file(cache: HealthCache, clock: FakeClock) -> None:
    cache.apply_report(DRIVER, {GPU0: UNHEALTHY, GPU1: Word(Health.HEALTHY)})
    clock.advance(10.25)
    cache.expire()
    facts = decode_facts(encode_facts(cache.facts()))
    assert facts == list(cache.facts())


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"gpu.example.com":{"Devices":{"a/b":{"PoolName":"a"', id="cut-short"),
        pytest.param(b'["gpu.example.com"]', id="another-type"),
        pytest.param(b'{"d":{"Devices":{"a/b":{"Health":7}}}}', id="another-type-inside"),
        pytest.param(b"\xff\xfe", id="no-text"),
        pytest.param(
            b'{"d":{"Devices":{"a/b":{"PoolName":"a","DeviceName":"b","LastUpdated":"soon"}}}}',
            id="no-time",
        ),
    ],
)
def test_a_damaged_file_is_set_aside(
    data: bytes, path: Path, clock: FakeClock, cache: HealthCache
) -> None:
    path.write_bytes(data)
    HealthHistory(path, cache, clock=clock).load()
    assert len(cache) == 0
    assert not path.exists()
    assert path.with_name(f"{path.name}.damaged-0").read_bytes() == data


def test_a_file_that_is_longer_than_any_of_ours_is_not_read(
    path: Path, clock: FakeClock, cache: HealthCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILE_BYTES_MAX", 10)
    path.write_text(FROM_A_KUBELET)
    HealthHistory(path, cache, clock=clock).load()
    assert len(cache) == 0
    assert path.with_name(f"{path.name}.damaged-0").exists()


@pytest.mark.parametrize("data", [b"null", b"{}", b'{"d":{}}', b'{"d":{"Devices":{"x":{}}}}'])
def test_a_file_without_devices_is_no_damage(
    data: bytes, path: Path, clock: FakeClock, cache: HealthCache
) -> None:
    path.write_bytes(data)
    HealthHistory(path, cache, clock=clock).load()
    assert len(cache) == 0
    assert path.exists()


def test_times_that_go_calls_zero_are_read() -> None:
    (fact,) = decode_facts(
        b'{"d":{"Devices":{"a/b":{"PoolName":"a","DeviceName":"b",'
        b'"LastUpdated":"0001-01-01T00:00:00Z","HealthCheckTimeout":-1}}}}'
    )
    assert fact.last_report.year == 1970
    assert fact.reported == Word()


# Writing ---------------------------------------------------------------------------------------


@asynccontextmanager
async def running(history: HealthHistory) -> AsyncIterator[None]:
    task = asyncio.create_task(history.run())
    await settle()
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def test_changes_are_written_once_per_second_at_most(
    path: Path, clock: FakeClock, cache: HealthCache
) -> None:
    async def run() -> None:
        history = HealthHistory(path, cache, clock=clock)
        async with running(history):
            cache.apply_report(DRIVER, {GPU0: Word(Health.HEALTHY)})
            history.note()
            await settle()
            assert written(path)["node-1/gpu-0"]["Health"] == "Healthy"
            for _ in range(100):
                cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
                cache.apply_report(DRIVER, {GPU0: Word(Health.HEALTHY)})
                cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
                history.note()
            await settle()
            assert written(path)["node-1/gpu-0"]["Health"] == "Healthy"
            clock.advance(1)
            await settle()
            assert written(path)["node-1/gpu-0"]["Health"] == "Unhealthy"

    asyncio.run(run())


def test_words_that_repeat_themselves_are_not_written(
    path: Path, clock: FakeClock, cache: HealthCache
) -> None:
    async def run() -> None:
        history = HealthHistory(path, cache, clock=clock)
        async with running(history):
            cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
            history.note()
            await settle()
            inode = path.stat().st_ino
            for _ in range(10):
                clock.advance(1)
                cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
                history.note()
                await settle()
            assert path.stat().st_ino == inode

    asyncio.run(run())


def test_the_last_change_is_written_when_the_agent_stops(
    path: Path, clock: FakeClock, cache: HealthCache
) -> None:
    async def run() -> None:
        history = HealthHistory(path, cache, clock=clock)
        async with running(history):
            cache.apply_report(DRIVER, {GPU0: Word(Health.HEALTHY)})
            history.note()
            await settle()
            cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
        assert written(path)["node-1/gpu-0"]["Health"] == "Unhealthy"

    asyncio.run(run())


def test_writes_that_take_long_come_more_rarely(
    path: Path, clock: FakeClock, cache: HealthCache
) -> None:
    async def run() -> None:
        class Slow(HealthHistory):
            writes = 0

            def save(self) -> bool:
                self.writes += 1
                clock.advance(0.1)
                return super().save()

        history = Slow(path, cache, clock=clock)
        async with running(history):
            cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
            history.note()
            await settle()
            cache.apply_report(DRIVER, {GPU0: Word(Health.HEALTHY)})
            history.note()
            clock.advance(4.5)
            await settle()
            assert history.writes == 1
            clock.advance(0.5)
            await settle()
            assert history.writes == 2

    asyncio.run(run())


def test_many_devices_are_written_by_another_thread(
    path: Path, clock: FakeClock, cache: HealthCache
) -> None:
    """And stopping in the middle of it leaves one whole file."""

    async def run() -> None:
        history = HealthHistory(path, cache, clock=clock)
        async with running(history):
            many = {DeviceID(DRIVER, "node-1", f"d{n}"): UNHEALTHY for n in range(300)}
            cache.apply_report(DRIVER, many)
            history.note()
            await asyncio.sleep(0)
        assert len(written(path)) == 300

    asyncio.run(run())


def test_a_file_that_cannot_be_written_is_tried_again(
    tmp_path: Path, clock: FakeClock, cache: HealthCache, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "missing" / module.FILE_NAME

    async def run() -> None:
        history = HealthHistory(path, cache, clock=clock)
        async with running(history):
            cache.apply_report(DRIVER, {GPU0: UNHEALTHY})
            history.note()
            await settle()
            assert "device health is not saved" in caplog.text
            path.parent.mkdir()
            clock.advance(module.RETRY_SECONDS)
            await settle()
            assert "node-1/gpu-0" in written(path)

    asyncio.run(run())
