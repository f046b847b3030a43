"""Many clients at once, over a store on disk: while one waits for it, others go on."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.server.harness import (
    APPLY,
    CONFIG_MAPS,
    NAMESPACES,
    PODS,
    Api,
    config_map,
    durable_store,
    pod,
    served,
)

pytestmark = pytest.mark.slow

PATH = f"{CONFIG_MAPS}/a"
QUOTAS = f"{NAMESPACES}/default/resourcequotas"


@served(store=durable_store)
async def test_patches_of_one_object_are_all_kept_and_heard_once(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    watch = await api.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={api.store.revision}")
    replies = await asyncio.gather(
        *(api.patch(PATH, {"data": {f"k{number}": "1"}}) for number in range(30))
    )
    assert {reply.status for reply in replies} == {200}
    assert len((await api.get(PATH)).json["data"]) == 30
    heard = [int(event["object"]["metadata"]["resourceVersion"]) for event in watch.events]
    assert heard == sorted(reply.revision for reply in replies)


@served(store=durable_store)
async def test_of_many_who_name_a_revision_one_wins(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a"))
    revision = made["metadata"]["resourceVersion"]
    bodies = [config_map("a", {"n": str(n)}, resourceVersion=revision) for n in range(10)]
    replies = await asyncio.gather(*(api.put(PATH, body) for body in bodies))
    assert sorted(reply.status for reply in replies) == [200] + [409] * 9


@served(store=durable_store)
async def test_of_many_who_create_one_name_one_wins(api: Api) -> None:
    bodies = [config_map("a", {"n": str(n)}) for n in range(10)]
    replies = await asyncio.gather(*(api.post(CONFIG_MAPS, body) for body in bodies))
    assert sorted(reply.status for reply in replies) == [201] + [409] * 9
    (winner,) = (reply for reply in replies if reply.status == 201)
    assert (await api.get(PATH)).json == winner.json


@served(store=durable_store)
async def test_of_many_who_delete_an_object_one_does(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    *deletions, creation = await asyncio.gather(
        *(api.delete(PATH) for _each in range(5)), api.post(CONFIG_MAPS, config_map("a"))
    )
    assert sorted(reply.status for reply in deletions) == [200] + [404] * 4
    assert creation.status == 201


@served(store=durable_store)
async def test_a_pod_ends_though_somebody_writes_to_it(api: Api) -> None:
    await api.made(PODS, pod("p"))
    deletion, *_others = await asyncio.gather(
        api.delete(f"{PODS}/p"),
        api.patch(f"{PODS}/p/status", {"status": {"message": "x"}}),
        api.patch(f"{PODS}/p", {"metadata": {"labels": {"x": "y"}}}),
    )
    assert deletion.status == 200
    assert (await api.get(f"{PODS}/p")).status == 404


@served(store=durable_store)
async def test_a_pod_is_evicted_though_somebody_writes_to_it(api: Api) -> None:
    await api.made(PODS, pod("p", node="n"))
    await api.patch(f"{PODS}/p/status", {"status": {"phase": "Running"}})
    eviction, status = await asyncio.gather(
        api.post(f"{PODS}/p/eviction", {"metadata": {"name": "p"}}),
        api.patch(f"{PODS}/p/status", {"status": {"message": "x"}}),
    )
    assert (eviction.status, status.status) == (201, 200)
    found = (await api.get(f"{PODS}/p")).json
    assert "deletionTimestamp" in found["metadata"]
    assert found["status"]["message"] == "x"


@served(store=durable_store)
async def test_an_object_goes_whether_its_finalizer_or_its_deletion_is_first(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", finalizers=["example.com/x"]))
    await asyncio.gather(
        api.delete(PATH),
        api.patch(PATH, {"metadata": {"finalizers": None}}),
        api.delete(PATH),
    )
    assert (await api.get(PATH)).status == 404


@served(store=durable_store)
async def test_however_many_pay_from_one_quota_all_are_served(api: Api) -> None:
    hard = {"count/configmaps": "35"}
    await api.made(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    status = {"hard": hard, "used": {"count/configmaps": "1"}}
    await api.patch(f"{QUOTAS}/q/status", {"status": status})
    replies = await asyncio.gather(
        *(api.post(CONFIG_MAPS, config_map(f"c{number}")) for number in range(40))
    )
    assert sorted(reply.status for reply in replies) == [201] * 34 + [403] * 6
    used = (await api.get(f"{QUOTAS}/q")).json["status"]["used"]
    assert used == {"count/configmaps": "35"}


# What is large is worked on in a thread, so that even reading it lets others in between.
LARGE = "x" * 50_000


@served(store=durable_store)
async def test_large_objects_are_written_as_small_ones_are(api: Api) -> None:
    api.server.services.aside.start()
    await api.made(CONFIG_MAPS, config_map("a", {"large": LARGE}))
    patches = await asyncio.gather(
        *(api.patch(PATH, {"data": {f"k{number}": "1"}}) for number in range(6))
    )
    assert {reply.status for reply in patches} == {200}
    assert len((await api.get(PATH)).json["data"]) == 7
    writes = await asyncio.gather(
        api.patch(PATH, {"data": {"x": "1"}}), api.delete(PATH), api.patch(PATH, {"data": {}})
    )
    assert writes[1].status == 200
    assert (await api.get(PATH)).status == 404


@served(store=durable_store)
async def test_of_many_who_apply_a_new_object_none_is_refused(api: Api) -> None:
    api.server.services.aside.start()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    replies = await asyncio.gather(
        *(
            api.patch(
                f"{PATH}?fieldManager=m{number}",
                {**body, "data": {"large": LARGE, f"k{number}": "1"}},
                APPLY,
            )
            for number in range(5)
        )
    )
    assert sorted(reply.status for reply in replies) == [200] * 4 + [201]
    assert len((await api.get(PATH)).json["data"]) == 6


@served(store=durable_store)
async def test_of_many_who_put_a_new_object_none_is_refused(api: Api) -> None:
    api.server.services.aside.start()
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/rrrrr"
    rules = [{"apiGroups": ["x"], "resources": [LARGE], "verbs": ["get"]}]
    bodies = [
        {"metadata": {"name": "rrrrr", "labels": {"n": str(number)}}, "rules": rules}
        for number in range(4)
    ]
    replies = await asyncio.gather(*(api.put(path, body) for body in bodies))
    assert sorted(reply.status for reply in replies) == [200] * 3 + [201]
