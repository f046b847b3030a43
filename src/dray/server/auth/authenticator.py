"""Who is asking: a request's credentials, turned into a user.

A client certificate goes first, then a bearer token: from the header, or from the subprotocol by
which browsers, which cannot set headers on a websocket, send it. Credentials that nobody accepts
are refused; a request without any is anonymous. What is no credential this server knows (a basic
password) counts as none.

Upstream counterparts: apiserver pkg/authentication/request (union, bearertoken, websocket) and
pkg/kubeapiserver/authenticator.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Final

from dray.errors import Unauthorized
from dray.http.messages import Peer
from dray.server.auth.certificates import Certificates
from dray.server.auth.service_account_tokens import ServiceAccountTokens, VerifiedToken
from dray.server.auth.token_file import TokenFile
from dray.server.user import ANONYMOUS, User

__all__ = ["Authenticator"]

# No token is that long; digesting longer ones would only keep the server busy.
TOKEN_CHARACTERS_MAX: Final = 64 * 1024

_BEARER_PROTOCOL: Final = "base64url.bearer.authorization.k8s.io."
_INVALID_TOKEN: Final = "invalid bearer token"  # noqa: S105 - a message


class Authenticator:
    """Every way to show who one is that is set up."""

    def __init__(
        self,
        *,
        certificates: Certificates | None = None,
        token_file: TokenFile | None = None,
        service_accounts: ServiceAccountTokens | None = None,
        audiences: Sequence[str] = (),
        anonymous: bool = True,
    ) -> None:
        """`audiences` are the server's names; by default, those of service-account tokens."""
        self._certificates = certificates
        self._token_file = token_file
        self._service_accounts = service_accounts
        if not audiences and service_accounts is not None:
            audiences = service_accounts.audiences
        self._audiences = tuple(audiences)
        self._anonymous = anonymous

    def authenticate(self, headers: Mapping[str, str], peer: Peer) -> User:
        """The user behind a request; Unauthorized if its credentials are not good."""
        problem: Unauthorized | None = None
        if peer.certificate is not None and self._certificates is not None:
            try:
                user = self._certificates.user(peer.certificate)
            except Unauthorized as error:
                problem = error
            else:
                if user is not None:
                    return user
        try:
            token = _bearer_token(headers)
            if token is not None:
                return self.token(token).user
        except Unauthorized as error:
            problem = error
        if problem is not None or not self._anonymous:
            # What exactly is wrong helps only those who guess.
            raise Unauthorized("Unauthorized") from problem
        return ANONYMOUS

    def token(self, token: str, audiences: Sequence[str] = ()) -> VerifiedToken:
        """Whose token it is, for one of the audiences or (without any) for this server.

        Unauthorized says why it is not good.
        """
        if len(token) > TOKEN_CHARACTERS_MAX:
            raise Unauthorized(_INVALID_TOKEN)
        if self._token_file is not None:
            user = self._token_file.user(token)
            # These tokens name no audience: they are for this server, under all its names.
            common = tuple(
                audience for audience in audiences or self._audiences if audience in self._audiences
            )
            if user is not None and (common or not audiences):
                return VerifiedToken(user, common)
        if self._service_accounts is not None:
            verified = self._service_accounts.verify(token, audiences)
            if verified is not None:
                return verified
        raise Unauthorized(_INVALID_TOKEN)


def _bearer_token(headers: Mapping[str, str]) -> str | None:
    header = headers.get("authorization", "").strip()
    if header:
        scheme, _, rest = header.partition(" ")
        token = rest.partition(" ")[0]
        if scheme.lower() == "bearer" and token:
            return token
    if "sec-websocket-protocol" in headers and headers.get("upgrade", "").lower() == "websocket":
        return _protocol_token(headers["sec-websocket-protocol"])
    return None


def _protocol_token(header: str) -> str | None:
    """The token among a websocket's subprotocols; the one to talk in must be there as well."""
    protocols = [protocol.strip() for protocol in header.split(",")]
    encoded = [
        protocol.removeprefix(_BEARER_PROTOCOL)
        for protocol in protocols
        if protocol.startswith(_BEARER_PROTOCOL)
    ]
    if len(encoded) > 1:
        raise Unauthorized("multiple base64.bearer.authorization tokens specified")
    if not encoded:
        return None
    try:
        padding = "=" * (-len(encoded[0]) % 4)
        token = base64.b64decode(encoded[0] + padding, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise Unauthorized("invalid base64.bearer.authorization token encoding") from error
    if token and len(protocols) == 1:
        raise Unauthorized("missing additional subprotocol")
    return token or None
