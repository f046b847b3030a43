"""Projects that `dray new` writes: they work as they are."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

import dray
from dray.cli.errors import CommandError
from dray.cli.new import Names
from dray.cli.program import program


def new(name: str, directory: Path) -> Result:
    return CliRunner().invoke(program, ["new", "driver", name, "--directory", str(directory)])


def written(directory: Path) -> list[str]:
    return sorted(
        path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()
    )


def test_a_driver_project_is_complete(tmp_path: Path) -> None:
    result = new("my-coins.example.com", tmp_path / "coins")
    assert result.exit_code == 0, result.output
    assert written(tmp_path / "coins") == [
        ".gitignore",
        "Dockerfile",
        "README.md",
        "deploy/daemonset.yaml",
        "deploy/deviceclass.yaml",
        "deploy/example.yaml",
        "deploy/namespace.yaml",
        "deploy/rbac.yaml",
        "kustomization.yaml",
        "my_coins_driver.py",
        "pyproject.toml",
        "tests/test_conformance.py",
        "tests/test_driver.py",
    ]
    for path in (tmp_path / "coins").rglob("*"):
        assert not path.is_file() or "{{" not in path.read_text(), f"{path}: not filled in"


def test_the_directory_is_named_after_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(program, ["new", "driver", "gpu.example.com"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "gpu-driver" / "gpu_driver.py").exists()
    assert "gpu.example.com is in gpu-driver:" in result.output


@pytest.mark.parametrize("name", ["gpu.example.com", "3d.example.com", "x", "a" * 63, "a-b-c.d"])
def test_every_driver_name_makes_names_that_languages_take(name: str, tmp_path: Path) -> None:
    assert new(name, tmp_path / "p").exit_code == 0
    names = Names.of(name)
    assert names.module.isidentifier()
    assert names.class_name.isidentifier()
    assert names.variable.isidentifier()
    assert len(names.project) <= 63
    ast.parse((tmp_path / "p" / f"{names.module}.py").read_text())
    project = tomllib.loads((tmp_path / "p" / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {names.project: f"{names.module}:main"}
    for path in (tmp_path / "p").rglob("*.yaml"):
        assert list(yaml.safe_load_all(path.read_text()))


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("GPU.example.com", "lower case"),
        ("gpu_1.example.com", "RFC 1123"),
        ("", "RFC 1123"),
        ("a" * 64, "no more than 63 bytes"),
        ("../escape", "RFC 1123"),
        ("gpu.example.com\n", "RFC 1123"),
    ],
)
def test_a_name_the_api_would_refuse_is_refused(name: str, rule: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=rule):
        Names.of(name)
    result = new(name, tmp_path / "p")
    assert result.exit_code == 2
    assert not (tmp_path / "p").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    result = new("gpu.example.com", tmp_path)
    assert result.exit_code == 2
    assert "exists and is not empty" in result.output
    assert written(tmp_path) == ["notes.txt"]
    assert new("gpu.example.com", tmp_path / "notes.txt").exit_code == 2


def test_an_empty_directory_is_filled(tmp_path: Path) -> None:
    assert new("gpu.example.com", tmp_path).exit_code == 0
    assert (tmp_path / "gpu_driver.py").exists()


def test_the_manifests_are_valid(tmp_path: Path) -> None:
    assert new("gpu.example.com", tmp_path / "p").exit_code == 0
    arguments = ["validate", "-f", str(tmp_path / "p" / "deploy"), "--ignore-unknown-kinds"]
    result = CliRunner().invoke(program, arguments)
    assert result.exit_code == 0, result.output


def test_the_daemon_set_rolls_and_runs_the_image_that_was_built(tmp_path: Path) -> None:
    assert new("gpu.example.com", tmp_path / "p").exit_code == 0
    deployed = yaml.safe_load((tmp_path / "p" / "deploy" / "daemonset.yaml").read_text())["spec"]
    assert deployed["updateStrategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    pod = deployed["template"]["spec"]
    (container,) = pod["containers"]
    told = {one["name"]: one for one in container["env"]}
    assert told["POD_UID"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.uid"
    assert told["NODE_NAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
    kustomization = yaml.safe_load((tmp_path / "p" / "kustomization.yaml").read_text())
    (image,) = kustomization["images"]
    assert container["image"] == image["name"]
    built = f"docker build -t {image['newName']}:{image['newTag']} ."
    assert built in (tmp_path / "p" / "README.md").read_text()
    assert "initContainers" not in pod
    assert container["command"] == ["python", "-m", "gpu_driver"]
    for resource in kustomization["resources"]:
        assert (tmp_path / "p" / resource).exists()
    # What is mounted is where the driver looks, and the same on both sides.
    hosts = {one["name"]: one["hostPath"]["path"] for one in pod["volumes"] if "hostPath" in one}
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert hosts == {name: path for name, path in mounts.items() if name in hosts}


def test_nothing_asks_an_index_of_packages_for_dray(tmp_path: Path) -> None:
    # The name belongs to another project there.
    assert new("gpu.example.com", tmp_path / "p").exit_code == 0
    project = tomllib.loads((tmp_path / "p" / "pyproject.toml").read_text())
    assert project["project"]["dependencies"] == []
    assert project["dependency-groups"] == {"dev": ["pytest>=8.3"]}
    by_name = re.compile(r"(?<![\w./-])dray(\[[\w,]+\]|[<>=~!]=)")
    for path in (tmp_path / "p").rglob("*"):
        assert not path.is_file() or not by_name.search(path.read_text()), path
    (install,) = re.findall(
        r"^RUN (pip install .*)$", (tmp_path / "p" / "Dockerfile").read_text(), re.MULTILINE
    )
    assert install.endswith('"$(echo ./dray-*.whl)[sdk]" .')


@pytest.mark.slow
def test_the_projects_own_tests_pass_conformance_among_them(tmp_path: Path) -> None:
    assert new("my-coins.example.com", tmp_path / "p").exit_code == 0
    source = Path(dray.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path / "p",
        env=os.environ | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
