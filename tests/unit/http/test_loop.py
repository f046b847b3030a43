"""The loop: the fast one if it is there."""

from __future__ import annotations

import asyncio
import importlib.util

import pytest

from dray.http.loop import run


async def loop_module() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_uvloop_runs_the_server_where_it_is_installed() -> None:
    assert run(loop_module()).startswith("uvloop")


def test_pythons_own_loop_runs_it_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert run(loop_module()).startswith("asyncio")
