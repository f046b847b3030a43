"""What a server does to objects without rules of their own between decoding and validating them.

Most of these kinds are stored as they come. Where there is a status, a write to the main resource
keeps the stored one and a write to the status keeps the stored spec; a few count generations, and
namespaces and definitions of custom resources start out with more than their author wrote. The data
of a revision stays as it was written first, to the byte. Objects are at their hub version. Upstream
counterpart: pkg/registry/<group>/<kind>/strategy.go.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from dray.api._edit import edit
from dray.api.apiextensions import CustomResourceDefinition
from dray.api.apps import ControllerRevision
from dray.api.coordination import Lease
from dray.api.core import (
    FINALIZER_KUBERNETES,
    NAMESPACE_PHASE_ACTIVE,
    Namespace,
    NamespaceStatus,
    Node,
    ResourceQuota,
)
from dray.api.equality import semantically_equal
from dray.api.meta import Object, ObjectMeta
from dray.api.policy import PodDisruptionBudget
from dray.api.scheduling import PriorityClass
from dray.api.strategy import carry_metadata
from dray.api.wire import blank

__all__ = [
    "NAMESPACE_LABEL",
    "prepare_plain_for_create",
    "prepare_plain_for_status_update",
    "prepare_plain_for_update",
]

O = TypeVar("O", bound=Object)  # noqa: E741

NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"

_WITH_STATUS = (Namespace, Node, ResourceQuota, PodDisruptionBudget, CustomResourceDefinition)
_COUNTING = (PodDisruptionBudget, PriorityClass, CustomResourceDefinition)


def prepare_plain_for_create(new: O) -> O:
    """The object as it is to be created."""
    obj: Any = new
    # A node tells its own state from the start; nobody else does.
    if isinstance(obj, _WITH_STATUS) and not isinstance(obj, Node):
        obj = edit(obj, status=blank(type(obj)).status)
    if isinstance(obj, _COUNTING):
        obj = edit(obj, metadata=edit(obj.metadata, generation=1))
    if isinstance(obj, Namespace):
        obj = _named_by_label(obj)
        finalizers = obj.spec.finalizers
        if FINALIZER_KUBERNETES not in finalizers:
            obj = edit(obj, spec=edit(obj.spec, finalizers=(*finalizers, FINALIZER_KUBERNETES)))
        obj = edit(obj, status=NamespaceStatus(phase=NAMESPACE_PHASE_ACTIVE))
    if isinstance(obj, CustomResourceDefinition):
        obj = _with_stored_version(obj)
    if isinstance(obj, Lease):
        obj = _without_coordination(obj)
    prepared: O = obj
    return prepared


def prepare_plain_for_update(new: O, old: O) -> O:
    """The object as it is to replace the stored one."""
    obj: Any = new
    stored: Any = old
    obj = edit(obj, metadata=carry_metadata(obj.metadata, old.metadata))
    if isinstance(obj, _WITH_STATUS):
        obj = edit(obj, status=stored.status)
    if isinstance(obj, ControllerRevision) and semantically_equal(obj.data, stored.data):
        # Clients compare the bytes, and a patch may have spelled the same otherwise.
        obj = edit(obj, data=stored.data)
    if isinstance(obj, Namespace):
        # Only the finalize subresource changes these.
        obj = edit(obj, spec=edit(obj.spec, finalizers=stored.spec.finalizers))
    if isinstance(obj, (PodDisruptionBudget, CustomResourceDefinition)) and not semantically_equal(
        obj.spec, stored.spec
    ):
        generation = old.metadata.generation + 1
        obj = edit(obj, metadata=edit(obj.metadata, generation=generation))
    if isinstance(obj, CustomResourceDefinition):
        obj = _with_stored_version(obj)
    prepared: O = obj
    return prepared


def prepare_plain_for_status_update(new: O, old: O) -> O:
    """The stored object with the new one's status."""
    obj: Any = new
    stored: Any = old
    metadata = carry_metadata(obj.metadata, old.metadata)
    if isinstance(obj, CustomResourceDefinition):
        metadata = _as_stored(metadata, old.metadata)
    prepared: O = edit(obj, metadata=metadata, spec=stored.spec)
    return prepared


def _named_by_label(namespace: Namespace) -> Namespace:
    """The namespace with the label by which selectors pick it; its name may be a generated one."""
    metadata = namespace.metadata
    labels = {**metadata.labels, NAMESPACE_LABEL: metadata.name}
    return edit(namespace, metadata=edit(metadata, labels=labels)) if metadata.name else namespace


def _without_coordination(lease: Lease) -> Lease:
    # Leaders that are elected for others are a feature dray does not have.
    return edit(lease, spec=edit(lease.spec, strategy=None, preferred_holder=None))


def _as_stored(new: ObjectMeta, old: ObjectMeta) -> ObjectMeta:
    return edit(
        new,
        labels=old.labels,
        annotations=old.annotations,
        finalizers=old.finalizers,
        owner_references=old.owner_references,
        deletion_timestamp=old.deletion_timestamp,
    )


def _with_stored_version(new: CustomResourceDefinition) -> CustomResourceDefinition:
    """The definition that remembers the version its objects are stored in from now on."""
    known = new.status.stored_versions or ()
    # If several claim to be stored, which is refused, the first is believed.
    storage = [version.name for version in new.spec.versions or () if version.storage][:1]
    fresh = tuple(name for name in storage if name not in known)
    if not fresh:
        return new
    return edit(new, status=edit(new.status, stored_versions=(*known, *fresh)))
