"""No verb on any kind without the right to it, and with that right nothing else.

A right is one verb on one resource or subresource. Every request the server knows is sent by users
who have no right, each single right, or no name at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from dray.api.meta import ObjectMeta
from dray.api.rbac import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject
from dray.http.messages import Response
from dray.server.internal import Internal
from dray.server.resources import Resource
from dray.server.user import User
from tests.unit.server.harness import Api, served

METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
NAMED = {"get", "update", "patch", "delete"}

# What everybody who has a name may ask.
EVERYBODY = {
    ("selfsubjectreviews", "create"),
    ("selfsubjectaccessreviews", "create"),
    ("selfsubjectrulesreviews", "create"),
}

STRANGER = User("stranger", groups=("system:authenticated",))


@dataclass(frozen=True)
class Right:
    """One verb on one resource or subresource, and the request that needs it."""

    group: str
    resource: str  # with its subresource
    verb: str
    method: str
    path: str

    @property
    def plural(self) -> str:
        return self.resource.partition("/")[0]

    @property
    def id(self) -> str:
        return f"{self.verb} {self.resource}.{self.group or 'core'}"


def rights(resources: tuple[Resource, ...]) -> Iterator[Right]:
    """Every right that there is, once, whatever versions it is asked for in."""
    for resource in resources:
        root = f"/apis/{resource.group}" if resource.group else "/api"
        within = "/namespaces/default" if resource.namespaced else ""
        path = f"{root}/{resource.version}{within}/{resource.plural}"
        for verb in resource.verbs:
            where = f"{path}/thing" if verb in NAMED else path
            query = "?watch=true" if verb == "watch" else ""
            yield Right(resource.group, resource.plural, verb, METHODS[verb], f"{where}{query}")
        for sub in resource.subresources:
            for verb in sub.verbs:
                name = f"{resource.plural}/{sub.name}"
                yield Right(resource.group, name, verb, METHODS[verb], f"{path}/thing/{sub.name}")


async def is_let_in(api: Api, right: Right, user: User | None, *, anonymous: bool = False) -> bool:
    """Whether the request gets past authorization, whatever becomes of it then."""
    headers = {"content-type": "application/merge-patch+json"} if right.method == "PATCH" else {}
    answer = await api.answer(
        right.method,
        right.path,
        {} if right.method != "GET" else None,
        headers=headers,
        user=user,
        anonymous=anonymous,
    )
    if not isinstance(answer, Response) or answer.status != 403:
        return True
    # Admission refuses with the same code; only authorizers speak of what a user cannot do.
    return f"cannot {right.verb}".encode() not in answer.body


async def grant(api: Api, right: Right, user: str) -> None:
    name = user
    role = ClusterRole(
        metadata=ObjectMeta(name=name),
        rules=(
            PolicyRule(verbs=(right.verb,), api_groups=(right.group,), resources=(right.resource,)),
        ),
    )
    binding = ClusterRoleBinding(
        metadata=ObjectMeta(name=name),
        subjects=(Subject(kind="User", api_group="rbac.authorization.k8s.io", name=user),),
        role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=name),
    )
    internal = Internal(api.server.services)
    await internal.create(role)
    await internal.create(binding)


@served()
async def test_a_stranger_reaches_nothing(api: Api) -> None:
    for right in rights(api.server.services.registry.resources):
        expected = (right.plural, right.verb) in EVERYBODY
        assert await is_let_in(api, right, STRANGER) is expected, right.id


@served()
async def test_nobody_reaches_nothing(api: Api) -> None:
    for right in rights(api.server.services.registry.resources):
        assert not await is_let_in(api, right, None, anonymous=True), right.id


@served()
async def test_a_bad_token_is_not_taken_for_none(api: Api) -> None:
    for right in rights(api.server.services.registry.resources):
        answer = await api.answer(
            right.method, right.path, anonymous=True, headers={"authorization": "Bearer guess"}
        )
        assert isinstance(answer, Response)
        assert answer.status == 401, right.id


@pytest.mark.slow
@served()
async def test_a_right_opens_its_own_door_and_no_other(api: Api) -> None:
    everything = list(rights(api.server.services.registry.resources))
    # The same right in several versions is one.
    distinct = {(right.group, right.resource, right.verb): right for right in everything}
    for number, right in enumerate(distinct.values()):
        user = f"holder-{number}"
        await grant(api, right, user)
        holder = User(user, groups=("system:authenticated",))
        assert await is_let_in(api, right, holder), right.id
        for other in everything:
            same = (other.group, other.resource, other.verb) == (
                right.group,
                right.resource,
                right.verb,
            )
            if same or (other.plural, other.verb) in EVERYBODY:
                continue
            assert not await is_let_in(api, other, holder), f"{right.id} lets one {other.id}"
