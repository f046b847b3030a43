from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from dray.api.meta import Object
from dray.api.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from dray.server.auth.aggregation import stale_aggregates
from dray.server.auth.default_roles import default_objects, node_rules
from dray.server.auth.policy import single_permissions
from dray.server.auth.rbac import RBACAuthorizer
from dray.server.state import FixedState
from dray.server.user import Attributes
from dray.validation import validate_create
from tests.unit.server.auth.builders import binding, request, user

# Recorded from the test data of kubernetes v1.37.1's bootstrap policy: how many single permissions
# each role has with a digest of their sorted list, and whom each binding names.
FACTS = json.loads((Path(__file__).parent / "default_roles_facts.json").read_text())

# Behind a feature gate that is off upstream, so not in its test data.
GATED = "system:controller:resourcepoolstatusrequest-controller"


def fact(obj: Object) -> object:
    if isinstance(obj, (ClusterRole, Role)):
        lines = sorted(
            {
                "|".join(
                    (
                        *(one.verbs or ()),
                        *one.api_groups,
                        *one.resources,
                        *one.resource_names,
                        *one.non_resource_urls,
                    )
                )
                for held in obj.rules or ()
                for one in single_permissions(held)
            }
        )
        return [len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]]
    assert isinstance(obj, (ClusterRoleBinding, RoleBinding))
    named = sorted((s.kind, s.api_group, s.namespace, s.name) for s in obj.subjects)
    return " ".join(":".join(parts) for parts in named)


def test_roles_and_bindings_are_those_of_upstream() -> None:
    ours = {
        f"{obj.kind}/{obj.metadata.namespace}/{obj.metadata.name}": fact(obj)
        for obj in default_objects()
        if obj.metadata.name != GATED
    }
    assert ours == FACTS


@pytest.mark.parametrize("obj", default_objects(), ids=lambda o: f"{o.kind}-{o.metadata.name}")
def test_every_object_is_valid_and_marked_as_a_default(obj: Object) -> None:
    assert not validate_create(obj)
    assert obj.metadata.labels["kubernetes.io/bootstrapping"] == "rbac-defaults"
    assert obj.metadata.annotations["rbac.authorization.kubernetes.io/autoupdate"] == "true"


def test_roles_come_before_the_bindings_that_name_them() -> None:
    seen: set[tuple[str, str]] = set()
    for obj in default_objects():
        if isinstance(obj, (ClusterRoleBinding, RoleBinding)):
            assert (obj.role_ref.kind, obj.role_ref.name) in seen
        seen.add((obj.kind, obj.metadata.name))


ANYBODY = user("eve", "system:authenticated")
NOBODY = user("system:anonymous", "system:unauthenticated")
SCHEDULER = user("system:kube-scheduler", "system:authenticated")
CLAIMS = user("system:serviceaccount:kube-system:resource-claim-controller")
VIEWER, EDITOR, ADMIN = (user(name) for name in ("viewer", "editor", "administrator"))
DRA = {"group": "resource.k8s.io"}


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        (Attributes(NOBODY, "get", path="/version"), True),
        (Attributes(NOBODY, "get", path="/readyz"), True),
        (Attributes(NOBODY, "get", path="/api"), False),
        (Attributes(NOBODY, "get", path="/metrics"), False),
        (Attributes(ANYBODY, "get", path="/openapi/v3"), True),
        (Attributes(ANYBODY, "get", path="/metrics"), False),
        (Attributes(user("p", "system:monitoring"), "get", path="/metrics"), True),
        (Attributes(user("s", "system:serviceaccounts"), "get", path="/openid/v1/jwks"), True),
        (request(ANYBODY, "create", "selfsubjectreviews", group="authentication.k8s.io"), True),
        (request(ANYBODY, "list", "pods", namespace="team"), False),
        (request(user("root", "system:masters"), "delete", "nodes"), True),
        (request(VIEWER, "list", "pods", namespace="team"), True),
        (request(VIEWER, "get", "resourceclaims", namespace="team", **DRA), True),
        (request(VIEWER, "get", "secrets", namespace="team"), False),
        (request(VIEWER, "create", "pods", namespace="team"), False),
        (request(EDITOR, "list", "pods", namespace="team"), True),
        (request(EDITOR, "get", "secrets", namespace="team"), True),
        (request(EDITOR, "create", "resourceclaims", namespace="team", **DRA), True),
        (request(EDITOR, "update", "resourceclaims/status", namespace="team", **DRA), False),
        (request(EDITOR, "create", "resourceslices", namespace="", **DRA), False),
        (
            request(ADMIN, "create", "roles", group="rbac.authorization.k8s.io", namespace="team"),
            True,
        ),
        (request(ADMIN, "get", "secrets", namespace="team"), True),
        (request(ADMIN, "get", "secrets", namespace="other"), False),
        (request(SCHEDULER, "create", "pods/binding", namespace="team"), True),
        (request(SCHEDULER, "patch", "resourceclaims/binding", **DRA), True),
        (request(SCHEDULER, "list", "resourceslices", **DRA), True),
        (request(SCHEDULER, "create", "resourceslices", **DRA), False),
        (request(CLAIMS, "update", "resourceclaims/binding", **DRA), True),
        (request(CLAIMS, "list", "secrets"), False),
        (request(user("system:node:n1", "system:nodes"), "get", "secrets"), False),
    ],
)
def test_a_new_cluster_allows_what_upstream_does(asked: Attributes, allowed: bool) -> None:
    state = FixedState(
        *default_objects(),
        binding("v", "view", "user:viewer", kind="ClusterRole"),
        binding("e", "edit", "user:editor", kind="ClusterRole"),
        binding("a", "admin", "user:administrator", kind="ClusterRole"),
    )
    assert bool(RBACAuthorizer(state).authorize(asked).allowed) is allowed


def test_admin_edit_and_view_are_to_be_summed_up() -> None:
    roles = [obj for obj in default_objects() if isinstance(obj, ClusterRole)]
    stale = {role.metadata.name: len(role.rules or ()) for role in stale_aggregates(roles)}
    assert stale["admin"] > stale["edit"] > stale["view"] > 0


def test_rules_of_nodes_are_those_of_their_role() -> None:
    (role,) = (
        obj
        for obj in default_objects()
        if obj.metadata.name == "system:node" and obj.kind == "ClusterRole"
    )
    assert isinstance(role, ClusterRole)
    assert node_rules() == role.rules
