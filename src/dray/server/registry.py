"""Which resources are served, and by which model: built-in ones, and those that users define.

The registry is what discovery, OpenAPI and routing read. Built-in resources never change; custom
ones come and go with their definitions, and each change gives the registry a new number so that
documents made from it know when they are stale. Upstream counterpart: the API group infos that
kube-apiserver installs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from dray.api import scheme
from dray.api.schemas import schema_of
from dray.api.scheme import Kind
from dray.server.custom.definition_model import DefinitionModel
from dray.server.models.config_data import ConfigDataModel
from dray.server.models.daemon_sets import DaemonSetModel
from dray.server.models.events import EventsModel
from dray.server.models.jobs import JobModel, WorkloadModel
from dray.server.models.model import Model
from dray.server.models.namespaces import NamespaceModel
from dray.server.models.pods import PodModel
from dray.server.models.typed import TypedModel
from dray.server.resources import ALL_VERBS, Resource, Subresource
from dray.server.tables.printer import Printer

__all__ = ["Registry", "Served", "key_of", "prefix_of"]

_READ_WRITE: Final = ("get", "patch", "update")

# Bodies that are posted and answered, never stored.
_REVIEWS: Final = (
    ("authentication.k8s.io", "TokenReview", "tokenreviews", False),
    ("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", False),
    ("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", False),
    ("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", True),
    ("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False),
    ("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews", False),
)

_BINDINGS: Final = ("", "Binding", "bindings", True)

_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "pods": ("all",),
    "deployments": ("all",),
    "replicasets": ("all",),
    "daemonsets": ("all",),
    "jobs": ("all",),
    "customresourcedefinitions": ("api-extensions",),
}

# What one kind has besides its objects. `status` is the same for all.
_SUBRESOURCES: Final[Mapping[str, Subresource]] = {
    "binding": Subresource("binding", "Binding", ("create",)),
    "eviction": Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
    "log": Subresource("log", "Pod", ("get",)),
    "exec": Subresource("exec", "PodExecOptions", ("create", "get")),
    "attach": Subresource("attach", "PodAttachOptions", ("create", "get")),
    "portforward": Subresource("portforward", "PodPortForwardOptions", ("create", "get")),
    "ephemeralcontainers": Subresource("ephemeralcontainers", "Pod", _READ_WRITE),
    "scale": Subresource("scale", "Scale", _READ_WRITE, "autoscaling", "v1"),
    "token": Subresource("token", "TokenRequest", ("create",), "authentication.k8s.io", "v1"),
    "finalize": Subresource("finalize", "Namespace", ("update",)),
}

_EXTRA_SUBRESOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "pods": ("attach", "portforward"),
    "namespaces": ("finalize",),
}


# Kinds with habits of their own.
_MODELS: Final[Mapping[tuple[str, str], type[TypedModel]]] = {
    ("", "ConfigMap"): ConfigDataModel,
    ("", "Namespace"): NamespaceModel,
    ("", "Secret"): ConfigDataModel,
    ("", "Pod"): PodModel,
    ("apps", "DaemonSet"): DaemonSetModel,
    ("apps", "Deployment"): WorkloadModel,
    ("apps", "ReplicaSet"): WorkloadModel,
    ("batch", "Job"): JobModel,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): DefinitionModel,
}


@dataclass(frozen=True, slots=True)
class Served:
    """A resource and what stands behind it."""

    resource: Resource
    model: Model | None  # None if nothing is stored: reviews
    prefix: str  # of its keys; versions of a kind share one, and so do the two faces of events
    kind: Kind | None = None  # of built-in ones
    printer: Printer | None = None  # of custom ones, whose definition says their columns
    selectable: tuple[str, ...] | None = None  # and which of their fields can be asked for


def prefix_of(group: str, plural: str) -> str:
    """Where the objects of a resource are kept."""
    return f"{group or 'core'}/{plural}/"


def key_of(prefix: str, namespace: str, name: str) -> str:
    """Where one object is kept."""
    return f"{prefix}{namespace}/{name}" if namespace else prefix + name


class Registry:
    """The resources that are served now."""

    def __init__(self, *, versions: Callable[[str, str], bool] | None = None) -> None:
        """`versions` says which group and version to serve; by default what upstream does."""
        self._builtin = {_path(served): served for served in _builtin(versions)}
        self._custom: dict[str, tuple[Served, ...]] = {}
        self._by_path = dict(self._builtin)
        self._generation = 1
        self._groups = {resource.group for resource in self.resources}

    @property
    def generation(self) -> int:
        """A number that changes whenever the resources do."""
        return self._generation

    @property
    def resources(self) -> tuple[Resource, ...]:
        return tuple(served.resource for served in self._by_path.values())

    def find(self, group: str, version: str, plural: str) -> Served | None:
        return self._by_path.get((group, version, plural))

    def has_group(self, group: str) -> bool:
        return group in self._groups

    def has_builtin_group(self, group: str) -> bool:
        return any(path[0] == group for path in self._builtin)

    def served(self) -> Iterable[Served]:
        return self._by_path.values()

    def define(self, name: str, served: Iterable[Served]) -> None:
        """Serve what a definition of this name defines, in place of what it defined before."""
        self._custom[name] = tuple(served)
        self._refresh()

    def withdraw(self, name: str) -> None:
        """Serve what this definition defined no longer."""
        if self._custom.pop(name, None) is not None:
            self._refresh()

    def defined(self, name: str) -> tuple[Served, ...]:
        return self._custom.get(name, ())

    def _refresh(self) -> None:
        custom = [served for each in self._custom.values() for served in each]
        # A built-in resource cannot be taken over by a definition.
        self._by_path = {_path(served): served for served in custom} | self._builtin
        self._groups = {resource.group for resource in self.resources}
        self._generation += 1


def _path(served: Served) -> tuple[str, str, str]:
    return served.resource.group, served.resource.version, served.resource.plural


def _builtin(versions: Callable[[str, str], bool] | None) -> Iterable[Served]:
    for kind in scheme.kinds():
        is_events = (kind.group, kind.name) == ("events.k8s.io", "Event")
        make = _MODELS.get((kind.group, kind.name), TypedModel)
        model: Model = EventsModel() if is_events else make(kind)
        prefix = prefix_of("" if is_events else kind.group, kind.plural)
        for version in kind.versions:
            wanted = versions(kind.group, version.name) if versions else version.served_by_default
            if wanted:
                yield Served(_resource(kind, version.name), model, prefix, kind)
    for group, name, plural, namespaced in (*_REVIEWS, _BINDINGS):
        yield Served(_review(group, name, plural, namespaced=namespaced), None, "")


def _resource(kind: Kind, version: str) -> Resource:
    names = (*kind.subresources, *_EXTRA_SUBRESOURCES.get(kind.plural, ()))
    subresources = [
        Subresource("status", kind.name, _READ_WRITE) if name == "status" else _SUBRESOURCES[name]
        for name in names
    ]
    verbs = tuple(
        verb for verb in ALL_VERBS if (kind.plural, verb) != ("namespaces", "deletecollection")
    )
    return Resource(
        group=kind.group,
        version=version,
        plural=kind.plural,
        singular=kind.singular,
        kind=kind.name,
        namespaced=kind.namespaced,
        schema=schema_of(kind.group, version, kind.name),
        verbs=verbs,
        short_names=kind.short_names,
        categories=_CATEGORIES.get(kind.plural, ()),
        subresources=tuple(sorted(subresources, key=lambda sub: sub.name)),
    )


def _review(group: str, name: str, plural: str, *, namespaced: bool) -> Resource:
    return Resource(
        group=group,
        version="v1",
        plural=plural,
        singular=name.lower(),
        kind=name,
        namespaced=namespaced,
        schema=schema_of(group, "v1", name),
        verbs=("create",),
    )
