from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.harness import PODS, Api, pod, served

PATH = f"{PODS}/p/binding"


def binding(node: str = "n", **metadata: Any) -> Any:
    return {"metadata": {"name": "p", **metadata}, "target": {"kind": "Node", "name": node}}


@served()
async def test_a_pod_is_put_on_a_node(api: Api) -> None:
    made = await api.made(PODS, pod("p"))
    reply = await api.post(PATH, binding(annotations={"why": "free"}))
    assert (reply.status, reply.json["status"]) == (201, "Success")
    bound = (await api.get(f"{PODS}/p")).json
    assert bound["spec"]["nodeName"] == "n"
    assert bound["metadata"]["annotations"] == {"why": "free"}
    (condition,) = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert bound["metadata"]["generation"] == made["metadata"]["generation"]
    assert bound["metadata"]["managedFields"] == made["metadata"]["managedFields"]


@pytest.mark.parametrize("node", ["n", "m"], ids=["same-node", "another"])
@served()
async def test_a_pod_is_put_somewhere_once(api: Api, node: str) -> None:
    await api.made(PODS, pod("p"))
    await api.post(PATH, binding())
    reply = await api.post(PATH, binding(node))
    assert (reply.status, reply.json["reason"]) == (409, "Conflict")
    assert 'pod p is already assigned to node "n"' in reply.message
    assert reply.json["details"]["kind"] == "pods/binding"


@served()
async def test_a_pod_that_ends_is_put_nowhere(api: Api) -> None:
    held = pod("p")
    held["metadata"]["finalizers"] = ["example.com/x"]
    await api.made(PODS, held)
    await api.delete(f"{PODS}/p")
    reply = await api.post(PATH, binding())
    assert reply.status == 409
    assert "pod p is being deleted, cannot be assigned to a host" in reply.message


@served()
async def test_a_gated_pod_is_put_nowhere(api: Api) -> None:
    await api.made(PODS, pod("p", schedulingGates=[{"name": "example.com/wait"}]))
    reply = await api.post(PATH, binding())
    assert reply.status == 409
    assert "pod p has non-empty .spec.schedulingGates" in reply.message


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(binding(uid="other"), 409, id="another-uid"),
        pytest.param(binding(resourceVersion="7"), 409, id="an-old-revision"),
        pytest.param({"metadata": {"name": "q"}, "target": {"name": "n"}}, 400, id="another-name"),
        pytest.param({"metadata": {"name": "p"}, "target": {}}, 422, id="no-node"),
        pytest.param(
            {"metadata": {"name": "p"}, "target": {"kind": "Pod", "name": "n"}}, 422, id="no-target"
        ),
        pytest.param({"kind": "Pod"}, 400, id="another-kind"),
        pytest.param([1], 400, id="no-object"),
    ],
)
@served()
async def test_a_binding_that_makes_no_sense_is_refused(api: Api, body: Any, status: int) -> None:
    await api.made(PODS, pod("p"))
    assert (await api.post(PATH, body)).status == status
    assert "nodeName" not in (await api.get(f"{PODS}/p")).json["spec"]


@served()
async def test_a_binding_may_name_what_it_was_made_from(api: Api) -> None:
    made = (await api.made(PODS, pod("p")))["metadata"]
    body = binding(uid=made["uid"], resourceVersion=made["resourceVersion"])
    assert (await api.post(PATH, body)).status == 201


@served()
async def test_there_must_be_such_a_pod(api: Api) -> None:
    assert (await api.post(PATH, binding())).status == 404


@served()
async def test_a_dry_run_binds_nothing(api: Api) -> None:
    await api.made(PODS, pod("p"))
    assert (await api.post(f"{PATH}?dryRun=All", binding())).status == 201
    assert "nodeName" not in (await api.get(f"{PODS}/p")).json["spec"]


@served()
async def test_a_binding_is_only_created(api: Api) -> None:
    await api.made(PODS, pod("p"))
    assert (await api.get(PATH)).status == 405


@served()
async def test_a_binding_may_be_posted_as_such(api: Api) -> None:
    await api.made(PODS, pod("p"))
    path = PODS.replace("/pods", "/bindings")
    reply = await api.post(path, binding())
    assert (reply.status, reply.json["status"]) == (201, "Success")
    assert (await api.get(f"{PODS}/p")).json["spec"]["nodeName"] == "n"
    assert (await api.get(path)).status == 405
