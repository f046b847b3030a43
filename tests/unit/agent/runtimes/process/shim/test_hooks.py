from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dray.agent.runtimes.process.shim.hooks import HookFailed, run_hooks

STATE = {"ociVersion": "1.0.2", "id": "process://x", "bundle": "/b", "annotations": {}}


def launch(*scripts: str, name: str = "prestart", timeout: int | None = None) -> dict[str, Any]:
    hooks = [
        {
            "name": name,
            "path": "/bin/sh",
            "args": ["sh", "-c", script],
            "env": ["WHO=me"],
            "timeout": timeout,
        }
        for script in scripts
    ]
    return {"hooks": hooks, "state": STATE}


def test_hooks_get_the_state_and_only_their_own_variables(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_hooks(launch(f'cat > {out}; [ "$WHO" = me ] && [ -z "$HOME" ]'), "prestart", "creating", 7)
    assert json.loads(out.read_text()) == {**STATE, "status": "creating", "pid": 7}


def test_hooks_run_in_order_and_others_do_not(tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = launch(f"echo 1 >> {out}", f"echo 2 >> {out}")
    run_hooks(told, "poststop", "stopped", 0)
    assert not out.exists()
    run_hooks(told, "prestart", "creating", 0)
    assert out.read_text() == "1\n2\n"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo no such card >&2; exit 3", "prestart hook /bin/sh: exit status 3: no such card"),
        ("kill -9 $$", "prestart hook /bin/sh: signal 9"),
    ],
)
def test_a_failing_hook_says_why_and_is_the_last(tmp_path: Path, script: str, told: str) -> None:
    with pytest.raises(HookFailed, match=told):
        run_hooks(launch(script, f"touch {tmp_path}/next"), "prestart", "creating", 0)
    assert list(tmp_path.iterdir()) == []


def test_a_hook_that_does_not_exist_fails() -> None:
    hook: dict[str, Any] = {
        "name": "prestart",
        "path": "/no/hook",
        "args": [],
        "env": [],
        "timeout": None,
    }
    with pytest.raises(HookFailed, match="prestart hook /no/hook: No such file"):
        run_hooks({"hooks": [hook], "state": STATE}, "prestart", "creating", 0)


@pytest.mark.slow
def test_a_hook_that_takes_too_long_is_killed() -> None:
    with pytest.raises(HookFailed, match="not done after 1 s"):
        run_hooks(launch("sleep 1000", timeout=1), "prestart", "creating", 0)
