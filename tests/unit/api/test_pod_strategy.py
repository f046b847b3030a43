"""What a server does to a pod before it looks for mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    Affinity,
    Container,
    ContainerStatus,
    EvictionResponder,
    NodeAllocatableResourceClaimStatus,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodCondition,
    PodExtendedResourceClaimStatus,
    PodResourceClaimStatus,
    PodSchedulingGate,
    PodSchedulingGroup,
    PodSpec,
    PodStatus,
    ResourceHealth,
    ResourceRequirements,
    ResourceStatus,
    TopologySpreadConstraint,
)
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference
from dray.api.pod_strategy import (
    prepare_pod_for_create,
    prepare_pod_for_status_update,
    prepare_pod_for_update,
)
from dray.api.quantity import Quantity
from dray.api.wire import Time, replace

NOW = Time.parse("2026-01-01T00:00:00Z")
ONE = Quantity.parse("1")
CONTAINERS = (Container(name="main", image="app:1"),)
NO_HEALTH = FeatureGates({"ResourceHealthStatus": False, "ResourceHealthStatusMessage": False})
NO_MESSAGES = FeatureGates({"ResourceHealthStatusMessage": False})
NODE_RESOURCES = FeatureGates({"DRANodeAllocatableResources": True})
WORKLOADS = FeatureGates({"GenericWorkload": True})


def pod(
    *, metadata: dict[str, Any] | None = None, status: PodStatus | None = None, **spec: Any
) -> Pod:
    return Pod(
        metadata=ObjectMeta(**{"name": "pod", "generation": 3, **(metadata or {})}),
        spec=PodSpec(**{"containers": CONTAINERS, **spec}),
        status=status or PodStatus(),
    )


def create(pod: Pod, gates: FeatureGates = DEFAULT_GATES) -> Pod:
    return prepare_pod_for_create(pod, gates=gates, now=NOW)


def update(new: Pod, old: Pod, gates: FeatureGates = DEFAULT_GATES) -> Pod:
    return prepare_pod_for_update(new, old, gates=gates)


def write_status(new: PodStatus, old: PodStatus, gates: FeatureGates = DEFAULT_GATES) -> PodStatus:
    return prepare_pod_for_status_update(pod(status=new), pod(status=old), gates=gates).status


# Creation --------------------------------------------------------------------------------------


def test_a_new_pod_is_pending_whatever_its_author_says() -> None:
    born = create(pod(status=PodStatus(phase="Running", message="hello")))
    assert born.status == PodStatus(phase="Pending", qos_class="BestEffort")
    assert born.metadata.generation == 1


def test_gates_are_told_in_a_condition() -> None:
    born = create(pod(scheduling_gates=(PodSchedulingGate(name="wait"),)))
    assert born.status.conditions == (
        PodCondition(
            type="PodScheduled",
            status="False",
            last_transition_time=NOW,
            reason="SchedulingGated",
            message="Scheduling is blocked due to non-empty scheduling gates",
        ),
    )


def test_amounts_of_the_whole_pod_are_completed_before_its_quality_is_judged() -> None:
    container = replace(CONTAINERS[0], resources=ResourceRequirements(requests={"cpu": ONE}))
    asked = ResourceRequirements(limits={"cpu": ONE, "memory": ONE})
    born = create(pod(containers=(container,), resources=asked))
    assert born.spec.resources is not None
    assert born.spec.resources.requests == {"cpu": ONE, "memory": ONE}
    assert born.status.qos_class == "Guaranteed"


def test_keys_become_clauses_with_the_pods_own_values() -> None:
    selector = LabelSelector(match_labels={"tier": "a"})
    term = PodAffinityTerm(
        topology_key="zone",
        label_selector=selector,
        match_label_keys=("app", "absent"),
        mismatch_label_keys=("tenant",),
    )
    spread = TopologySpreadConstraint(match_label_keys=("app",), label_selector=selector)
    affinity = PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
    born = create(
        pod(
            metadata={"labels": {"app": "x", "tenant": "y"}},
            affinity=Affinity(pod_affinity=affinity),
            topology_spread_constraints=(
                spread,
                replace(spread, label_selector=None),
            ),
        )
    ).spec
    app = LabelSelectorRequirement(key="app", operator="In", values=("x",))
    tenant = LabelSelectorRequirement(key="tenant", operator="NotIn", values=("y",))
    assert born.affinity is not None
    assert born.affinity.pod_affinity is not None
    (found,) = born.affinity.pod_affinity.required_during_scheduling_ignored_during_execution
    assert found.label_selector == replace(selector, match_expressions=(app, tenant))
    first, second = born.topology_spread_constraints
    assert first.label_selector == replace(selector, match_expressions=(app,))
    assert second.label_selector is None


# Update ----------------------------------------------------------------------------------------


def test_an_update_keeps_the_status_and_counts_changes_of_the_spec() -> None:
    old = pod(status=PodStatus(phase="Running"))
    same = update(pod(status=PodStatus(phase="Failed"), metadata={"generation": 9}), old)
    assert (same.status, same.metadata.generation) == (old.status, 3)
    changed = update(pod(containers=(replace(CONTAINERS[0], image="app:2"),)), old)
    assert changed.metadata.generation == 4


def test_a_client_that_forgets_the_amounts_of_the_pod_does_not_remove_them() -> None:
    asked = ResourceRequirements(requests={"cpu": ONE})
    assert update(pod(), pod(resources=asked)).spec.resources == asked


def test_a_group_is_removed_while_groups_are_off_unless_it_is_stored() -> None:
    grouped = pod(scheduling_group=PodSchedulingGroup(pod_group_name="g"))
    assert create(grouped).spec.scheduling_group is None
    assert create(grouped, WORKLOADS).spec.scheduling_group is not None
    assert update(grouped, pod()).spec.scheduling_group is None
    assert update(grouped, grouped).spec.scheduling_group is not None


def test_responders_to_evictions_are_removed_unless_stored() -> None:
    responding = pod(eviction_responders=(EvictionResponder(name="x"),))
    assert create(responding).spec.eviction_responders == ()
    assert update(responding, responding) == responding


# Status ----------------------------------------------------------------------------------------


def test_a_status_update_keeps_spec_owners_and_deletion() -> None:
    owner = OwnerReference(api_version="v1", kind="Job", name="job", uid="1")
    old = pod(
        metadata={"owner_references": (owner,), "deletion_timestamp": NOW}, node_name="node-1"
    )
    new = pod(metadata={"labels": {"a": "b"}}, status=PodStatus(phase="Failed"), node_name="other")
    written = prepare_pod_for_status_update(new, old, gates=DEFAULT_GATES)
    assert written.spec is old.spec
    assert written.metadata.owner_references == (owner,)
    assert written.metadata.deletion_timestamp == NOW
    assert written.metadata.labels == {"a": "b"}
    assert written.status.phase == "Failed"


def test_a_status_update_cannot_delete_a_pod() -> None:
    new = pod(metadata={"deletion_timestamp": NOW})
    written = prepare_pod_for_status_update(new, pod(), gates=DEFAULT_GATES)
    assert written.metadata.deletion_timestamp is None


def test_what_an_old_client_does_not_know_survives_it() -> None:
    old = PodStatus(
        qos_class="Burstable",
        observed_generation=2,
        resource_claim_statuses=(PodResourceClaimStatus(name="gpu"),),
        extended_resource_claim_status=PodExtendedResourceClaimStatus(resource_claim_name="c"),
        node_allocatable_resource_claim_statuses=(
            NodeAllocatableResourceClaimStatus(resource_claim_name="c"),
        ),
    )
    assert write_status(PodStatus(), old) == old


@pytest.mark.parametrize(
    "new",
    [
        pytest.param((PodResourceClaimStatus(name="gpu", resource_claim_name="c"),), id="other"),
        pytest.param((), id="empty"),
    ],
)
def test_what_a_client_does_say_replaces_what_was_there(
    new: tuple[PodResourceClaimStatus, ...],
) -> None:
    old = PodStatus(resource_claim_statuses=(PodResourceClaimStatus(name="gpu"),))
    written = write_status(PodStatus(resource_claim_statuses=new), old)
    assert written.resource_claim_statuses == new


def test_conditions_keep_their_generations_in_order() -> None:
    old = tuple(PodCondition(type="A", observed_generation=number) for number in (1, 2))
    new = (PodCondition(type="A"), PodCondition(type="B"), PodCondition(type="A"))
    written = write_status(PodStatus(conditions=new), PodStatus(conditions=old))
    assert [condition.observed_generation for condition in written.conditions] == [1, 0, 2]


def reporting(message: str | None = None) -> PodStatus:
    health = ResourceHealth(resource_id="d/p/0", health="Healthy", message=message)
    resource = ResourceStatus(name="claim:gpu", resources=(health,))
    return PodStatus(
        container_statuses=(ContainerStatus(name="main", allocated_resources_status=(resource,)),)
    )


def test_health_is_removed_while_it_is_off_unless_some_is_stored() -> None:
    (status,) = write_status(reporting(), PodStatus(), NO_HEALTH).container_statuses
    assert status.allocated_resources_status == ()
    assert write_status(reporting(), reporting(), NO_HEALTH) == reporting()
    assert write_status(reporting(), PodStatus()) == reporting()


def test_the_sentence_is_removed_while_it_is_off_unless_one_is_stored() -> None:
    assert write_status(reporting("hot"), reporting(), NO_MESSAGES) == reporting()
    told = write_status(reporting("hot"), reporting("warm"), NO_MESSAGES)
    assert told == reporting("hot")


def test_what_claims_take_of_the_node_is_removed_while_that_is_off() -> None:
    taken = PodStatus(
        node_allocatable_resource_claim_statuses=(
            NodeAllocatableResourceClaimStatus(resource_claim_name="c"),
        )
    )
    assert write_status(taken, PodStatus()) == PodStatus()
    assert write_status(taken, taken) == taken
    assert write_status(taken, PodStatus(), NODE_RESOURCES) == taken
