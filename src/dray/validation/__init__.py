"""Whole objects against their rules: object in, every field error out.

May live here: one module per kind, named after it, and the rules kinds share. May not: decoding,
defaults, removing gated fields (all done before), authorization, anything that looks at other
objects. Pure: no I/O, no clock, no randomness.

The errors, their texts and their order are those a Kubernetes 1.37 server answers with. Objects
are at their hub version; `version` names the one the request was made in, where it differs,
because part of the errors speak that version's language. Upstream counterpart: ValidateCreate and
ValidateUpdate in apiserver's pkg/registry/rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from dray.api import events
from dray.api.apiextensions import CustomResourceDefinition
from dray.api.apps import ControllerRevision, DaemonSet, Deployment, ReplicaSet
from dray.api.batch import Job
from dray.api.coordination import Lease
from dray.api.core import (
    ConfigMap,
    Event,
    LimitRange,
    Namespace,
    Node,
    Pod,
    ResourceQuota,
    Secret,
    ServiceAccount,
)
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.meta import Object
from dray.api.policy import PodDisruptionBudget
from dray.api.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from dray.api.resource import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
    ResourceSlice,
)
from dray.api.scheduling import PriorityClass
from dray.errors import FieldError, InternalError
from dray.validation import (
    config_data,
    controller_revision,
    custom_resource_definition,
    daemon_set,
    deployment,
    device_class,
    device_taint_rule,
    event,
    job,
    limit_range,
    node,
    plain_kinds,
    pod,
    rbac,
    replica_set,
    resource_claim,
    resource_claim_template,
    resource_pool_status_request,
    resource_quota,
    resource_slice,
)
from dray.validation.findings import Findings, merge
from dray.validation.meta import validate_common_create, validate_common_update
from dray.validation.rulebook import Context, Rulebook, Verdict

__all__ = [
    "validate_create",
    "validate_ephemeral_containers_update",
    "validate_status_update",
    "validate_update",
]

_RULEBOOKS: Final[Mapping[type[Object], Rulebook]] = {
    ClusterRole: rbac.CLUSTER_ROLE,
    ClusterRoleBinding: rbac.CLUSTER_ROLE_BINDING,
    ConfigMap: config_data.CONFIG_MAP,
    ControllerRevision: controller_revision.RULEBOOK,
    CustomResourceDefinition: custom_resource_definition.RULEBOOK,
    DaemonSet: daemon_set.RULEBOOK,
    Deployment: deployment.RULEBOOK,
    DeviceClass: device_class.RULEBOOK,
    DeviceTaintRule: device_taint_rule.RULEBOOK,
    Event: event.CORE_EVENT,
    events.Event: event.EVENT,
    Job: job.RULEBOOK,
    Lease: plain_kinds.LEASE,
    LimitRange: limit_range.RULEBOOK,
    Namespace: plain_kinds.NAMESPACE,
    Node: node.RULEBOOK,
    Pod: pod.RULEBOOK,
    PodDisruptionBudget: plain_kinds.POD_DISRUPTION_BUDGET,
    PriorityClass: plain_kinds.PRIORITY_CLASS,
    ReplicaSet: replica_set.RULEBOOK,
    ResourceClaim: resource_claim.RULEBOOK,
    ResourceClaimTemplate: resource_claim_template.RULEBOOK,
    ResourcePoolStatusRequest: resource_pool_status_request.RULEBOOK,
    ResourceQuota: resource_quota.RULEBOOK,
    ResourceSlice: resource_slice.RULEBOOK,
    Role: rbac.ROLE,
    RoleBinding: rbac.ROLE_BINDING,
    Secret: config_data.SECRET,
    ServiceAccount: plain_kinds.SERVICE_ACCOUNT,
}

T = TypeVar("T", bound=Object)


def validate_create(
    obj: Object, *, gates: FeatureGates = DEFAULT_GATES, version: str | None = None
) -> list[FieldError]:
    """What is wrong with a new object."""
    rulebook = _rulebook(obj)
    handwritten, declared = rulebook.create(obj, Context(gates, version))
    # What the kind itself finds in the metadata is more to the point.
    if not handwritten:
        common = validate_common_create(obj.metadata, namespaced=rulebook.namespaced)
        handwritten.extend(common)
    return merge(handwritten, declared, version=version)


def validate_update(
    new: T, old: T, *, gates: FeatureGates = DEFAULT_GATES, version: str | None = None
) -> list[FieldError]:
    """What is wrong with replacing the old object by the new one, status aside."""
    rulebook = _rulebook(new)
    verdict = rulebook.update(new, old, Context(gates, version))
    return _with_common(new, old, rulebook, verdict, version)


def validate_status_update(
    new: T, old: T, *, gates: FeatureGates = DEFAULT_GATES, version: str | None = None
) -> list[FieldError]:
    """What is wrong with replacing the old object's status by the new one's."""
    rulebook = _rulebook(new)
    if rulebook.status_update is None:
        raise InternalError(f"{new.kind} has no status of its own to update")
    verdict = rulebook.status_update(new, old, Context(gates, version))
    return _with_common(new, old, rulebook, verdict, version)


def validate_ephemeral_containers_update(new: Pod, old: Pod) -> list[FieldError]:
    """What is wrong with adding containers to a pod through its subresource for them."""
    verdict = pod.update_ephemeral_containers(new, old)
    return _with_common(new, old, pod.RULEBOOK, verdict, None)


def _with_common(
    new: T, old: T, rulebook: Rulebook, verdict: Verdict, version: str | None
) -> list[FieldError]:
    handwritten = Findings()
    handwritten.extend(
        validate_common_update(new.metadata, old.metadata, namespaced=rulebook.namespaced)
    )
    handwritten.absorb(verdict.handwritten)
    return merge(handwritten, verdict.declared, version=version)


def _rulebook(obj: Object) -> Rulebook:
    try:
        return _RULEBOOKS[type(obj)]
    except KeyError:
        raise InternalError(f"there are no rules for {type(obj).__name__}") from None
