"""Kinds that users define, as controllers meet them."""

from __future__ import annotations

from dataclasses import dataclass

from dray.api.apiextensions import CustomResourceDefinition
from dray.api.core import CONDITION_TRUE
from dray.api.meta import Object
from dray.client import custom_kind

__all__ = ["CustomKind", "defined_kind"]


@dataclass(frozen=True, slots=True)
class CustomKind:
    """A kind that is served, and the type that a client takes for it."""

    group: str
    name: str
    resource: str  # as in `kubectl get`: animals.zoo.example
    namespaced: bool
    versions: tuple[str, ...]
    type: type[Object]


def defined_kind(definition: CustomResourceDefinition) -> CustomKind | None:
    """The kind that a definition is about; None while it is not served."""
    spec, names = definition.spec, definition.status.accepted_names
    established = any(
        condition.type == "Established" and condition.status == CONDITION_TRUE
        for condition in definition.status.conditions or ()
    )
    versions = tuple(version.name for version in spec.versions or () if version.served)
    if not established or not versions:
        return None
    namespaced = spec.scope == "Namespaced"
    return CustomKind(
        group=spec.group,
        name=names.kind,
        resource=f"{names.plural}.{spec.group}",
        namespaced=namespaced,
        versions=versions,
        type=custom_kind(spec.group, versions[0], names.kind, names.plural, namespaced=namespaced),
    )
