"""Whatever an API server is sent, it stays in order. Seeds are played by tests/fuzz/server.py."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from typing import Any

import pytest

from tests.fuzz.server import World, episode
from tests.fuzz.server_requests import Sent
from tests.interop.script import APPLY, JSON, JSON_PATCH, MERGE

# A few seconds of them. DRAY_FUZZ_EPISODES asks for more, and from another seed.
EPISODES = int(os.environ.get("DRAY_FUZZ_EPISODES", "60"))
FIRST_SEED = int(os.environ.get("DRAY_FUZZ_SEED", "1"))
BATCH = 10

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + EPISODES, BATCH))
def test_damaged_requests_break_nothing(first: int) -> None:
    for seed in range(first, min(first + BATCH, FIRST_SEED + EPISODES)):
        log: list[str] = []
        try:
            asyncio.run(episode(seed, log))
        except BaseException as error:
            error.add_note(f"seed {seed}: {log[-1][:2000]}")
            error.add_note(f"python -m tests.fuzz.server --seed {seed} --count 1 --show")
            raise


DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MAPS = "/api/v1/namespaces/default/configmaps"


def sent(method: str, path: str, body: Any, type_: str = JSON) -> Sent:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Sent(method, path, (), {"content-type": type_}, data)


def deployment(name: str) -> Any:
    pod = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": pod}
    return {"metadata": {"name": name}, "spec": spec}


# Each of these once raised in the server.
FOUND = [
    pytest.param(sent("DELETE", f"{MAPS}/a", "v1"), 400, id="options that are text"),
    pytest.param(sent("DELETE", f"{MAPS}/a", {"kind": []}), 400, id="options of no kind"),
    pytest.param(
        sent("PATCH", f"{MAPS}/a", b'{"x":"\\udfff\\ud800"}', MERGE), 200, id="half characters"
    ),
    pytest.param(
        sent("PATCH", f"{DEPLOYMENTS}/a/scale", b'{"a":"\xed\xa0\x80"}', MERGE), 400, id="not UTF-8"
    ),
    pytest.param(
        replace(
            sent("PATCH", f"{DEPLOYMENTS}/a/scale", b"spec:\n  replicas: 3\n", APPLY),
            query=(("fieldManager", "a"), ("force", "true")),
        ),
        200,
        id="a scale in YAML",
    ),
    pytest.param(sent("PATCH", f"{DEPLOYMENTS}/a/scale", 1, JSON_PATCH), 400, id="no operations"),
]


@pytest.mark.parametrize(("request_", "status"), FOUND)
def test_what_once_broke_is_answered(request_: Sent, status: int) -> None:
    async def scenario() -> None:
        world = await World.start()
        try:
            await world.send(sent("POST", MAPS, {"metadata": {"name": "a"}}))
            await world.send(sent("POST", DEPLOYMENTS, deployment("a")))
            outcome = await world.send(request_)
            assert outcome is not None
            assert outcome.status == status, outcome.body
            await world.check_step()
        finally:
            await world.server.stop(0)

    asyncio.run(scenario())
