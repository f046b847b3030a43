from __future__ import annotations

from typing import Any

import pytest

from dray.server.user import User
from tests.unit.server.harness import APPLY, CONFIG_MAPS, Api, served

RBAC = "/apis/rbac.authorization.k8s.io/v1"
BOB = User("bob", groups=("system:authenticated",))
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


async def allow(api: Api, *verbs: str) -> None:
    rules = [{"verbs": verbs, "apiGroups": ["*"], "resources": ["configmaps", "leases"]}]
    await api.made(f"{RBAC}/clusterroles", {"metadata": {"name": "some"}, "rules": rules})
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "some"}
    binding = {"metadata": {"name": "some"}, "subjects": [subject], "roleRef": reference}
    await api.made(f"{RBAC}/clusterrolebindings", binding)


def applied(**data: str) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


@pytest.mark.parametrize(
    ("verbs", "status"),
    [
        pytest.param(("patch",), 403, id="patch-alone"),
        pytest.param(("patch", "create"), 201, id="patch-and-create"),
    ],
)
def test_an_apply_of_what_is_not_there_needs_the_right_to_create(
    verbs: tuple[str, ...], status: int
) -> None:
    @served()
    async def scenario(api: Api) -> None:
        await allow(api, *verbs)
        path = f"{CONFIG_MAPS}/a?fieldManager=bob"
        reply = await api.request("PATCH", path, applied(x="1"), headers=APPLY, user=BOB)
        assert reply.status == status
        assert (api.store.get("core/configmaps/default/a") is not None) is (status == 201)

    scenario()


@served()
async def test_an_apply_of_what_is_there_needs_the_right_to_patch_alone(api: Api) -> None:
    await api.made(CONFIG_MAPS, applied(x="1"))
    await allow(api, "patch")
    path = f"{CONFIG_MAPS}/a?fieldManager=bob"
    reply = await api.request("PATCH", path, applied(y="2"), headers=APPLY, user=BOB)
    assert reply.status == 200


@served()
async def test_a_put_that_creates_needs_the_right_to_create(api: Api) -> None:
    await allow(api, "update")
    lease = {"metadata": {"name": "l"}, "spec": {}}
    reply = await api.request("PUT", f"{LEASES}/l", lease, user=BOB)
    assert reply.status == 403
    assert "cannot create" in reply.message
