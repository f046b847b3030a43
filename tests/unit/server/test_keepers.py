from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dray.server.internal import Internal
from dray.server.keepers import NamespaceKeeper, RoleKeeper
from tests.unit.server.harness import NAMESPACES, Api, config_map, served

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
ACCOUNT = f"{NAMESPACES}/default/serviceaccounts/default"
CERTIFICATE = f"{NAMESPACES}/default/configmaps/kube-root-ca.crt"


@asynccontextmanager
async def kept(api: Api, *, roles: bool = False) -> AsyncIterator[None]:
    """While a keeper runs."""
    services = api.server.services
    internal = Internal(services)
    keeper: NamespaceKeeper | RoleKeeper
    if roles:
        keeper = RoleKeeper(internal, services.state, services.store)
    else:
        keeper = NamespaceKeeper(
            internal, services.state, services.store, "the certificate", api.clock
        )
    running = asyncio.create_task(keeper.run())
    await api.settle()
    try:
        yield
    finally:
        assert not running.done(), running
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@served()
async def test_a_namespace_is_furnished_before_its_creator_hears_of_it(api: Api) -> None:
    await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    assert (await api.get(f"{NAMESPACES}/zoo/serviceaccounts/default")).status == 200
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    assert (await api.post(f"{NAMESPACES}/zoo/pods", pod)).status == 201


@served()
async def test_what_was_missing_at_the_start_is_made(api: Api) -> None:
    await api.delete(ACCOUNT)
    await api.delete(CERTIFICATE)
    async with kept(api):
        assert (await api.get(ACCOUNT)).status == 200
        assert (await api.get(CERTIFICATE)).json["data"] == {"ca.crt": "the certificate"}


@served()
async def test_what_is_deleted_comes_back(api: Api) -> None:
    async with kept(api):
        for path in (ACCOUNT, CERTIFICATE):
            first = (await api.get(path)).json["metadata"]["uid"]
            await api.delete(path)
            await api.settle()
            assert (await api.get(path)).json["metadata"]["uid"] != first


@served()
async def test_other_objects_stay_deleted(api: Api) -> None:
    await api.made(f"{NAMESPACES}/default/configmaps", config_map("a"))
    async with kept(api):
        await api.delete(f"{NAMESPACES}/default/configmaps/a")
        before = api.store.revision
        await api.settle()
        assert api.store.revision == before


@served()
async def test_a_namespace_that_ends_gets_nothing_more(api: Api) -> None:
    await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    await api.delete(f"{NAMESPACES}/zoo")
    async with kept(api):
        await api.delete(f"{NAMESPACES}/zoo/serviceaccounts/default")
        await api.settle()
        assert (await api.get(f"{NAMESPACES}/zoo/serviceaccounts/default")).status == 404


@served()
async def test_a_namespace_that_takes_nothing_is_asked_again_later(api: Api) -> None:
    await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    quotas = f"{NAMESPACES}/zoo/resourcequotas"
    hard = {"count/serviceaccounts": "0"}
    await api.made(quotas, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    status = {"hard": hard, "used": {"count/serviceaccounts": "0"}}
    await api.patch(f"{quotas}/q/status", {"status": status})
    async with kept(api):
        await api.delete(f"{NAMESPACES}/zoo/serviceaccounts/default")
        await api.settle()
        assert (await api.get(f"{NAMESPACES}/zoo/serviceaccounts/default")).status == 404
        await api.delete(ACCOUNT)
        await api.settle()
        assert (await api.get(ACCOUNT)).status == 200
        await api.delete(f"{quotas}/q")
        api.clock.advance(1)
        await api.settle()
        assert (await api.get(f"{NAMESPACES}/zoo/serviceaccounts/default")).status == 200


@served()
async def test_a_certificate_that_somebody_changed_is_put_back(api: Api) -> None:
    async with kept(api):
        for data in ({"ca.crt": "another"}, {"ca.crt": None}, {"more": "text"}):
            assert (await api.patch(CERTIFICATE, {"data": data})).status == 200
            await api.settle()
            assert (await api.get(CERTIFICATE)).json["data"] == {"ca.crt": "the certificate"}
        before = api.store.revision
        await api.patch(CERTIFICATE, {"metadata": {"labels": {"a": "b"}}})
        await api.settle()
        assert api.store.revision == before + 1


@served()
async def test_a_changed_account_is_left_alone(api: Api) -> None:
    async with kept(api):
        await api.patch(ACCOUNT, {"automountServiceAccountToken": False})
        before = api.store.revision
        await api.settle()
        assert api.store.revision == before


# Roles -----------------------------------------------------------------------------------------


def gathering(name: str, **labels: str) -> Any:
    selector = {"clusterRoleSelectors": [{"matchLabels": labels}]}
    return {"metadata": {"name": name}, "aggregationRule": selector}


def role(name: str, resource: str, **labels: str) -> Any:
    rules = [{"apiGroups": [""], "resources": [resource], "verbs": ["get"]}]
    return {"metadata": {"name": name, "labels": labels}, "rules": rules}


async def gathered(api: Api, name: str) -> list[str]:
    rules = (await api.get(f"{ROLES}/{name}")).json.get("rules") or []
    return [resource for rule in rules for resource in rule["resources"]]


@served()
async def test_a_role_gathers_those_that_come_and_change(api: Api) -> None:
    async with kept(api, roles=True):
        await api.made(ROLES, gathering("all", team="x"))
        await api.made(ROLES, role("one", "pods", team="x"))
        await api.settle()
        assert await gathered(api, "all") == ["pods"]
        await api.made(ROLES, role("two", "nodes", team="x"))
        await api.settle()
        assert await gathered(api, "all") == ["pods", "nodes"]
        await api.patch(f"{ROLES}/one", {"metadata": {"labels": {"team": "y"}}})
        await api.settle()
        assert await gathered(api, "all") == ["nodes"]


@served()
async def test_roles_that_changed_before_the_start_are_written_out(api: Api) -> None:
    await api.made(ROLES, gathering("all", team="x"))
    await api.made(ROLES, role("one", "pods", team="x"))
    async with kept(api, roles=True):
        assert await gathered(api, "all") == ["pods"]


@served()
async def test_roles_may_gather_those_that_gather(api: Api) -> None:
    async with kept(api, roles=True):
        middle = gathering("middle", team="x")
        middle["metadata"]["labels"] = {"team": "y"}
        await api.made(ROLES, gathering("top", team="y"))
        await api.made(ROLES, middle)
        await api.made(ROLES, role("one", "pods", team="x"))
        await api.settle()
        assert await gathered(api, "top") == ["pods"]


@served()
async def test_a_role_that_goes_is_not_missed(api: Api) -> None:
    async with kept(api, roles=True):
        await api.made(ROLES, gathering("all", team="x"))
        await api.made(ROLES, role("one", "pods", team="x"))
        await api.delete(f"{ROLES}/all")
        await api.made(ROLES, role("two", "pods", team="x"))
        await api.settle()
        assert (await api.get(f"{ROLES}/all")).status == 404
