from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dray.agent.runtimes.failures import UnresolvedDevices
from dray.agent.runtimes.process.devices import DeviceFiles

KIND = "vendor.example.com/gpu"


def write(path: Path, *devices: str, env: str = "", common: dict[str, Any] | None = None) -> None:
    spec = {
        "cdiVersion": "0.6.0",
        "kind": KIND,
        "devices": [
            {"name": name, "containerEdits": {"env": [env or f"{name.upper()}=1"]}}
            for name in devices
        ],
        "containerEdits": common or {},
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(spec))


def test_edits_of_a_file_come_once_and_before_those_of_its_devices(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "a", "b", common={"env": ["ALL=1"], "hooks": [HOOK]})
    edits = DeviceFiles([tmp_path]).resolve([f"{KIND}=b", f"{KIND}=a", f"{KIND}=b"])
    assert edits.env == ("ALL=1", "B=1", "A=1")
    assert len(edits.hooks) == 1
    assert not DeviceFiles([tmp_path]).resolve([])


HOOK = {"hookName": "prestart", "path": "/bin/true"}


def test_the_last_directory_that_has_a_device_wins(tmp_path: Path) -> None:
    write(tmp_path / "static" / "a.json", "a", "b", env="FROM=static")
    write(tmp_path / "dynamic" / "z.json", "a", env="FROM=dynamic")
    files = DeviceFiles([tmp_path / "static", tmp_path / "missing", tmp_path / "dynamic"])
    assert files.resolve([f"{KIND}=a"]).env == ("FROM=dynamic",)
    assert files.resolve([f"{KIND}=b"]).env == ("FROM=static",)


def test_what_two_files_of_one_directory_define_is_nobodys(tmp_path: Path) -> None:
    write(tmp_path / "one.json", "a", "b")
    write(tmp_path / "two.json", "a")
    files = DeviceFiles([tmp_path])
    assert files.resolve([f"{KIND}=b"]).env == ("B=1",)
    with pytest.raises(UnresolvedDevices):
        files.resolve([f"{KIND}=a"])


def test_devices_that_are_missing_are_all_named(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "a")
    names = [f"{KIND}=x", f"{KIND}=a", "no name", f"{KIND}=x"]
    with pytest.raises(UnresolvedDevices) as caught:
        DeviceFiles([tmp_path]).resolve(names)
    assert caught.value.devices == (f"{KIND}=x", "no name")
    assert str(caught.value) == (
        f"CDI device injection failed: unresolvable CDI devices {KIND}=x, no name"
    )


def test_files_that_are_invalid_are_skipped_and_reported(tmp_path: Path) -> None:
    write(tmp_path / "good.json", "a")
    write(tmp_path / ".hidden.json", "b")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "other.txt").write_text("no spec")
    (tmp_path / "old.json").write_text(
        json.dumps({"cdiVersion": "9.9.9", "kind": KIND, "devices": []})
    )
    files = DeviceFiles([tmp_path])
    assert files.resolve([f"{KIND}=a"])
    assert sorted(Path(path).name for path in files.problems) == [
        "broken.json",
        "empty.yaml",
        "old.json",
    ]
    with pytest.raises(UnresolvedDevices, match=r"invalid specification files: .*broken.json"):
        files.resolve([f"{KIND}=b"])


def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    files = DeviceFiles([tmp_path])
    with pytest.raises(UnresolvedDevices):
        files.resolve([f"{KIND}=a"])
    write(tmp_path / "a.json", "a", env="FROM=first")
    assert files.resolve([f"{KIND}=a"]).env == ("FROM=first",)
    write(tmp_path / "new.json", "a", env="FROM=second")
    (tmp_path / "new.json").replace(tmp_path / "a.json")
    assert files.resolve([f"{KIND}=a"]).env == ("FROM=second",)
    (tmp_path / "a.json").unlink()
    with pytest.raises(UnresolvedDevices):
        files.resolve([f"{KIND}=a"])


def test_files_may_be_yaml(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        f"cdiVersion: 0.6.0\nkind: {KIND}\ndevices:\n- name: '0'\n"
        "  containerEdits: {env: [A=b]}\n"
    )
    (tmp_path / "b.yaml").write_bytes(b"\xff")
    files = DeviceFiles([tmp_path])
    assert files.resolve([f"{KIND}=0"]).env == ("A=b",)
    assert [Path(path).name for path in files.problems] == ["b.yaml"]


def test_a_thousand_devices_are_found(tmp_path: Path) -> None:
    for index in range(10):
        write(tmp_path / f"{index}.json", *(f"d{index}-{number}" for number in range(100)))
    files = DeviceFiles([tmp_path])
    assert len(files.resolve([f"{KIND}=d9-{number}" for number in range(100)]).env) == 100
