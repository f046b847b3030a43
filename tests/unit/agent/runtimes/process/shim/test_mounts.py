"""Mount namespaces: each test enters one in a process of its own."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dray.agent.runtimes.process.launch import find_privileges
from dray.agent.runtimes.process.shim.mounts import enter_namespace

pytestmark = pytest.mark.skipif(
    not find_privileges().has_namespaces, reason="mount namespaces need root"
)


def launch(*mounts: tuple[str, str], devices: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {
        "hostname": "inside",
        "readOnlyRoot": False,
        "devices": devices,
        "mounts": [
            {"source": str(source), "target": target, "type": "", "options": []}
            for source, target in mounts
        ],
    }


def inside(told: dict[str, Any], stage: Path, check: Callable[[], None]) -> str:
    """Enter, and check there; returns what went wrong."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        sentence = ""
        try:
            enter_namespace(told, str(stage))
            check()
        except OSError as error:
            sentence = error.strerror or str(error)
        except AssertionError:
            sentence = traceback.format_exc()
        os.write(writing, sentence.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        sentence = file.read().decode()
    os.waitpid(pid, 0)
    return sentence


def device(path: str, **fields: Any) -> dict[str, Any]:
    empty = {"type": "", "major": 0, "minor": 0, "fileMode": 0, "uid": 0, "gid": 0}
    return {"path": path, "hostPath": path, **empty, **fields}


def test_a_mount_point_that_is_not_there_is_made_inside_alone(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "file").write_text("x")
    beside = tmp_path / "place"
    beside.mkdir()
    (beside / "other").write_text("still here")
    (beside / "link").symlink_to("other")

    def check() -> None:
        assert Path(beside, "new", "deep", "file").read_text() == "x"
        assert Path(beside, "other").read_text() == "still here"
        assert Path(beside, "link").read_text() == "still here"
        assert Path("/dray-top/file").read_text() == "x"
        assert os.uname().nodename == "inside"
        Path(beside, "scratch").write_text("gone soon")

    told = launch((str(source), f"{beside}/new/deep"), (str(source), "/dray-top"))
    assert inside(told, tmp_path / "stage", check) == ""
    assert sorted(each.name for each in beside.iterdir()) == ["link", "other"]
    assert not Path("/dray-top").exists()
    assert os.uname().nodename != "inside"


def test_a_mount_inside_a_mount_is_made_in_it(tmp_path: Path) -> None:
    for name in ("outer", "inner"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text(name)

    def check() -> None:
        assert Path("/dray-top/outer").read_text() == "outer"
        assert Path("/dray-top/sub/inner").read_text() == "inner"

    told = launch(
        (str(tmp_path / "inner"), "/dray-top/sub"), (str(tmp_path / "outer"), "/dray-top")
    )
    assert inside(told, tmp_path / "stage", check) == ""
    assert (tmp_path / "outer" / "sub").is_dir()


def test_what_is_not_there_cannot_be_mounted(tmp_path: Path) -> None:
    sentence = inside(launch(("/dray-none", "/mnt")), tmp_path / "stage", lambda: None)
    assert sentence == "mount /mnt: /dray-none does not exist on this host"


def test_nothing_can_be_made_where_the_kernel_decides(tmp_path: Path) -> None:
    sentence = inside(launch((str(tmp_path), "/proc/dray")), tmp_path / "stage", lambda: None)
    assert sentence == "/proc/dray does not exist, and cannot be made below /proc"


def test_devices_are_bound_or_made(tmp_path: Path) -> None:
    def check() -> None:
        assert os.stat("/dev/dray-null").st_rdev == os.stat("/dev/null").st_rdev
        made = os.stat("/dev/dray-made")
        assert (made.st_rdev, made.st_mode & 0o777) == (os.makedev(1, 5), 0o640)

    told = launch(
        devices=(
            device("/dev/null"),
            device("/dev/dray-null", hostPath="/dev/null"),
            device("/dev/dray-made", type="c", major=1, minor=5, fileMode=0o640),
        )
    )
    assert inside(told, tmp_path / "stage", check) == ""
    assert not Path("/dev/dray-null").exists()


def test_a_file_system_may_be_mounted(tmp_path: Path) -> None:
    told = launch()
    told["mounts"] = [
        {"source": "", "target": "/mnt", "type": "tmpfs", "options": ["nosuid", "size=1m"]}
    ]

    def check() -> None:
        assert os.statvfs("/mnt").f_blocks * os.statvfs("/mnt").f_frsize == 1024 * 1024

    assert inside(told, tmp_path / "stage", check) == ""
