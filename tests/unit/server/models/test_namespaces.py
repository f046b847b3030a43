from __future__ import annotations

from tests.unit.server.harness import NAMESPACES, Api, served

ZOO = f"{NAMESPACES}/zoo"


@served()
async def test_a_namespace_starts_active_labelled_and_held(api: Api) -> None:
    made = await api.made(NAMESPACES, {"metadata": {"name": "zoo"}, "status": {"phase": "X"}})
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "zoo"}


@served()
async def test_only_finalize_changes_who_holds_a_namespace(api: Api) -> None:
    made = await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    wanted = {**made, "spec": {"finalizers": ["kubernetes", "example.com/x"]}}
    assert (await api.put(ZOO, wanted)).json["spec"] == {"finalizers": ["kubernetes"]}
    wanted["metadata"].pop("resourceVersion")
    changed = await api.put(f"{ZOO}/finalize", wanted)
    assert changed.json["spec"] == {"finalizers": ["kubernetes", "example.com/x"]}


@served()
async def test_finalize_changes_no_status(api: Api) -> None:
    made = await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    reply = await api.put(f"{ZOO}/finalize", {**made, "status": {"phase": "Terminating"}})
    assert reply.json["status"] == {"phase": "Active"}


@served()
async def test_finalize_is_only_put(api: Api) -> None:
    assert (await api.get(f"{NAMESPACES}/default/finalize")).status == 405


@served()
async def test_an_emptied_namespace_goes_with_its_last_hold(api: Api) -> None:
    await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    ending = (await api.delete(ZOO)).json
    assert ending["status"] == {"phase": "Terminating"}
    assert "deletionTimestamp" in ending["metadata"]
    reply = await api.put(f"{ZOO}/finalize", {**ending, "spec": {}})
    assert reply.status == 200
    assert (await api.get(ZOO)).status == 404


@served()
async def test_a_namespace_may_be_held_twice(api: Api) -> None:
    body = {"metadata": {"name": "zoo", "finalizers": ["example.com/x"]}}
    await api.made(NAMESPACES, body)
    ending = (await api.delete(ZOO)).json
    held = await api.put(f"{ZOO}/finalize", {**ending, "spec": {}})
    assert held.json["metadata"]["finalizers"] == ["example.com/x"]
    assert (await api.get(ZOO)).status == 200
    await api.patch(ZOO, {"metadata": {"finalizers": None}})
    assert (await api.get(ZOO)).status == 404
