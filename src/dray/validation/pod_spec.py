"""The metadata and the spec of a pod, whether it is new or updated.

What is inside its parts is in modules of their own: `pod_containers`, `pod_volumes`,
`pod_security` and so on. Not checked are tolerations in an annotation, which a field has replaced.

A pod is expected to have its defaults (`dray.api.pod_defaults`). Upstream counterparts:
validatePodMetadataAndSpec and ValidatePodSpec in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.api.carried import read_part
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
from dray.api.core.parts import HostAlias, PodDNSConfig, PodSecurityContext, Volume
from dray.api.meta import ObjectMeta
from dray.api.shared import remembering
from dray.errors import quote
from dray.validation.findings import Findings
from dray.validation.meta import NOT_NEGATIVE, validate_labels, validate_object_meta
from dray.validation.pod_claims import MIRROR_POD_ANNOTATION, check_pod_claims
from dray.validation.pod_containers import check_containers, check_image_spaces
from dray.validation.pod_environment import check_environment_files
from dray.validation.pod_host_names import DNS_NONE, check_dns_config, check_host_aliases
from dray.validation.pod_leniency import (
    DELETION_COST_ANNOTATION,
    STRICT,
    Leniency,
    deletion_cost_holds,
)
from dray.validation.pod_operating_system import (
    check_host_processes,
    check_host_users,
    check_operating_system,
)
from dray.validation.pod_placement import (
    check_affinity,
    check_spread_constraints,
    check_tolerations,
)
from dray.validation.pod_ports import check_host_network_ports
from dray.validation.pod_profiles import check_profile_annotations
from dray.validation.pod_resources import check_container_resources, check_pod_resources
from dray.validation.pod_security import check_pod_security
from dray.validation.pod_volumes import check_token_volumes, check_volumes
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
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", DNS_NONE)
_PREEMPTION_POLICIES: Final = (PREEMPT_LOWER_PRIORITY, PREEMPT_NEVER)


def check_pod(found: Findings, pod: Pod, leniency: Leniency) -> None:
    """Metadata and spec, of a new pod or an updated one."""
    found.extend(validate_object_meta(pod.metadata, namespaced=True))
    annotations, spec = pod.metadata.annotations, pod.spec
    check_annotations(found, annotations, spec, leniency)
    name = pod.metadata.name if _has_ephemeral_volumes(spec) else ""
    found.absorb(_check_spec(spec, name, MIRROR_POD_ANNOTATION in annotations, leniency))


@remembering
def _has_ephemeral_volumes(spec: PodSpec) -> bool:
    """Whether the name of the pod matters to its spec: claims of these volumes are named so."""
    return any(volume.ephemeral is not None for volume in _volumes(spec))


@remembering
def _check_spec(spec: PodSpec, name: str, mirrored: bool, leniency: Leniency) -> Findings:
    """The spec by itself, and what of its pod matters to it."""
    found = Findings()
    metadata = ObjectMeta(name=name, annotations={MIRROR_POD_ANNOTATION: ""} if mirrored else {})
    check_pod_spec(found, spec, metadata, "spec", leniency)
    check_token_volumes(found, spec, _volumes(spec))
    grace = spec.termination_grace_period_seconds
    if grace is not None and grace < 0:
        found.invalid("spec.terminationGracePeriodSeconds", grace, NOT_NEGATIVE)
    check_image_spaces(found, spec.containers or (), "spec.containers")
    check_image_spaces(found, spec.init_containers, "spec.initContainers")
    return found


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
    check_profile_annotations(found, annotations, spec, path)


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
    volumes = _volumes(spec)
    usable = check_volumes(found, volumes, metadata, f"{path}.volumes", leniency)
    check_pod_claims(found, metadata, spec.resource_claims, f"{path}.resourceClaims")
    check_containers(found, spec, usable, path, leniency)
    check_pod_resources(found, spec, path, indivisible_huge_pages=leniency.indivisible_huge_pages)
    check_host_network_ports(found, spec, path, is_pod=metadata is not None)
    _check_policy(found, spec.restart_policy, _RESTART_POLICIES, f"{path}.restartPolicy")
    _check_policy(found, spec.dns_policy, _DNS_POLICIES, f"{path}.dnsPolicy")
    found.extend(validate_labels(spec.node_selector, f"{path}.nodeSelector"))
    security = read_part(spec.security_context, PodSecurityContext)
    if security is not None:
        check_pod_security(found, security, spec, f"{path}.securityContext", leniency)
    if spec.share_process_namespace and spec.host_pid:
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.invalid(f"{path}.shareProcessNamespace", True, detail)
    if spec.affinity is not None:
        check_affinity(found, spec.affinity, f"{path}.affinity", leniency)
    dns_config = read_part(spec.dns_config, PodDNSConfig)
    check_dns_config(found, dns_config, spec.dns_policy, f"{path}.dnsConfig")
    _check_gates(found, spec, path)
    check_spread_constraints(
        found, spec.topology_spread_constraints, f"{path}.topologySpreadConstraints", leniency
    )
    check_host_processes(found, spec, path)
    check_host_users(found, spec, path, leniency)
    _check_hostname_override(found, spec, f"{path}.hostnameOverride")
    _check_service_account(found, spec, path)
    if spec.node_name:
        check_dns_subdomain(found, spec.node_name, f"{path}.nodeName")
    _check_active_deadline(found, spec, path)
    for name, label in (("hostname", spec.hostname), ("subdomain", spec.subdomain)):
        if label:
            check_dns_label(found, label, f"{path}.{name}")
    check_tolerations(found, spec.tolerations, f"{path}.tolerations", leniency)
    aliases = read_part(spec.host_aliases, tuple[HostAlias, ...]) or ()
    check_host_aliases(found, aliases, f"{path}.hostAliases")
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
    check_operating_system(found, spec, path)
    _check_scheduling_group(found, spec, f"{path}.schedulingGroup")
    check_environment_files(found, spec, volumes, path)


def _volumes(spec: PodSpec) -> tuple[Volume, ...]:
    return read_part(spec.volumes, tuple[Volume, ...]) or ()


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
