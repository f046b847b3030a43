"""What an update of a pod is forgiven because the stored pod has it already.

Rules grew stricter over the years. A pod from before keeps what it has, or nobody could ever
update it again; a new pod gets no such grace. Upstream counterpart:
GetValidationOptionsFromPodSpecAndMeta in pkg/api/pod/util.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from dray.api import names
from dray.api.carried import read_part
from dray.api.core import (
    TOLERATION_OPERATOR_GREATER_THAN,
    TOLERATION_OPERATOR_LESS_THAN,
    Container,
    Pod,
    PodAffinityTerm,
    PodSpec,
    PodTemplateSpec,
)
from dray.api.core.parts import (
    PodSecurityContext,
    SecurityContext,
    Volume,
    VolumeDevice,
    VolumeProjection,
)
from dray.api.pod_resources import divides_into_pages, is_huge_page, is_sidecar
from dray.validation.file_paths import is_local_path
from dray.validation.findings import Findings
from dray.validation.label_keys import check_label_keys
from dray.validation.meta import validate_label_selector
from dray.validation.pod_visits import containers_of

__all__ = [
    "DELETION_COST_ANNOTATION",
    "RESIZE_RESTART_CONTAINER",
    "STRICT",
    "Leniency",
    "belongs_to_host",
    "deletion_cost_holds",
    "leniency_toward",
    "pod_affinity_terms",
]

DELETION_COST_ANNOTATION: Final = "controller.kubernetes.io/pod-deletion-cost"
RESIZE_RESTART_CONTAINER: Final = "RestartContainer"

_COMPARISONS: Final = (TOLERATION_OPERATOR_LESS_THAN, TOLERATION_OPERATOR_GREATER_THAN)
_DECIMAL: Final = re.compile(r"-[0-9]+|0|[1-9][0-9]*", re.ASCII)
_INT32_LIMIT: Final = 2**31


class Leniency(msgspec.Struct, frozen=True):
    """Each field lets one thing pass."""

    indivisible_huge_pages: bool = False
    any_value_in_affinity: bool = False
    any_value_in_node_affinity: bool = False
    any_spread_selector: bool = False
    overlapping_match_label_keys: bool = False
    comparing_tolerations: bool = False
    any_deletion_cost: bool = False
    restarting_resize_of_init_containers: bool = False
    any_token_path: bool = False
    empty_image_reference: bool = False
    sysctls_of_host: bool = False
    admin_without_escalation: bool = False
    host_network_without_users: bool = False
    devices_without_users: bool = False


STRICT: Final = Leniency()


def leniency_toward(old: Pod | PodTemplateSpec) -> Leniency:
    """What an update of this pod, or of what pods are made from, is forgiven."""
    spec = old.spec
    return Leniency(
        indivisible_huge_pages=_has_indivisible_huge_pages(spec),
        any_value_in_affinity=any(
            validate_label_selector(selector, "")
            for _, term in pod_affinity_terms(spec)
            for selector in (term.label_selector, term.namespace_selector)
        ),
        any_value_in_node_affinity=_has_odd_node_affinity(spec),
        any_spread_selector=any(
            validate_label_selector(constraint.label_selector, "")
            for constraint in spec.topology_spread_constraints
        ),
        overlapping_match_label_keys=_has_odd_match_label_keys(spec),
        comparing_tolerations=any(
            toleration.operator in _COMPARISONS for toleration in spec.tolerations
        ),
        any_deletion_cost=not deletion_cost_holds(old.metadata.annotations),
        restarting_resize_of_init_containers=any(
            policy.restart_policy == RESIZE_RESTART_CONTAINER
            for container in spec.init_containers
            if not is_sidecar(container)
            for policy in container.resize_policy
        ),
        any_token_path=any(
            source.service_account_token is not None
            and not is_local_path(source.service_account_token.path)
            for source in _projections(spec)
        ),
        empty_image_reference=any(
            volume.image is not None and not volume.image.reference for volume in _volumes(spec)
        ),
        sysctls_of_host=_has_sysctls_of_host(spec),
        admin_without_escalation=any(
            _is_admin_without_escalation(
                read_part(container.security_context, SecurityContext) or SecurityContext()
            )
            for container, _ in containers_of(spec, "")
        ),
        host_network_without_users=spec.host_network and spec.host_users is False,
        devices_without_users=spec.host_users is False
        and any(
            read_part(container.volume_devices, tuple[VolumeDevice, ...])
            for container, _ in containers_of(spec, "")
        ),
    )


# Parts that pods carry -------------------------------------------------------------------------

# Parameters of the kernel that every network namespace, or IPC namespace, has for itself.
_NET_PREFIX: Final = "net."
_IPC_PREFIX: Final = "fs.mqueue."
_IPC_SYSCTLS: Final = frozenset(
    f"kernel.{name}"
    for name in (
        "msg", "msgmax", "msgmnb", "msgmni", "sem", "shm", "shmall", "shmmax", "shmmni",
        "shm_rmid_forced",
    )
)  # fmt: skip


def belongs_to_host(sysctl: str, spec: PodSpec) -> str:
    """The field by which the pod shares the namespace of this parameter with its host, if any."""
    name = _dotted(sysctl).partition("*")[0]
    if spec.host_network and name.startswith(_NET_PREFIX):
        return "hostNetwork"
    if spec.host_ipc and (name in _IPC_SYSCTLS or name.startswith(_IPC_PREFIX)):
        return "hostIPC"
    return ""


def _dotted(sysctl: str) -> str:
    """Slashes separate like dots; whichever comes first is the separator, the other a character."""
    first = next((character for character in sysctl if character in "./"), "")
    return sysctl.translate(_SWAPPED) if first == "/" else sysctl


_SWAPPED: Final = str.maketrans("./", "/.")


def _volumes(spec: PodSpec) -> tuple[Volume, ...]:
    return read_part(spec.volumes, tuple[Volume, ...]) or ()


def _projections(spec: PodSpec) -> Iterator[VolumeProjection]:
    for volume in _volumes(spec):
        if volume.projected is not None:
            yield from volume.projected.sources or ()


def _has_sysctls_of_host(spec: PodSpec) -> bool:
    context = read_part(spec.security_context, PodSecurityContext)
    return context is not None and any(
        belongs_to_host(sysctl.name, spec) for sysctl in context.sysctls
    )


def _is_admin_without_escalation(context: SecurityContext) -> bool:
    # Upstream forgives also those who said nothing of escalation.
    if context.allow_privilege_escalation or context.capabilities is None:
        return False
    return "CAP_SYS_ADMIN" in context.capabilities.add


def deletion_cost_holds(annotations: Mapping[str, str]) -> bool:
    """Whether the annotation that ranks pods for scaling down is absent or a 32-bit integer."""
    text = annotations.get(DELETION_COST_ANNOTATION)
    if text is None:
        return True
    if not _DECIMAL.fullmatch(text):
        return False
    # Long digits need not become a number to be known as too big.
    digits = text.lstrip("-").lstrip("0")
    return len(digits) <= 10 and -_INT32_LIMIT <= int(text) < _INT32_LIMIT


def pod_affinity_terms(spec: PodSpec) -> Iterator[tuple[str, PodAffinityTerm]]:
    """Every term that looks at other pods, with its path within the spec."""
    affinity = spec.affinity
    if affinity is None:
        return
    for name, part in (
        ("podAffinity", affinity.pod_affinity),
        ("podAntiAffinity", affinity.pod_anti_affinity),
    ):
        if part is None:
            continue
        path = f"affinity.{name}.requiredDuringSchedulingIgnoredDuringExecution"
        for index, term in enumerate(part.required_during_scheduling_ignored_during_execution):
            yield f"{path}[{index}]", term
        path = f"affinity.{name}.preferredDuringSchedulingIgnoredDuringExecution"
        weighted = part.preferred_during_scheduling_ignored_during_execution
        for index, preference in enumerate(weighted):
            yield f"{path}[{index}].podAffinityTerm", preference.pod_affinity_term


def _has_indivisible_huge_pages(spec: PodSpec) -> bool:
    containers: tuple[Container, ...] = (
        *spec.init_containers,
        *(spec.containers or ()),
        *spec.ephemeral_containers,
    )
    lists = [spec.overhead]
    for container in containers:
        lists += [container.resources.limits, container.resources.requests]
    return any(
        is_huge_page(name) and not divides_into_pages(name, amount)
        for amounts in lists
        for name, amount in amounts.items()
    )


def _has_odd_node_affinity(spec: PodSpec) -> bool:
    node_affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if node_affinity is None:
        return False
    required = node_affinity.required_during_scheduling_ignored_during_execution
    return required is not None and any(
        names.label_value(value)
        for term in required.node_selector_terms or ()
        for requirement in term.match_expressions
        for value in requirement.values
    )


def _has_odd_match_label_keys(spec: PodSpec) -> bool:
    found = Findings()
    for constraint in spec.topology_spread_constraints:
        check_label_keys(found, constraint.match_label_keys, (), constraint.label_selector, "")
    return len(found) > 0
