from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.harness import PODS, STRATEGIC, Api, pod, served

DEBUG = {"name": "debug", "image": "tools:1"}
PATH = f"{PODS}/p/ephemeralcontainers"


def adding(*containers: Any) -> Any:
    return {"spec": {"ephemeralContainers": list(containers)}}


@served()
async def test_a_container_is_added_to_a_pod(api: Api) -> None:
    await api.made(PODS, pod("p"))
    reply = await api.patch(PATH, adding(DEBUG), STRATEGIC)
    assert reply.status == 200
    (found,) = reply.json["spec"]["ephemeralContainers"]
    assert (found["name"], found["image"]) == ("debug", "tools:1")
    assert reply.json["metadata"]["generation"] == 2


@served()
async def test_nothing_else_changes_with_it(api: Api) -> None:
    await api.made(PODS, pod("p"))
    change = {"spec": {"containers": [{"name": "a", "image": "other:2"}], "priority": 9}}
    reply = await api.patch(PATH, change, STRATEGIC)
    assert reply.status == 200
    assert reply.json["spec"]["containers"][0]["image"] == "registry/a:1"


@pytest.mark.parametrize(
    ("containers", "told"),
    [
        pytest.param([], "may not be removed", id="removed"),
        pytest.param([{**DEBUG, "image": "tools:2"}], "may not be changed", id="changed"),
        pytest.param([DEBUG, {**DEBUG, "name": "a"}], "Duplicate value", id="name-taken"),
    ],
)
@served()
async def test_containers_are_only_added(api: Api, containers: list[Any], told: str) -> None:
    await api.made(PODS, pod("p"))
    assert (await api.patch(PATH, adding(DEBUG))).status == 200
    reply = await api.patch(PATH, adding(*containers))
    assert reply.status == 422
    assert told in reply.message


@served()
async def test_the_main_resource_adds_no_such_container(api: Api) -> None:
    await api.made(PODS, pod("p"))
    reply = await api.patch(f"{PODS}/p", adding(DEBUG))
    assert reply.status == 422


@served()
async def test_a_name_with_dots_is_warned_of(api: Api) -> None:
    reply = await api.post(PODS, pod("my.pod"))
    assert reply.status == 201
    assert "the Pod's hostname" in reply.warnings[0]
