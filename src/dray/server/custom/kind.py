"""A kind as its definition has it: its versions, each with what its schema asks for.

Made once per change of a definition; objects are judged by it, not changed by it. Objects are
stored at one version. Another differs from it in name, and in what its schema keeps; how webhooks
convert we do not know, since dray calls none. Upstream counterpart: the serving info that
apiextensions-apiserver keeps per definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dray.api.apiextensions import (
    CONVERSION_WEBHOOK,
    SCOPE_NAMESPACED,
    CustomResourceDefinition,
    CustomResourceDefinitionVersion,
)
from dray.api.schema import StructOf
from dray.api.wire import is_null
from dray.errors import APIError
from dray.server.custom.defaulting import copied, defaulter, drop_nulls
from dray.server.custom.embedded import coerce_embedded, has_embedded
from dray.server.custom.keywords import cleaned
from dray.server.custom.list_rules import ListRules
from dray.server.custom.pruning import prune
from dray.server.custom.published_schema import published
from dray.server.custom.rules import Rules
from dray.server.custom.structural import Structural, parse
from dray.server.custom.values import Check

__all__ = ["CustomKind", "CustomVersion", "schema_document"]


# Only definitions from before schemas were required go without.
_ANYTHING: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def schema_document(version: CustomResourceDefinitionVersion) -> Mapping[str, Any] | None:
    """The schema of a version as JSON values, or None if it has none."""
    if version.schema is None or is_null(version.schema.open_api_v3_schema):
        return None
    found: dict[str, Any] = msgspec.json.decode(bytes(version.schema.open_api_v3_schema or b"{}"))
    return found


class CustomVersion:
    """One version of a kind."""

    def __init__(self, group: str, kind: str, declared: CustomResourceDefinitionVersion) -> None:
        """Raises DecodeError if the schema is none."""
        self.name = declared.name
        self.api_version = f"{group}/{declared.name}"
        document = schema_document(declared)
        self.schema = parse(_ANYTHING if document is None else cleaned(document, declared.name, []))
        self.check = Check(self.schema)
        status = self.schema.properties.get("status")
        self.status_check = None if status is None else Check(status)
        self.lists = ListRules.of(self.schema)
        self.has_embedded = has_embedded(self.schema)
        self.published: StructOf = published(self.schema, group, declared.name, kind)
        subresources = declared.subresources
        self.has_status = subresources is not None and subresources.status is not None
        self.scale = None if subresources is None else subresources.scale
        self.head = f'{{"apiVersion":"{self.api_version}","kind":"{kind}","metadata":{{'.encode()
        self.rules = Rules.of(self.schema)
        self.sees_metadata = "metadata" in self.schema.properties or bool(self.schema.rules)
        self._fill = defaulter(_without_metadata(self.schema))

    def fit(self, content: dict[str, Any]) -> list[str]:
        """Drop, in place, what the schema does not have; the paths of what was unknown.

        Raises BadRequest if an object inside cannot be read.
        """
        unknown = prune(content, self.schema)
        drop_nulls(content, self.schema)
        if self.has_embedded:
            unknown += coerce_embedded(content, self.schema)
        return unknown

    def fill(self, content: dict[str, Any]) -> None:
        """Fill in defaults, in place."""
        if self._fill is not None:
            self._fill(content)


def _without_metadata(schema: Structural) -> Structural:
    """The schema without what is always there, and typed."""
    names = ("apiVersion", "kind", "metadata")
    if not any(name in schema.properties for name in names):
        return schema
    kept = {name: part for name, part in schema.properties.items() if name not in names}
    return Structural(properties=kept, additional=schema.additional, items=schema.items)


class CustomKind:
    """A kind with all its versions."""

    def __init__(self, definition: CustomResourceDefinition, *, since: int) -> None:
        """`since` is the revision after which everything was written under this definition."""
        spec = definition.spec
        self.group = spec.group
        self.kind = spec.names.kind
        self.plural = spec.names.plural
        self.namespaced = spec.scope == SCOPE_NAMESPACED
        self.since = since
        self.terminating = definition.metadata.deletion_timestamp is not None
        declared = spec.versions or ()
        self.versions = {each.name: CustomVersion(self.group, self.kind, each) for each in declared}
        stored = next(each.name for each in declared if each.storage)
        self.stored = self.versions[stored]
        self._has_webhook = (
            spec.conversion is not None and spec.conversion.strategy == CONVERSION_WEBHOOK
        )
        texts = [schema_document(each) for each in declared]
        # Versions that differ in nothing but their names need no converting.
        self.is_uniform = not self._has_webhook and all(text == texts[0] for text in texts)

    def converted(
        self, content: Mapping[str, Any], source: CustomVersion, target: CustomVersion
    ) -> dict[str, Any]:
        """Content written at one version as another has it."""
        if source is target or self.is_uniform:
            return dict(content)
        if self._has_webhook:
            raise APIError(
                f"Internal error occurred: conversion webhook for {source.api_version}, "
                f"Kind={self.kind} failed: dray converts by no webhook; read and write "
                f"{target.api_version if target is self.stored else self.stored.api_version}"
            )
        copy: dict[str, Any] = copied(dict(content))
        target.fit(copy)
        return copy
