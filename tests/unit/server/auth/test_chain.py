from __future__ import annotations

import pytest

from dray.server.auth.chain import Chain, forbid, forbidden
from dray.server.user import Attributes, Decision
from tests.unit.server.auth.builders import request, user

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
