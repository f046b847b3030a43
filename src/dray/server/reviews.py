"""Reviews: questions that are posted, answered at once and kept nowhere.

Upstream counterpart: pkg/registry/authentication and pkg/registry/authorization.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dray.api.authentication import SelfSubjectReview, TokenRequest, TokenReview
from dray.api.authorization import (
    LocalSubjectAccessReview,
    SelfSubjectAccessReview,
    SelfSubjectRulesReview,
    SubjectAccessReview,
)
from dray.api.codec import encode
from dray.api.meta import Object
from dray.api.wire import replace
from dray.http.messages import Answer
from dray.server.admission.request import AdmissionRequest, Operation
from dray.server.answers import document
from dray.server.application import Verb
from dray.server.auth.reviews import Reviews
from dray.server.auth.token_requests import DEFAULT_EXPIRATION_SECONDS, TokenRequests
from dray.server.call import Call
from dray.server.field_managers import owned_by_creator
from dray.server.options import write_options
from dray.server.subresources.body import read_action

__all__ = ["review_verbs", "token_verb"]


def review_verbs(reviews: Reviews) -> Mapping[str, Verb]:
    """What answers each kind of review, by plural."""
    return {
        "tokenreviews": _verb(TokenReview, lambda body, _call: reviews.token(body)),
        "selfsubjectreviews": _verb(
            SelfSubjectReview, lambda body, call: reviews.self_subject(body, call.user)
        ),
        "subjectaccessreviews": _verb(
            SubjectAccessReview, lambda body, _call: reviews.subject_access(body)
        ),
        "localsubjectaccessreviews": _verb(
            LocalSubjectAccessReview,
            lambda body, call: reviews.local_subject_access(body, call.namespace),
        ),
        "selfsubjectaccessreviews": _verb(
            SelfSubjectAccessReview, lambda body, call: reviews.self_subject_access(body, call.user)
        ),
        "selfsubjectrulesreviews": _verb(
            SelfSubjectRulesReview, lambda body, call: reviews.self_subject_rules(body, call.user)
        ),
    }


def _verb(kind: type[Object], answer: Callable[[Any, Call], Object]) -> Verb:
    async def review(call: Call) -> Answer:
        options = write_options(call.request.query, "CreateOptions", user_agent=call.user_agent)
        body = owned_by_creator(read_action(call, kind, options), options, call.now())
        return document(call, 201, encode(answer(body, call)))

    return review


def _with_expiration(request: TokenRequest) -> TokenRequest:
    if request.spec.expiration_seconds is not None:
        return request
    spec = replace(request.spec, expiration_seconds=DEFAULT_EXPIRATION_SECONDS)
    return replace(request, spec=spec)


def token_verb(requests: TokenRequests) -> Verb:
    """What answers a request for a service account's token."""

    async def token(call: Call) -> Answer:
        options = write_options(call.request.query, "CreateOptions", user_agent=call.user_agent)
        body = _with_expiration(read_action(call, TokenRequest, options))
        body = owned_by_creator(body, options, call.now(), subresource="token")
        prepared = requests.prepare(body, call.namespace, call.route.name)
        # Admission is asked about the audiences the client named: none are the server's own.
        asked = replace(prepared, spec=replace(prepared.spec, audiences=body.spec.audiences))
        request = AdmissionRequest(
            operation=Operation.CREATE,
            resource=call.resource,
            user=call.user,
            namespace=call.namespace,
            name=call.route.name,
            subresource="token",
            dry_run=options.dry_run,
            object=asked,
        )
        call.services.admission.admit(request)
        call.services.admission.validate(request)
        answered = requests.issue(prepared)
        for warning in answered.warnings:
            call.warn(warning)
        return document(call, 201, encode(answered.request))

    return token
