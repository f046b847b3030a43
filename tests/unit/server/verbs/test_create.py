from __future__ import annotations

from typing import Any

import pytest

from dray.server.writing import NAME_DRAWS_MAX
from tests.unit.server.harness import CONFIG_MAPS, NAMESPACES, PODS, Api, config_map, pod, served


@served()
async def test_a_new_object_is_stored_and_shown(api: Api) -> None:
    reply = await api.post(CONFIG_MAPS, config_map("a", {"x": "1"}))
    assert reply.status == 201
    metadata = reply.json["metadata"]
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert metadata["namespace"] == "default"
    assert reply.revision == api.store.revision
    assert (await api.get(f"{CONFIG_MAPS}/a")).json == reply.json


@served()
async def test_what_is_the_servers_to_say_is_not_taken_from_clients(api: Api) -> None:
    said: dict[str, Any] = {
        "uid": "mine",
        "creationTimestamp": "1999-01-01T00:00:00Z",
        "deletionTimestamp": "1999-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3,
        "selfLink": "/x",
        "managedFields": [{"manager": "me", "operation": "Update", "apiVersion": "v1"}],
    }
    metadata = (await api.made(CONFIG_MAPS, config_map("a", **said)))["metadata"]
    assert metadata["uid"] != "mine"
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}.isdisjoint(metadata)
    assert [entry["manager"] for entry in metadata.get("managedFields", [])] in ([], ["test"])


@served()
async def test_its_creator_owns_what_it_wrote(api: Api) -> None:
    made = await api.made(f"{CONFIG_MAPS}?fieldManager=me", config_map("a", {"x": "1"}))
    (entry,) = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Update")
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:x": {}}}


@served()
async def test_a_name_that_is_taken_is_refused(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    reply = await api.post(CONFIG_MAPS, config_map("a"))
    assert (reply.status, reply.json["reason"]) == (409, "AlreadyExists")
    assert reply.message == 'configmaps "a" already exists'


@served()
async def test_a_name_is_taken_until_its_object_is_gone(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", finalizers=["example.com/x"]))
    await api.delete(f"{CONFIG_MAPS}/a")
    reply = await api.post(CONFIG_MAPS, config_map("a"))
    assert reply.message == 'object is being deleted: configmaps "a" already exists'


@served()
async def test_a_name_is_made_from_its_beginning(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
    name = made["metadata"]["name"]
    assert name.startswith("a-")
    assert len(name) == 7
    assert set(name[2:]) <= set("bcdfghjklmnpqrstvwxz2456789")


@served()
async def test_a_long_beginning_is_cut(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, {"metadata": {"generateName": "a" * 100}})
    assert len(made["metadata"]["name"]) == 63


class Suffixes:
    """Draws the same ends of names again and again."""

    def __init__(self, *suffixes: str) -> None:
        self.left = list(suffixes)

    def __call__(self) -> str:
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


@served()
async def test_a_made_name_that_is_taken_is_made_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    entropy = api.server.services.entropy
    monkeypatch.setattr(entropy, "name_suffix", Suffixes("aaaaa", "aaaaa", "bbbbb"))
    first = await api.made(CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
    second = await api.made(CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
    assert [first["metadata"]["name"], second["metadata"]["name"]] == ["a-aaaaa", "a-bbbbb"]


@served()
async def test_a_name_is_not_made_for_ever(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    draws: list[str] = []

    def suffix() -> str:
        draws.append("aaaaa")
        return "aaaaa"

    monkeypatch.setattr(api.server.services.entropy, "name_suffix", suffix)
    await api.made(CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
    draws.clear()
    reply = await api.post(CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
    assert (reply.status, len(draws)) == (409, NAME_DRAWS_MAX)


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        pytest.param({}, 422, "name or generateName is required", id="no-name"),
        pytest.param(config_map("A B"), 422, "metadata.name", id="bad-name"),
        pytest.param(
            config_map("a", namespace="other"),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
            id="another-namespace",
        ),
        pytest.param(
            config_map("a", resourceVersion="7"),
            400,
            "resourceVersion should not be set on objects to be created",
            id="revision",
        ),
        pytest.param({"kind": "Secret"}, 400, "cannot be handled as a ConfigMap", id="kind"),
        pytest.param(b"{", 400, "cannot be handled as a ConfigMap", id="not-json"),
        pytest.param(b"", 400, "", id="nothing"),
    ],
)
@served()
async def test_what_cannot_be_created_is_refused(
    api: Api, body: object, status: int, told: str
) -> None:
    before = api.store.revision
    reply = await api.post(CONFIG_MAPS, body)
    assert reply.status == status
    assert told in reply.message
    assert api.store.revision == before


@served()
async def test_there_must_be_such_a_namespace(api: Api) -> None:
    reply = await api.post("/api/v1/namespaces/nowhere/configmaps", config_map("a"))
    assert (reply.status, reply.message) == (404, 'namespaces "nowhere" not found')


@served()
async def test_nothing_is_created_where_everything_ends(api: Api) -> None:
    await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    await api.delete(f"{NAMESPACES}/zoo")
    reply = await api.post(f"{NAMESPACES}/zoo/configmaps", config_map("a"))
    assert reply.status == 403
    assert reply.json["details"]["causes"][0]["reason"] == "NamespaceTerminating"


@served()
async def test_a_dry_run_stores_nothing(api: Api) -> None:
    before = api.store.revision
    reply = await api.post(f"{CONFIG_MAPS}?dryRun=All", config_map("a", {"x": "1"}))
    assert reply.status == 201
    assert reply.json["metadata"]["uid"]
    assert "resourceVersion" not in reply.json["metadata"]
    assert api.store.revision == before
    assert (await api.get(f"{CONFIG_MAPS}/a")).status == 404


@served()
async def test_a_dry_run_is_refused_what_a_wet_one_is(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    assert (await api.post(f"{CONFIG_MAPS}?dryRun=All", config_map("a"))).status == 409
    assert (await api.post(f"{CONFIG_MAPS}?dryRun=All", {})).status == 422


UNKNOWN: Any = {"metadata": {"name": "a", "zzz": 1}, "foo": 2}


@pytest.mark.parametrize(
    ("strictness", "status", "warnings"),
    [
        pytest.param("Ignore", 201, 0, id="ignore"),
        pytest.param("Warn", 201, 2, id="warn"),
        pytest.param("", 201, 2, id="by-default"),
        pytest.param("Strict", 400, 0, id="strict"),
    ],
)
@served()
async def test_unknown_fields_are_overlooked_warned_of_or_refused(
    api: Api, strictness: str, status: int, warnings: int
) -> None:
    reply = await api.post(f"{CONFIG_MAPS}?fieldValidation={strictness}", UNKNOWN)
    assert (reply.status, len(reply.warnings)) == (status, warnings)
    if status == 201:
        assert {"foo", "zzz"}.isdisjoint({*reply.json, *reply.json["metadata"]})
    else:
        assert 'strict decoding error: unknown field "metadata.zzz", unknown field "foo"' in (
            reply.message
        )


@served()
async def test_a_status_is_not_its_authors_to_say(api: Api) -> None:
    made = await api.made(PODS, {**pod("p"), "status": {"phase": "Running"}})
    assert made["status"]["phase"] == "Pending"


@served(versions=lambda _group, _version: True)
async def test_an_object_is_answered_at_the_version_it_was_sent_in(api: Api) -> None:
    path = "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims"
    requests = [{"name": "r", "deviceClassName": "gpu"}]
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}}
    reply = await api.post(path, claim)
    assert reply.json["apiVersion"] == "resource.k8s.io/v1beta1"
    assert reply.json["spec"]["devices"]["requests"][0]["deviceClassName"] == "gpu"
    assert "is deprecated" in reply.warnings[0]
