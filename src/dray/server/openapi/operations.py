"""What can be done with a resource, as OpenAPI tells it: paths, operations, parameters, bodies.

The operations of a resource follow from its verbs and subresources alone. They are facts here, in
neither version of OpenAPI; `documents` writes them down. Upstream counterpart: the routes that
apiserver's pkg/endpoints/installer.go registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from dray.api.schema import Field, ListOf, Primitive, Scalar, StructOf
from dray.api.schemas import find_schema, schema_of
from dray.server.resources import Resource, Subresource

__all__ = [
    "PATCH",
    "GroupVersionKind",
    "Operation",
    "Parameter",
    "list_schema",
    "named",
    "operations_of",
    "root_operation",
]

_DEFINITIONS: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"

# The body of a patch: what it must look like depends on its type.
PATCH: Final = StructOf(f"{_DEFINITIONS}.Patch", dict)

_JSON: Final = ("application/json", "application/yaml")
_WATCH: Final = (*_JSON, "application/json;stream=watch")
_TEXT: Final = ("text/plain", *_JSON)
_ANY: Final = ("*/*",)
_PATCHES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
# Custom resources have no strategies to merge by.
_CUSTOM_PATCHES: Final = tuple(media for media in _PATCHES if "strategic" not in media)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation."""

    name: str
    type: str = "string"  # as JSON schemas say it
    place: str = "query"

    @property
    def required(self) -> bool:
        return self.place == "path"


@dataclass(frozen=True, slots=True)
class GroupVersionKind:
    """What an operation or a definition is about."""

    group: str
    version: str
    kind: str

    def as_json(self) -> dict[str, str]:
        return {"group": self.group, "kind": self.kind, "version": self.version}


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path."""

    method: str
    identifier: str
    tag: str
    answer: StructOf | None  # None is text
    codes: tuple[int, ...] = (200,)
    action: str = ""
    about: GroupVersionKind | None = None
    parameters: tuple[Parameter, ...] = ()
    body: StructOf | None = None
    body_required: bool = True
    consumes: tuple[str, ...] = _ANY
    produces: tuple[str, ...] = _JSON


def _parameters(*names: str, type: str = "string") -> tuple[Parameter, ...]:  # noqa: A002
    return tuple(Parameter(name, type) for name in names)


_PRETTY: Final = _parameters("pretty")
_WRITING: Final = _parameters("dryRun", "fieldManager", "fieldValidation")
_PATCHING: Final = (*_WRITING, Parameter("force", "boolean"))
_DELETING: Final = (
    *_parameters("dryRun", "propagationPolicy"),
    *_parameters(
        "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents", type="boolean"
    ),
    Parameter("gracePeriodSeconds", "integer"),
)
_SELECTING: Final = (
    *_parameters(
        "continue", "fieldSelector", "labelSelector", "resourceVersion", "resourceVersionMatch"
    ),
    *_parameters("limit", "timeoutSeconds", type="integer"),
    Parameter("sendInitialEvents", "boolean"),
)
_LISTING: Final = (*_SELECTING, *_parameters("allowWatchBookmarks", "watch", type="boolean"))
_STREAMS: Final = (
    Parameter("container"),
    *_parameters("stderr", "stdin", "stdout", "tty", type="boolean"),
)
_OF_SUBRESOURCES: Final[Mapping[str, tuple[Parameter, ...]]] = {
    "attach": _STREAMS,
    "exec": (Parameter("command"), *_STREAMS),
    "log": (
        *_parameters("container", "stream"),
        *_parameters(
            "follow", "insecureSkipTLSVerifyBackend", "previous", "timestamps", type="boolean"
        ),
        *_parameters("limitBytes", "sinceSeconds", "tailLines", type="integer"),
    ),
    "portforward": (Parameter("ports", "integer"),),
}

# Deleting these is answered with what was deleted, anything else with a Status; so is one kind of
# a group that otherwise answers with the object.
_ANSWERED_WITH_THE_OBJECT: Final = frozenset({"Pod", "ResourceQuota", "ServiceAccount"})
_DEVICES: Final = "resource.k8s.io"
_ANSWERED_WITH_A_STATUS: Final = GroupVersionKind(_DEVICES, "v1", "DeviceTaintRule")

# Created and never stored: the answer comes at once.
_CREATED: Final = (200, 201, 202)
_WRITTEN: Final = (200, 201)
_DELETED: Final = (200, 202)


def operations_of(resource: Resource) -> Iterator[tuple[str, Operation]]:
    """Every operation on a resource, with its path."""
    base = _root(resource)
    inside = f"{base}/namespaces/{{namespace}}" if resource.namespaced else base
    collection = f"{inside}/{resource.plural}"
    item = f"{collection}/{{name}}"
    maker = _Maker(resource)
    verbs = resource.verbs
    if "list" in verbs:
        yield collection, maker.list()
        if resource.namespaced:
            yield f"{base}/{resource.plural}", maker.list(everywhere=True)
    if "create" in verbs:
        yield collection, maker.create()
    if "deletecollection" in verbs:
        yield collection, maker.delete_collection()
    for verb in ("get", "update", "patch", "delete"):
        if verb in verbs:
            yield item, maker.on_item(verb)
    for sub in resource.subresources:
        for operation in maker.on_subresource(sub):
            yield f"{item}/{sub.name}", operation


def root_operation(group: str, version: str) -> tuple[str, Operation]:
    """The path that lists the resources of a version, and how to ask for it."""
    prefix = _camel(group)
    return f"{_root_of(group, version)}/", Operation(
        "get",
        f"get{_title(prefix)}{_title(version)}APIResources",
        f"{prefix}_{version}",
        schema_of("", "v1", "APIResourceList"),
        consumes=_JSON,
    )


def list_schema(resource: Resource) -> StructOf:
    """The schema of a list of a resource's objects."""
    schema = resource.schema
    if not _is_custom(resource):
        return schema_of(resource.group, resource.version, resource.list_kind)
    text = Scalar(Primitive.STRING)
    meta = schema_of("", "v1", "PodList").fields["metadata"]
    fields = (
        Field("apiVersion", text),
        Field("kind", text),
        Field("metadata", meta.schema),
        Field("items", ListOf(schema), required=True),
    )
    by_name = {field.name: field for field in fields}
    return StructOf(f"{schema.name}List", lambda: by_name)


def named(resource: Resource) -> Resource:
    """The resource with a name for its schema: custom ones by their group, read backwards."""
    if resource.schema.name:
        return resource
    reverse = ".".join(reversed(resource.group.split(".")))
    name = f"{reverse}.{resource.version}.{resource.kind}"
    return replace(resource, schema=replace(resource.schema, name=name))


def _is_custom(resource: Resource) -> bool:
    return find_schema(resource.group, resource.version, resource.kind) is not resource.schema


class _Maker:
    """Makes the operations of one resource."""

    def __init__(self, resource: Resource) -> None:
        prefix = _camel(resource.group)
        self._resource = resource
        self._custom = _is_custom(resource)
        self._schema = resource.schema
        self._about = GroupVersionKind(resource.group, resource.version, resource.kind)
        self._tag = f"{prefix}_{resource.version}"
        self._version = f"{_title(prefix)}{_title(resource.version)}"
        self._scope = "Namespaced" if resource.namespaced else ""
        self._collection = _path_parameters("namespace") if resource.namespaced else ()
        self._item = (*self._collection, *_path_parameters("name"))

    def list(self, *, everywhere: bool = False) -> Operation:
        kind, scope = self._resource.kind, "" if everywhere else self._scope
        suffix = "ForAllNamespaces" if everywhere else ""
        return Operation(
            "get",
            f"list{self._version}{scope}{kind}{suffix}",
            self._tag,
            list_schema(self._resource),
            action="list",
            about=self._about,
            parameters=(*_PRETTY, *_LISTING, *(() if everywhere else self._collection)),
            produces=_WATCH,
        )

    def create(self) -> Operation:
        return Operation(
            "post",
            f"create{self._version}{self._scope}{self._resource.kind}",
            self._tag,
            self._schema,
            _CREATED,
            action="post",
            about=self._about,
            parameters=(*_PRETTY, *_WRITING, *self._collection),
            body=self._schema,
        )

    def delete_collection(self) -> Operation:
        return Operation(
            "delete",
            f"delete{self._version}Collection{self._scope}{self._resource.kind}",
            self._tag,
            schema_of("", "v1", "Status"),
            action="deletecollection",
            about=self._about,
            parameters=(*_PRETTY, *_DELETING, *_SELECTING, *self._collection),
            body=schema_of("", "v1", "DeleteOptions"),
            body_required=False,
        )

    def on_item(self, verb: str) -> Operation:
        if verb == "delete":
            return self._delete()
        return self._access(verb, "", self._schema, self._about)

    def on_subresource(self, sub: Subresource) -> Iterator[Operation]:
        resource = self._resource
        group = sub.group or resource.group
        about = GroupVersionKind(group, sub.version or resource.version, sub.kind)
        suffix = _title(sub.name)
        own = sub.kind == resource.kind and group == resource.group
        body = self._schema if own else find_schema(about.group, about.version, about.kind)
        if body is None:  # a stream of bytes
            yield from (self._connect(method, sub, about) for method in ("get", "post"))
            return
        for verb in sub.verbs:
            if verb == "create":
                yield Operation(
                    "post",
                    f"create{self._version}{self._scope}{resource.kind}{suffix}",
                    self._tag,
                    body,
                    _CREATED,
                    action="post",
                    about=about,
                    parameters=(*_PRETTY, *_WRITING, *self._item),
                    body=body,
                )
            elif sub.name == "log":
                yield self._log(about)
            else:
                yield self._access(verb, suffix, body, about)

    def _access(
        self, verb: str, suffix: str, schema: StructOf, about: GroupVersionKind
    ) -> Operation:
        method, word, codes = _ACCESSES[verb]
        parameters: tuple[Parameter, ...] = ()
        body: StructOf | None = None
        consumes: tuple[str, ...] = _ANY
        if verb == "update":
            parameters, body = _WRITING, schema
        elif verb == "patch":
            parameters, body = _PATCHING, PATCH
            consumes = _CUSTOM_PATCHES if self._custom else _PATCHES
        return Operation(
            method,
            f"{word}{self._version}{self._scope}{self._resource.kind}{suffix}",
            self._tag,
            schema,
            codes,
            action=method,
            about=about,
            parameters=(*_PRETTY, *parameters, *self._item),
            body=body,
            consumes=consumes,
        )

    def _delete(self) -> Operation:
        resource = self._resource
        with_object = (
            resource.kind in _ANSWERED_WITH_THE_OBJECT
            if not resource.group
            else resource.group == _DEVICES and self._about != _ANSWERED_WITH_A_STATUS
        )
        return Operation(
            "delete",
            f"delete{self._version}{self._scope}{resource.kind}",
            self._tag,
            self._schema if with_object else schema_of("", "v1", "Status"),
            _DELETED,
            action="delete",
            about=self._about,
            parameters=(*_PRETTY, *_DELETING, *self._item),
            body=schema_of("", "v1", "DeleteOptions"),
            body_required=False,
        )

    def _log(self, about: GroupVersionKind) -> Operation:
        return Operation(
            "get",
            f"read{self._version}{self._scope}{self._resource.kind}Log",
            self._tag,
            None,
            action="get",
            about=about,
            parameters=(*_PRETTY, *_OF_SUBRESOURCES["log"], *self._item),
            produces=_TEXT,
        )

    def _connect(self, method: str, sub: Subresource, about: GroupVersionKind) -> Operation:
        kind, suffix = self._resource.kind, _title(sub.name)
        return Operation(
            method,
            f"connect{self._version}{_title(method)}{self._scope}{kind}{suffix}",
            self._tag,
            None,
            action="connect",
            about=about,
            parameters=(*_OF_SUBRESOURCES.get(sub.name, ()), *self._item),
            produces=_ANY,
        )


_ACCESSES: Final[Mapping[str, tuple[str, str, tuple[int, ...]]]] = {
    "get": ("get", "read", (200,)),
    "update": ("put", "replace", _WRITTEN),
    "patch": ("patch", "patch", _WRITTEN),
}


def _path_parameters(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, place="path") for name in names)


def _root(resource: Resource) -> str:
    return _root_of(resource.group, resource.version)


def _root_of(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def _camel(group: str) -> str:
    """rbac.authorization.k8s.io as rbacAuthorization; custom groups keep all their parts."""
    first, *others = (group or "core").removesuffix(".k8s.io").replace("-", ".").split(".")
    return first + "".join(_title(part) for part in others)


def _title(text: str) -> str:
    return text[:1].upper() + text[1:]
