"""Whatever an API server is sent, it stays in order. Seeds are played by tests/fuzz/server.py."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from dray.server import writing
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
    pytest.param(
        sent("POST", MAPS, rb'{"kind":"Config\ud800","x":1,"metadata":{"name":"b"}}'),
        400,
        id="half a kind",
    ),
    pytest.param(sent("PATCH", f"{DEPLOYMENTS}/a/scale", 1, JSON_PATCH), 400, id="no operations"),
]


def played(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        world = await World.start()
        try:
            await scenario(world)
            await world.check_step()
        finally:
            await world.server.stop(0)

    asyncio.run(main())


@pytest.mark.parametrize(("request_", "status"), FOUND)
def test_what_once_broke_is_answered(request_: Sent, status: int) -> None:
    async def scenario(world: World) -> None:
        await world.send(sent("POST", MAPS, {"metadata": {"name": "a"}}))
        await world.send(sent("POST", DEPLOYMENTS, deployment("a")))
        outcome = await world.send(request_)
        assert outcome is not None
        assert outcome.status == status, outcome.body

    played(scenario)


def test_what_is_too_large_to_be_stored_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    large = {"metadata": {"name": "a"}, "data": {"x": "y" * 2000}}

    async def scenario(world: World) -> None:
        monkeypatch.setattr(writing, "OBJECT_BYTES_MAX", 2000)
        created = await world.send(sent("POST", MAPS, large))
        await world.send(sent("POST", MAPS, {"metadata": {"name": "a"}}))
        patched = await world.send(sent("PATCH", f"{MAPS}/a", {"data": large["data"]}, MERGE))
        assert created is not None
        assert patched is not None
        assert (created.status, patched.status) == (413, 413)

    played(scenario)


def test_writes_to_a_large_object_at_the_same_time_are_all_made() -> None:
    large = {"metadata": {"name": "a"}, "data": {f"k{n}": "v" * 100 for n in range(500)}}
    count = 4

    async def scenario(world: World) -> None:
        await world.send(sent("POST", MAPS, large))
        patches = [sent("PATCH", f"{MAPS}/a", {"data": {f"n{n}": ""}}, MERGE) for n in range(count)]
        outcomes = await asyncio.gather(*(world.send(patch) for patch in patches))
        assert [outcome and outcome.status for outcome in outcomes] == [200] * count
        there = await world.send(Sent("GET", f"{MAPS}/a"))
        assert there is not None
        assert {f"n{n}" for n in range(count)} <= set(there.value["data"])

    played(scenario)
