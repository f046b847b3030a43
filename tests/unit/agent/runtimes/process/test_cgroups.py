from __future__ import annotations

from pathlib import Path

import pytest

from dray.agent.runtimes.process.cgroups import find_cgroups, limits
from dray.agent.runtimes.runtime import ContainerConfig


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"cpu_limit_millis": 1500}, {"cpu.max": "150000 100000"}),
        ({"cpu_limit_millis": 1}, {"cpu.max": "1000 100000"}),
        ({"cpu_request_millis": 1000}, {"cpu.weight": "39"}),
        ({"cpu_request_millis": 1}, {"cpu.weight": "1"}),
        ({"cpu_request_millis": 10**9}, {"cpu.weight": "10000"}),
        (
            {"memory_limit_bytes": 4096},
            {"memory.max": "4096", "memory.swap.max": "0", "memory.oom.group": "1"},
        ),
    ],
)
def test_limits_are_what_the_kernel_reads(fields: dict[str, int], expected: dict[str, str]) -> None:
    assert limits(ContainerConfig("app", 0, "image", **fields)) == expected  # type: ignore[arg-type]  # numbers, all of them


def test_so_many_processes_may_be() -> None:
    assert limits(ContainerConfig("app", 0, "image"), pids_max=7) == {"pids.max": "7"}


@pytest.mark.parametrize(
    "mounts",
    ["", "25 1 0:1 / {} rw - tmpfs none rw\n", "25 1 0:1 / {} rw - cgroup2 none rw\n"],
    ids=["nothing", "no-cgroup2", "not-really"],
)
def test_without_a_cgroup_file_system_there_are_none(tmp_path: Path, mounts: str) -> None:
    file = tmp_path / "mountinfo"
    file.write_text(mounts.format(tmp_path / "mounted"))
    (tmp_path / "mounted").mkdir()
    assert find_cgroups(tmp_path, mounts=file) is None
    assert find_cgroups(tmp_path, mounts=tmp_path / "missing") is None


def test_a_containers_cgroup_comes_and_goes_with_it(tmp_path: Path) -> None:
    cgroups = find_cgroups(tmp_path)
    if cgroups is None:
        pytest.skip("no cgroups here")
    try:
        config = ContainerConfig("app", 0, "image", cpu_limit_millis=500)
        path = cgroups.make("uid", "app", config)
        assert cgroups.make("uid", "app", config) == path
        Path(path, "inner", "most").mkdir(parents=True)
        assert Path(path, "cgroup.procs").read_text() == ""
        cgroups.remove(path)
        cgroups.remove(path)
        cgroups.remove("")
        assert not Path(path).parent.exists()
    finally:
        cgroups.close()
    assert not Path(cgroups.supervisors).exists()
