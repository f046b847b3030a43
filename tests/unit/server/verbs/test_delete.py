from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.harness import (
    CONFIG_MAPS,
    NAMESPACES,
    PODS,
    Api,
    config_map,
    pod,
    served,
)

PATH = f"{CONFIG_MAPS}/a"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


@served()
async def test_some_kinds_answer_with_a_status(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a"))
    reply = await api.delete(PATH)
    assert reply.status == 200
    assert reply.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]},
    }
    assert (await api.get(PATH)).status == 404


@served()
async def test_other_kinds_answer_with_the_object_at_the_revision_of_its_end(api: Api) -> None:
    accounts = f"{NAMESPACES}/default/serviceaccounts"
    await api.made(accounts, {"metadata": {"name": "s"}})
    reply = await api.delete(f"{accounts}/s")
    assert reply.json["kind"] == "ServiceAccount"
    assert reply.revision == api.store.revision


@served()
async def test_what_is_not_there_is_not_found(api: Api) -> None:
    assert (await api.delete(PATH)).status == 404


@pytest.mark.parametrize("body", [{"dryRun": ["All"]}, None], ids=["body", "query"])
@served()
async def test_a_dry_run_deletes_nothing(api: Api, body: Any) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    before = api.store.revision
    reply = await api.delete(PATH if body else f"{PATH}?dryRun=All", body)
    assert reply.status == 200
    assert api.store.revision == before
    assert (await api.get(PATH)).status == 200


@served()
async def test_a_job_leaves_its_pods_unless_told_otherwise_and_says_so(api: Api) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i:1"}], "restartPolicy": "Never"}}
    await api.made(JOBS, {"metadata": {"name": "j"}, "spec": {"template": template}})
    reply = await api.delete(f"{JOBS}/j")
    assert "child pods are preserved by default" in reply.warnings[0]
    assert "orphan" in reply.json["metadata"]["finalizers"]
    said = await api.delete(f"{JOBS}/j", {"propagationPolicy": "Background"})
    assert said.warnings == []


# All of them -----------------------------------------------------------------------------------


@served()
async def test_all_that_are_selected_are_deleted_and_listed(api: Api) -> None:
    for name, team in (("a", "x"), ("b", "y"), ("c", "x")):
        await api.made(CONFIG_MAPS, config_map(name, labels={"team": team}))
    reply = await api.delete(f"{CONFIG_MAPS}?labelSelector=team%3Dx")
    assert (reply.status, reply.json["kind"]) == (200, "ConfigMapList")
    assert reply.names == ["a", "c"]
    assert (await api.get(f"{CONFIG_MAPS}?labelSelector=team")).names == ["b"]


@served()
async def test_all_may_be_dry(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    before = api.store.revision
    reply = await api.delete(f"{CONFIG_MAPS}?dryRun=All")
    assert "a" in reply.names
    assert api.store.revision == before


@served()
async def test_all_get_the_grace_that_was_asked_for(api: Api) -> None:
    await api.made(PODS, pod("p", node="n"))
    await api.delete(f"{PODS}?gracePeriodSeconds=7")
    metadata = (await api.get(f"{PODS}/p")).json["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 7


@served()
async def test_namespaces_are_not_deleted_all_at_once(api: Api) -> None:
    assert (await api.delete(NAMESPACES)).status == 405
    assert (await api.delete("/api/v1/configmaps")).status == 405
