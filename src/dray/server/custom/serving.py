"""What a definition gives the registry: a resource per served version, and its model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dray.api.apiextensions import CustomResourceDefinition, CustomResourceDefinitionVersion
from dray.server.custom.kind import CustomKind
from dray.server.custom.model import CustomModel
from dray.server.discovery import maturity
from dray.server.registry import Served, prefix_of
from dray.server.resources import Resource, Subresource
from dray.server.tables.custom import custom_columns

__all__ = ["served_versions"]

_READ_WRITE: Final = ("get", "patch", "update")


def served_versions(definition: CustomResourceDefinition, kind: CustomKind) -> Iterator[Served]:
    """The versions of a definition that are served, under the names it was given."""
    for version in definition.spec.versions or ():
        if not version.served:
            continue
        yield Served(
            resource=_resource(definition, version, kind),
            model=CustomModel(kind, version.name),
            prefix=prefix_of(kind.group, kind.plural),
            printer=custom_columns(version.additional_printer_columns),
            selectable=tuple(each.json_path for each in version.selectable_fields),
        )


def _resource(
    definition: CustomResourceDefinition, version: CustomResourceDefinitionVersion, kind: CustomKind
) -> Resource:
    names = definition.status.accepted_names
    behind = kind.versions[version.name]
    subresources = []
    if behind.scale is not None:
        subresources.append(Subresource("scale", "Scale", _READ_WRITE, "autoscaling", "v1"))
    if behind.has_status:
        subresources.append(Subresource("status", kind.kind, _READ_WRITE))
    return Resource(
        group=kind.group,
        version=version.name,
        plural=kind.plural,
        singular=names.singular,
        kind=kind.kind,
        namespaced=kind.namespaced,
        schema=behind.published,
        short_names=names.short_names,
        categories=names.categories,
        subresources=tuple(subresources),
        list_name=names.list_kind,
        deprecation=_deprecation(definition, version),
        custom=True,
    )


def _deprecation(
    definition: CustomResourceDefinition, version: CustomResourceDefinitionVersion
) -> str | None:
    """What users of a deprecated version are told: its own words, or what to use instead."""
    if not version.deprecated:
        return None
    if version.deprecation_warning is not None:
        return version.deprecation_warning
    group, kind = definition.spec.group, definition.spec.names.kind
    better = [
        each.name
        for each in definition.spec.versions or ()
        if each.served and not each.deprecated and maturity(each.name) < maturity(version.name)
    ]
    told = f"{group}/{version.name} {kind} is deprecated"
    if better:
        told += f"; use {group}/{min(better, key=maturity)} {kind}"
    return told
