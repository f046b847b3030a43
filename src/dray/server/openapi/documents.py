"""Whole OpenAPI documents, version 2 and 3, of the resources they are given.

Version 3 has a document for every group and version, version 2 one for everything. They are plain
JSON values with sorted keys, so the same resources give the same bytes. Upstream counterparts:
kube-openapi's builder and builder3.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from dray.api.schema import StructOf
from dray.api.schemas import schema_of
from dray.server.openapi.definitions import Definitions, Dialect
from dray.server.openapi.descriptions import describe, describe_field
from dray.server.openapi.operations import (
    GroupVersionKind,
    Operation,
    Parameter,
    list_schema,
    named,
    operations_of,
    root_operation,
)
from dray.server.resources import Resource

__all__ = ["document", "key_of", "to_json", "v2_document"]

_TITLE: Final = "Kubernetes"

_CODES: Final = {200: "OK", 201: "Created", 202: "Accepted", 401: "Unauthorized"}
_UNAUTHORIZED: Final = 401

_BEARER_TOKEN: Final = {"in": "header", "name": "authorization", "type": "apiKey"}

# Kinds of no resource that documents refer to, and that belong to every group and version.
_EVERYWHERE: Final = ("DeleteOptions",)
_CORE_ONLY: Final = ("APIResourceList", "Status")


def document(resources: Sequence[Resource], api_version: str, *, version: str) -> bytes:
    """The version 3 document of one group and version. `version` is the server's."""
    group, _, name = api_version.rpartition("/")
    resources = [named(each) for each in resources]
    served = [each for each in resources if (each.group, each.version) == (group, name)]
    definitions = _definitions(Dialect.V3, served)
    paths = _paths(served, [(group, name)], _V3(definitions))
    return to_json(
        {
            "openapi": "3.0.0",
            "info": {"title": _TITLE, "version": version},
            "paths": paths,
            "components": {
                "schemas": definitions.as_json(),
                "securitySchemes": {"BearerToken": _BEARER_TOKEN},
            },
        }
    )


def v2_document(resources: Sequence[Resource], *, version: str) -> dict[str, Any]:
    """The version 2 document of everything, as JSON values."""
    resources = [named(each) for each in resources]
    definitions = _definitions(Dialect.V2, resources)
    versions = dict.fromkeys((each.group, each.version) for each in resources)
    paths = _paths(resources, versions, _V2(definitions))
    return {
        "swagger": "2.0",
        "info": {"title": _TITLE, "version": version},
        "paths": paths,
        "definitions": definitions.as_json(),
        "securityDefinitions": {"BearerToken": _BEARER_TOKEN},
        "security": [{"BearerToken": []}],
    }


def key_of(resource: Resource) -> str:
    """What the index calls the document that a resource is in."""
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def to_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()


def _definitions(dialect: Dialect, resources: Iterable[Resource]) -> Definitions:
    return Definitions(
        dialect, kinds=_kinds(resources), describe=describe, describe_field=describe_field
    )


def _kinds(resources: Iterable[Resource]) -> Mapping[str, tuple[GroupVersionKind, ...]]:
    """Which definitions are kinds, and which."""
    kinds: dict[str, dict[GroupVersionKind, None]] = {}

    def add(name: str, group: str, version: str, kind: str) -> None:
        kinds.setdefault(name, {})[GroupVersionKind(group, version, kind)] = None

    for kind in (*_EVERYWHERE, *_CORE_ONLY):
        add(schema_of("", "v1", kind).name, "", "v1", kind)
    for resource in resources:
        group, version = resource.group, resource.version
        add(resource.schema.name, group, version, resource.kind)
        if "list" in resource.verbs:
            add(list_schema(resource).name, group, version, resource.list_kind)
        for kind in _EVERYWHERE:
            add(schema_of("", "v1", kind).name, group, version, kind)
        for _, operation in operations_of(resource):
            about, body = operation.about, operation.answer
            if about is not None and body is not None and body.name.endswith(f".{about.kind}"):
                add(body.name, about.group, about.version, about.kind)
    return {
        name: tuple(sorted(found, key=lambda each: (each.group, each.version, each.kind)))
        for name, found in kinds.items()
    }


# Paths -----------------------------------------------------------------------------------------


def _paths(
    resources: Iterable[Resource],
    versions: Iterable[tuple[str, str]],
    writer: _V2 | _V3,
) -> dict[str, Any]:
    found: dict[str, list[Operation]] = {}
    for group, version in versions:
        path, operation = root_operation(group, version)
        found[path] = [operation]
    for resource in resources:
        for path, operation in operations_of(resource):
            found.setdefault(path, []).append(operation)
    return {path: _path_item(operations, writer) for path, operations in sorted(found.items())}


def _path_item(operations: Sequence[Operation], writer: _V2 | _V3) -> dict[str, Any]:
    """What all operations of a path take is said once."""
    common = set(operations[0].parameters).intersection(*(each.parameters for each in operations))
    item: dict[str, Any] = {
        operation.method: writer.operation(operation, common) for operation in operations
    }
    if common:
        item["parameters"] = _sorted(common, writer.parameter)
    return item


def _sorted(
    parameters: Iterable[Parameter], write: Callable[[Parameter], dict[str, Any]]
) -> list[dict[str, Any]]:
    return [write(each) for each in sorted(parameters, key=lambda each: each.name)]


class _Writer:
    """What both versions of OpenAPI have in common."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def _schema_of(self, schema: StructOf | None) -> dict[str, Any]:
        return {"type": "string"} if schema is None else self._definitions.refer(schema)

    def _about(self, operation: Operation) -> dict[str, Any]:
        written: dict[str, Any] = {"operationId": operation.identifier, "tags": [operation.tag]}
        if operation.action:
            written["x-kubernetes-action"] = operation.action
        if operation.about is not None:
            written["x-kubernetes-group-version-kind"] = operation.about.as_json()
        return written


class _V3(_Writer):
    """Writes operations in version 3."""

    def parameter(self, parameter: Parameter) -> dict[str, Any]:
        written: dict[str, Any] = {
            "in": parameter.place,
            "name": parameter.name,
            "schema": {"type": parameter.type, "uniqueItems": True},
        }
        return written | ({"required": True} if parameter.required else {})

    def operation(self, operation: Operation, common: set[Parameter]) -> dict[str, Any]:
        written = self._about(operation)
        parameters = _sorted(set(operation.parameters) - common, self.parameter)
        if parameters:
            written["parameters"] = parameters
        if operation.body is not None:
            content = {"schema": self._schema_of(operation.body)}
            body: dict[str, Any] = {"content": dict.fromkeys(operation.consumes, content)}
            written["requestBody"] = body | ({"required": True} if operation.body_required else {})
        content = {"schema": self._schema_of(operation.answer)}
        answer = dict.fromkeys(operation.produces, content)
        responses: dict[str, Any] = {
            str(code): {"description": _CODES[code], "content": answer} for code in operation.codes
        }
        responses[str(_UNAUTHORIZED)] = {"description": _CODES[_UNAUTHORIZED]}
        return written | {"responses": responses}


class _V2(_Writer):
    """Writes operations in version 2."""

    def parameter(self, parameter: Parameter) -> dict[str, Any]:
        written: dict[str, Any] = {
            "in": parameter.place,
            "name": parameter.name,
            "type": parameter.type,
            "uniqueItems": True,
        }
        return written | ({"required": True} if parameter.required else {})

    def operation(self, operation: Operation, common: set[Parameter]) -> dict[str, Any]:
        written = self._about(operation) | {
            "consumes": list(operation.consumes),
            "produces": list(operation.produces),
            "schemes": ["https"],
        }
        parameters = _sorted(set(operation.parameters) - common, self.parameter)
        if operation.body is not None:
            body: dict[str, Any] = {
                "in": "body",
                "name": "body",
                "schema": self._schema_of(operation.body),
            }
            parameters.insert(0, body | ({"required": True} if operation.body_required else {}))
        if parameters:
            written["parameters"] = parameters
        answer = {"schema": self._schema_of(operation.answer)}
        responses: dict[str, Any] = {
            str(code): {"description": _CODES[code]} | answer for code in operation.codes
        }
        responses[str(_UNAUTHORIZED)] = {"description": _CODES[_UNAUTHORIZED]}
        return written | {"responses": responses}
