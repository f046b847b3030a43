"""Answers to reviews: whose token this is, who I am, and who may do what.

A review is posted, answered and forgotten. Selectors of the request asked about that cannot be
read are left out, which can only make the answer stricter; the status says so.

Upstream counterparts: pkg/registry/authentication and pkg/registry/authorization.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dray.api import fields, labels
from dray.api.authentication import (
    SelfSubjectReview,
    SelfSubjectReviewStatus,
    TokenReview,
    TokenReviewStatus,
    UserInfo,
)
from dray.api.authorization import (
    FieldSelectorAttributes,
    LabelSelectorAttributes,
    LocalSubjectAccessReview,
    NonResourceAttributes,
    NonResourceRule,
    ResourceAttributes,
    ResourceRule,
    SelfSubjectAccessReview,
    SelfSubjectRulesReview,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
    SubjectAccessReviewStatus,
    SubjectRulesReviewStatus,
)
from dray.api.meta import ObjectMeta
from dray.api.wire import Time, replace
from dray.clock import Clock
from dray.errors import BadRequest, FieldError, Invalid, ParseError, Unauthorized
from dray.server.auth.access_review_rules import (
    check_access_review,
    check_local_access_review,
    check_self_access_review,
)
from dray.server.auth.authenticator import Authenticator
from dray.server.auth.chain import Authorizer
from dray.server.auth.identities import node_of
from dray.server.auth.rbac import RBACAuthorizer
from dray.server.user import Attributes, User

__all__ = ["Reviews"]

_GROUP: Final = "authorization.k8s.io"
_OPERATORS: Final = {"In": "=", "NotIn": "!="}


class Reviews:
    """Answers by the authenticator and authorizers that requests go through themselves."""

    def __init__(
        self,
        authenticator: Authenticator,
        authorizer: Authorizer,
        rules: RBACAuthorizer,
        *,
        clock: Clock | None = None,
    ) -> None:
        """With a clock, answers about oneself say when they were given."""
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._rules = rules
        self._clock = clock

    def token(self, body: TokenReview) -> TokenReview:
        if not body.spec.token:
            raise BadRequest("token is required for TokenReview in authentication")
        try:
            verified = self._authenticator.token(body.spec.token, body.spec.audiences)
        except Unauthorized as error:
            return replace(body, status=TokenReviewStatus(error=error.message))
        status = TokenReviewStatus(
            authenticated=True, user=_info(verified.user), audiences=verified.audiences
        )
        return replace(body, status=status)

    def self_subject(self, body: SelfSubjectReview, user: User) -> SelfSubjectReview:
        del body  # it says nothing
        now = None if self._clock is None else Time(self._clock.now())
        return SelfSubjectReview(
            metadata=ObjectMeta(creation_timestamp=now),
            status=SelfSubjectReviewStatus(user_info=_info(user)),
        )

    def subject_access(self, body: SubjectAccessReview) -> SubjectAccessReview:
        _refuse(check_access_review(body.metadata, body.spec))
        return replace(body, status=self._answer_about(body.spec))

    def local_subject_access(
        self, body: LocalSubjectAccessReview, namespace: str
    ) -> LocalSubjectAccessReview:
        """As `subject_access`, about the namespace of the request's path."""
        _refuse(check_local_access_review(body.metadata, body.spec))
        if not namespace:
            raise BadRequest("namespace is required on this type: ")
        if body.metadata.namespace != namespace:
            raise BadRequest(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
        return replace(body, status=self._answer_about(body.spec))

    def self_subject_access(
        self, body: SelfSubjectAccessReview, user: User
    ) -> SelfSubjectAccessReview:
        _refuse(check_self_access_review(body.metadata, body.spec))
        spec = body.spec
        status = self._answer(user, spec.resource_attributes, spec.non_resource_attributes)
        return replace(body, status=status)

    def self_subject_rules(
        self, body: SelfSubjectRulesReview, user: User
    ) -> SelfSubjectRulesReview:
        namespace = body.spec.namespace
        if not namespace:
            raise BadRequest("no namespace on request")
        rules, problems = self._rules.rules_for(user, namespace)
        node = node_of(user) is not None
        if node:
            problems = ["node authorizer does not support user rule resolution", *problems]
        return SelfSubjectRulesReview(
            status=SubjectRulesReviewStatus(
                resource_rules=tuple(
                    ResourceRule(
                        verbs=rule.verbs,
                        api_groups=rule.api_groups,
                        resources=rule.resources,
                        resource_names=rule.resource_names,
                    )
                    for rule in rules
                    if rule.resources
                ),
                non_resource_rules=tuple(
                    NonResourceRule(verbs=rule.verbs, non_resource_urls=rule.non_resource_urls)
                    for rule in rules
                    if rule.non_resource_urls
                ),
                incomplete=node,
                evaluation_error=_aggregate(problems),
            )
        )

    def _answer_about(self, spec: SubjectAccessReviewSpec) -> SubjectAccessReviewStatus:
        user = User(spec.user, uid=spec.uid, groups=spec.groups, extra=spec.extra)
        return self._answer(user, spec.resource_attributes, spec.non_resource_attributes)

    def _answer(
        self, user: User, resource: ResourceAttributes | None, path: NonResourceAttributes | None
    ) -> SubjectAccessReviewStatus:
        problems: list[str] = []
        if resource is not None:
            attributes = Attributes(
                user,
                resource.verb,
                group=resource.group,
                version=resource.version or "*",
                resource=resource.resource,
                subresource=resource.subresource,
                namespace=resource.namespace,
                name=resource.name,
                field_selector=_field_selector(resource.field_selector, problems),
            )
            _read_labels(resource.label_selector, problems)
        else:
            assert path is not None, "the rules let one of both through"
            attributes = Attributes(user, path.verb, path=path.path)
        decision = self._authorizer.authorize(attributes)
        return SubjectAccessReviewStatus(
            allowed=bool(decision.allowed),
            denied=decision.allowed is False,
            reason=decision.reason,
            evaluation_error="; ".join(problems),
        )


def _refuse(errors: Sequence[FieldError]) -> None:
    if errors:
        # Upstream has forgotten the kind by the time it looks, so the message has none either.
        raise Invalid(_GROUP, "", "", errors)


def _info(user: User) -> UserInfo:
    return UserInfo(username=user.name, uid=user.uid, groups=user.groups, extra=user.extra)


def _field_selector(selector: FieldSelectorAttributes | None, problems: list[str]) -> str:
    """The selector as a request would write it; what cannot be read is left out and told of."""
    if selector is None:
        return ""
    if selector.raw_selector:
        try:
            return str(fields.Selector.parse(selector.raw_selector))
        except ParseError:
            _tell("fieldSelector", kept=False, problems=problems)
            return ""
    read = [
        str(fields.Requirement(wanted.key, wanted.values[0], negated=wanted.operator == "NotIn"))
        for wanted in selector.requirements
        if wanted.operator in _OPERATORS and len(wanted.values) == 1
    ]
    if len(read) < len(selector.requirements):
        _tell("fieldSelector", kept=bool(read), problems=problems)
    return ",".join(read)


def _read_labels(selector: LabelSelectorAttributes | None, problems: list[str]) -> None:
    """No authorizer here looks at labels, but whoever asked may want to know that none could."""
    if selector is None:
        return
    read = 0
    try:
        if selector.raw_selector:
            labels.Selector.parse(selector.raw_selector)
            return
    except ParseError:
        _tell("labelSelector", kept=False, problems=problems)
        return
    for wanted in selector.requirements:
        try:
            expression: Any = (wanted.key, wanted.operator, wanted.values)
            labels.Selector.from_label_selector({}, [expression])
            read += 1
        except ParseError:
            continue
    if read < len(selector.requirements):
        _tell("labelSelector", kept=read > 0, problems=problems)


def _tell(selector: str, *, kept: bool, problems: list[str]) -> None:
    how_much = "partially ignored" if kept else "ignored"
    problems.append(f"spec.resourceAttributes.{selector} {how_much} due to parse error")


def _aggregate(problems: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""
