"""authentication.k8s.io/v1: who somebody is. Questions: posted, answered, never stored.

Upstream counterpart: k8s.io/api/authentication/v1.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from dray.api.meta import Object
from dray.api.wire import Int64, Struct, Time, always

__all__ = [
    "BoundObjectReference",
    "SelfSubjectReview",
    "SelfSubjectReviewStatus",
    "TokenRequest",
    "TokenRequestSpec",
    "TokenRequestStatus",
    "TokenReview",
    "TokenReviewSpec",
    "TokenReviewStatus",
    "UserInfo",
]


class UserInfo(Struct):
    """Who somebody is, and which groups they are in."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class TokenReviewSpec(Struct):
    """A token, and the audiences one of which it should be for."""

    token: str = ""
    audiences: tuple[str, ...] = ()


class TokenReviewStatus(Struct):
    """Whether the token is good, and whose it is."""

    authenticated: bool = False
    user: UserInfo = always(UserInfo)
    audiences: tuple[str, ...] = ()
    error: str = ""


class TokenReview(Object):
    """Asks whose token this is."""

    api_version: str = always("authentication.k8s.io/v1")
    kind: str = always("TokenReview")
    spec: TokenReviewSpec = always(TokenReviewSpec)
    status: TokenReviewStatus = always(TokenReviewStatus)


class BoundObjectReference(Struct):
    """The object with which a token dies."""

    kind: str = ""
    api_version: str = ""
    name: str = ""
    uid: str = ""


class TokenRequestSpec(Struct):
    """For whom the token should be good, and for how long."""

    audiences: tuple[str, ...] | None = always(None)
    expiration_seconds: Int64 | None = always(None)
    bound_object_ref: BoundObjectReference | None = always(None)
    attestations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class TokenRequestStatus(Struct):
    """The token, and when it ends."""

    token: str = always("")
    expiration_timestamp: Time | None = always(None)


class TokenRequest(Object):
    """Asks for a token of a service account."""

    api_version: str = always("authentication.k8s.io/v1")
    kind: str = always("TokenRequest")
    spec: TokenRequestSpec = always(TokenRequestSpec)
    status: TokenRequestStatus = always(TokenRequestStatus)


class SelfSubjectReviewStatus(Struct):
    """Who the asker is."""

    user_info: UserInfo = always(UserInfo)


class SelfSubjectReview(Object):
    """Asks who the asker is."""

    api_version: str = always("authentication.k8s.io/v1")
    kind: str = always("SelfSubjectReview")
    status: SelfSubjectReviewStatus = always(SelfSubjectReviewStatus)
