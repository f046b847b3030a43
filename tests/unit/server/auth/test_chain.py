from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dray.api.codec import decode_builtins
from dray.api.core import Pod
from dray.api.meta import Object, ObjectMeta
from dray.api.rbac import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding
from dray.errors import Forbidden
from dray.server.auth.chain import Chain, forbid, forbidden
from dray.server.auth.escalation import check_escalation
from dray.server.auth.node import NodeAuthorizer
from dray.server.auth.rbac import RBACAuthorizer
from dray.server.state import FixedState
from dray.server.user import Attributes, Decision, User
from tests.unit.server.auth.builders import request, user
from tests.unit.server.auth.pods import resource_slice

BOB = user("bob")
NO, YES, SILENT = Decision(False, "no"), Decision(True, "yes"), Decision(None)


class Always:
    def __init__(self, decision: Decision) -> None:
        self.decision = decision

    def authorize(self, attributes: Attributes) -> Decision:
        return self.decision


@pytest.mark.parametrize(
    ("decisions", "outcome"),
    [
        pytest.param([SILENT, YES, NO], YES, id="first-yes"),
        pytest.param([SILENT, NO, YES], NO, id="first-no"),
        pytest.param([SILENT, SILENT], SILENT, id="nobody"),
        pytest.param([], SILENT, id="nobody-asked"),
        pytest.param(
            [Decision(None, "lost"), SILENT, Decision(None, "found nothing")],
            Decision(None, "a0: lost\na2: found nothing"),
            id="all-reasons",
        ),
    ],
)
def test_the_first_opinion_decides(decisions: list[Decision], outcome: Decision) -> None:
    chain = Chain({f"a{n}": Always(decision) for n, decision in enumerate(decisions)})
    assert chain.authorize(request(BOB, "get", "pods")) == outcome


def test_masters_may_do_anything() -> None:
    root = user("root", "system:masters")
    assert Chain({"never": Always(NO)}).authorize(request(root, "get", "pods")).allowed


@pytest.mark.parametrize(
    ("attributes", "reason", "message"),
    [
        pytest.param(
            request(BOB, "list", "pods", namespace="default"),
            "",
            'pods is forbidden: User "bob" cannot list resource "pods" in API group ""'
            ' in the namespace "default"',
            id="namespace",
        ),
        pytest.param(
            request(BOB, "list", "nodes"),
            "",
            'nodes is forbidden: User "bob" cannot list resource "nodes" in API group ""'
            " at the cluster scope",
            id="cluster",
        ),
        pytest.param(
            request(
                BOB,
                "patch",
                "resourceclaims/status",
                group="resource.k8s.io",
                namespace="default",
                name="claim-1",
            ),
            "",
            'resourceclaims.resource.k8s.io "claim-1" is forbidden: User "bob" cannot patch'
            ' resource "resourceclaims/status" in API group "resource.k8s.io"'
            ' in the namespace "default"',
            id="named",
        ),
        pytest.param(
            Attributes(BOB, "get", path="/metrics"),
            "",
            'forbidden: User "bob" cannot get path "/metrics"',
            id="path",
        ),
        pytest.param(
            request(BOB, "get", "nodes", name="x"),
            "node: because",
            'nodes "x" is forbidden: User "bob" cannot get resource "nodes" in API group ""'
            " at the cluster scope: node: because",
            id="reason",
        ),
        pytest.param(
            Attributes(user("<b>"), "get", path="/a&b"),
            "",
            'forbidden: User "&lt;b&gt;" cannot get path "/a&amp;b"',
            id="markup",
        ),
    ],
)
def test_a_refusal_says_who_may_not_do_what_where(
    attributes: Attributes, reason: str, message: str
) -> None:
    error = forbidden(attributes, Decision(None, reason))
    assert error.message == message
    details = error.details
    assert (details.kind, details.group) == (attributes.resource, attributes.group)
    assert details.name == attributes.name


def test_a_refusal_may_be_about_an_object_without_a_name() -> None:
    assert forbid("apps", "deployments", "", "no").message == "deployments.apps is forbidden: no"


# Against upstream -----------------------------------------------------------------------------


def recorded() -> list[dict[str, Any]]:
    """Random roles, bindings, pods and slices, with what the node and RBAC authorizers of
    kubernetes v1.37.1 said to random questions: nothing, or the refusal.
    """
    path = Path(__file__).parent / "authorizer_cases.jsonl.gz"
    header, *cases = (json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines())
    assert header == {"upstream": "k8s.io/kubernetes v1.37.1", "cases": len(cases)}
    return cases


KINDS: dict[str, type[Object]] = {
    "roles": Role,
    "clusterRoles": ClusterRole,
    "roleBindings": RoleBinding,
    "clusterRoleBindings": ClusterRoleBinding,
    "pods": Pod,
}


def state_of(case: dict[str, Any]) -> FixedState:
    written = [
        decode_builtins(body, kind).value for field, kind in KINDS.items() for body in case[field]
    ]
    slices = [resource_slice(body["name"], body["node"] or None) for body in case["slices"]]
    return FixedState(*written, *slices)


def attributes_of(ask: dict[str, Any]) -> Attributes:
    members = {key: value for key, value in ask.items() if key not in ("user", "groups")}
    members["field_selector"] = members.pop("fieldSelector", "")
    return Attributes(User(ask["user"], groups=tuple(ask.get("groups", ()))), **members)


def test_decisions_and_refusals_are_those_of_upstream() -> None:
    asked_count = 0
    for entry in recorded():
        state = state_of(entry["case"])
        chain = Chain({"node": NodeAuthorizer(state), "rbac": RBACAuthorizer(state)})
        for ask, refusal in zip(entry["case"]["asks"], entry["refusals"], strict=True):
            attributes = attributes_of(ask)
            decision = chain.authorize(attributes)
            told = "" if decision.allowed else forbidden(attributes, decision).message
            assert told == refusal, ask
            asked_count += 1
    assert asked_count > 500


def test_escalations_are_refused_as_upstream_does() -> None:
    refused_count = 0
    for entry in recorded():
        case = entry["case"]
        rules = RBACAuthorizer(state_of(case))
        granted = tuple(decode_builtins(body, PolicyRule).value for body in case["grant"])
        new = Role(metadata=ObjectMeta(name="z", namespace=case["grantNamespace"]), rules=granted)
        for expected in entry["escalations"]:
            who = User(expected["user"], groups=tuple(expected["groups"]))
            told = ""
            try:
                check_escalation(who, new, None, Always(SILENT), rules)
            except Forbidden as error:
                told = error.message.partition(" is forbidden: ")[2]
            assert told == expected["refusal"]
            refused_count += bool(told)
    assert refused_count > 100
