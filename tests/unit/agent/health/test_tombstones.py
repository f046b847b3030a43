from __future__ import annotations

from pathlib import Path

import pytest

from dray.agent.health import tombstones as module
from dray.agent.health.tombstones import Tombstones
from dray.api.core import ResourceHealth, ResourceStatus


def entry(name: str, **devices: str) -> ResourceStatus:
    return ResourceStatus(
        name=name,
        resources=tuple(
            ResourceHealth(resource_id=device, health=health, message=f"{device} is {health}")
            for device, health in devices.items()
        ),
    )


BROKEN = {"main": (entry("claim:gpu", a="Unhealthy"),)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / module.FILE_NAME


def reopened(path: Path) -> Tombstones:
    tombstones = Tombstones(path)
    tombstones.load()
    return tombstones


def test_what_is_frozen_outlives_the_agent(path: Path) -> None:
    Tombstones(path).freeze("pod-1", BROKEN)
    assert reopened(path).get("pod-1") == BROKEN
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_forgotten_stays_forgotten(path: Path) -> None:
    tombstones = Tombstones(path)
    tombstones.freeze("pod-1", BROKEN)
    tombstones.forget("pod-1")
    tombstones.forget("pod-2")
    assert tombstones.get("pod-1") is None
    assert reopened(path).get("pod-1") is None


def test_pods_that_are_gone_without_a_word_are_forgotten(path: Path) -> None:
    tombstones = Tombstones(path)
    for n in range(3):
        tombstones.freeze(f"pod-{n}", BROKEN)
    tombstones.retain({"pod-1", "pod-7"})
    for kept in (tombstones, reopened(path)):
        assert [n for n in range(3) if kept.get(f"pod-{n}")] == [1]


def test_freezing_again_adds_devices_and_changes_none(path: Path) -> None:
    tombstones = Tombstones(path)
    tombstones.freeze("pod-1", BROKEN)
    tombstones.freeze("pod-1", {"main": (entry("claim:gpu", a="Unknown", b="Healthy"),)})
    tombstones.freeze("pod-1", {"main": (), "side": (entry("claim:nic", c="Healthy"),)})
    expected = {
        "main": (entry("claim:gpu", a="Unhealthy", b="Healthy"),),
        "side": (entry("claim:nic", c="Healthy"),),
    }
    assert tombstones.get("pod-1") == expected
    assert reopened(path).get("pod-1") == expected


def test_pods_without_devices_leave_no_stone(path: Path) -> None:
    tombstones = Tombstones(path)
    tombstones.freeze("pod-1", {"main": ()})
    assert tombstones.get("pod-1") is None
    assert not path.exists()


def test_beyond_the_limit_the_oldest_are_forgotten(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PODS_MAX", 3)
    tombstones = Tombstones(path)
    for n in range(5):
        tombstones.freeze(f"pod-{n}", BROKEN)
    for kept in (tombstones, reopened(path)):
        assert [n for n in range(5) if kept.get(f"pod-{n}")] == [2, 3, 4]


def test_beyond_so_many_bytes_the_oldest_are_forgotten(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BYTES_MAX", 300)
    tombstones = Tombstones(path)
    for n in range(5):
        tombstones.freeze(f"pod-{n}", BROKEN)
    assert 1 <= len(tombstones) <= 2
    assert tombstones.get("pod-4") == BROKEN


def test_the_file_does_not_grow_with_pods_that_are_gone(path: Path) -> None:
    tombstones = Tombstones(path)
    for n in range(2000):
        tombstones.freeze(f"pod-{n}", BROKEN)
        tombstones.forget(f"pod-{n}")
    assert path.read_bytes().count(b"\n") < 1000


def test_a_line_cut_short_costs_only_itself(path: Path) -> None:
    tombstones = Tombstones(path)
    tombstones.freeze("pod-1", BROKEN)
    tombstones.freeze("pod-2", BROKEN)
    path.write_bytes(path.read_bytes()[:-10])
    survivor = reopened(path)
    assert (survivor.get("pod-1"), survivor.get("pod-2")) == (BROKEN, None)
    survivor.freeze("pod-3", BROKEN)
    assert reopened(path).get("pod-3") == BROKEN


def test_a_file_without_end_is_read_as_far_as_ours_can_be(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tombstones = Tombstones(path)
    tombstones.freeze("pod-1", BROKEN)
    monkeypatch.setattr(module, "FILE_BYTES_MAX", len(path.read_bytes()) + 10)
    tombstones.freeze("pod-2", BROKEN)
    survivor = reopened(path)
    assert (survivor.get("pod-1"), survivor.get("pod-2")) == (BROKEN, None)


def test_a_damaged_file_is_set_aside_and_what_is_readable_kept(path: Path) -> None:
    tombstones = Tombstones(path)
    tombstones.freeze("pod-1", BROKEN)
    damaged = b"\xff garbage\n" + path.read_bytes()
    path.write_bytes(damaged)
    assert reopened(path).get("pod-1") == BROKEN
    assert path.with_name(f"{path.name}.damaged-0").read_bytes() == damaged
    assert reopened(path).get("pod-1") == BROKEN


def test_a_disk_that_refuses_costs_nothing_once_it_takes_again(tmp_path: Path) -> None:
    path = tmp_path / "missing" / module.FILE_NAME
    tombstones = Tombstones(path)
    tombstones.freeze("pod-1", BROKEN)
    assert tombstones.get("pod-1") == BROKEN
    path.parent.mkdir()
    tombstones.freeze("pod-2", BROKEN)
    assert reopened(path).get("pod-1") == BROKEN
