from __future__ import annotations

import os

import pytest

from dray.agent.runtimes.process.shim.identity import (
    ProcessIdentity,
    boot_id,
    identify,
    is_alive,
)


def test_a_process_is_itself_and_no_other() -> None:
    me = identify(os.getpid())
    assert me is not None
    assert is_alive(me)
    assert not is_alive(ProcessIdentity(me.pid, me.start_ticks + 1, me.boot_id))
    assert not is_alive(ProcessIdentity(me.pid, me.start_ticks, "another boot"))


def test_a_process_that_has_ended_is_nobody_even_before_it_is_reaped() -> None:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert identify(pid) is None
    os.waitpid(pid, 0)
    assert identify(pid) is None


def test_an_identity_survives_being_written_down() -> None:
    me = identify(os.getpid())
    assert me is not None
    assert ProcessIdentity.from_json(me.as_json()) == me
    assert hash(ProcessIdentity.from_json(me.as_json())) == hash(me)
    assert repr(me) == f"process {os.getpid()}"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"pid": 1, "startTicks": 0, "bootID": ""},
        {"pid": -5, "startTicks": 0, "bootID": ""},
        {"pid": "5", "startTicks": 0, "bootID": ""},
    ],
)
def test_what_was_never_an_identity_is_none(value: object) -> None:
    """Least of all one that would mean init, or every process there is."""
    assert ProcessIdentity.from_json(value) is None


def test_a_boot_has_a_name() -> None:
    assert len(boot_id()) == 36
