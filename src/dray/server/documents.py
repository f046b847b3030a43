"""What there is to read about the server itself: discovery, OpenAPI, keys of its tokens.

Documents made from the resources are made again when these change. Upstream counterparts:
kube-aggregator's discovery, kube-openapi's handlers, the OIDC discovery of service accounts.
"""

from __future__ import annotations

from dray.http.messages import Request, Response
from dray.server.auth.signing_keys import SigningKeys
from dray.server.discovery import Discovery
from dray.server.health import Health
from dray.server.openapi import OpenAPI
from dray.server.refusals import method_not_allowed
from dray.server.registry import Registry

__all__ = ["Documents"]

JWKS_PATH = "/openid/v1/jwks"
CONFIGURATION_PATH = "/.well-known/openid-configuration"


class Documents:
    """Answers requests for documents."""

    def __init__(
        self, registry: Registry, keys: SigningKeys, health: Health, *, issuer: str
    ) -> None:
        self._registry = registry
        self._keys = keys
        self._issuer = issuer
        other = ["/metrics", JWKS_PATH, CONFIGURATION_PATH, "/openapi/v2", "/openapi/v3"]
        self._discovery = Discovery(registry.resources, other_paths=[*other, *health.paths])
        self._open_api = OpenAPI(registry.resources)
        self._generation = registry.generation

    def answer_at(self, address: str) -> None:
        """Tell clients to come here, host and port, from now on."""
        self._discovery.server_address = address
        self._discovery.replace(self._registry.resources)

    async def __call__(self, request: Request) -> Response | None:
        """The document, or None if the path names none."""
        if self._generation != self._registry.generation:
            self._generation = self._registry.generation
            self._discovery.replace(self._registry.resources)
            self._open_api.replace(self._registry.resources)
        answer = self._find(request)
        if answer is not None and request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        return answer

    def _find(self, request: Request) -> Response | None:
        path = request.path
        if path == JWKS_PATH:
            headers = (("Content-Type", "application/jwk-set+json"),)
            return Response(200, headers, self._keys.jwks())
        if path == CONFIGURATION_PATH:
            body = self._keys.openid_configuration(self._issuer, f"{self._issuer}{JWKS_PATH}")
            return Response(200, (("Content-Type", "application/json"),), body)
        if path.startswith("/openapi/"):
            return self._open_api.respond(request)
        return self._discovery.respond(request)
