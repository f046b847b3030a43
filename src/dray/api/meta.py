"""What every kind shares: object and list metadata, conditions, label selectors, statuses.

Upstream counterpart: apimachinery pkg/apis/meta/v1.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from dray.api.wire import Carried, Int32, Int64, Struct, Time, always

__all__ = [
    "Condition",
    "DeleteOptions",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ListMeta",
    "ManagedFieldsEntry",
    "Object",
    "ObjectMeta",
    "OwnerReference",
    "Preconditions",
    "Status",
    "StatusCause",
    "StatusDetails",
]


class OwnerReference(Struct):
    """An object this one belongs to, and is collected with."""

    api_version: str = always("")
    kind: str = always("")
    name: str = always("")
    uid: str = always("")
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(Struct):
    """Which fields one field manager owns; `fields_v1` is the set, in its JSON form."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: Time | None = None
    fields_type: str = ""
    fields_v1: Carried = field(default=None, name="fieldsV1")
    subresource: str = ""


class ObjectMeta(Struct):
    """What every stored object has."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    self_link: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    managed_fields: tuple[ManagedFieldsEntry, ...] = ()


class ListMeta(Struct):
    """What every list has."""

    self_link: str = ""
    resource_version: str = ""
    continue_: str = field(default="", name="continue")
    remaining_item_count: Int64 | None = None
    shard_info: Carried = None


class Object(Struct):
    """The part of a stored object that does not depend on its kind."""

    api_version: str = always("")
    kind: str = always("")
    metadata: ObjectMeta = always(ObjectMeta)


class Condition(Struct):
    """One aspect of an object's state, as its controller last saw it."""

    type: str = always("")
    status: str = always("")
    observed_generation: Int64 = 0
    last_transition_time: Time | None = always(None)
    reason: str = always("")
    message: str = always("")


class LabelSelectorRequirement(Struct):
    """One clause of a label selector: In, NotIn, Exists or DoesNotExist."""

    key: str = always("")
    operator: str = always("")
    values: tuple[str, ...] = ()


class LabelSelector(Struct):
    """A query over labels; all clauses must hold. An empty one matches everything."""

    match_labels: Mapping[str, str] = field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class Preconditions(Struct):
    """What must be true of the stored object for a deletion to go ahead."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(Struct):
    """How to delete."""

    api_version: str = ""
    kind: str = ""
    grace_period_seconds: Int64 | None = None
    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: tuple[str, ...] = ()
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = None


class StatusCause(Struct):
    """One reason for a refusal."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Struct):
    """What a Status says for programs."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: Int32 = 0


class Status(Struct):
    """The answer to a request that returns no object."""

    api_version: str = always("v1")
    kind: str = always("Status")
    metadata: ListMeta = always(ListMeta)
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: Int32 = 0
