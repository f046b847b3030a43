"""What a server does to a pod between decoding and validating it.

A new pod starts without a status, but with its phase, its quality of service and, if gates hold
it back, the condition that says so. A write to the main resource keeps the stored status, a write
to the status keeps the stored spec and owners. Fields of features that are off are removed unless
the stored pod uses them. The time is an argument: nothing here reads a clock.

Upstream counterparts: pkg/registry/core/pod/strategy.go, dropDisabledFields in
pkg/api/pod/util.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from dray.api._edit import edit, edit_items
from dray.api.core import (
    CONDITION_FALSE,
    POD_CONDITION_SCHEDULED,
    POD_PHASE_PENDING,
    POD_REASON_SCHEDULING_GATED,
    Affinity,
    ContainerStatus,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodCondition,
    PodSpec,
    PodStatus,
    ResourceHealth,
    ResourceStatus,
    TopologySpreadConstraint,
)
from dray.api.equality import semantically_equal
from dray.api.features import FeatureGates
from dray.api.meta import LabelSelector, LabelSelectorRequirement
from dray.api.part_gates import drop_disabled_parts
from dray.api.pod_resources import default_pod_level_resources, qos_class
from dray.api.shared import deriving, remembering
from dray.api.strategy import carry_metadata
from dray.api.wire import Time

__all__ = [
    "RESET_FIELDS",
    "STATUS_RESET_FIELDS",
    "drop_disabled_pod_fields",
    "prepare_pod_for_create",
    "prepare_pod_for_status_update",
    "prepare_pod_for_update",
]

T = TypeVar("T")

# Taken from the stored pod, so server-side apply must not let a client own them.
RESET_FIELDS: Final = ("status",)
STATUS_RESET_FIELDS: Final = ("metadata.deletionTimestamp", "metadata.ownerReferences", "spec")

_GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"


def prepare_pod_for_create(pod: Pod, *, gates: FeatureGates, now: Time) -> Pod:
    """The pod as it is to be created."""
    spec = _with_label_keys(_allowed_spec(pod.spec, gates), pod.metadata.labels)
    status = PodStatus(
        phase=POD_PHASE_PENDING,
        conditions=_gated_conditions(now) if spec.scheduling_gates else (),
        qos_class=_qos_class(spec),
    )
    return edit(pod, metadata=edit(pod.metadata, generation=1), spec=spec, status=status)


def prepare_pod_for_update(new: Pod, old: Pod, *, gates: FeatureGates) -> Pod:
    """The pod as it is to replace the stored one, whose status it keeps."""
    # A client that does not know of amounts for the whole pod must not remove them.
    spec = edit(new.spec, resources=new.spec.resources or old.spec.resources)
    spec = drop_disabled_pod_fields(spec, old.spec, gates)
    metadata = carry_metadata(new.metadata, old.metadata)
    if not semantically_equal(spec, old.spec):
        metadata = edit(metadata, generation=old.metadata.generation + 1)
    return edit(new, metadata=metadata, spec=spec, status=old.status)


def prepare_pod_for_status_update(new: Pod, old: Pod, *, gates: FeatureGates) -> Pod:
    """The pod with its new status and everything else as stored, most metadata excepted."""
    metadata = edit(
        new.metadata, deletion_timestamp=None, owner_references=old.metadata.owner_references
    )
    status = _keep_what_clients_forget(new.status, old.status)
    return edit(
        new,
        metadata=carry_metadata(metadata, old.metadata),
        spec=old.spec,
        status=_drop_disabled_status_fields(status, old.status, gates),
    )


# Creation --------------------------------------------------------------------------------------


@deriving
def _allowed_spec(spec: PodSpec, gates: FeatureGates) -> PodSpec:
    spec = drop_disabled_pod_fields(spec, None, gates)
    return edit(spec, resources=default_pod_level_resources(spec))


_qos_class: Final = remembering(qos_class)


def _gated_conditions(now: Time) -> tuple[PodCondition, ...]:
    return (
        PodCondition(
            type=POD_CONDITION_SCHEDULED,
            status=CONDITION_FALSE,
            last_transition_time=now,
            reason=POD_REASON_SCHEDULING_GATED,
            message=_GATED_MESSAGE,
        ),
    )


def _with_label_keys(spec: PodSpec, labels: Mapping[str, str]) -> PodSpec:
    """The spec with a clause in each selector for every key whose value the pod brings along."""
    if spec.affinity is None and not spec.topology_spread_constraints:
        return spec

    def spread(constraint: TopologySpreadConstraint) -> TopologySpreadConstraint:
        clauses = _clauses(constraint.match_label_keys, "In", labels)
        return edit(constraint, label_selector=_extended(constraint.label_selector, clauses))

    def term(term: PodAffinityTerm) -> PodAffinityTerm:
        clauses = _clauses(term.match_label_keys, "In", labels)
        clauses += _clauses(term.mismatch_label_keys, "NotIn", labels)
        return edit(term, label_selector=_extended(term.label_selector, clauses))

    return edit(
        spec,
        affinity=spec.affinity and _each_term(spec.affinity, term),
        topology_spread_constraints=edit_items(spec.topology_spread_constraints, spread),
    )


def _each_term(
    affinity: Affinity, change: Callable[[PodAffinityTerm], PodAffinityTerm]
) -> Affinity:
    def within(part: PodAffinity | PodAntiAffinity) -> PodAffinity | PodAntiAffinity:
        return edit(
            part,
            required_during_scheduling_ignored_during_execution=edit_items(
                part.required_during_scheduling_ignored_during_execution, change
            ),
            preferred_during_scheduling_ignored_during_execution=edit_items(
                part.preferred_during_scheduling_ignored_during_execution,
                lambda weighted: edit(
                    weighted, pod_affinity_term=change(weighted.pod_affinity_term)
                ),
            ),
        )

    return edit(
        affinity,
        pod_affinity=affinity.pod_affinity and within(affinity.pod_affinity),
        pod_anti_affinity=affinity.pod_anti_affinity and within(affinity.pod_anti_affinity),
    )


def _clauses(
    keys: Sequence[str], operator: str, labels: Mapping[str, str]
) -> tuple[LabelSelectorRequirement, ...]:
    return tuple(
        LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],))
        for key in keys
        if key in labels
    )


def _extended(
    selector: LabelSelector | None, clauses: tuple[LabelSelectorRequirement, ...]
) -> LabelSelector | None:
    # No selector matches no pod, and stays that way.
    if selector is None or not clauses:
        return selector
    return edit(selector, match_expressions=selector.match_expressions + clauses)


# Status ----------------------------------------------------------------------------------------


def _unless_absent(new: T | None, old: T | None) -> T | None:
    # An empty list is a wish to clear it, not forgetfulness.
    return old if new is None else new


def _keep_what_clients_forget(new: PodStatus, old: PodStatus) -> PodStatus:
    """The status with what an old client would lose by writing back all that it knows."""
    return edit(
        new,
        qos_class=new.qos_class or old.qos_class,
        resource_claim_statuses=_unless_absent(
            new.resource_claim_statuses, old.resource_claim_statuses
        ),
        extended_resource_claim_status=new.extended_resource_claim_status
        or old.extended_resource_claim_status,
        node_allocatable_resource_claim_statuses=_unless_absent(
            new.node_allocatable_resource_claim_statuses,
            old.node_allocatable_resource_claim_statuses,
        ),
        observed_generation=new.observed_generation or old.observed_generation,
        conditions=_keep_generations(new.conditions, old.conditions),
    )


def _keep_generations(
    new: tuple[PodCondition, ...], old: tuple[PodCondition, ...]
) -> tuple[PodCondition, ...]:
    # A type may be there several times; then they pair up in order.
    stored: dict[str, list[int]] = {}
    for condition in old:
        stored.setdefault(condition.type, []).append(condition.observed_generation)

    def kept(condition: PodCondition) -> PodCondition:
        generations = stored.get(condition.type)
        generation = generations.pop(0) if generations else 0
        return edit(condition, observed_generation=condition.observed_generation or generation)

    return edit_items(new, kept)


# Features that are off -------------------------------------------------------------------------


def drop_disabled_pod_fields(new: PodSpec, old: PodSpec | None, gates: FeatureGates) -> PodSpec:
    """The spec, of a pod or of a template, without fields of features that are off."""
    if "GenericWorkload" not in gates and (old is None or old.scheduling_group is None):
        new = edit(new, scheduling_group=None)
    # Requests for eviction are not built, so nobody could ever respond to one.
    if old is None or not old.eviction_responders:
        new = edit(new, eviction_responders=())
    return drop_disabled_parts(new, old)


def _drop_disabled_status_fields(new: PodStatus, old: PodStatus, gates: FeatureGates) -> PodStatus:
    if "ResourceHealthStatus" not in gates and not any(
        status.allocated_resources_status for status in _container_statuses(old)
    ):
        new = _each_status(new, lambda status: edit(status, allocated_resources_status=()))
    if "ResourceHealthStatusMessage" not in gates and not any(
        health.message is not None
        for status in _container_statuses(old)
        for resource in status.allocated_resources_status
        for health in resource.resources
    ):
        new = _each_status(new, _without_messages)
    if (
        "DRANodeAllocatableResources" not in gates
        and not old.node_allocatable_resource_claim_statuses
    ):
        new = edit(new, node_allocatable_resource_claim_statuses=None)
    return new


def _container_statuses(status: PodStatus) -> tuple[ContainerStatus, ...]:
    return (
        *status.init_container_statuses,
        *status.container_statuses,
        *status.ephemeral_container_statuses,
    )


def _each_status(
    status: PodStatus, change: Callable[[ContainerStatus], ContainerStatus]
) -> PodStatus:
    return edit(
        status,
        init_container_statuses=edit_items(status.init_container_statuses, change),
        container_statuses=edit_items(status.container_statuses, change),
        ephemeral_container_statuses=edit_items(status.ephemeral_container_statuses, change),
    )


def _without_messages(status: ContainerStatus) -> ContainerStatus:
    def health(health: ResourceHealth) -> ResourceHealth:
        return edit(health, message=None)

    def resource(resource: ResourceStatus) -> ResourceStatus:
        return edit(resource, resources=edit_items(resource.resources, health))

    statuses = edit_items(status.allocated_resources_status, resource)
    return edit(status, allocated_resources_status=statuses)
