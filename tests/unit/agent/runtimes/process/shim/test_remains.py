from __future__ import annotations

import os
from pathlib import Path

import pytest

from dray.agent.runtimes.process.cgroups import find_cgroups
from dray.agent.runtimes.process.shim.identity import identify
from dray.agent.runtimes.process.shim.remains import (
    count_oom_kills,
    kill_cgroup,
    kill_children,
    kill_group,
)
from dray.agent.runtimes.runtime import ContainerConfig


def test_all_children_are_killed_and_the_main_one_is_told_of() -> None:
    # In a process of its own: the children of this one are not this test's alone.
    pid = os.fork()
    if not pid:
        main = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
        other = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
        status = kill_children(main)
        fine = status is not None and os.WTERMSIG(status) == 9 and identify(other) is None
        os._exit(0 if fine and kill_children(main) is None else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_group_is_killed_and_one_that_is_gone_is_no_error() -> None:
    pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {}, setpgroup=0)
    kill_group(pid)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == 9
    kill_group(pid)


def test_a_cgroup_is_empty_afterwards(tmp_path: Path) -> None:
    cgroups = find_cgroups(tmp_path)
    if cgroups is None:
        pytest.skip("no cgroups here")
    path = cgroups.make("uid", "app", ContainerConfig("app", 0, "image"))
    try:
        pids = [os.posix_spawn("/bin/sleep", ["sleep", "1000"], {}) for _ in range(3)]
        for pid in pids:
            Path(path, "cgroup.procs").write_text(str(pid))
        assert kill_cgroup(path)
        assert [os.WTERMSIG(os.waitpid(pid, 0)[1]) for pid in pids] == [9, 9, 9]
        assert kill_cgroup(path)
    finally:
        cgroups.remove(path)
        cgroups.close()


def test_a_cgroup_that_is_gone_is_empty() -> None:
    assert kill_cgroup("/nonexistent")


def test_deaths_for_want_of_memory_are_counted(tmp_path: Path) -> None:
    assert count_oom_kills(str(tmp_path)) == 0
    (tmp_path / "memory.events").write_text("low 0\nmax 4\noom 1\noom_kill 2\n")
    assert count_oom_kills(str(tmp_path)) == 2
    (tmp_path / "memory.events").write_text("oom_kill many\n")
    assert count_oom_kills(str(tmp_path)) == 0
