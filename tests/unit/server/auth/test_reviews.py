from __future__ import annotations

from pathlib import Path

import pytest

from dray.api.authentication import (
    SelfSubjectReview,
    TokenReview,
    TokenReviewSpec,
    TokenReviewStatus,
    UserInfo,
)
from dray.api.authorization import (
    FieldSelectorAttributes,
    FieldSelectorRequirement,
    LabelSelectorAttributes,
    LocalSubjectAccessReview,
    NonResourceAttributes,
    NonResourceRule,
    ResourceAttributes,
    ResourceRule,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
    SelfSubjectRulesReview,
    SelfSubjectRulesReviewSpec,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
    SubjectAccessReviewStatus,
)
from dray.api.meta import LabelSelectorRequirement, ObjectMeta
from dray.errors import BadRequest, Invalid
from dray.server.auth.authenticator import Authenticator
from dray.server.auth.chain import Chain
from dray.server.auth.node import NodeAuthorizer
from dray.server.auth.rbac import RBACAuthorizer
from dray.server.auth.reviews import Reviews
from dray.server.auth.token_file import TokenFile
from dray.server.state import FixedState
from dray.server.user import Attributes, Decision, User
from dray.testing import FakeClock
from tests.unit.server.auth.builders import (
    binding,
    cluster_binding,
    cluster_role,
    role,
    rule,
    user,
)

BOB = user("bob", "dev")
N1 = user("system:node:n1", "system:nodes")
PODS = ResourceAttributes(verb="get", resource="pods", namespace="team")
ALLOWED = 'RBAC: allowed by RoleBinding "b/team" of Role "r" to User "bob"'


@pytest.fixture
def reviews(tmp_path: Path) -> Reviews:
    state = FixedState(
        role("r", rule("get", "pods"), rule("list", "jobs", groups="batch", names="a")),
        binding("b", "r", "user:bob"),
        cluster_role("c", rule("get", urls="/metrics")),
        cluster_binding("cb", "c", "group:dev"),
    )
    clock = FakeClock()
    path = tmp_path / "tokens.csv"
    path.touch(mode=0o600)
    path.write_text("t1,bob,u1,dev\n")
    authenticator = Authenticator(token_file=TokenFile(path, clock), audiences=["api"])
    rules = RBACAuthorizer(state)
    chain = Chain({"node": NodeAuthorizer(state), "rbac": rules})
    return Reviews(authenticator, chain, rules, clock=clock)


def test_a_good_token_is_told_with_its_user(reviews: Reviews) -> None:
    body = TokenReview(spec=TokenReviewSpec(token="t1"))
    answer = reviews.token(body)
    assert answer.spec == body.spec
    assert answer.status == TokenReviewStatus(
        authenticated=True,
        user=UserInfo(username="bob", uid="u1", groups=("dev", "system:authenticated")),
        audiences=("api",),
    )


def test_a_bad_token_is_told_with_what_is_wrong(reviews: Reviews) -> None:
    refusal = TokenReviewStatus(error="invalid bearer token")
    for spec in (
        TokenReviewSpec(token="t2"),
        TokenReviewSpec(token="t1", audiences=("elsewhere",)),
    ):
        assert reviews.token(TokenReview(spec=spec)).status == refusal


def test_a_review_of_no_token_makes_no_sense(reviews: Reviews) -> None:
    with pytest.raises(BadRequest, match="token is required for TokenReview in authentication"):
        reviews.token(TokenReview())


def test_one_is_told_who_one_is(reviews: Reviews) -> None:
    me = User("bob", uid="u1", groups=("dev",), extra={"scope": ("a",)})
    answer = reviews.self_subject(SelfSubjectReview(metadata=ObjectMeta(name="x")), me)
    assert answer.status.user_info == UserInfo(
        username="bob", uid="u1", groups=("dev",), extra={"scope": ("a",)}
    )
    assert str(answer.metadata.creation_timestamp) == "2026-01-01T00:00:00Z"
    assert not answer.metadata.name


@pytest.mark.parametrize(
    ("resource", "path", "status"),
    [
        pytest.param(
            PODS, None, SubjectAccessReviewStatus(allowed=True, reason=ALLOWED), id="allowed"
        ),
        pytest.param(
            ResourceAttributes(verb="delete", resource="pods", namespace="team"),
            None,
            SubjectAccessReviewStatus(),
            id="not-allowed",
        ),
        pytest.param(ResourceAttributes(), None, SubjectAccessReviewStatus(), id="nothing"),
        pytest.param(
            None,
            NonResourceAttributes(path="/metrics", verb="get"),
            SubjectAccessReviewStatus(
                allowed=True,
                reason='RBAC: allowed by ClusterRoleBinding "cb" of ClusterRole "c" to Group "dev"',
            ),
            id="path",
        ),
    ],
)
def test_one_is_told_what_one_may(
    reviews: Reviews,
    resource: ResourceAttributes | None,
    path: NonResourceAttributes | None,
    status: SubjectAccessReviewStatus,
) -> None:
    about_self = SelfSubjectAccessReview(
        spec=SelfSubjectAccessReviewSpec(resource_attributes=resource, non_resource_attributes=path)
    )
    assert reviews.self_subject_access(about_self, BOB).status == status
    about_bob = SubjectAccessReview(
        spec=SubjectAccessReviewSpec(
            resource_attributes=resource,
            non_resource_attributes=path,
            user="bob",
            groups=("dev",),
        )
    )
    assert reviews.subject_access(about_bob).status == status


def test_an_outright_no_is_told_apart(reviews: Reviews) -> None:
    class Never:
        def authorize(self, attributes: Attributes) -> Decision:
            return Decision(False, "never")

    strict = Reviews(Authenticator(), Never(), RBACAuthorizer(FixedState()))
    body = SelfSubjectAccessReview(spec=SelfSubjectAccessReviewSpec(resource_attributes=PODS))
    assert strict.self_subject_access(body, BOB).status == SubjectAccessReviewStatus(
        denied=True, reason="never"
    )


def test_a_local_review_is_about_the_namespace_of_its_path(reviews: Reviews) -> None:
    body = LocalSubjectAccessReview(
        metadata=ObjectMeta(namespace="team"),
        spec=SubjectAccessReviewSpec(resource_attributes=PODS, user="bob"),
    )
    assert reviews.local_subject_access(body, "team").status.allowed
    with pytest.raises(BadRequest, match="must match namespace: other"):
        reviews.local_subject_access(body, "other")
    with pytest.raises(BadRequest, match="namespace is required on this type"):
        reviews.local_subject_access(body, "")


def test_a_question_that_makes_no_sense_is_refused(reviews: Reviews) -> None:
    with pytest.raises(Invalid) as caught:
        reviews.self_subject_access(SelfSubjectAccessReview(), BOB)
    assert caught.value.message == (
        '.authorization.k8s.io "" is invalid: spec: Invalid value: null:'
        " exactly one of nonResourceAttributes or resourceAttributes must be specified"
    )
    with pytest.raises(Invalid):
        reviews.subject_access(SubjectAccessReview())
    with pytest.raises(Invalid):
        reviews.local_subject_access(LocalSubjectAccessReview(), "team")


ON_N1 = FieldSelectorRequirement(key="spec.nodeName", operator="In", values=("n1",))
EXISTS = FieldSelectorRequirement(key="spec.nodeName", operator="Exists")


@pytest.mark.parametrize(
    ("fields", "labels", "allowed", "error"),
    [
        pytest.param(FieldSelectorAttributes(raw_selector="spec.nodeName=n1"), None, True, ""),
        pytest.param(FieldSelectorAttributes(requirements=(ON_N1,)), None, True, ""),
        pytest.param(
            FieldSelectorAttributes(requirements=(ON_N1, EXISTS)),
            None,
            True,
            "spec.resourceAttributes.fieldSelector partially ignored due to parse error",
        ),
        pytest.param(
            FieldSelectorAttributes(requirements=(EXISTS,)),
            None,
            False,
            "spec.resourceAttributes.fieldSelector ignored due to parse error",
        ),
        pytest.param(
            FieldSelectorAttributes(raw_selector="spec.nodeName"),
            LabelSelectorAttributes(raw_selector="a in"),
            False,
            "spec.resourceAttributes.fieldSelector ignored due to parse error;"
            " spec.resourceAttributes.labelSelector ignored due to parse error",
        ),
        pytest.param(
            FieldSelectorAttributes(requirements=(ON_N1,)),
            LabelSelectorAttributes(raw_selector="a in (b)"),
            True,
            "",
        ),
        pytest.param(
            FieldSelectorAttributes(requirements=(ON_N1,)),
            LabelSelectorAttributes(
                requirements=(
                    LabelSelectorRequirement(key="a", operator="Exists"),
                    LabelSelectorRequirement(key="a", operator="FromTheFuture"),
                )
            ),
            True,
            "spec.resourceAttributes.labelSelector partially ignored due to parse error",
        ),
    ],
)
def test_selectors_count_as_far_as_they_can_be_read(
    reviews: Reviews,
    fields: FieldSelectorAttributes,
    labels: LabelSelectorAttributes | None,
    allowed: bool,
    error: str,
) -> None:
    asked = ResourceAttributes(
        verb="list", resource="pods", field_selector=fields, label_selector=labels
    )
    body = SelfSubjectAccessReview(spec=SelfSubjectAccessReviewSpec(resource_attributes=asked))
    status = reviews.self_subject_access(body, N1).status
    assert status.allowed is allowed
    assert status.evaluation_error == error


def test_one_is_told_all_one_may_do_in_a_namespace(reviews: Reviews) -> None:
    body = SelfSubjectRulesReview(spec=SelfSubjectRulesReviewSpec(namespace="team"))
    status = reviews.self_subject_rules(body, BOB).status
    assert status.resource_rules == (
        ResourceRule(verbs=("get",), api_groups=("",), resources=("pods",)),
        ResourceRule(
            verbs=("list",), api_groups=("batch",), resources=("jobs",), resource_names=("a",)
        ),
    )
    assert status.non_resource_rules == (
        NonResourceRule(verbs=("get",), non_resource_urls=("/metrics",)),
    )
    assert (status.incomplete, status.evaluation_error) == (False, "")


def test_what_a_node_may_do_cannot_be_listed(reviews: Reviews) -> None:
    body = SelfSubjectRulesReview(spec=SelfSubjectRulesReviewSpec(namespace="team"))
    status = reviews.self_subject_rules(body, N1).status
    assert status.incomplete
    assert status.evaluation_error == "node authorizer does not support user rule resolution"


def test_rules_are_listed_for_a_namespace_only(reviews: Reviews) -> None:
    with pytest.raises(BadRequest, match="no namespace on request"):
        reviews.self_subject_rules(SelfSubjectRulesReview(), BOB)
