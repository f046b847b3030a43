"""Questions about what somebody may do, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.authorization import (
    SelfSubjectAccessReview,
    SelfSubjectRulesReview,
    SubjectAccessReview,
)
from tests.unit.api.core.golden import METADATA, Document, KindSuite

API_VERSION = "authorization.k8s.io/v1"

REQUESTS: Document = {
    "resourceAttributes": {
        "namespace": "research",
        "verb": "list",
        "group": "resource.k8s.io",
        "version": "v1",
        "resource": "resourceclaims",
        "subresource": "status",
        "name": "training",
        "fieldSelector": {
            "rawSelector": "metadata.name=training",
            "requirements": [{"key": "metadata.name", "operator": "In", "values": ["training"]}],
        },
        "labelSelector": {
            "rawSelector": "team",
            "requirements": [{"key": "team", "operator": "NotIn", "values": ["audio"]}],
        },
    },
    "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
}

VERDICT: Document = {
    "allowed": True,
    "denied": True,
    "reason": "role view",
    "evaluationError": "one authorizer is away",
}


class TestSubjectAccessReview(KindSuite):
    kind = SubjectAccessReview
    document: ClassVar[Document] = {
        "apiVersion": API_VERSION,
        "kind": "SubjectAccessReview",
        "metadata": METADATA,
        "spec": REQUESTS
        | {"user": "ada", "groups": ["ops"], "extra": {"scopes": ["read"]}, "uid": "uid-1"},
        "status": VERDICT,
    }
    empty: ClassVar[Document] = {"spec": {}, "status": {"allowed": False}}


class TestSelfSubjectAccessReview(KindSuite):
    kind = SelfSubjectAccessReview
    document: ClassVar[Document] = {
        "apiVersion": API_VERSION,
        "kind": "SelfSubjectAccessReview",
        "metadata": METADATA,
        "spec": REQUESTS,
        "status": VERDICT,
    }
    empty: ClassVar[Document] = {"spec": {}, "status": {"allowed": False}}


class TestSelfSubjectRulesReview(KindSuite):
    kind = SelfSubjectRulesReview
    document: ClassVar[Document] = {
        "apiVersion": API_VERSION,
        "kind": "SelfSubjectRulesReview",
        "metadata": METADATA,
        "spec": {"namespace": "research"},
        "status": {
            "resourceRules": [
                {
                    "verbs": ["get"],
                    "apiGroups": [""],
                    "resources": ["pods"],
                    "resourceNames": ["training-0"],
                }
            ],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/version"]}],
            "incomplete": True,
            "evaluationError": "one authorizer is away",
        },
    }
    empty: ClassVar[Document] = {
        "spec": {},
        "status": {"resourceRules": None, "nonResourceRules": None, "incomplete": False},
    }
