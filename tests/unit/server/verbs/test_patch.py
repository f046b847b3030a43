from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.server.harness import (
    APPLY,
    CONFIG_MAPS,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    Api,
    config_map,
    pod,
    served,
)

PATH = f"{CONFIG_MAPS}/a"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
CLAIM = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}


def applied(data: dict[str, str], **metadata: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def apply(api: Api, manager: str, body: Any, *, query: str = "", path: str = PATH) -> Any:
    return await api.patch(f"{path}?fieldManager={manager}{query}", body, APPLY)


# All kinds -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(MERGE, {"data": {"x": None, "y": "2"}}, id="merge"),
        pytest.param(STRATEGIC, {"data": {"x": None, "y": "2"}}, id="strategic"),
        pytest.param(
            JSON_PATCH,
            [{"op": "remove", "path": "/data/x"}, {"op": "add", "path": "/data/y", "value": "2"}],
            id="json",
        ),
    ],
)
@served()
async def test_an_object_is_changed_as_the_patch_says(
    api: Api, headers: dict[str, str], body: Any
) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}, labels={"l": "1"}))
    reply = await api.patch(PATH, body, headers)
    assert reply.status == 200
    assert reply.json["data"] == {"y": "2"}
    assert reply.json["metadata"]["labels"] == {"l": "1"}
    assert (await api.get(PATH)).json == reply.json


@served()
async def test_lists_merge_by_key_only_where_the_kind_says_so(api: Api) -> None:
    await api.made(PODS, pod("p", tolerations=[{"key": "a", "operator": "Exists"}]))
    change = {"spec": {"containers": [{"name": "a", "image": "registry/a:2"}]}}
    merged = await api.patch(f"{PODS}/p", change, STRATEGIC)
    assert merged.json["spec"]["containers"][0]["image"] == "registry/a:2"
    assert merged.json["spec"]["containers"][0]["terminationMessagePath"]


@pytest.mark.parametrize("headers", [MERGE, STRATEGIC, JSON_PATCH], ids=["merge", "smp", "json"])
@served()
async def test_what_is_not_there_is_not_found(api: Api, headers: dict[str, str]) -> None:
    assert (await api.patch(PATH, {}, headers)).status == 404


@served()
async def test_a_patch_that_changes_nothing_is_no_write(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    before = api.store.revision
    reply = await api.patch(PATH, {"data": {"x": "1"}})
    assert (reply.status, reply.json) == (200, made)
    assert api.store.revision == before


@served()
async def test_a_dry_run_stores_nothing(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    reply = await api.patch(f"{PATH}?dryRun=All", {"data": {"x": "2"}})
    assert reply.json["data"] == {"x": "2"}
    assert (await api.get(PATH)).json == made


@served()
async def test_a_revision_in_a_patch_is_a_precondition(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a"))
    revision = int(made["metadata"]["resourceVersion"])
    stale = {"metadata": {"resourceVersion": str(revision - 1)}, "data": {"x": "1"}}
    assert (await api.patch(PATH, stale)).status == 409
    fresh = {"metadata": {"resourceVersion": str(revision)}, "data": {"x": "1"}}
    assert (await api.patch(PATH, fresh)).status == 200


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        pytest.param(MERGE, {"metadata": {"name": "b"}}, 400, id="name"),
        pytest.param(MERGE, {"metadata": {"namespace": "b"}}, 400, id="namespace"),
        pytest.param(MERGE, {"kind": "Secret"}, 422, id="kind"),
        pytest.param(MERGE, {"apiVersion": "v2"}, 422, id="version"),
        pytest.param(MERGE, {"metadata": {"uid": "other"}}, 422, id="uid"),
        pytest.param(MERGE, {"data": {"x": 1}}, 422, id="type"),
        pytest.param(MERGE, [1], 400, id="no-object"),
        pytest.param(MERGE, b"{", 400, id="no-json"),
        pytest.param(JSON_PATCH, {}, 400, id="no-operations"),
        pytest.param(JSON_PATCH, [{"op": "remove", "path": "/data/y"}], 422, id="nothing-there"),
        pytest.param(
            JSON_PATCH, [{"op": "test", "path": "/data/x", "value": "2"}], 422, id="test-fails"
        ),
        pytest.param(JSON_PATCH, [{"op": "replace", "path": "", "value": 1}], 422, id="a-number"),
    ],
)
@served()
async def test_a_patch_that_leads_nowhere_is_refused(
    api: Api, headers: dict[str, str], body: object, status: int
) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    assert (await api.patch(PATH, body, headers)).status == status
    assert (await api.get(PATH)).json == made


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", ""])
@served()
async def test_a_patch_says_what_kind_it_is(api: Api, content_type: str) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    reply = await api.patch(PATH, {}, {"content-type": content_type})
    assert reply.status == 415


@pytest.mark.parametrize(
    ("strictness", "status", "warnings"),
    [("Ignore", 200, 0), ("Warn", 200, 1), ("Strict", 422, 0)],
)
@served()
async def test_unknown_fields_are_overlooked_warned_of_or_refused(
    api: Api, strictness: str, status: int, warnings: int
) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    reply = await api.patch(f"{PATH}?fieldValidation={strictness}", {"foo": 1})
    assert (reply.status, len(reply.warnings)) == (status, warnings)
    if status == 422:
        assert reply.json["details"]["causes"][0]["field"] == "patch"


@served()
async def test_a_status_is_patched_apart(api: Api) -> None:
    await api.made(PODS, pod("p"))
    both = {"status": {"phase": "Running"}, "metadata": {"labels": {"a": "b"}}}
    assert (await api.patch(f"{PODS}/p", both)).json["status"]["phase"] == "Pending"
    reply = await api.patch(f"{PODS}/p/status", {"status": {"phase": "Running"}}, STRATEGIC)
    assert reply.json["status"]["phase"] == "Running"
    owners = [each for each in reply.json["metadata"]["managedFields"] if "subresource" in each]
    assert [each["subresource"] for each in owners] == ["status"]


@pytest.mark.parametrize("headers", [MERGE, STRATEGIC], ids=["merge", "strategic"])
@served()
async def test_a_status_that_is_refused_is_told_with_the_whole_object(
    api: Api, headers: dict[str, str]
) -> None:
    await api.made(PODS, pod("p"))
    reply = await api.patch(f"{PODS}/p/status", {"status": {"phase": 1}}, headers)
    assert reply.status == 422
    assert "creationTimestamp" in reply.json["message"]


@served()
async def test_a_directive_at_the_top_is_about_all_of_the_object(api: Api) -> None:
    await api.made(PODS, pod("p"))
    patch = {"$patch": "replace", "status": {"phase": "Running"}}
    reply = await api.patch(f"{PODS}/p/status", patch, STRATEGIC)
    assert reply.status == 400  # nothing is left of the name


@pytest.mark.parametrize("headers", [MERGE, STRATEGIC], ids=["merge", "strategic"])
@served()
async def test_a_patch_of_the_status_leaves_all_else(api: Api, headers: dict[str, str]) -> None:
    made = await api.made(PODS, pod("p"))
    reply = await api.patch(f"{PODS}/p/status", {"status": {"phase": "Running"}}, headers)
    assert reply.status == 200
    found = reply.json
    assert found["spec"] == made["spec"]
    assert found["status"] == made["status"] | {"phase": "Running"}
    creator, patcher = found["metadata"].pop("managedFields")
    assert [creator] == made["metadata"].pop("managedFields")
    assert patcher["fieldsV1"] == {"f:status": {"f:phase": {}}}
    revision = found["metadata"]["resourceVersion"]
    assert found["metadata"] == made["metadata"] | {"resourceVersion": revision}


@pytest.mark.parametrize(
    ("said", "status"),
    [
        pytest.param({"uid": "its"}, 200, id="uid"),
        pytest.param({"uid": "its", "resourceVersion": "its"}, 200, id="both"),
        pytest.param({}, 200, id="nothing"),
        pytest.param(None, 400, id="no-metadata"),
        pytest.param({"uid": "another"}, 422, id="another-uid"),
        pytest.param({"resourceVersion": "1"}, 409, id="an-old-version"),
        pytest.param({"uid": "its", "resourceVersion": "1"}, 409, id="an-old-version-of-it"),
        pytest.param({"uid": "its", "name": "q"}, 400, id="another-name"),
    ],
)
@pytest.mark.parametrize("headers", [MERGE, STRATEGIC], ids=["merge", "strategic"])
@served()
async def test_a_patch_of_the_status_may_say_which_object_is_meant(
    api: Api, headers: dict[str, str], said: Any, status: int
) -> None:
    made = (await api.made(PODS, pod("p")))["metadata"]
    if said is not None:
        said = {name: made[name] if value == "its" else value for name, value in said.items()}
    body = {"metadata": said, "status": {"phase": "Running"}}
    reply = await api.patch(f"{PODS}/p/status", body, headers)
    assert reply.status == status
    stored = (await api.get(f"{PODS}/p")).json
    assert stored["status"]["phase"] == ("Running" if status == 200 else "Pending")
    assert stored["metadata"]["uid"] == made["uid"]


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(MERGE, {"metadata": {"labels": {"x": "y"}}}, id="merge"),
        pytest.param(STRATEGIC, {"metadata": {"labels": {"x": "y"}}}, id="strategic"),
        pytest.param(
            JSON_PATCH, [{"op": "add", "path": "/metadata/labels", "value": {"x": "y"}}], id="json"
        ),
        pytest.param(APPLY, CLAIM | {"metadata": {"labels": {"x": "y"}}}, id="apply"),
    ],
)
@served()
async def test_what_must_not_change_stays_as_it_was_written(
    api: Api, headers: dict[str, str], body: Any
) -> None:
    parameters = rb'{"flags":"a\u0026b","share":1.10}'
    opaque = b'{"driver":"gpu.example.com","parameters":%s}' % parameters
    requests = b'[{"name":"gpu","exactly":{"deviceClassName":"gpu"}}]'
    spec = b'{"devices":{"requests":%s,"config":[{"opaque":%s}]}}' % (requests, opaque)
    await api.made(CLAIMS, b'{"metadata":{"name":"c"},"spec":%s}' % spec)
    reply = await api.patch(f"{CLAIMS}/c?fieldManager=me", body, headers)
    assert (reply.status, reply.json["metadata"]["labels"]) == (200, {"x": "y"})
    assert parameters in reply.body


# Apply -----------------------------------------------------------------------------------------


@served()
async def test_an_apply_creates_what_is_not_there(api: Api) -> None:
    reply = await apply(api, "me", applied({"x": "1"}))
    assert reply.status == 201
    assert reply.json["metadata"]["name"] == "a"
    (entry,) = reply.json["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Apply")
    assert entry["fieldsV1"] == {"f:data": {"f:x": {}}}


@served()
async def test_an_apply_of_the_same_is_no_write(api: Api) -> None:
    first = await apply(api, "me", applied({"x": "1"}))
    before = api.store.revision
    api.clock.advance(60)
    again = await apply(api, "me", applied({"x": "1"}))
    assert (again.status, again.json) == (200, first.json)
    assert api.store.revision == before


@served()
async def test_an_apply_takes_back_what_it_no_longer_says(api: Api) -> None:
    await apply(api, "me", applied({"x": "1", "y": "1"}))
    reply = await apply(api, "me", applied({"y": "1"}))
    assert reply.json["data"] == {"y": "1"}


@served()
async def test_what_another_owns_is_a_conflict(api: Api) -> None:
    await apply(api, "me", applied({"x": "1"}))
    reply = await apply(api, "you", applied({"x": "2"}))
    assert (reply.status, reply.json["reason"]) == (409, "Conflict")
    assert reply.message == 'Apply failed with 1 conflict: conflict with "me": .data.x'
    assert reply.json["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "me"', "field": ".data.x"}
    ]
    assert (await api.get(PATH)).json["data"] == {"x": "1"}


@served()
async def test_force_takes_what_another_owns(api: Api) -> None:
    await apply(api, "me", applied({"x": "1"}))
    reply = await apply(api, "you", applied({"x": "2"}), query="&force=true")
    assert reply.json["data"] == {"x": "2"}
    assert [each["manager"] for each in reply.json["metadata"]["managedFields"]] == ["you"]


@served()
async def test_who_agrees_shares(api: Api) -> None:
    await apply(api, "me", applied({"x": "1"}))
    reply = await apply(api, "you", applied({"x": "1"}))
    assert {each["manager"] for each in reply.json["metadata"]["managedFields"]} == {"me", "you"}
    left = await apply(api, "me", applied({}))
    assert left.json["data"] == {"x": "1"}


@served()
async def test_an_apply_is_written_in_yaml_too(api: Api) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\ndata:\n  x: one\n"
    assert (await apply(api, "me", body)).json["data"] == {"x": "one"}


@pytest.mark.parametrize(
    ("body", "query", "status", "told"),
    [
        pytest.param(applied({}), "?", 422, "is required for apply patch", id="by-nobody"),
        pytest.param({"data": {}}, "", 400, "invalid object type: /, Kind=", id="no-kind"),
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "Deployment"},
            "",
            400,
            "invalid object type: apps/v1, Kind=Deployment",
            id="another-kind",
        ),
        pytest.param(
            applied({}, managedFields=[{"manager": "x"}]),
            "",
            400,
            "metadata.managedFields must be nil",
            id="owners",
        ),
        pytest.param(applied({}, name="b"), "", 400, "does not match the name", id="name"),
        pytest.param(
            applied({}, namespace="b"), "", 400, "namespace of the provided object", id="namespace"
        ),
        pytest.param(applied({}, uid="u"), "", 409, "uid mismatch", id="uid"),
        pytest.param(b"- 1", "", 400, "error decoding YAML", id="no-object"),
    ],
)
@served()
async def test_an_apply_that_makes_no_sense_is_refused(
    api: Api, body: object, query: str, status: int, told: str
) -> None:
    reply = await api.patch(PATH + (query or "?fieldManager=me"), body, APPLY)
    assert reply.status == status
    assert told in reply.message
    assert (await api.get(PATH)).status == 404


@served()
async def test_a_field_nobody_declared_cannot_be_applied(api: Api) -> None:
    reply = await apply(api, "me", {**applied({}), "foo": 1})
    assert reply.status == 400
    assert ".foo: field not declared in schema" in reply.message


@served()
async def test_the_status_of_what_is_not_there_cannot_be_applied(api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"}}
    assert (await apply(api, "me", body, path=f"{PODS}/p/status")).status == 404


@served()
async def test_an_applied_status_is_owned_apart(api: Api) -> None:
    await api.made(PODS, pod("p"))
    body = {"apiVersion": "v1", "kind": "Pod", "status": {"message": "hello"}}
    reply = await apply(api, "me", body, path=f"{PODS}/p/status")
    assert reply.json["status"]["message"] == "hello"
    (mine,) = (each for each in reply.json["metadata"]["managedFields"] if each["manager"] == "me")
    assert (mine["operation"], mine["subresource"]) == ("Apply", "status")


@served()
async def test_a_dry_apply_stores_nothing(api: Api) -> None:
    reply = await apply(api, "me", applied({"x": "1"}), query="&dryRun=All")
    assert reply.status == 201
    assert (await api.get(PATH)).status == 404


@served()
async def test_members_written_twice_are_warned_of(api: Api) -> None:
    body = json.dumps(applied({})).replace('"data": {}', '"data": {"x": "1", "x": "2"}').encode()
    reply = await apply(api, "me", body)
    assert reply.status == 201
    assert "data.x" in reply.warnings[0]
