"""What the server says it serves: groups, versions, resources, and its own version.

Two forms of the same facts. The plain one is a tree of documents, one per group and version; the
aggregated one puts everything into the documents of /api and /apis, which a client asks for by its
Accept header and revalidates by ETag. Both are made from the list of resources, once; whoever
changes that list hands the new one to `replace`.

Order is preference: groups and versions in upstream's order, resources by name. Upstream
counterparts: apiserver's pkg/endpoints/discovery, the priorities of kube-aggregator.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import dray
from dray.http.messages import Request, Response
from dray.server.negotiation import DISCOVERY, DOCUMENTS, Encoding, Form, negotiate, wants_pretty
from dray.server.resources import Resource, Subresource
from dray.server.yaml_output import to_yaml

__all__ = ["KUBERNETES_VERSION", "Discovery", "maturity", "version_document"]

# Whose behaviour the server has. Clients compare major and minor with their own.
KUBERNETES_VERSION: Final = (1, 37, 1)

# Upstream's own, where dray serves the group or may come to; the rest, which is custom resources,
# comes after them by name.
_GROUPS: Final = (
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)
_GROUP_RANK: Final = {group: rank for rank, group in enumerate(_GROUPS)}

_JSON: Final = "application/json"
_NOT_CACHED: Final = ("Cache-Control", "no-cache, private")
_CACHED: Final = ("Cache-Control", "public")
_BY_ACCEPT: Final = ("Vary", "Accept")


class Discovery:
    """Answers to /, /version, /api and /apis, down to the version of a group."""

    def __init__(
        self,
        resources: Iterable[Resource],
        *,
        server_address: str = "",
        other_paths: Sequence[str] = (),
    ) -> None:
        """`server_address` is host:port as clients see it; `other_paths` are for the list at /."""
        self.server_address = server_address
        self._other_paths = tuple(other_paths)
        self._version = version_document()
        self._groups: dict[str, dict[str, list[Resource]]] = {}
        self._documents: dict[str, Any] = {}
        self._aggregated: dict[tuple[str, str], tuple[bytes, str]] = {}
        self.replace(resources)

    def replace(self, resources: Iterable[Resource]) -> None:
        """Serve these from now on."""
        self._groups = _by_group(resources)
        self._aggregated = {}
        self._documents = {"/version": self._version}
        listed = []
        for group, versions in self._groups.items():
            preferred = _preferred(versions)
            for version, served in versions.items():
                path = f"/apis/{group}/{version}" if group else f"/api/{version}"
                self._documents[path] = _resource_list(group, version, served, preferred)
            if group:
                entry = _group(group, versions)
                listed.append(entry)
                self._documents[f"/apis/{group}"] = {"kind": "APIGroup", "apiVersion": "v1"} | entry
        self._documents["/api"] = self._legacy_root()
        self._documents["/apis"] = {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
        paths = {"/apis/", *self._documents, *self._other_paths}
        self._documents["/"] = {"paths": sorted(paths)}

    def respond(self, request: Request) -> Response | None:
        """The answer to a GET, or None if the path is none of discovery's. Raises NotAcceptable."""
        path = request.path.rstrip("/") or "/"
        document = self._documents.get(path)
        if document is None:
            return None
        root = path in ("/api", "/apis")
        accept = request.headers.get("accept", "")
        media = negotiate(accept, DISCOVERY if root else DOCUMENTS)
        if media.form is Form.DISCOVERY:
            return self._respond_aggregated(path, media.version, request)
        headers = [("Content-Type", media.content_type), _NOT_CACHED, *([_BY_ACCEPT] * root)]
        if media.encoding is Encoding.YAML:
            return Response(200, headers, to_yaml(document))
        pretty = wants_pretty(media, request.query, request.headers.get("user-agent", ""))
        return Response(200, headers, _to_json(document, pretty=pretty))

    def _respond_aggregated(self, path: str, version: str, request: Request) -> Response:
        found = self._aggregated.get((path, version))
        if found is None:
            body = _to_json(self._aggregate(path, version))
            digest = hashlib.sha256(body).hexdigest().upper()
            found = self._aggregated[path, version] = (body, f'"{digest}"')
        body, tag = found
        headers = [("ETag", tag), _BY_ACCEPT, _CACHED]
        if request.headers.get("if-none-match") == tag:
            return Response(304, headers)
        # Clients know the form by this very text, and fall back to the plain one without it.
        form = f"{_JSON};g={Form.DISCOVERY.group};v={version};as={Form.DISCOVERY.value}"
        return Response(200, [("Content-Type", form), *headers], body)

    def _aggregate(self, path: str, version: str) -> dict[str, Any]:
        items: list[dict[str, Any]] = []
        for group, versions in self._groups.items():
            if bool(group) is (path == "/apis"):
                items.append(
                    {
                        "metadata": {"name": group} if group else {},
                        "versions": [
                            _aggregated_version(name, served) for name, served in versions.items()
                        ],
                    }
                )
        return {
            "kind": Form.DISCOVERY.value,
            "apiVersion": f"{Form.DISCOVERY.group}/{version}",
            "metadata": {},
            "items": items,
        }

    def _legacy_root(self) -> dict[str, Any]:
        address = {"clientCIDR": "0.0.0.0/0", "serverAddress": self.server_address}
        return {
            "kind": "APIVersions",
            "versions": list(self._groups.get("", {"v1": []})),
            "serverAddressByClientCIDRs": [address],
        }


def version_document() -> dict[str, str]:
    """What /version says: a Kubernetes of this version, in dray's build.

    Every field is there because clients insist on it; those that make no sense for a program in
    Python say what is nearest.
    """
    major, minor, patch = KUBERNETES_VERSION
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": str(major),
        "minor": str(minor),
        "emulationMajor": str(major),
        "emulationMinor": str(minor),
        "minCompatibilityMajor": str(major),
        "minCompatibilityMinor": str(minor - 1),
        # Build metadata, after the plus sign, does not count when versions are compared.
        "gitVersion": f"v{major}.{minor}.{patch}+dray.{dray.__version__}",
        "gitCommit": "unknown",
        "gitTreeState": "archive",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{machine}",
    }


def _to_json(document: Any, *, pretty: bool = False) -> bytes:
    if pretty:
        return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


# Order -----------------------------------------------------------------------------------------


def _by_group(resources: Iterable[Resource]) -> dict[str, dict[str, list[Resource]]]:
    found: dict[str, dict[str, list[Resource]]] = {}
    for resource in sorted(resources, key=lambda resource: resource.plural):
        found.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    return {
        group: {version: found[group][version] for version in sorted(found[group], key=maturity)}
        for group in sorted(found, key=lambda group: (_GROUP_RANK.get(group, len(_GROUPS)), group))
    }


def _preferred(versions: Mapping[str, Iterable[Resource]]) -> dict[str, str]:
    """The version of each resource that stands first: the one its objects are stored in."""
    found: dict[str, str] = {}
    for version, served in versions.items():
        for resource in served:
            found.setdefault(resource.plural, version)
    return found


_VERSION: Final = re.compile(r"v([0-9]{1,9})(?:(alpha|beta)([0-9]{1,9}))?")
_STAGES: Final = {None: 0, "beta": 1, "alpha": 2}


@lru_cache(maxsize=1024)
def maturity(version: str) -> tuple[int, int, int, str]:
    """Sorts stable before beta before alpha, newer before older, and names of no such form last."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return len(_STAGES), 0, 0, version
    return _STAGES[match[2]], -int(match[1]), -int(match[3] or 0), ""


# The plain form --------------------------------------------------------------------------------


def _group(group: str, versions: Iterable[str]) -> dict[str, Any]:
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def _resource_list(
    group: str, version: str, served: Iterable[Resource], preferred: Mapping[str, str]
) -> dict[str, Any]:
    entries = []
    for resource in served:
        entries.append(_entry(resource, preferred[resource.plural]))
        parts = sorted(resource.subresources, key=lambda sub: sub.name)
        entries += [_sub_entry(resource, part) for part in parts]
    head = {"kind": "APIResourceList"}
    if group:  # the oldest of these documents never had a version
        head["apiVersion"] = "v1"
    return {
        **head,
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": entries,
    }


def _entry(resource: Resource, stored_version: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(resource),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if "list" in resource.verbs and not resource.custom:
        entry["storageVersionHash"] = _storage_version_hash(resource, stored_version)
    return entry


def _verbs(resource: Resource) -> list[str]:
    # What users define lists them in upstream's order, which is none.
    return list(_CUSTOM_VERBS) if resource.custom else sorted(resource.verbs)


_CUSTOM_VERBS: Final = (
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
)


def _sub_entry(resource: Resource, subresource: Subresource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{resource.plural}/{subresource.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if subresource.group:
        entry["group"] = subresource.group
    if subresource.version:
        entry["version"] = subresource.version
    return entry | {"kind": subresource.kind, "verbs": sorted(subresource.verbs)}


def _storage_version_hash(resource: Resource, version: str) -> str:
    """Lets storage migrators notice that objects are stored in another version than before."""
    # Events are one store with two views.
    group = "" if resource.group == "events.k8s.io" else resource.group
    stored = f"{group}/{version}/{resource.kind}"
    return b64encode(hashlib.sha256(stored.encode()).digest()[:8]).decode()


# The aggregated form ---------------------------------------------------------------------------


def _aggregated_version(version: str, served: Iterable[Resource]) -> dict[str, Any]:
    return {
        "version": version,
        "resources": [_aggregated_entry(resource) for resource in served],
        "freshness": "Current",
    }


def _aggregated_entry(resource: Resource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(resource),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(sub.kind, sub.group, sub.version),
                "verbs": sorted(sub.verbs),
            }
            for sub in sorted(resource.subresources, key=lambda sub: sub.name)
        ]
    return entry


def _response_kind(kind: str, group: str = "", version: str = "") -> dict[str, str]:
    """Without a group and version they are those of the document around it."""
    return {"group": group, "version": version, "kind": kind}
