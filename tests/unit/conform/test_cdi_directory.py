"""What a container runtime would make of CDI files, whoever wrote them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dray.conform.cdi_directory import CDIDirectory

SPEC = {
    "cdiVersion": "0.6.0",
    "kind": "example.com/gpu",
    "devices": [{"name": "gpu-0", "containerEdits": {"env": ["A=b"]}}],
}
YAML = """
cdiVersion: 0.6.0
kind: example.com/nic
devices: [{name: nic-0, containerEdits: {env: [A=b]}}]
"""


@pytest.fixture
def directory(tmp_path: Path) -> CDIDirectory:
    (tmp_path / "a.json").write_text(json.dumps(SPEC))
    (tmp_path / "b.yaml").write_text(YAML)
    return CDIDirectory(tmp_path)


def test_files_are_those_a_runtime_reads(directory: CDIDirectory) -> None:
    for name in ("c.json.tmp", ".d.json", "notes"):
        (directory.path / name).write_text("{")
    assert [path.name for path in directory.files()] == ["a.json", "b.yaml"]
    assert directory.damage() == []


def test_devices_of_json_and_yaml_resolve(directory: CDIDirectory) -> None:
    ids = ["example.com/gpu=gpu-0", "example.com/nic=nic-0", "example.com/gpu=gpu-1"]
    assert directory.unresolved(ids) == ["example.com/gpu=gpu-1"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("x.json", b"{", id="not-json"),
        pytest.param("x.json", b"\xff", id="not-text"),
        pytest.param("x.yaml", b"a: [", id="not-yaml"),
        pytest.param("x.yaml", b"[1]", id="not-a-spec"),
        pytest.param("x.json", b'{"kind": "no slash", "devices": []}', id="broken-rules"),
        pytest.param(
            "x.json",
            json.dumps(SPEC | {"containerEdits": {"env": ["no equals sign"]}}).encode(),
            id="bad-edit",
        ),
    ],
)
def test_a_damaged_file_is_told_of_and_does_not_hide_the_others(
    directory: CDIDirectory, name: str, data: bytes
) -> None:
    (directory.path / name).write_bytes(data)
    assert directory.damage()
    assert all(line.startswith(f"{name}: ") for line in directory.damage())
    assert directory.unresolved(["example.com/gpu=gpu-0"]) == []


def test_ids_that_are_no_ids_are_told_with_the_rule(directory: CDIDirectory) -> None:
    assert directory.malformed(["example.com/gpu=gpu-0"]) == []
    (told,) = directory.malformed(["gpu-0"])
    assert "gpu-0" in told


def test_a_claims_files_are_found_by_name_and_by_content(directory: CDIDirectory) -> None:
    (directory.path / "claim-uid-1.json").write_bytes(b"\xff")
    (directory.path / "c.json").write_text('"uid-2"')
    assert directory.naming("uid-1") == ["claim-uid-1.json"]
    assert directory.naming("uid-2") == ["c.json"]


def test_a_reboot_loses_files_and_leaves_directories(directory: CDIDirectory) -> None:
    (directory.path / "sub").mkdir()
    directory.lose()
    assert [path.name for path in directory.path.iterdir()] == ["sub"]
