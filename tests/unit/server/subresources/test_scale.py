from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.harness import JSON_PATCH, MERGE, STRATEGIC, Api, served

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SCALE = f"{DEPLOYMENTS}/d/scale"


async def deployed(api: Api) -> Any:
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]},
        },
    }
    return await api.made(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})


@served()
async def test_a_workload_shows_its_scale(api: Api) -> None:
    made = await deployed(api)
    await api.patch(f"{DEPLOYMENTS}/d/status", {"status": {"replicas": 1}})
    scale = (await api.get(SCALE)).json
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 1, "selector": "app=web"}
    assert scale["metadata"]["uid"] == made["metadata"]["uid"]
    assert scale["metadata"]["resourceVersion"] == str(api.store.revision)


@served()
async def test_a_scale_is_put(api: Api) -> None:
    await deployed(api)
    scale = (await api.get(SCALE)).json
    scale["spec"]["replicas"] = 5
    reply = await api.put(SCALE, scale)
    assert (reply.status, reply.json["spec"]) == (200, {"replicas": 5})
    assert reply.revision == api.store.revision
    workload = (await api.get(f"{DEPLOYMENTS}/d")).json
    assert workload["spec"]["replicas"] == 5
    assert workload["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(MERGE, {"spec": {"replicas": 5}}, id="merge"),
        pytest.param(STRATEGIC, {"spec": {"replicas": 5}}, id="strategic"),
        pytest.param(
            JSON_PATCH, [{"op": "replace", "path": "/spec/replicas", "value": 5}], id="json"
        ),
    ],
)
@served()
async def test_a_scale_is_patched(api: Api, headers: dict[str, str], body: Any) -> None:
    await deployed(api)
    assert (await api.patch(SCALE, body, headers)).json["spec"] == {"replicas": 5}
    assert (await api.get(f"{DEPLOYMENTS}/d")).json["spec"]["replicas"] == 5


@served()
async def test_nothing_but_the_number_is_taken_from_a_scale(api: Api) -> None:
    await deployed(api)
    body = {"metadata": {"labels": {"x": "y"}}, "status": {"replicas": 9}, "spec": {"replicas": 3}}
    await api.patch(SCALE, body)
    workload = (await api.get(f"{DEPLOYMENTS}/d")).json
    assert "labels" not in workload["metadata"]
    assert workload["status"] == {}


@served()
async def test_a_revision_must_be_the_stored_one(api: Api) -> None:
    await deployed(api)
    scale = (await api.get(SCALE)).json
    await api.patch(f"{DEPLOYMENTS}/d", {"metadata": {"labels": {"x": "y"}}})
    scale["spec"]["replicas"] = 5
    assert (await api.put(SCALE, scale)).status == 409
    del scale["metadata"]["resourceVersion"]
    assert (await api.put(SCALE, scale)).status == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param({"metadata": {"name": "d"}, "spec": {"replicas": -1}}, 422, id="negative"),
        pytest.param({"metadata": {"name": "e"}, "spec": {"replicas": 1}}, 400, id="name"),
        pytest.param({"metadata": {"name": "d"}, "spec": {"replicas": "x"}}, 400, id="type"),
        pytest.param({"kind": "Deployment", "metadata": {"name": "d"}}, 400, id="kind"),
        pytest.param(b"{", 400, id="not-json"),
    ],
)
@served()
async def test_a_scale_that_makes_no_sense_is_refused(api: Api, body: object, status: int) -> None:
    await deployed(api)
    assert (await api.put(SCALE, body)).status == status
    assert (await api.get(SCALE)).json["spec"] == {"replicas": 2}


@served()
async def test_a_dry_run_scales_nothing(api: Api) -> None:
    await deployed(api)
    reply = await api.patch(f"{SCALE}?dryRun=All", {"spec": {"replicas": 5}})
    assert reply.json["spec"] == {"replicas": 5}
    assert (await api.get(SCALE)).json["spec"] == {"replicas": 2}


@served()
async def test_there_must_be_such_a_workload(api: Api) -> None:
    assert (await api.get(SCALE)).status == 404
    assert (await api.patch(SCALE, {"spec": {"replicas": 5}})).status == 404
    assert (await api.put(SCALE, {"metadata": {"name": "d"}})).status == 404


@served()
async def test_who_scales_owns_the_number(api: Api) -> None:
    await deployed(api)
    await api.patch(f"{SCALE}?fieldManager=scaler", {"spec": {"replicas": 5}})
    owners = (await api.get(f"{DEPLOYMENTS}/d")).json["metadata"]["managedFields"]
    (mine,) = (each for each in owners if each["manager"] == "scaler")
    assert mine["fieldsV1"] == {"f:spec": {"f:replicas": {}}}
    assert mine["subresource"] == "scale"
