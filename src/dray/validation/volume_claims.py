"""Claims of storage that a pod brings along.

Upstream counterparts: ValidatePersistentVolumeClaimTemplate and ValidatePersistentVolumeClaimSpec
in pkg/apis/core/validation.
"""

from __future__ import annotations

from typing import Any, Final

from dray.api import names
from dray.api.core.parts import (
    EphemeralVolumeSource,
    PersistentVolumeClaimSpec,
    TypedLocalObjectReference,
    TypedObjectReference,
)
from dray.api.meta import ObjectMeta
from dray.validation.findings import Findings
from dray.validation.meta import (
    validate_annotations,
    validate_label_selector,
    validate_labels,
)
from dray.validation.rules import check_dns_label, check_dns_subdomain

__all__ = ["check_ephemeral"]

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Block", "Filesystem")
_ALONE: Final = "ReadWriteOncePod"
_OF_CORE: Final = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
# Upstream shows a path, of which JSON sees nothing.
_SHOWN_PATH: Final[dict[str, Any]] = {}


def check_ephemeral(found: Findings, source: EphemeralVolumeSource, path: str) -> None:
    template = source.volume_claim_template
    if template is None:
        found.required(f"{path}.volumeClaimTemplate")
        return
    at = f"{path}.volumeClaimTemplate"
    _check_metadata(found, template.metadata, f"{at}.metadata")
    _check_spec(found, template.spec, f"{at}.spec")


def _check_metadata(found: Findings, metadata: ObjectMeta, path: str) -> None:
    """Labels and annotations, and nothing else."""
    found.extend(validate_annotations(metadata.annotations, f"{path}.annotations"))
    found.extend(validate_labels(metadata.labels, f"{path}.labels"))
    for name, go_name in _NOT_IN_TEMPLATES:
        if getattr(metadata, name) != getattr(_BARE, name):
            found.forbidden(f"{path}.{go_name}", "cannot be set")


_BARE: Final = ObjectMeta()
# By the names that Go's fields have, the first letter small.
_NOT_IN_TEMPLATES: Final = (
    ("name", "name"),
    ("generate_name", "generateName"),
    ("namespace", "namespace"),
    ("self_link", "selfLink"),
    ("uid", "uID"),
    ("resource_version", "resourceVersion"),
    ("generation", "generation"),
    ("creation_timestamp", "creationTimestamp"),
    ("deletion_timestamp", "deletionTimestamp"),
    ("deletion_grace_period_seconds", "deletionGracePeriodSeconds"),
    ("owner_references", "ownerReferences"),
    ("finalizers", "finalizers"),
    ("managed_fields", "managedFields"),
)


def _check_spec(found: Findings, spec: PersistentVolumeClaimSpec, path: str) -> None:
    modes = spec.access_modes
    if not modes:
        found.required(f"{path}.accessModes", "at least 1 access mode is required")
    found.extend(validate_label_selector(spec.selector, f"{path}.selector"))
    for mode in modes:
        if mode not in _ACCESS_MODES:
            found.not_supported(f"{path}.accessModes", mode, _ACCESS_MODES)
    if _ALONE in modes and any(mode in _ACCESS_MODES and mode != _ALONE for mode in modes):
        detail = "may not use ReadWriteOncePod with other access modes"
        found.forbidden(f"{path}.accessModes", detail)
    storage, at = spec.resources.requests.get("storage"), f"{path}.resources[storage]"
    if storage is None:
        found.required(at)
    elif storage.sign <= 0:
        found.invalid(at, str(storage), "must be greater than zero")
    if spec.storage_class_name:
        check_dns_subdomain(found, spec.storage_class_name, f"{path}.storageClassName")
    if spec.volume_mode is not None and spec.volume_mode not in _VOLUME_MODES:
        found.not_supported(f"{path}.volumeMode", spec.volume_mode, _VOLUME_MODES)
    _check_sources(found, spec, path)
    if spec.volume_attributes_class_name:
        at = f"{path}.volumeAttributesClassName"
        check_dns_subdomain(found, spec.volume_attributes_class_name, at)


def _check_sources(found: Findings, spec: PersistentVolumeClaimSpec, path: str) -> None:
    """What the storage is to contain; said twice, it must be said alike."""
    source, reference = spec.data_source, spec.data_source_ref
    if source is not None:
        _check_source(found, source, f"{path}.dataSource")
    if reference is not None:
        _check_source(found, reference, f"{path}.dataSourceRef")
        if reference.namespace:
            check_dns_label(found, reference.namespace, f"{path}.dataSourceRef.namespace")
    if source is None or reference is None:
        return
    if reference.namespace:
        detail = "may not be specified when dataSourceRef.namespace is specified"
        found.invalid(path, _SHOWN_PATH, detail)
    elif (source.api_group, source.kind, source.name) != (
        reference.api_group,
        reference.kind,
        reference.name,
    ):
        found.invalid(path, _SHOWN_PATH, "must match dataSourceRef")


def _check_source(
    found: Findings, source: TypedLocalObjectReference | TypedObjectReference, path: str
) -> None:
    if not source.name:
        found.required(f"{path}.name")
    if not source.kind:
        found.required(f"{path}.kind")
    if not source.api_group and source.kind != "PersistentVolumeClaim":
        found.invalid(path, source.kind, _OF_CORE)
    if source.api_group:
        for message in names.dns_subdomain(source.api_group):
            found.invalid(f"{path}.apiGroup", source.api_group, message)
