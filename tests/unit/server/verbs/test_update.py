from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.harness import CONFIG_MAPS, PODS, Api, config_map, pod, served

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
PATH = f"{CONFIG_MAPS}/a"


@served()
async def test_an_object_is_replaced(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}, labels={"l": "1"}))
    reply = await api.put(PATH, config_map("a", {"y": "2"}))
    assert reply.status == 200
    assert reply.json["data"] == {"y": "2"}
    assert "labels" not in reply.json["metadata"]
    assert reply.json["metadata"]["uid"] == made["metadata"]["uid"]
    assert reply.revision == api.store.revision


@pytest.mark.parametrize(
    ("shift", "status"),
    [
        pytest.param(0, 200, id="the-stored-one"),
        pytest.param(-1, 409, id="an-older-one"),
        pytest.param(1, 409, id="one-to-come"),
    ],
)
@served()
async def test_a_revision_must_be_the_stored_one(api: Api, shift: int, status: int) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a"))
    revision = int(made["metadata"]["resourceVersion"]) + shift
    reply = await api.put(PATH, config_map("a", {"x": "1"}, resourceVersion=str(revision)))
    assert reply.status == status
    if status == 409:
        assert reply.json["reason"] == "Conflict"
        assert "the object has been modified" in reply.message


@pytest.mark.parametrize("revision", ["", "0"])
@served()
async def test_without_a_revision_the_last_writer_wins(api: Api, revision: str) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    reply = await api.put(PATH, config_map("a", {"x": "1"}, resourceVersion=revision))
    assert reply.status == 200


@served()
async def test_a_revision_that_is_no_number_is_refused(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    assert (await api.put(PATH, config_map("a", resourceVersion="new"))).status == 400


@served()
async def test_some_kinds_insist_on_a_revision(api: Api) -> None:
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    await api.made(LEASES, lease)
    reply = await api.put(f"{LEASES}/l", lease)
    assert reply.status == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in (
        reply.message
    )


@served()
async def test_a_uid_must_be_the_stored_one(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a"))
    uid = made["metadata"]["uid"]
    assert (await api.put(PATH, config_map("a", {"x": "1"}, uid=uid))).status == 200
    reply = await api.put(PATH, config_map("a", {"x": "2"}, uid="other"))
    assert reply.status == 409
    assert (
        f"Precondition failed: UID in precondition: other, UID in object meta: {uid}"
        in reply.message
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(
            config_map("b"),
            "the name of the object (b) does not match the name on the URL (a)",
            id="another",
        ),
        pytest.param({"data": {}}, "name must be provided", id="none"),
    ],
)
@served()
async def test_the_body_names_the_object_of_its_path(api: Api, body: Any, told: str) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    reply = await api.put(PATH, body)
    assert (reply.status, told in reply.message) == (400, True)


@served()
async def test_what_changes_nothing_is_no_write(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    watch = await api.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={api.store.revision}")
    api.clock.advance(60)
    reply = await api.put(PATH, config_map("a", {"x": "1"}))
    assert reply.status == 200
    assert reply.json == made
    assert watch.events == []


@served()
async def test_a_dry_run_stores_nothing(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    reply = await api.put(f"{PATH}?dryRun=All", config_map("a", {"x": "2"}))
    assert reply.json["data"] == {"x": "2"}
    assert reply.json["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert (await api.get(PATH)).json == made


@served()
async def test_an_object_that_is_not_there_is_not_found(api: Api) -> None:
    assert (await api.put(PATH, config_map("a"))).status == 404


@served()
async def test_some_kinds_are_created_by_an_update(api: Api) -> None:
    reply = await api.put(f"{ROLES}/r", {"metadata": {"name": "r"}, "rules": []})
    assert reply.status == 201
    assert (await api.get(f"{ROLES}/r")).status == 200


@pytest.mark.parametrize(
    "metadata", [{"uid": "u"}, {"resourceVersion": "7"}], ids=["uid", "revision"]
)
@served()
async def test_an_update_of_what_was_there_creates_nothing(
    api: Api, metadata: dict[str, str]
) -> None:
    reply = await api.put(f"{ROLES}/r", {"metadata": {"name": "r", **metadata}, "rules": []})
    assert (reply.status, reply.json["reason"]) == (409, "Conflict")


# Parts of an object ----------------------------------------------------------------------------


@served()
async def test_a_main_write_leaves_the_status_alone(api: Api) -> None:
    made = await api.made(PODS, pod("p"))
    reply = await api.put(f"{PODS}/p", {**made, "status": {"phase": "Running"}})
    assert reply.json["status"]["phase"] == "Pending"
    assert reply.json["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


@served()
async def test_a_status_write_leaves_the_spec_alone(api: Api) -> None:
    made = await api.made(PODS, pod("p"))
    spec = {**made["spec"], "activeDeadlineSeconds": 5}
    wanted = {**made, "spec": spec, "status": {"phase": "Running"}}
    reply = await api.put(f"{PODS}/p/status", wanted)
    assert reply.json["status"]["phase"] == "Running"
    assert "activeDeadlineSeconds" not in reply.json["spec"]


@pytest.mark.parametrize(
    ("path", "body", "labels"),
    [
        pytest.param(PODS, pod("p"), {"new": "1"}, id="Pod"),
        pytest.param(
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            {"metadata": {"name": "p"}, "spec": {}},
            {"old": "1"},
            id="ResourceClaim",
        ),
    ],
)
@served()
async def test_a_status_write_changes_metadata_of_some_kinds_only(
    api: Api, path: str, body: Any, labels: dict[str, str]
) -> None:
    body = {**body, "metadata": {**body["metadata"], "labels": {"old": "1"}}}
    made = await api.made(path, body)
    made["metadata"]["labels"] = {"new": "1"}
    reply = await api.put(f"{path}/p/status", made)
    assert (reply.status, reply.json["metadata"]["labels"]) == (200, labels)


@served()
async def test_a_status_is_never_created(api: Api) -> None:
    assert (await api.put(f"{PODS}/p/status", pod("p"))).status == 404
    assert (await api.post(f"{PODS}/p/status", pod("p"))).status == 405


@served()
async def test_a_change_of_the_spec_counts(api: Api) -> None:
    made = await api.made(PODS, pod("p"))
    assert made["metadata"]["generation"] == 1
    made["spec"]["containers"][0]["image"] = "registry/a:2"
    assert (await api.put(f"{PODS}/p", made)).json["metadata"]["generation"] == 2


# Finalizers ------------------------------------------------------------------------------------


@served()
async def test_the_last_finalizer_takes_the_object_with_it(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", finalizers=["example.com/x", "example.com/y"]))
    ending = (await api.delete(PATH)).json
    watch = await api.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={api.store.revision}")
    ending["metadata"]["finalizers"] = ["example.com/y"]
    held = await api.put(PATH, ending)
    assert held.status == 200
    last = held.json
    last["metadata"].pop("finalizers")
    reply = await api.put(PATH, last)
    assert reply.status == 200
    assert reply.revision == held.revision
    assert (await api.get(PATH)).status == 404
    assert [kind for kind, _name in watch.told] == ["MODIFIED", "DELETED"]


@served()
async def test_no_finalizer_is_added_to_what_is_ending(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", finalizers=["example.com/x"]))
    ending = (await api.delete(PATH)).json
    ending["metadata"]["finalizers"].append("example.com/y")
    reply = await api.put(PATH, ending)
    assert (reply.status, "metadata.finalizers" in reply.message) == (422, True)


@served()
async def test_what_is_ending_stays_so(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", finalizers=["example.com/x"]))
    ending = (await api.delete(PATH)).json
    reply = await api.put(PATH, config_map("a", {"x": "1"}, finalizers=["example.com/x"]))
    assert reply.json["metadata"]["deletionTimestamp"] == ending["metadata"]["deletionTimestamp"]
