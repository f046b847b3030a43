"""What the kinds without pods in them may leave out, filled in as upstream does.

Beside defaults in the narrow sense, what upstream does while it decodes: the text that a secret's
writer gave becomes data, and a node's one range of pod addresses agrees with its list of them.
Upstream counterparts: defaults.go of pkg/apis/core/v1, rbac/v1 and scheduling/v1 and of
apiextensions, Convert_v1_Secret_To_core_Secret, Convert_v1_NodeSpec_To_core_NodeSpec.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from dray.api._edit import edit, edit_items
from dray.api.apiextensions import (
    CONVERSION_NONE,
    CustomResourceConversion,
    CustomResourceDefinition,
)
from dray.api.core import (
    LIMIT_TYPE_CONTAINER,
    NAMESPACE_PHASE_ACTIVE,
    PREEMPT_LOWER_PRIORITY,
    SECRET_TYPE_OPAQUE,
    LimitRange,
    LimitRangeItem,
    Namespace,
    Node,
    NodeSpec,
    ResourceQuota,
    Secret,
)
from dray.api.quantity import Quantity
from dray.api.rbac import (
    API_GROUP,
    SUBJECT_GROUP,
    SUBJECT_USER,
    ClusterRoleBinding,
    RoleBinding,
    Subject,
)
from dray.api.resource_lists import rounded_up
from dray.api.scheduling import PriorityClass

__all__ = ["LABEL_METADATA_NAME", "PLAIN_DEFAULTS"]

# Lets selectors find a namespace by its name.
LABEL_METADATA_NAME: Final = "kubernetes.io/metadata.name"

Binding = TypeVar("Binding", RoleBinding, ClusterRoleBinding)


def _namespace(namespace: Namespace) -> Namespace:
    name, labels = namespace.metadata.name, namespace.metadata.labels
    if name and labels.get(LABEL_METADATA_NAME) != name:
        labels = {**labels, LABEL_METADATA_NAME: name}
    status = edit(namespace.status, phase=namespace.status.phase or NAMESPACE_PHASE_ACTIVE)
    return edit(namespace, metadata=edit(namespace.metadata, labels=labels), status=status)


def _node(node: Node) -> Node:
    capacity = rounded_up(node.status.capacity)
    allocatable = rounded_up(node.status.allocatable) or capacity
    return edit(
        node,
        spec=_node_spec(node.spec),
        status=edit(node.status, capacity=capacity, allocatable=allocatable),
    )


def _node_spec(spec: NodeSpec) -> NodeSpec:
    """The spec with the old field for one range in step with the list; where they differ, it wins.

    Clients that know only the one range write only that, and must not leave a stale list behind.
    """
    one, every = spec.pod_cidr, spec.pod_cidrs
    if one and every[:1] != (one,):
        return edit(spec, pod_cidrs=(one,))
    return edit(spec, pod_cidr=every[0]) if every else spec


def _secret(secret: Secret) -> Secret:
    data = secret.data
    if secret.string_data:
        text = {
            key: base64.b64encode(value.encode()).decode()
            for key, value in secret.string_data.items()
        }
        data = {**data, **text}
    return edit(
        secret,
        data=data,
        string_data=secret.string_data and {},
        type=secret.type or SECRET_TYPE_OPAQUE,
    )


def _quota(quota: ResourceQuota) -> ResourceQuota:
    status = quota.status
    return edit(
        quota,
        spec=edit(quota.spec, hard=rounded_up(quota.spec.hard)),
        status=edit(status, hard=rounded_up(status.hard), used=rounded_up(status.used)),
    )


def _limit_range(limit_range: LimitRange) -> LimitRange:
    limits = limit_range.spec.limits
    spec = edit(limit_range.spec, limits=limits and edit_items(limits, _limit))
    return edit(limit_range, spec=spec)


def _limit(item: LimitRangeItem) -> LimitRangeItem:
    default, default_request = item.default, item.default_request
    if item.type == LIMIT_TYPE_CONTAINER:
        default = _completed(default, item.max)
        default_request = _completed(_completed(default_request, default), item.min)
    return edit(
        item,
        max=rounded_up(item.max),
        min=rounded_up(item.min),
        default=rounded_up(default),
        default_request=rounded_up(default_request),
        max_limit_request_ratio=rounded_up(item.max_limit_request_ratio),
    )


def _completed(
    amounts: Mapping[str, Quantity], others: Mapping[str, Quantity]
) -> Mapping[str, Quantity]:
    return amounts if others.keys() <= amounts.keys() else {**others, **amounts}


def _binding(binding: Binding) -> Binding:
    role = edit(binding.role_ref, api_group=binding.role_ref.api_group or API_GROUP)
    return edit(binding, role_ref=role, subjects=edit_items(binding.subjects, _subject))


def _subject(subject: Subject) -> Subject:
    if subject.api_group or subject.kind not in (SUBJECT_USER, SUBJECT_GROUP):
        return subject
    return edit(subject, api_group=API_GROUP)


def _priority_class(priority_class: PriorityClass) -> PriorityClass:
    policy = priority_class.preemption_policy
    return edit(
        priority_class, preemption_policy=PREEMPT_LOWER_PRIORITY if policy is None else policy
    )


def _definition(definition: CustomResourceDefinition) -> CustomResourceDefinition:
    spec, names = definition.spec, definition.spec.names
    names = edit(
        names,
        singular=names.singular or names.kind.lower(),
        list_kind=names.list_kind or (f"{names.kind}List" if names.kind else ""),
    )
    conversion = spec.conversion or CustomResourceConversion(strategy=CONVERSION_NONE)
    stored = definition.status.stored_versions
    if not stored:
        storage = [version.name for version in spec.versions or () if version.storage]
        stored = tuple(storage[:1]) or stored
    return edit(
        definition,
        spec=edit(spec, names=names, conversion=conversion),
        status=edit(definition.status, stored_versions=stored),
    )


# Kinds that are not here have no defaults.
PLAIN_DEFAULTS: Final[Mapping[type[Any], Callable[[Any], Any]]] = {
    ClusterRoleBinding: _binding,
    CustomResourceDefinition: _definition,
    LimitRange: _limit_range,
    Namespace: _namespace,
    Node: _node,
    PriorityClass: _priority_class,
    ResourceQuota: _quota,
    RoleBinding: _binding,
    Secret: _secret,
}
