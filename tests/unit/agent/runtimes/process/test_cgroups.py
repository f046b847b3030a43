from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from dray.agent.runtimes.process.cgroups import find_cgroups, limits
from dray.agent.runtimes.process.shim.identity import identify
from dray.agent.runtimes.runtime import ContainerConfig
from tests.unit.agent.runtimes.process.hosts import host, open_runtime


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


def test_cgroups_of_nobody_are_removed_with_what_runs_in_them(tmp_path: Path) -> None:
    cgroups = find_cgroups(tmp_path)
    if cgroups is None:
        pytest.skip("no cgroups here")
    config = ContainerConfig("app", 0, "image")
    kept = cgroups.make("one", "kept", config)
    lost = [cgroups.make("one", "lost", config), cgroups.make("two", "lost", config)]
    empty = Path(lost[1]).parent.with_name("podthree")
    empty.mkdir()
    pids = [os.posix_spawn("/bin/sleep", ["sleep", "1000"], {}) for _ in range(2)]
    try:
        for pid, path in zip(pids, (kept, lost[0]), strict=True):
            Path(path, "cgroup.procs").write_text(str(pid))
        cgroups.sweep({kept})
        assert os.WTERMSIG(os.waitpid(pids[1], 0)[1]) == signal.SIGKILL
        assert identify(pids[0]) is not None
        assert Path(kept).exists()
        assert not any(Path(path).exists() for path in (*lost, str(empty)))
        assert not Path(lost[1]).parent.exists()
    finally:
        os.kill(pids[0], signal.SIGKILL)
        os.waitpid(pids[0], 0)
        cgroups.remove(kept)
        cgroups.close()


@pytest.mark.slow
def test_a_new_runtime_removes_what_containers_left() -> None:
    async def main() -> None:
        async with host() as here:
            cgroups = here.runtime._cgroups
            if cgroups is None:
                pytest.skip("no cgroups here")
            container_id = await here.start("sleep", "1000")
            path = here.runtime._containers[container_id].record.cgroup
            left = cgroups.make("gone", "app", ContainerConfig("app", 0, "image"))
            async with open_runtime(here.directory):
                assert Path(path).exists()
                assert not Path(left).parent.exists()

    asyncio.run(main())
