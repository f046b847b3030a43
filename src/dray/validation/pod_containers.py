"""Containers of a pod: names, images, restarts, and everything they ask for.

Upstream counterparts: validateContainers, validateInitContainers and validateEphemeralContainers
in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from dray.api.carried import read_part
from dray.api.core import (
    CONTAINER_RESTART_POLICY_ALWAYS,
    CONTAINER_RESTART_POLICY_NEVER,
    CONTAINER_RESTART_POLICY_ON_FAILURE,
    PULL_ALWAYS,
    PULL_IF_NOT_PRESENT,
    PULL_NEVER,
    RESOURCE_CPU,
    RESOURCE_MEMORY,
    RESTART_POLICY_NEVER,
    RESTART_RULE_ACTION_RESTART,
    RESTART_RULE_ACTION_RESTART_ALL_CONTAINERS,
    RESTART_RULE_OPERATOR_IN,
    RESTART_RULE_OPERATOR_NOT_IN,
    TERMINATION_MESSAGE_FALLBACK_TO_LOGS_ON_ERROR,
    TERMINATION_MESSAGE_READ_FILE,
    Container,
    ContainerRestartRule,
    PodSpec,
)
from dray.api.core.parts import SecurityContext, Volume, VolumeDevice, VolumeMount
from dray.api.pod_resources import is_sidecar
from dray.api.wire import is_null
from dray.validation.findings import Findings
from dray.validation.pod_claims import pod_claim_names
from dray.validation.pod_environment import check_environment, check_environment_sources
from dray.validation.pod_leniency import RESIZE_RESTART_CONTAINER, Leniency
from dray.validation.pod_mounts import check_devices, check_mounts
from dray.validation.pod_ports import check_host_ports, check_ports
from dray.validation.pod_probes import check_probes
from dray.validation.pod_resources import check_container_resources
from dray.validation.pod_security import check_security
from dray.validation.rules import check_dns_label, check_size

__all__ = ["check_containers", "check_image_spaces"]

RESTART_RULES_MAX: Final = 20
EXIT_CODES_MAX: Final = 255
RESIZE_NOT_REQUIRED: Final = "NotRequired"

_PULL_POLICIES: Final = (PULL_ALWAYS, PULL_IF_NOT_PRESENT, PULL_NEVER)
_TERMINATION_MESSAGE_POLICIES: Final = (
    TERMINATION_MESSAGE_READ_FILE,
    TERMINATION_MESSAGE_FALLBACK_TO_LOGS_ON_ERROR,
)
_RESTART_POLICIES: Final = (
    CONTAINER_RESTART_POLICY_ALWAYS,
    CONTAINER_RESTART_POLICY_NEVER,
    CONTAINER_RESTART_POLICY_ON_FAILURE,
)
_RESTART_ACTIONS: Final = (
    RESTART_RULE_ACTION_RESTART,
    RESTART_RULE_ACTION_RESTART_ALL_CONTAINERS,
)
_RESTART_OPERATORS: Final = (RESTART_RULE_OPERATOR_IN, RESTART_RULE_OPERATOR_NOT_IN)
_RESIZE_RESOURCES: Final = (RESOURCE_CPU, RESOURCE_MEMORY)
_RESIZE_POLICIES: Final = (RESIZE_NOT_REQUIRED, RESIZE_RESTART_CONTAINER)

# What runs beside the workload to look at it has no business with what the workload needs.
_NOT_IN_EPHEMERAL: Final = (
    ("ports", "ports"),
    ("resources", "resources"),
    ("resize_policy", "resizePolicy"),
    ("restart_policy", "restartPolicy"),
    ("restart_policy_rules", "restartPolicyRules"),
    ("liveness_probe", "livenessProbe"),
    ("readiness_probe", "readinessProbe"),
    ("startup_probe", "startupProbe"),
    ("lifecycle", "lifecycle"),
)
_ONLY_IN_SIDECARS: Final = (
    ("lifecycle", "lifecycle"),
    ("liveness_probe", "livenessProbe"),
    ("readiness_probe", "readinessProbe"),
    ("startup_probe", "startupProbe"),
)
_EMPTY: Final = Container()
_NOT_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"

# What Unicode, and so upstream, counts as white space. Python's own list has four more.
_SPACES: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


class _Pod(NamedTuple):
    """What the rules of a container need to know of its pod."""

    spec: PodSpec
    claims: Collection[str]
    volumes: Mapping[str, Volume]
    leniency: Leniency


def check_containers(
    found: Findings,
    spec: PodSpec,
    volumes: Mapping[str, Volume],
    path: str,
    leniency: Leniency,
) -> None:
    """All containers of a pod, whose names are unique among all of them."""
    pod = _Pod(spec, pod_claim_names(spec.resource_claims), volumes, leniency)
    _check_regular(found, pod, f"{path}.containers")
    _check_init(found, pod, f"{path}.initContainers")
    _check_ephemeral(found, pod, f"{path}.ephemeralContainers")


def _check_regular(found: Findings, pod: _Pod, path: str) -> None:
    containers = pod.spec.containers
    if not containers:
        found.required(path)
        return
    seen: set[str] = set()
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        _check_common(found, container, pod, at)
        if container.name in seen:
            found.duplicate(f"{at}.name", container.name)
        seen.add(container.name)
        check_probes(found, container, pod.spec, at)
        _check_restarts(found, container, at, rules_without_policy=True)
    check_host_ports(found, containers, path)


def _check_init(found: Findings, pod: _Pod, path: str) -> None:
    seen = {container.name for container in pod.spec.containers or ()}
    for index, container in enumerate(pod.spec.init_containers):
        at = f"{path}[{index}]"
        _check_common(found, container, pod, at)
        # Upstream looks at the rules of an init container only if it has a policy.
        _check_restarts(found, container, at, rules_without_policy=False)
        if container.name in seen:
            found.duplicate(f"{at}.name", container.name)
        elif container.name:
            seen.add(container.name)
        # They run one after the other. Upstream counts from 0 for each.
        check_host_ports(found, (container,), path)
        if is_sidecar(container):
            check_probes(found, container, pod.spec, at)
            continue
        for name, wire_name in _ONLY_IN_SIDECARS:
            if not is_null(getattr(container, name)):
                detail = "may not be set for init containers without restartPolicy=Always"
                found.forbidden(f"{at}.{wire_name}", detail)
        if pod.leniency.restarting_resize_of_init_containers:
            continue
        for place, policy in enumerate(container.resize_policy):
            if policy.restart_policy == RESIZE_RESTART_CONTAINER:
                found.invalid(
                    f"{at}.resizePolicy[{place}].restartPolicy",
                    policy.restart_policy,
                    "must not be set to 'RestartContainer' for non-sidecar initContainers",
                )


def _check_ephemeral(found: Findings, pod: _Pod, path: str) -> None:
    lasting = (*(pod.spec.containers or ()), *pod.spec.init_containers)
    others = {container.name for container in lasting}
    seen = set(others)
    for index, container in enumerate(pod.spec.ephemeral_containers):
        at = f"{path}[{index}]"
        _check_common(found, container, pod, at)
        _check_image_space(found, container.image, at)
        if container.name in seen:
            found.duplicate(f"{at}.name", container.name)
        seen.add(container.name)
        target = container.target_container_name
        if target and target not in others:
            found.not_found(f"{at}.targetContainerName", target)
        for name, wire_name in _NOT_IN_EPHEMERAL:
            if getattr(container, name) != getattr(_EMPTY, name):
                found.forbidden(f"{at}.{wire_name}", _NOT_EPHEMERAL)
        mounts = read_part(container.volume_mounts, tuple[VolumeMount, ...]) or ()
        for place, mount in enumerate(mounts):
            if mount.sub_path:
                found.forbidden(f"{at}.volumeMounts[{place}].subPath", _NOT_EPHEMERAL)
            if mount.sub_path_expr:
                found.forbidden(f"{at}.volumeMounts[{place}].subPathExpr", _NOT_EPHEMERAL)


def _check_common(found: Findings, container: Container, pod: _Pod, path: str) -> None:
    if not container.name:
        found.required(f"{path}.name")
    else:
        check_dns_label(found, container.name, f"{path}.name")
    if not container.image:
        found.required(f"{path}.image")
    message_policy = container.termination_message_policy
    if not message_policy:
        found.required(f"{path}.terminationMessagePolicy")
    elif message_policy not in _TERMINATION_MESSAGE_POLICIES:
        at = f"{path}.terminationMessagePolicy"
        found.not_supported(at, message_policy, _TERMINATION_MESSAGE_POLICIES)
    check_ports(found, container.ports, f"{path}.ports")
    check_environment(found, container.env, f"{path}.env")
    check_environment_sources(found, container.env_from, f"{path}.envFrom")
    security = read_part(container.security_context, SecurityContext)
    mounts = read_part(container.volume_mounts, tuple[VolumeMount, ...]) or ()
    devices = read_part(container.volume_devices, tuple[VolumeDevice, ...]) or ()
    check_mounts(found, mounts, devices, pod.volumes, security, f"{path}.volumeMounts")
    check_devices(found, devices, mounts, pod.volumes, f"{path}.volumeDevices")
    pull_policy = container.image_pull_policy
    if not pull_policy:
        found.required(f"{path}.imagePullPolicy")
    elif pull_policy not in _PULL_POLICIES:
        found.not_supported(f"{path}.imagePullPolicy", pull_policy, _PULL_POLICIES)
    check_container_resources(
        found,
        container.resources,
        pod.claims,
        f"{path}.resources",
        indivisible_huge_pages=pod.leniency.indivisible_huge_pages,
    )
    _check_resize_policy(found, container, pod.spec.restart_policy, f"{path}.resizePolicy")
    if security is not None:
        check_security(
            found,
            security,
            f"{path}.securityContext",
            host_users=pod.spec.host_users is not False,
            leniency=pod.leniency,
        )


def _check_resize_policy(
    found: Findings, container: Container, pod_restart_policy: str, path: str
) -> None:
    seen: set[str] = set()
    for index, policy in enumerate(container.resize_policy):
        name, restart = policy.resource_name, policy.restart_policy
        if name in seen:
            found.duplicate(f"{path}[{index}]", name)
        seen.add(name)
        # Upstream names the list where it means the entry.
        if not name:
            found.required(path)
        elif name not in _RESIZE_RESOURCES:
            found.not_supported(path, name, _RESIZE_RESOURCES)
        if not restart:
            found.required(path)
        elif restart not in _RESIZE_POLICIES:
            found.not_supported(path, restart, _RESIZE_POLICIES)
        if pod_restart_policy == RESTART_POLICY_NEVER and restart != RESIZE_NOT_REQUIRED:
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            found.invalid(path, restart, detail)


# Restarts --------------------------------------------------------------------------------------


def _check_restarts(
    found: Findings, container: Container, path: str, *, rules_without_policy: bool
) -> None:
    policy, rules = container.restart_policy, container.restart_policy_rules
    if policy is None:
        if not rules:
            return
        detail = "must specify restartPolicy when restart rules are used"
        found.required(f"{path}.restartPolicy", detail)
        if not rules_without_policy:
            return
    elif policy not in _RESTART_POLICIES:
        found.not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    check_size(found, rules, RESTART_RULES_MAX, f"{path}.restartPolicyRules")
    for index, rule in enumerate(rules):
        _check_restart_rule(found, rule, f"{path}.restartPolicyRules[{index}]")


def _check_restart_rule(found: Findings, rule: ContainerRestartRule, path: str) -> None:
    if rule.action not in _RESTART_ACTIONS:
        found.not_supported(f"{path}.action", rule.action, _RESTART_ACTIONS)
    codes = rule.exit_codes
    if codes is None:
        found.required(f"{path}.exitCodes", "must be specified")
        return
    if codes.operator not in _RESTART_OPERATORS:
        found.not_supported(f"{path}.exitCodes.operator", codes.operator, _RESTART_OPERATORS)
    check_size(found, codes.values, EXIT_CODES_MAX, f"{path}.exitCodes.values")


# Images ----------------------------------------------------------------------------------------


def check_image_spaces(found: Findings, containers: Sequence[Container], path: str) -> None:
    """Images of a pod; those of a pod template may have spaces around them."""
    for index, container in enumerate(containers):
        _check_image_space(found, container.image, f"{path}[{index}]")


def _check_image_space(found: Findings, image: str, path: str) -> None:
    if image.strip(_SPACES) != image:
        detail = "must not have leading or trailing whitespace"
        found.invalid(f"{path}.image", image, detail)
