"""Claims of storage that live as long as the pod that brings them.

Upstream counterpart: PersistentVolumeClaimTemplate in k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from dray.api.meta import LabelSelector, ObjectMeta
from dray.api.quantity import Quantity
from dray.api.wire import Struct, always

__all__ = [
    "EphemeralVolumeSource",
    "PersistentVolumeClaimSpec",
    "PersistentVolumeClaimTemplate",
    "TypedLocalObjectReference",
    "TypedObjectReference",
    "VolumeResourceRequirements",
]


class VolumeResourceRequirements(Struct):
    """How much storage, at least and at most."""

    limits: Mapping[str, Quantity] = field(default_factory=dict)
    requests: Mapping[str, Quantity] = field(default_factory=dict)


class TypedLocalObjectReference(Struct):
    """An object of any kind in the same namespace."""

    api_group: str | None = always(None)
    kind: str = always("")
    name: str = always("")


class TypedObjectReference(Struct):
    """An object of any kind, anywhere."""

    api_group: str | None = always(None)
    kind: str = always("")
    name: str = always("")
    namespace: str | None = None


class PersistentVolumeClaimSpec(Struct):
    """What storage to claim."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = always(VolumeResourceRequirements)
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(Struct):
    """What to make a claim from; of the metadata, labels and annotations count."""

    metadata: ObjectMeta = always(ObjectMeta)
    spec: PersistentVolumeClaimSpec = always(PersistentVolumeClaimSpec)


class EphemeralVolumeSource(Struct):
    """Storage claimed for this pod alone."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None
