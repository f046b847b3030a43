"""Answers to /openapi/v2 and /openapi/v3: an index, a document for every version, revalidation.

A document is made when it is first asked for and kept until the resources in it change; its name in
the index has a hash of its content, so a client may keep it for ever. Upstream counterparts:
kube-openapi's handler and handler3. Departures: no Last-Modified (hashes do the same), and version
3 in JSON only, which is all that clients ask for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final

from dray.http.messages import Header, Request, Response
from dray.server.discovery import KUBERNETES_VERSION
from dray.server.openapi import gnostic
from dray.server.openapi.documents import document, key_of, to_json, v2_document
from dray.server.resources import Resource

__all__ = ["OpenAPI"]

_JSON: Final = "application/json"

# Clients ask for the protobuf by a name that is no proper media type, and by one that is.
_V2_FORMS: Final = {
    _JSON: _JSON,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": gnostic.CONTENT_TYPE,
    gnostic.CONTENT_TYPE: gnostic.CONTENT_TYPE,
}
_V3_FORMS: Final = {_JSON: _JSON}

_BY_ACCEPT: Final = ("Vary", "Accept")
_NOT_CACHED: Final = ("Cache-Control", "no-cache, private")
_FOR_EVER: Final = ("Cache-Control", "public, immutable")

# Nobody weighs more alternatives than these; the rest of a hostile header is not read.
_CLAUSES_MAX: Final = 64

_VERSION: Final = "v" + ".".join(map(str, KUBERNETES_VERSION))


class OpenAPI:
    """The documents of the resources that are served now."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources: tuple[Resource, ...] = ()
        self._by_key: dict[str, list[Resource]] = {}
        self._documents: dict[str, tuple[bytes, str]] = {}
        self._index: tuple[bytes, str] | None = None
        self._v2: dict[str, tuple[bytes, str]] = {}
        self.replace(resources)

    def replace(self, resources: Iterable[Resource]) -> None:
        """Serve these from now on. Documents of versions that stay the same are kept."""
        self._resources = tuple(resources)
        by_key: dict[str, list[Resource]] = {}
        for resource in self._resources:
            by_key.setdefault(key_of(resource), []).append(resource)
        before = self._by_key
        self._documents = {
            key: kept
            for key, kept in self._documents.items()
            # The same, not equal: schemas are equal by name.
            if list(map(id, by_key.get(key, ()))) == list(map(id, before[key]))
        }
        self._by_key = by_key
        self._index = None
        self._v2 = {}

    def respond(self, request: Request) -> Response | None:
        """The answer to a GET, or None if the path is not below /openapi."""
        path = request.path.rstrip("/")
        if path == "/openapi/v2":
            return self._respond_v2(request)
        if path == "/openapi/v3":
            return self._respond_index(request)
        if path.startswith("/openapi/v3/"):
            return self._respond_v3(path.removeprefix("/openapi/v3/"), request)
        return None

    def _respond_index(self, request: Request) -> Response:
        if self._index is None:
            paths = {
                key: {"serverRelativeURL": _url(key, self._document(key)[1])}
                for key in sorted(self._by_key)
            }
            self._index = _tagged(to_json({"paths": paths}))
        return _respond(request, self._index, _JSON, [_NOT_CACHED])

    def _respond_v3(self, key: str, request: Request) -> Response:
        if key not in self._by_key:
            return Response(404)
        form = _choose(request, _V3_FORMS)
        if form is None:
            return Response(406, [_BY_ACCEPT])
        found = self._document(key)
        asked = next(iter(request.query.get("hash", ())), "")
        if asked and asked != found[1]:
            return Response(301, [("Location", _url(key, found[1])), _BY_ACCEPT])
        cached = _FOR_EVER if asked else _NOT_CACHED
        return _respond(request, found, form, [_BY_ACCEPT, cached])

    def _respond_v2(self, request: Request) -> Response:
        form = _choose(request, _V2_FORMS)
        if form is None:
            return Response(406, [_BY_ACCEPT])
        if not self._v2:
            self._v2[_JSON] = _tagged(to_json(self._v2_document()))
        if form not in self._v2:
            # The tag of both forms is the same: Vary tells them apart.
            self._v2[form] = gnostic.to_protobuf(self._v2_document()), self._v2[_JSON][1]
        return _respond(request, self._v2[form], form, [_BY_ACCEPT, _NOT_CACHED])

    def _document(self, key: str) -> tuple[bytes, str]:
        found = self._documents.get(key)
        if found is None:
            resources = self._by_key[key]
            written = document(resources, resources[0].api_version, version=_VERSION)
            found = self._documents[key] = _tagged(written)
        return found

    def _v2_document(self) -> dict[str, Any]:
        return v2_document(self._resources, version=_VERSION)


def _tagged(body: bytes) -> tuple[bytes, str]:
    return body, hashlib.sha512(body).hexdigest().upper()


def _url(key: str, tag: str) -> str:
    return f"/openapi/v3/{key}?hash={tag}"


def _respond(
    request: Request, found: tuple[bytes, str], form: str, headers: list[Header]
) -> Response:
    body, tag = found
    quoted = f'"{tag}"'
    headers = [("ETag", quoted), *headers]
    known = request.headers.get("if-none-match", "")
    if any(each.strip().removeprefix("W/") in (quoted, "*") for each in known.split(",")):
        return Response(304, headers)
    return Response(200, [("Content-Type", form), *headers], body)


def _choose(request: Request, forms: dict[str, str]) -> str | None:
    """The form that the client likes best, of those there are."""
    clauses = request.headers.get("accept", "").split(",", _CLAUSES_MAX)[:_CLAUSES_MAX]
    weighed = sorted(map(_weigh, clauses), key=lambda each: -each[0])
    for weight, media in weighed:
        if weight <= 0:
            continue
        if media in ("", "*/*", "application/*"):
            return next(iter(forms.values()))
        if media in forms:
            return forms[media]
    return None


def _weigh(clause: str) -> tuple[float, str]:
    media, *parameters = (part.strip() for part in clause.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "q":
            try:
                return float(value), media
            except ValueError:
                return 1.0, media
    return 1.0, media
