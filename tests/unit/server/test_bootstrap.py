from __future__ import annotations

from dray.api.core import ConfigMap, Namespace
from dray.api.meta import ObjectMeta
from dray.server.bootstrap import NAMESPACES as FROM_THE_START
from dray.server.bootstrap import bootstrap, ensure
from dray.server.internal import Internal
from tests.unit.server.harness import NAMESPACES, Api, served

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


async def again(api: Api) -> None:
    await bootstrap(Internal(api.server.services), api.server.services.state)


@served()
async def test_a_new_server_has_what_every_server_has(api: Api) -> None:
    assert (await api.get(NAMESPACES)).names == list(FROM_THE_START)
    classes = (await api.get("/apis/scheduling.k8s.io/v1/priorityclasses")).names
    assert classes == ["system-cluster-critical", "system-node-critical"]
    roles = (await api.get(ROLES)).names
    assert {"admin", "cluster-admin", "edit", "view", "system:node"} <= set(roles)


@served()
async def test_every_namespace_is_furnished(api: Api) -> None:
    for name in FROM_THE_START:
        assert (await api.get(f"{NAMESPACES}/{name}/serviceaccounts/default")).status == 200
        found = await api.get(f"{NAMESPACES}/{name}/configmaps/kube-root-ca.crt")
        assert "BEGIN CERTIFICATE" in found.json["data"]["ca.crt"]


@served()
async def test_a_second_start_changes_nothing(api: Api) -> None:
    before = api.store.revision
    await again(api)
    assert api.store.revision == before


@served()
async def test_a_start_brings_default_roles_up_to_date(api: Api) -> None:
    await api.patch(f"{ROLES}/system:node", {"rules": []})
    await again(api)
    rules = (await api.get(f"{ROLES}/system:node")).json["rules"]
    granted = {
        (verb, what) for rule in rules for verb in rule["verbs"] for what in rule["resources"]
    }
    assert {("create", "tokenreviews"), ("list", "nodes"), ("create", "events")} <= granted


@served()
async def test_a_start_keeps_what_somebody_added(api: Api) -> None:
    rules = (await api.get(f"{ROLES}/system:node")).json["rules"]
    mine = {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]}
    await api.patch(f"{ROLES}/system:node", {"rules": [*rules, mine]})
    await again(api)
    assert mine in (await api.get(f"{ROLES}/system:node")).json["rules"]


@served()
async def test_a_start_leaves_alone_who_does_not_want_it(api: Api) -> None:
    opt_out = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    change = {"metadata": {"annotations": opt_out}, "rules": []}
    await api.patch(f"{ROLES}/system:node", change)
    await again(api)
    assert not (await api.get(f"{ROLES}/system:node")).json["rules"]


@served()
async def test_a_start_brings_back_what_is_gone(api: Api) -> None:
    await api.delete(f"{BINDINGS}/cluster-admin")
    await again(api)
    assert (await api.get(f"{BINDINGS}/cluster-admin")).status == 200


@served()
async def test_a_binding_to_another_role_is_made_anew(api: Api) -> None:
    group = "rbac.authorization.k8s.io"
    await api.delete(f"{BINDINGS}/cluster-admin")
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "view"}
    await api.made(BINDINGS, {"metadata": {"name": "cluster-admin"}, "roleRef": role})
    await api.patch(
        f"{BINDINGS}/cluster-admin",
        {"metadata": {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"}}},
    )
    await again(api)
    found = (await api.get(f"{BINDINGS}/cluster-admin")).json
    assert found["roleRef"]["name"] == "cluster-admin"


@served()
async def test_roles_that_gather_others_are_written_out(api: Api) -> None:
    view = (await api.get(f"{ROLES}/view")).json
    assert view["rules"]
    assert view["aggregationRule"]


@served()
async def test_what_is_there_is_not_made_again(api: Api) -> None:
    services = api.server.services
    before = api.store.revision
    internal = Internal(services)
    await ensure(internal, services.state, Namespace(metadata=ObjectMeta(name="default")))
    assert api.store.revision == before
    wanted = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
    await ensure(internal, services.state, wanted)
    assert services.state.get(ConfigMap, "a", "default") is not None
