"""The metadata and the spec of a pod, whether it is new or updated.

Everything that scheduling, claims and devices depend on is checked as upstream checks it. What
dray only carries is not: volumes, ports, environment, probes, lifecycle hooks, security
contexts, host aliases, DNS configuration, user namespaces, what Windows forbids, and the
annotations for seccomp, AppArmor and tolerations that fields have replaced.

A pod is expected to have its defaults (`dray.api.pod_defaults`). Upstream counterparts:
validatePodMetadataAndSpec and ValidatePodSpec in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.api.core import (
    PREEMPT_LOWER_PRIORITY,
    PREEMPT_NEVER,
    RESTART_POLICY_ALWAYS,
    RESTART_POLICY_NEVER,
    RESTART_POLICY_ON_FAILURE,
    Pod,
    PodSpec,
    ResourceRequirements,
)
from dray.api.meta import ObjectMeta
from dray.errors import quote
from dray.validation.findings import Findings
from dray.validation.meta import NOT_NEGATIVE, validate_labels, validate_object_meta
from dray.validation.pod_claims import MIRROR_POD_ANNOTATION, check_pod_claims
from dray.validation.pod_containers import check_containers, check_image_spaces
from dray.validation.pod_leniency import (
    DELETION_COST_ANNOTATION,
    STRICT,
    Leniency,
    deletion_cost_holds,
)
from dray.validation.pod_placement import (
    check_affinity,
    check_spread_constraints,
    check_tolerations,
)
from dray.validation.pod_resources import check_container_resources, check_pod_resources
from dray.validation.rules import (
    byte_length,
    check_dns_label,
    check_dns_subdomain,
    check_label_key,
)

__all__ = ["ACTIVE_DEADLINE_SECONDS_MAX", "check_annotations", "check_pod", "check_pod_spec"]

ACTIVE_DEADLINE_SECONDS_MAX: Final = 2**31 - 1
HOSTNAME_OVERRIDE_BYTES_MAX: Final = 64

_RESTART_POLICIES: Final = (
    RESTART_POLICY_ALWAYS,
    RESTART_POLICY_ON_FAILURE,
    RESTART_POLICY_NEVER,
)
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES: Final = (PREEMPT_LOWER_PRIORITY, PREEMPT_NEVER)
_OPERATING_SYSTEMS: Final = ("linux", "windows")


def check_pod(found: Findings, pod: Pod, leniency: Leniency) -> None:
    """Metadata and spec, of a new pod or an updated one."""
    found.extend(validate_object_meta(pod.metadata, namespaced=True))
    check_annotations(found, pod.metadata.annotations, pod.spec, leniency)
    check_pod_spec(found, pod.spec, pod.metadata, "spec", leniency)
    grace = pod.spec.termination_grace_period_seconds
    if grace is not None and grace < 0:
        found.invalid("spec.terminationGracePeriodSeconds", grace, NOT_NEGATIVE)
    check_image_spaces(found, pod.spec.containers or (), "spec.containers")
    check_image_spaces(found, pod.spec.init_containers, "spec.initContainers")


def check_annotations(
    found: Findings,
    annotations: Mapping[str, str],
    spec: PodSpec,
    leniency: Leniency,
    *,
    path: str = "metadata.annotations",
) -> None:
    """Annotations that mean something for a pod."""
    mirrored = annotations.get(MIRROR_POD_ANNOTATION)
    if mirrored is not None and not spec.node_name:
        detail = "must set spec.nodeName if mirror pod annotation is set"
        found.invalid(f"{path}[{MIRROR_POD_ANNOTATION}]", mirrored, detail)
    if not leniency.any_deletion_cost and not deletion_cost_holds(annotations):
        found.invalid(
            f"{path}[{DELETION_COST_ANNOTATION}]",
            annotations[DELETION_COST_ANNOTATION],
            "must be a 32bit integer",
        )


def check_pod_spec(
    found: Findings,
    spec: PodSpec,
    metadata: ObjectMeta | None,
    path: str,
    leniency: Leniency = STRICT,
) -> None:
    """The spec of a pod, or of a pod template, which has no metadata to look at."""
    if spec.termination_grace_period_seconds is None:
        found.required(f"{path}.terminationGracePeriodSeconds")
    check_pod_claims(found, metadata, spec.resource_claims, f"{path}.resourceClaims")
    check_containers(found, spec, path, leniency)
    check_pod_resources(found, spec, path, indivisible_huge_pages=leniency.indivisible_huge_pages)
    _check_policy(found, spec.restart_policy, _RESTART_POLICIES, f"{path}.restartPolicy")
    _check_policy(found, spec.dns_policy, _DNS_POLICIES, f"{path}.dnsPolicy")
    found.extend(validate_labels(spec.node_selector, f"{path}.nodeSelector"))
    if spec.share_process_namespace and spec.host_pid:
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.invalid(f"{path}.shareProcessNamespace", True, detail)
    if spec.affinity is not None:
        check_affinity(found, spec.affinity, f"{path}.affinity", leniency)
    _check_gates(found, spec, path)
    check_spread_constraints(
        found, spec.topology_spread_constraints, f"{path}.topologySpreadConstraints", leniency
    )
    _check_hostname_override(found, spec, f"{path}.hostnameOverride")
    _check_service_account(found, spec, path)
    if spec.node_name:
        check_dns_subdomain(found, spec.node_name, f"{path}.nodeName")
    _check_active_deadline(found, spec, path)
    for name, label in (("hostname", spec.hostname), ("subdomain", spec.subdomain)):
        if label:
            check_dns_label(found, label, f"{path}.{name}")
    check_tolerations(found, spec.tolerations, f"{path}.tolerations", leniency)
    if spec.priority_class_name:
        check_dns_subdomain(found, spec.priority_class_name, f"{path}.priorityClassName")
    if spec.runtime_class_name is not None:
        check_dns_subdomain(found, spec.runtime_class_name, f"{path}.runtimeClassName")
    if spec.preemption_policy is not None:
        at = f"{path}.preemptionPolicy"
        _check_policy(found, spec.preemption_policy, _PREEMPTION_POLICIES, at)
    check_container_resources(
        found,
        ResourceRequirements(limits=spec.overhead),
        (),
        f"{path}.overhead",
        indivisible_huge_pages=leniency.indivisible_huge_pages,
    )
    _check_operating_system(found, spec, f"{path}.os")
    _check_scheduling_group(found, spec, f"{path}.schedulingGroup")


def _check_policy(found: Findings, policy: str, supported: tuple[str, ...], path: str) -> None:
    if not policy:
        found.required(path)
    elif policy not in supported:
        found.not_supported(path, policy, supported)


def _check_gates(found: Findings, spec: PodSpec, path: str) -> None:
    for index, readiness in enumerate(spec.readiness_gates):
        at = f"{path}.readinessGates[{index}].conditionType"
        check_label_key(found, readiness.condition_type, at)
    seen: set[str] = set()
    for index, gate in enumerate(spec.scheduling_gates):
        at = f"{path}.schedulingGates[{index}]"
        check_label_key(found, gate.name, at)
        if gate.name in seen:
            found.duplicate(at, gate.name)
        seen.add(gate.name)


def _check_hostname_override(found: Findings, spec: PodSpec, path: str) -> None:
    override = spec.hostname_override
    if override is None:
        return
    if spec.set_hostname_as_fqdn:
        found.forbidden(path, "may not be specified when setHostnameAsFQDN is true")
    if spec.host_network:
        found.forbidden(path, "may not be specified when hostNetwork is true")
    if byte_length(override) > HOSTNAME_OVERRIDE_BYTES_MAX:
        found.too_long(path, HOSTNAME_OVERRIDE_BYTES_MAX)
    check_dns_subdomain(found, override, path)


def _check_service_account(found: Findings, spec: PodSpec, path: str) -> None:
    account = spec.service_account_name
    if account:
        check_dns_subdomain(found, account, f"{path}.serviceAccountName")
    if spec.service_account != account:
        detail = f"must be the same as serviceAccountName: {quote(account)}"
        found.invalid(f"{path}.deprecatedServiceAccount", spec.service_account, detail)


def _check_active_deadline(found: Findings, spec: PodSpec, path: str) -> None:
    deadline = spec.active_deadline_seconds
    if deadline is not None and not 1 <= deadline <= ACTIVE_DEADLINE_SECONDS_MAX:
        detail = f"must be between 1 and {ACTIVE_DEADLINE_SECONDS_MAX}, inclusive"
        found.invalid(f"{path}.activeDeadlineSeconds", deadline, detail)


def _check_operating_system(found: Findings, spec: PodSpec, path: str) -> None:
    if spec.os is None:
        return
    if not spec.os.name:
        found.required(f"{path}.name")
    elif spec.os.name not in _OPERATING_SYSTEMS:
        found.not_supported(path, spec.os.name, _OPERATING_SYSTEMS)


def _check_scheduling_group(found: Findings, spec: PodSpec, path: str) -> None:
    group = spec.scheduling_group
    if group is None:
        return
    if group.pod_group_name is None:
        found.invalid(f"{path}.podGroupName", None, "must specify one of: `podGroupName`")
    else:
        check_dns_subdomain(found, group.pod_group_name, f"{path}.podGroupName")
    if spec.eviction_responders:
        found.forbidden(path, "may not be set when evictionResponders is set")
