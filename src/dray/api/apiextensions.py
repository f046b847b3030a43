"""apiextensions.k8s.io/v1: kinds that users define. The schema of their objects is carried.

Upstream counterpart: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/v1.
"""

from __future__ import annotations

from typing import Final

from msgspec import field

from dray.api.meta import ListMeta, Object
from dray.api.wire import Carried, Int32, Int64, Struct, Time, always

__all__ = [
    "CONDITION_ESTABLISHED",
    "CONDITION_NAMES_ACCEPTED",
    "CONDITION_NON_STRUCTURAL_SCHEMA",
    "CONDITION_TERMINATING",
    "CONVERSION_NONE",
    "CONVERSION_WEBHOOK",
    "CUSTOM_RESOURCE_CLEANUP_FINALIZER",
    "SCOPE_CLUSTER",
    "SCOPE_NAMESPACED",
    "CustomResourceColumnDefinition",
    "CustomResourceConversion",
    "CustomResourceDefinition",
    "CustomResourceDefinitionCondition",
    "CustomResourceDefinitionList",
    "CustomResourceDefinitionNames",
    "CustomResourceDefinitionSpec",
    "CustomResourceDefinitionStatus",
    "CustomResourceDefinitionVersion",
    "CustomResourceSubresourceScale",
    "CustomResourceSubresourceStatus",
    "CustomResourceSubresources",
    "CustomResourceValidation",
    "SelectableField",
]

SCOPE_CLUSTER: Final = "Cluster"
SCOPE_NAMESPACED: Final = "Namespaced"

CONVERSION_NONE: Final = "None"
CONVERSION_WEBHOOK: Final = "Webhook"

CONDITION_ESTABLISHED: Final = "Established"
CONDITION_NAMES_ACCEPTED: Final = "NamesAccepted"
CONDITION_NON_STRUCTURAL_SCHEMA: Final = "NonStructuralSchema"
CONDITION_TERMINATING: Final = "Terminating"

# Keeps a definition until every object of its kind is gone.
CUSTOM_RESOURCE_CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"


class CustomResourceDefinitionNames(Struct):
    """What the kind is called in paths, in manifests and on the command line."""

    plural: str = always("")
    singular: str = ""
    short_names: tuple[str, ...] = ()
    kind: str = always("")
    list_kind: str = ""
    categories: tuple[str, ...] = ()


class CustomResourceValidation(Struct):
    """What objects must look like."""

    open_api_v3_schema: Carried = field(default=None, name="openAPIV3Schema")


class CustomResourceSubresourceStatus(Struct):
    """That the status is written apart from the rest; being there is all it says."""


class CustomResourceSubresourceScale(Struct):
    """Where in an object its number of replicas is."""

    spec_replicas_path: str = always("")
    status_replicas_path: str = always("")
    label_selector_path: str | None = None


class CustomResourceSubresources(Struct):
    """What can be written apart from the object."""

    status: CustomResourceSubresourceStatus | None = None
    scale: CustomResourceSubresourceScale | None = None


class CustomResourceColumnDefinition(Struct):
    """A column of the table that lists show."""

    name: str = always("")
    type: str = always("")
    format: str = ""
    description: str = ""
    priority: Int32 = 0
    json_path: str = always("")


class SelectableField(Struct):
    """A field that field selectors may ask for."""

    json_path: str = always("")


class CustomResourceDefinitionVersion(Struct):
    """One version of the kind."""

    name: str = always("")
    served: bool = always(False)
    storage: bool = always(False)
    deprecated: bool = False
    deprecation_warning: str | None = None
    schema: CustomResourceValidation | None = None
    subresources: CustomResourceSubresources | None = None
    additional_printer_columns: tuple[CustomResourceColumnDefinition, ...] = ()
    selectable_fields: tuple[SelectableField, ...] = ()


class CustomResourceConversion(Struct):
    """How one version becomes another."""

    strategy: str = always("")
    webhook: Carried = None


class CustomResourceDefinitionSpec(Struct):
    """The kind as its author wants it."""

    group: str = always("")
    names: CustomResourceDefinitionNames = always(CustomResourceDefinitionNames)
    scope: str = always("")
    versions: tuple[CustomResourceDefinitionVersion, ...] | None = always(None)
    conversion: CustomResourceConversion | None = None
    preserve_unknown_fields: bool = False


class CustomResourceDefinitionCondition(Struct):
    """One aspect of a definition's state."""

    type: str = always("")
    status: str = always("")
    last_transition_time: Time | None = always(None)
    reason: str = ""
    message: str = ""
    observed_generation: Int64 = 0


class CustomResourceDefinitionStatus(Struct):
    """The kind as the server has it: names it got, versions that objects are stored in."""

    conditions: tuple[CustomResourceDefinitionCondition, ...] | None = always(None)
    accepted_names: CustomResourceDefinitionNames = always(CustomResourceDefinitionNames)
    stored_versions: tuple[str, ...] | None = always(None)
    observed_generation: Int64 = 0


class CustomResourceDefinition(Object):
    """A kind that users define."""

    api_version: str = always("apiextensions.k8s.io/v1")
    kind: str = always("CustomResourceDefinition")
    spec: CustomResourceDefinitionSpec = always(CustomResourceDefinitionSpec)
    status: CustomResourceDefinitionStatus = always(CustomResourceDefinitionStatus)


class CustomResourceDefinitionList(Struct):
    """Several definitions."""

    api_version: str = always("apiextensions.k8s.io/v1")
    kind: str = always("CustomResourceDefinitionList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[CustomResourceDefinition, ...] | None = always(None)
