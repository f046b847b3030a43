"""From a method and a path to what is asked for: which verb, on which resource or path.

Nothing here knows which resources exist: a path has the shape of a resource's or it has not. One
trailing slash is accepted everywhere, as several client libraries write one. Upstream counterpart:
apiserver pkg/endpoints/request/requestinfo.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from dray.server.switches import is_on

__all__ = ["Route", "route"]

_VERBS: Final[Mapping[str, str]] = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}

_COLLECTION_VERBS: Final[Mapping[str, str]] = {"get": "list", "delete": "deletecollection"}

# Parts of a namespace, not resources inside it.
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})


class Route(msgspec.Struct, frozen=True):
    """What a request is about. Without a resource it is about the path alone."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    surplus: tuple[str, ...] = ()  # segments that no resource path has

    @property
    def is_resource(self) -> bool:
        return bool(self.resource)


def route(method: str, path: str, query: Mapping[str, Sequence[str]]) -> Route:
    """What this request is about."""
    verb = _VERBS.get(method, method.lower())
    parts = path.removeprefix("/").removesuffix("/").split("/")
    if "" in parts:  # nothing has no name, and //x is not /x
        return Route(verb=method.lower(), path=path)
    if parts[0] == "api" and len(parts) > 2:
        return _resource(verb, path, "", parts[1], parts[2:], query)
    if parts[0] == "apis" and len(parts) > 3:
        return _resource(verb, path, parts[1], parts[2], parts[3:], query)
    return Route(verb=method.lower(), path=path)


def _resource(
    verb: str,
    path: str,
    group: str,
    version: str,
    parts: list[str],
    query: Mapping[str, Sequence[str]],
) -> Route:
    watches = False
    if parts[0] == "watch" and len(parts) > 1:  # an old way to write ?watch=true
        parts, watches = parts[1:], True
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        if len(parts) == 2 or parts[2] in _NAMESPACE_SUBRESOURCES:
            namespace = parts[1]
        else:
            namespace, parts = parts[1], parts[2:]
    resource, name, subresource, *_ = [*parts, "", ""]
    if not name:
        verb = _COLLECTION_VERBS.get(verb, verb)
        if verb == "list" and is_on(query, "watch"):
            verb = "watch"
    if watches:
        verb = "watch"
    return Route(
        verb=verb,
        path=path,
        group=group,
        version=version,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
        surplus=tuple(parts[3:]),
    )
