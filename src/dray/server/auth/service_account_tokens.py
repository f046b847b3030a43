"""Tokens of service accounts: made, and recognized.

A token names its service account by UID, and perhaps a pod, node or secret it is bound to. It is
good while all of them are there: an object that is being deleted takes its tokens with it after a
minute. What a signature vouches for is remembered by the token's digest; what may change (the
time, and what is stored) is looked at with every use.

Upstream counterparts: pkg/serviceaccount claims.go and jwt.go.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from dray.api.core import Node, Pod, Secret, ServiceAccount
from dray.api.meta import Object
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import Unauthorized, quote
from dray.server.auth.identities import (
    CREDENTIAL_ID,
    NODE_NAME,
    NODE_UID,
    POD_NAME,
    POD_UID,
    authenticated,
    service_account_groups,
    service_account_user_name,
)
from dray.server.auth.signing_keys import SigningKeys
from dray.server.state import State
from dray.server.user import User

__all__ = ["Bound", "ServiceAccountTokens", "VerifiedToken"]

# Clocks of other machines may be this far off; deletions take this long to end tokens.
LEEWAY: Final = timedelta(minutes=1)

# One per pod that talks to the API, and some more while they are renewed.
TOKENS_MAX: Final = 32_768

_INVALIDATED: Final = "service account token has been invalidated"


class _Reference(msgspec.Struct, omit_defaults=True, frozen=True):
    name: str = ""
    uid: str = ""


class _Kubernetes(msgspec.Struct, omit_defaults=True, frozen=True):
    namespace: str = ""
    serviceaccount: _Reference = _Reference()
    pod: _Reference | None = None
    secret: _Reference | None = None
    node: _Reference | None = None
    warnafter: float | None = None


class _Claims(msgspec.Struct, frozen=True, omit_defaults=True):
    """The payload. Names are those of RFC 7519 and of upstream's private claims."""

    aud: tuple[str, ...] | str = ()
    exp: float = 0
    iat: float = 0
    iss: str = ""
    jti: str = ""
    kubernetes: _Kubernetes = msgspec.field(default=_Kubernetes(), name="kubernetes.io")
    nbf: float = 0
    sub: str = ""

    @property
    def audiences(self) -> tuple[str, ...]:
        return (self.aud,) if isinstance(self.aud, str) else self.aud


@dataclass(frozen=True, slots=True)
class Bound:
    """What a token is bound to. With a pod comes the node it runs on."""

    pod: Pod | None = None
    secret: Secret | None = None
    node: Node | None = None
    # The node of a pod when there is no Node object of that name (any more).
    node_name: str = ""


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """A good token: whose it is, and for which of the wanted audiences it is good."""

    user: User
    audiences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    claims: _Claims
    user: User


class ServiceAccountTokens:
    """Makes and recognizes the tokens of one issuer."""

    def __init__(
        self,
        state: State,
        keys: SigningKeys,
        clock: Clock,
        entropy: Entropy,
        *,
        issuer: str,
        audiences: Sequence[str] = (),
    ) -> None:
        """`audiences` are the names this server goes by; by default, only the issuer's."""
        self._state = state
        self._keys = keys
        self._clock = clock
        self._entropy = entropy
        self.issuer = issuer
        self.audiences = tuple(audiences) or (issuer,)
        self._known: dict[bytes, _Known] = {}

    def issue(
        self,
        account: ServiceAccount,
        *,
        audiences: Sequence[str],
        expiration_seconds: int,
        bound: Bound | None = None,
        warn_after_seconds: int = 0,
    ) -> str:
        """A new token."""
        now = int(self._clock.now().timestamp())
        metadata, bound = account.metadata, bound or Bound()
        private = _Kubernetes(
            namespace=metadata.namespace,
            serviceaccount=_Reference(metadata.name, metadata.uid),
            pod=_reference(bound.pod),
            secret=_reference(bound.secret),
            node=_Reference(bound.node_name) if bound.node_name else _reference(bound.node),
            warnafter=now + warn_after_seconds if warn_after_seconds else None,
        )
        claims = _Claims(
            aud=tuple(audiences),
            exp=now + expiration_seconds,
            iat=now,
            iss=self.issuer,
            jti=self._entropy.uid(),
            kubernetes=private,
            nbf=now,
            sub=service_account_user_name(metadata.namespace, metadata.name),
        )
        return self._keys.sign(msgspec.json.encode(claims))

    def verify(self, token: str, audiences: Sequence[str] = ()) -> VerifiedToken | None:
        """Whose token it is; None if it is not of this issuer, Unauthorized if it is not good.

        It must be for one of the audiences; without any, for this server.
        """
        digest = hashlib.sha256(token.encode(errors="surrogatepass")).digest()
        known = self._known.get(digest)
        if known is None:
            known = self._read(token)
            if known is None:
                return None
            if len(self._known) >= TOKENS_MAX:
                self._known.clear()
            self._known[digest] = known
        wanted = tuple(audiences) or self.audiences
        offered = known.claims.audiences or self.audiences
        common = tuple(audience for audience in offered if audience in wanted)
        if not common:
            raise Unauthorized(
                f"token audiences {_list(offered)} is invalid"
                f" for the target audiences {_list(wanted)}"
            )
        self._check_time(known.claims)
        self._check_objects(known.claims.kubernetes)
        return VerifiedToken(known.user, common)

    def _read(self, token: str) -> _Known | None:
        if _unverified_issuer(token) != self.issuer:
            return None
        try:
            claims = msgspec.json.decode(self._keys.verify(token), type=_Claims)
        except msgspec.DecodeError as error:
            raise Unauthorized("invalid bearer token") from error
        if claims.iss != self.issuer:
            raise Unauthorized(f"token issuer {quote(claims.iss)} is invalid")
        return _Known(claims, _user(claims))

    def _check_time(self, claims: _Claims) -> None:
        now, leeway = self._clock.now().timestamp(), LEEWAY.total_seconds()
        if claims.nbf and now + leeway < claims.nbf:
            raise Unauthorized("service account token is not valid yet")
        if claims.exp and now - leeway > claims.exp:
            raise Unauthorized("service account token has expired")
        if claims.iat and now + leeway < claims.iat:
            raise Unauthorized("service account token is issued in the future")

    def _check_objects(self, claims: _Kubernetes) -> None:
        state, namespace, account = self._state, claims.namespace, claims.serviceaccount
        found = state.get(ServiceAccount, account.name, namespace)
        if found is None:
            raise Unauthorized(f"serviceaccounts {quote(account.name)} not found")
        if found.metadata.uid != account.uid:
            raise Unauthorized(
                f"service account UID ({found.metadata.uid}) does not match claim ({account.uid})"
            )
        if self._is_gone(found):
            raise Unauthorized(f"service account {namespace}/{account.name} has been deleted")
        if claims.secret is not None:
            secret = state.get(Secret, claims.secret.name, namespace)
            self._check_bound("secret", claims.secret, secret)
        if claims.pod is not None:
            self._check_bound("pod", claims.pod, state.get(Pod, claims.pod.name, namespace))
        elif claims.node is not None:
            self._check_bound("node", claims.node, state.get(Node, claims.node.name))

    def _check_bound(self, kind: str, claimed: _Reference, found: Object | None) -> None:
        if found is None:
            raise Unauthorized(_INVALIDATED)
        if found.metadata.uid != claimed.uid:
            raise Unauthorized(
                f"{kind} UID ({found.metadata.uid}) does not match"
                f" service account {kind} ref claim ({claimed.uid})"
            )
        if self._is_gone(found):
            raise Unauthorized(_INVALIDATED)

    def _is_gone(self, obj: Object) -> bool:
        deleted = obj.metadata.deletion_timestamp
        return deleted is not None and deleted.instant < self._clock.now() - LEEWAY


def _reference(obj: Object | None) -> _Reference | None:
    return None if obj is None else _Reference(obj.metadata.name, obj.metadata.uid)


def _user(claims: _Claims) -> User:
    private, extra = claims.kubernetes, {}
    if private.pod is not None and private.pod.name and private.pod.uid:
        extra[POD_NAME] = (private.pod.name,)
        extra[POD_UID] = (private.pod.uid,)
    if claims.jti:
        extra[CREDENTIAL_ID] = (f"JTI={claims.jti}",)
    if private.node is not None and private.node.name:
        extra[NODE_NAME] = (private.node.name,)
        if private.node.uid:
            extra[NODE_UID] = (private.node.uid,)
    account = private.serviceaccount
    user = User(
        service_account_user_name(private.namespace, account.name),
        uid=account.uid,
        groups=service_account_groups(private.namespace),
        extra=extra,
    )
    return authenticated(user)


class _Issuer(msgspec.Struct):
    iss: str = ""


def _unverified_issuer(token: str) -> str | None:
    """Who a token says it is from, before anything of it is believed."""
    parts = token.split(".")
    if len(parts) != 3 or not token.isascii():
        return None
    payload = parts[1]
    try:
        decoded = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        return msgspec.json.decode(decoded, type=_Issuer).iss
    except (binascii.Error, msgspec.DecodeError, RecursionError):
        return None


def _list(values: Sequence[str]) -> str:
    return f"[{' '.join(quote(value) for value in values)}]"
