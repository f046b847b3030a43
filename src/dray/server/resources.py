"""What the server serves: resources, their verbs and their subresources, as data.

One Resource per group, version and plural. Routing, discovery, OpenAPI and authorization all read
this one description, so they cannot disagree. Upstream counterpart: the storage maps of
kube-apiserver's registry, APIResource.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dray.api.schema import StructOf

__all__ = ["ALL_VERBS", "Resource", "Subresource"]

ALL_VERBS: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of an object, or an action on it, with a path of its own."""

    name: str  # status, binding, ...
    kind: str  # of its body
    verbs: tuple[str, ...]
    # Of the body's kind, where they are not the resource's own.
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one version, as the API offers it."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    schema: StructOf
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    # Of kinds that users define, whose definition may choose them.
    list_name: str = ""
    deprecation: str | None = None
    custom: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_kind(self) -> str:
        return self.list_name or f"{self.kind}List"

    @property
    def qualified(self) -> str:
        """What error messages call it: pods, resourceclaims.resource.k8s.io."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)
