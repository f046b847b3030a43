"""Containers of a pod: names, images, restarts, resources.

Not checked, because dray only carries them: ports, environment, volumes and their mounts, probes,
lifecycle hooks, security contexts. Where such a field may not be set at all, that is checked.
Upstream counterparts: validateContainers, validateInitContainers and validateEphemeralContainers
in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

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
from dray.api.pod_resources import is_sidecar
from dray.validation.findings import Findings
from dray.validation.pod_claims import pod_claim_names
from dray.validation.pod_leniency import RESIZE_RESTART_CONTAINER, Leniency
from dray.validation.pod_resources import check_container_resources
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

# What Unicode, and so upstream, counts as white space. Python's own list has four more.
_SPACES: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def check_containers(found: Findings, spec: PodSpec, path: str, leniency: Leniency) -> None:
    """All containers of a pod, whose names are unique among all of them."""
    _check_regular(found, spec, f"{path}.containers", leniency)
    _check_init(found, spec, f"{path}.initContainers", leniency)
    _check_ephemeral(found, spec, f"{path}.ephemeralContainers", leniency)


def _check_regular(found: Findings, spec: PodSpec, path: str, leniency: Leniency) -> None:
    if not spec.containers:
        found.required(path)
        return
    claims = pod_claim_names(spec.resource_claims)
    seen: set[str] = set()
    for index, container in enumerate(spec.containers):
        at = f"{path}[{index}]"
        _check_common(found, container, spec, claims, at, leniency)
        if container.name in seen:
            found.duplicate(f"{at}.name", container.name)
        seen.add(container.name)
        _check_restarts(found, container, at, rules_without_policy=True)


def _check_init(found: Findings, spec: PodSpec, path: str, leniency: Leniency) -> None:
    claims = pod_claim_names(spec.resource_claims)
    seen = {container.name for container in spec.containers or ()}
    for index, container in enumerate(spec.init_containers):
        at = f"{path}[{index}]"
        _check_common(found, container, spec, claims, at, leniency)
        # Upstream looks at the rules of an init container only if it has a policy.
        _check_restarts(found, container, at, rules_without_policy=False)
        if container.name in seen:
            found.duplicate(f"{at}.name", container.name)
        elif container.name:
            seen.add(container.name)
        if is_sidecar(container):
            continue
        for name, wire_name in _ONLY_IN_SIDECARS:
            if getattr(container, name) is not None:
                detail = "may not be set for init containers without restartPolicy=Always"
                found.forbidden(f"{at}.{wire_name}", detail)
        if leniency.restarting_resize_of_init_containers:
            continue
        for place, policy in enumerate(container.resize_policy):
            if policy.restart_policy == RESIZE_RESTART_CONTAINER:
                found.invalid(
                    f"{at}.resizePolicy[{place}].restartPolicy",
                    policy.restart_policy,
                    "must not be set to 'RestartContainer' for non-sidecar initContainers",
                )


def _check_ephemeral(found: Findings, spec: PodSpec, path: str, leniency: Leniency) -> None:
    claims = pod_claim_names(spec.resource_claims)
    others = {container.name for container in (*(spec.containers or ()), *spec.init_containers)}
    seen = set(others)
    for index, container in enumerate(spec.ephemeral_containers):
        at = f"{path}[{index}]"
        _check_common(found, container, spec, claims, at, leniency)
        _check_image_space(found, container.image, at)
        if container.name in seen:
            found.duplicate(f"{at}.name", container.name)
        seen.add(container.name)
        target = container.target_container_name
        if target and target not in others:
            found.not_found(f"{at}.targetContainerName", target)
        for name, wire_name in _NOT_IN_EPHEMERAL:
            if getattr(container, name) != getattr(_EMPTY, name):
                found.forbidden(f"{at}.{wire_name}", "cannot be set for an Ephemeral Container")


def _check_common(
    found: Findings,
    container: Container,
    spec: PodSpec,
    claims: Collection[str],
    path: str,
    leniency: Leniency,
) -> None:
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
    pull_policy = container.image_pull_policy
    if not pull_policy:
        found.required(f"{path}.imagePullPolicy")
    elif pull_policy not in _PULL_POLICIES:
        found.not_supported(f"{path}.imagePullPolicy", pull_policy, _PULL_POLICIES)
    check_container_resources(
        found,
        container.resources,
        claims,
        f"{path}.resources",
        indivisible_huge_pages=leniency.indivisible_huge_pages,
    )
    _check_resize_policy(found, container, spec.restart_policy, f"{path}.resizePolicy")


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
