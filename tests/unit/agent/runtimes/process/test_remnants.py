from __future__ import annotations

import os
import signal

import pytest

from dray.agent.runtimes.process.remnants import kill_process, kill_remnants
from dray.agent.runtimes.process.shim.identity import ProcessIdentity, identify


def sleeper(**options: int) -> ProcessIdentity:
    pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {}, **options)  # type: ignore[arg-type]  # setsid and the like
    found = identify(pid)
    assert found is not None
    return found


def test_exactly_the_process_that_is_meant_is_killed() -> None:
    process = sleeper()
    kill_process(ProcessIdentity(process.pid, process.start_ticks - 1, process.boot_id))
    assert identify(process.pid) == process
    kill_process(process)
    assert os.WTERMSIG(os.waitpid(process.pid, 0)[1]) == signal.SIGKILL
    kill_process(process)


def test_members_of_a_session_die_though_its_leader_is_dead() -> None:
    told, tell = os.pipe()
    leader = os.fork()
    if not leader:
        os.setsid()
        member = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
        os.write(tell, member.to_bytes(4, "little"))
        signal.pause()
        os._exit(0)
    member = int.from_bytes(os.read(told, 4), "little")
    for descriptor in (told, tell):
        os.close(descriptor)
    identity = identify(leader)
    assert identity is not None
    os.kill(leader, signal.SIGKILL)
    os.waitpid(leader, 0)
    assert identify(member) is not None
    kill_remnants({"process": identity.as_json(), "cgroup": ""})
    assert identify(member) is None


@pytest.mark.parametrize("record", [{}, {"process": None, "cgroup": None}, {"process": {"pid": 1}}])
def test_a_record_that_says_nothing_kills_nobody(record: dict[str, object]) -> None:
    kill_remnants(record)


def test_processes_of_another_boot_are_none_of_ours() -> None:
    process = sleeper()
    kill_remnants({"process": {**process.as_json(), "bootID": "another"}})
    assert identify(process.pid) == process
    kill_process(process)
    os.waitpid(process.pid, 0)
