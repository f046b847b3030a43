"""Questions about who somebody is, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.authentication import SelfSubjectReview, TokenRequest, TokenReview
from tests.unit.api.core.golden import METADATA, Document, KindSuite

API_VERSION = "authentication.k8s.io/v1"

USER: Document = {
    "username": "system:serviceaccount:research:trainer",
    "uid": "uid-1",
    "groups": ["system:serviceaccounts"],
    "extra": {"authentication.kubernetes.io/pod-name": ["training-0"]},
}


class TestTokenReview(KindSuite):
    kind = TokenReview
    document: ClassVar[Document] = {
        "apiVersion": API_VERSION,
        "kind": "TokenReview",
        "metadata": METADATA,
        "spec": {"token": "abc", "audiences": ["api"]},
        "status": {
            "authenticated": True,
            "user": USER,
            "audiences": ["api"],
            "error": "none",
        },
    }
    empty: ClassVar[Document] = {"spec": {}, "status": {"user": {}}}


class TestTokenRequest(KindSuite):
    kind = TokenRequest
    document: ClassVar[Document] = {
        "apiVersion": API_VERSION,
        "kind": "TokenRequest",
        "metadata": METADATA,
        "spec": {
            "audiences": ["api"],
            "expirationSeconds": 3600,
            "boundObjectRef": {
                "kind": "Pod",
                "apiVersion": "v1",
                "name": "training-0",
                "uid": "uid-1",
            },
            "attestations": {"example.com/measured": ["yes"]},
        },
        "status": {"token": "abc", "expirationTimestamp": "2026-01-31T13:00:00Z"},
    }
    empty: ClassVar[Document] = {
        "spec": {"audiences": None, "expirationSeconds": None, "boundObjectRef": None},
        "status": {"token": "", "expirationTimestamp": None},
    }


class TestSelfSubjectReview(KindSuite):
    kind = SelfSubjectReview
    document: ClassVar[Document] = {
        "apiVersion": API_VERSION,
        "kind": "SelfSubjectReview",
        "metadata": METADATA,
        "status": {"userInfo": USER},
    }
    empty: ClassVar[Document] = {"status": {"userInfo": {}}}
