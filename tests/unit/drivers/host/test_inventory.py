"""Devices are found as they are, under names that stay."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.names import dns_label
from dray.clock import SystemClock
from dray.drivers.host import inventory
from dray.drivers.host.inventory import Found, find_devices, label_of
from dray.drivers.host.reading import read_config
from dray.sdk import ConfigurationError, TransientError
from tests.unit.drivers.surroundings import context


def find(text: str) -> Found:
    config = read_config(f"driver: a.example.com\n{text}")
    return asyncio.run(find_devices(config, context(clock=SystemClock())))


def test_devices_have_what_their_files_and_wildcards_say(tmp_path: Path) -> None:
    for n, version in enumerate(["1.2", "2.0.1"]):
        place = tmp_path / f"sys/board{n}"
        place.mkdir(parents=True)
        (place / "name").write_text(f"Board {'x' * 100}\n")
        (place / "vendor").write_text("0x10de\n")
        (place / "version").write_text(version)
        (place / "ready").write_text("1\n")
        (place / "memory").write_text("2048\n")
    found = find(f"""
root: {tmp_path}
groups:
- match: /sys/board*
  name: Board_{{0}}
  attributes:
    index: {{value: "{{0}}", type: int}}
    vendor: {{file: "{{path}}/vendor", type: int}}
    firmware: {{file: "{{path}}/version", type: version}}
    ready: {{file: "{{path}}/ready", type: bool}}
    model: {{file: "{{path}}/name"}}
    serial: {{file: "{{path}}/serial", optional: true}}
    kind: board
  capacity: {{memory: {{file: "{{path}}/memory", unit: Ki}}, ports: 4}}
  shared: true
""")
    assert list(found.devices) == ["board-0", "board-1"]
    assert found.left_out == ()
    device = found.devices["board-0"].device
    attributes = device.attributes
    assert attributes["index"].int_value == 0
    assert attributes["vendor"].int_value == 0x10DE
    assert attributes["firmware"].version_value == "1.2.0"
    assert attributes["ready"].bool_value is True
    assert len(attributes["model"].string_value or "") == 64
    assert "serial" not in attributes
    assert str(device.capacity["memory"].value) == "2Mi"
    assert device.allow_multiple_allocations is True


def test_two_paths_with_one_name_are_refused_and_both_are_named(tmp_path: Path) -> None:
    (tmp_path / "a_b").touch()
    (tmp_path / "a.b").touch()
    with pytest.raises(ConfigurationError) as caught:
        find(f"root: {tmp_path}\ngroups: [{{match: /a*}}]")
    assert "/a.b and /a_b would both be device 'a-b'" in str(caught.value)


def test_a_device_that_cannot_be_read_is_left_out_alone(tmp_path: Path) -> None:
    (tmp_path / "a0").write_text("7")
    (tmp_path / "a1").write_text("seven")
    found = find(f"""
root: {tmp_path}
groups: [{{match: /a*, attributes: {{x: {{file: "{{path}}", type: int}}}}}}]
""")
    assert list(found.devices) == ["a0"]
    assert len(found.left_out) == 1
    assert found.left_out[0].startswith("/a1: ")


def test_a_path_in_two_globs_is_one_device_and_excluded_ones_are_none(tmp_path: Path) -> None:
    for name in ("a0", "a1", "a2"):
        (tmp_path / name).touch()
    found = find(f"root: {tmp_path}\ngroups: [{{match: [/a*, /a0], exclude: [/a2]}}]")
    assert list(found.devices) == ["a0", "a1"]


def test_a_pattern_filters_paths_and_captures(tmp_path: Path) -> None:
    for name in ("nvme0n1", "nvme0n1p1"):
        (tmp_path / name).touch()
    found = find(rf"""
root: {tmp_path}
groups: [{{match: /nvme*, pattern: 'nvme(?P<disk>\d+)n\d+$', name: 'disk-{{disk}}'}}]
""")
    assert list(found.devices) == ["disk-0"]


def test_a_command_lists_devices_in_json() -> None:
    entries = json.dumps([{"id": "A1", "slots": 2, "ok": True, "deep": {}}, {"id": "B2"}])
    found = find(f"""
groups:
- command: {{run: [/bin/echo, '{entries}']}}
  name: card-{{id}}
  attributes: {{slots: {{value: "{{slots}}", type: int, optional: true}}}}
""")
    assert list(found.devices) == ["card-a1", "card-b2"]
    assert found.devices["card-a1"].device.attributes["slots"].int_value == 2
    assert found.devices["card-a1"].captures["ok"] == "true"
    assert found.devices["card-b2"].device.attributes == {}


def test_a_command_lists_devices_in_lines() -> None:
    found = find(r"""
groups:
- command:
    run: [/bin/echo, "Bus 1: 10de:20b0\nnoise\nBus 2: 1002:740f"]
    lines: "^Bus (?P<bus>\\d+): (\\w+)"
  name: "{bus}-{1}"
""")
    assert list(found.devices) == ["1-10de", "2-1002"]
    assert found.devices["1-10de"].path is None


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ("[/bin/false]", "/bin/false exited with 1"),
        ("[/no/such]", "/no/such cannot be started"),
        ("[/bin/echo, '{']", "did not write JSON"),
        ("[/bin/echo, '{}']", "wrote no list, but a JSON object"),
    ],
)
def test_a_command_that_fails_may_do_better_later(run: str, reason: str) -> None:
    with pytest.raises(TransientError) as caught:
        find(f"groups: [{{command: {{run: {run}}}, name: x}}]")
    assert "$.groups[0].command" in str(caught.value)
    assert reason in str(caught.value)


def test_more_paths_than_a_node_offers_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "PATHS_MAX", 2)
    for name in ("a0", "a1", "a2"):
        (tmp_path / name).touch()
    with pytest.raises(ConfigurationError, match="matches more than 2 paths"):
        find(f"root: {tmp_path}\ngroups: [{{match: /a*}}]")


@given(st.text())
def test_a_label_is_one_the_api_takes_or_empty(text: str) -> None:
    label = label_of(text)
    assert not label or not dns_label(label)
    assert label_of(label) == label
