from __future__ import annotations

import pytest

from dray.server.auth.node import NodeAuthorizer
from dray.server.state import FixedState
from dray.server.user import Attributes
from tests.unit.server.auth.builders import request, user
from tests.unit.server.auth.pods import pod, resource_slice

N1 = user("system:node:n1", "system:nodes", "system:authenticated")
DRA, LEASES = {"group": "resource.k8s.io"}, {"group": "coordination.k8s.io"}
TEAM, LEASE_NAMESPACE = {"namespace": "team"}, {"namespace": "kube-node-lease"}
UNRELATED = "no relationship found between node 'n1' and this object"
ONLY_GET = "can only get individual resources of this type"
ON_N1 = {"field_selector": "spec.nodeName=n1"}

STATE = FixedState(
    pod("mine", node="n1", secret="s", claim="c", account="a"),
    pod("theirs", node="n2", secret="t", claim="d", account="b"),
    pod("waiting", secret="w"),
    pod("mirror", node="n1", secret="m", mirror=True),
    resource_slice("mine", "n1"),
    resource_slice("theirs", "n2"),
    resource_slice("nobodys", None),
)


@pytest.mark.parametrize(
    "asked",
    [
        request(N1, "get", "secrets", name="s", **TEAM),
        request(N1, "watch", "secrets", name="s", **TEAM),
        request(N1, "get", "resourceclaims", name="c", **TEAM, **DRA),
        request(N1, "get", "serviceaccounts", name="a", **TEAM),
        request(N1, "create", "serviceaccounts/token", name="a", **TEAM),
        request(N1, "get", "pods", name="mine", **TEAM),
        request(N1, "get", "pods", name="mirror", **TEAM),
        request(N1, "watch", "pods", name="mine", **TEAM),
        request(N1, "list", "pods", **ON_N1),
        request(N1, "list", "pods", field_selector="status.phase=Running,spec.nodeName==n1"),
        request(N1, "create", "pods", **TEAM),
        request(N1, "delete", "pods", name="theirs", **TEAM),
        request(N1, "patch", "pods/status", name="theirs", **TEAM),
        request(N1, "create", "pods/eviction", name="theirs", **TEAM),
        request(N1, "get", "nodes", name="n1"),
        request(N1, "watch", "nodes", name="n1"),
        request(N1, "create", "nodes"),
        request(N1, "patch", "nodes/status", name="n2"),
        request(N1, "create", "leases", **LEASES, **LEASE_NAMESPACE),
        request(N1, "update", "leases", name="n1", **LEASES, **LEASE_NAMESPACE),
        request(N1, "create", "resourceslices", **DRA),
        request(N1, "delete", "resourceslices", name="mine", **DRA),
        request(N1, "deletecollection", "resourceslices", **ON_N1, **DRA),
        request(N1, "get", "csinodes", name="n1", group="storage.k8s.io"),
        request(N1, "create", "events", **TEAM),
        request(N1, "create", "subjectaccessreviews", group="authorization.k8s.io"),
        request(N1, "list", "services"),
    ],
)
def test_a_node_may_serve_its_pods(asked: Attributes) -> None:
    assert NodeAuthorizer(STATE).authorize(asked).allowed


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (request(N1, "get", "secrets", name="t", **TEAM), UNRELATED),
        (request(N1, "get", "secrets", name="w", **TEAM), UNRELATED),
        (request(N1, "get", "secrets", name="m", **TEAM), UNRELATED),
        (request(N1, "get", "secrets", name="s", namespace="other"), UNRELATED),
        (request(N1, "list", "secrets", **TEAM), "No Object name found"),
        (request(N1, "list", "secrets"), "can only read namespaced object of this type"),
        (request(N1, "create", "configmaps", **TEAM), "can only read resources of this type"),
        (request(N1, "get", "configmaps/x", name="s", **TEAM), "cannot read subresource"),
        (request(N1, "get", "resourceclaims", name="d", **TEAM, **DRA), UNRELATED),
        (request(N1, "list", "resourceclaims", **TEAM, **DRA), ONLY_GET),
        (
            request(N1, "get", "resourceclaims/status", name="c", **TEAM, **DRA),
            "cannot get subresource",
        ),
        (
            request(N1, "get", "persistentvolumeclaims/status", name="c", **TEAM),
            "can only get/update/patch this type",
        ),
        (request(N1, "update", "persistentvolumeclaims/status", name="c", **TEAM), UNRELATED),
        (request(N1, "get", "persistentvolumes", name="v"), UNRELATED),
        (request(N1, "list", "persistentvolumes"), ONLY_GET),
        (
            request(N1, "get", "volumeattachments/x", name="v", group="storage.k8s.io"),
            "cannot get subresource",
        ),
        (request(N1, "create", "serviceaccounts/token", name="b", **TEAM), UNRELATED),
        (
            request(N1, "create", "serviceaccounts", **TEAM),
            "can only create tokens for individual service accounts",
        ),
        (
            request(N1, "create", "serviceaccounts/x", name="a", **TEAM),
            "can only create token subresource of serviceaccount",
        ),
        (request(N1, "get", "pods", name="theirs", **TEAM), UNRELATED),
        (request(N1, "get", "pods", **TEAM), "No Object name found"),
        (request(N1, "list", "pods"), "can only list/watch pods with spec.nodeName field selector"),
        (
            request(N1, "list", "pods", field_selector="spec.nodeName!=n1"),
            "can only list/watch pods with spec.nodeName field selector",
        ),
        (
            request(N1, "list", "pods", field_selector="spec.nodeName"),
            "can only list/watch pods with spec.nodeName field selector",
        ),
        (request(N1, "update", "pods", name="mine", **TEAM), ""),
        (request(N1, "create", "pods/binding", name="mine", **TEAM), ""),
        (
            request(N1, "get", "nodes", name="x"),
            "node 'n1' cannot read 'x', only its own Node object",
        ),
        (
            request(N1, "list", "nodes"),
            "node 'n1' cannot read all nodes, only its own Node object",
        ),
        (request(N1, "delete", "nodes", name="n1"), ""),
        (request(N1, "get", "nodes/proxy", name="n1"), ""),
        (
            request(N1, "get", "leases", name="n2", **LEASES, **LEASE_NAMESPACE),
            "can only access node lease with the same name as the requesting node",
        ),
        (
            request(N1, "get", "leases", name="n1", **LEASES, **TEAM),
            'can only access leases in the "kube-node-lease" system namespace',
        ),
        (
            request(N1, "list", "leases", **LEASES, **LEASE_NAMESPACE),
            "can only get, create, update, patch, or delete a node lease",
        ),
        (request(N1, "get", "resourceslices", name="theirs", **DRA), UNRELATED),
        (request(N1, "get", "resourceslices", name="nobodys", **DRA), UNRELATED),
        (request(N1, "get", "resourceslices", name="mine", **TEAM, **DRA), UNRELATED),
        (request(N1, "get", "resourceslices", name="unheard-of", **DRA), UNRELATED),
        (
            request(N1, "get", "resourceslices/status", name="mine", **DRA),
            "cannot authorize ResourceSlice subresources",
        ),
        (
            request(N1, "list", "resourceslices", field_selector="spec.nodeName=n2", **DRA),
            "can only list/watch/deletecollection resourceslices with nodeName field selector",
        ),
        (
            request(N1, "bind", "resourceslices", **DRA),
            (
                "only the following verbs are allowed for a ResourceSlice:"
                " get, watch, list, create, update, patch, delete, deletecollection"
            ),
        ),
        (
            request(N1, "get", "csinodes", name="n2", group="storage.k8s.io"),
            "can only access CSINode with the same name as the requesting node",
        ),
        (
            request(N1, "list", "csinodes", group="storage.k8s.io"),
            "can only get, create, update, patch, or delete a CSINode",
        ),
        (
            request(N1, "get", "csinodes/status", name="n1", group="storage.k8s.io"),
            "cannot authorize CSINode subresources",
        ),
        (request(N1, "list", "deployments", group="apps"), ""),
        (Attributes(N1, "get", path="/metrics"), ""),
        (
            request(user("system:node:", "system:nodes"), "get", "nodes"),
            'unknown node for user "system:node:"',
        ),
        (request(user("bob"), "get", "secrets", name="s", **TEAM), ""),
    ],
)
def test_what_is_not_its_own_a_node_needs_a_role_for(asked: Attributes, reason: str) -> None:
    decision = NodeAuthorizer(STATE).authorize(asked)
    assert decision.allowed is None
    assert decision.reason == reason


def test_a_node_that_is_told_of_pods_knows_them() -> None:
    state = FixedState(pod("mine", node="n1"))
    authorizer = NodeAuthorizer(state, told=True)
    asked = request(N1, "get", "secrets", name="s", **TEAM)
    assert not authorizer.authorize(asked).allowed
    state.put(pod("new", node="n1", secret="s"))
    authorizer.note_pod("team", "new")
    assert authorizer.authorize(asked).allowed
