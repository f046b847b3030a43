from __future__ import annotations

import os

import pytest

from dray.agent.runtimes.process.shim import kernel


def test_a_refusal_of_the_kernel_is_an_error_with_its_words() -> None:
    with pytest.raises(OSError, match="mount /nonexistent: No such file or directory"):
        kernel.mount("/nonexistent", "/nonexistent", flags=kernel.MS_BIND)
    with pytest.raises(OSError, match="setns: Bad file descriptor"):
        kernel.set_namespace(-1, kernel.CLONE_NEWNS)
    with pytest.raises(OSError, match="unshare: Invalid argument"):
        kernel.unshare(0x1)
    with pytest.raises(OSError, match="prctl: Invalid argument"):
        kernel.drop_capability(10_000)


def test_orphans_become_children_of_a_subreaper() -> None:
    pid = os.fork()
    if not pid:
        kernel.become_subreaper()
        if not os.fork():
            if not os.fork():
                os._exit(7)
            os._exit(0)
        codes = sorted(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(2))
        os._exit(0 if codes == [0, 7] else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_child_may_die_with_its_parent() -> None:
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        wait, go = os.pipe()
        if not os.fork():
            kernel.die_with_parent(9)
            os.write(go, b"+")
            while True:
                os.read(told, 1)
        os.read(wait, 1)
        os._exit(0)
    os.close(tell)
    # The pipe ends when the last who could write to it is dead.
    assert os.read(told, 1) == b""
    os.close(told)
    os.waitpid(pid, 0)
