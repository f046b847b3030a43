"""What the author of a valid pod, or of a template for pods, should hear all the same.

Upstream counterparts: pkg/api/pod/warnings.go, pkg/api/job/warnings.go and the strategies in
pkg/registry that decide when to warn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from dray.api import names
from dray.api.apps import DaemonSet, Deployment, ReplicaSet
from dray.api.batch import COMPLETION_INDEXED, Job
from dray.api.carried import read_part
from dray.api.core import (
    RESOURCE_EPHEMERAL_STORAGE,
    RESOURCE_MEMORY,
    Container,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    PodTemplateSpec,
)
from dray.api.core.parts import (
    AppArmorProfile,
    HostAlias,
    PodDNSConfig,
    PodSecurityContext,
    SecurityContext,
    Volume,
)
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.shared import remembering
from dray.errors import quote
from dray.validation.addresses import address_warning
from dray.validation.pod_leniency import pod_affinity_terms
from dray.validation.pod_profiles import (
    APP_ARMOR_PREFIX,
    SECCOMP_CONTAINER_PREFIX,
    SECCOMP_POD_KEY,
)
from dray.validation.pod_visits import containers_of
from dray.validation.port_warnings import warn_of_ports
from dray.validation.volume_warnings import is_fractional, warn_of_volumes

__all__ = ["pod_warnings", "template_warnings", "warnings_on_write"]

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"

# From here on, a job with indexes may lose track of them.
COMPLETIONS_SOFT_MAX: Final = 100_000
PARALLELISM_SOFT_MAX: Final = 10_000

_OLD_LABELS: Final[Mapping[str, str]] = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_OLD_ANNOTATIONS: Final[Mapping[str, str]] = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
_ODD_ANNOTATIONS: Final = (
    *_OLD_ANNOTATIONS,
    SECCOMP_POD_KEY,
    SECCOMP_CONTAINER_PREFIX,
    APP_ARMOR_PREFIX,
)
_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APP_ARMOR: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
_TOO_MANY_INDEXES: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than "
    "10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes "
    "fail"
)


def warnings_on_write(new: Any, old: Any | None) -> list[str]:
    """What to say of creating or updating an object that is or makes pods; empty for others.

    Nobody is told of a pod twice, nor of a template that did not change.
    """
    if isinstance(new, Pod):
        return [] if old is not None else pod_warnings(new)
    if isinstance(new, (Deployment, ReplicaSet, Job)):
        if old is not None and new.metadata.generation == old.metadata.generation:
            return []
        warnings = _of_indexes(new) if isinstance(new, Job) else []
        return warnings + template_warnings(new.spec.template, "spec.template")
    if isinstance(new, DaemonSet):
        if old is not None and _count(new) == _count(old):
            return []
        return template_warnings(new.spec.template, "spec.template")
    return []


def pod_warnings(pod: Pod) -> list[str]:
    """What to say of a new pod."""
    # Of a pod's annotations it matters only whether they are there.
    odd = (key for key in pod.metadata.annotations if key.startswith(_ODD_ANNOTATIONS))
    return list(_warnings(pod.spec, frozenset(odd)))


@remembering
def _warnings(spec: PodSpec, annotations: frozenset[str]) -> tuple[str, ...]:
    return tuple(_warn(spec, ObjectMeta(annotations=dict.fromkeys(annotations, "")), ""))


def template_warnings(template: PodTemplateSpec, path: str) -> list[str]:
    """What to say of a template, which is at this path."""
    return list(_warn(template.spec, template.metadata, f"{path}."))


def _count(daemon_set: DaemonSet) -> str | None:
    return daemon_set.metadata.annotations.get(TEMPLATE_GENERATION)


def _of_indexes(job: Job) -> list[str]:
    spec = job.spec
    indexes = spec.completions or 0 if spec.completion_mode == COMPLETION_INDEXED else 0
    many = indexes > COMPLETIONS_SOFT_MAX and (spec.parallelism or 0) > PARALLELISM_SOFT_MAX
    return [f"spec: {_TOO_MANY_INDEXES}"] if many else []


def _warn(spec: PodSpec, metadata: ObjectMeta, prefix: str) -> Iterator[str]:
    """All warnings in upstream's order; the prefix is empty for a pod itself."""
    path, annotations = f"{prefix}spec", f"{prefix}metadata.annotations"
    yield from _of_nodes(spec, path)
    for key, message in _OLD_ANNOTATIONS.items():
        if key in metadata.annotations:
            yield f"{annotations}[{key}]: {message}"
    volumes = read_part(spec.volumes, tuple[Volume, ...]) or ()
    yield from warn_of_volumes(volumes, f"{path}.volumes")
    yield from _of_names(spec, path)
    yield from _of_fractions(spec.overhead, f"{path}.overhead")
    security = read_part(spec.security_context, PodSecurityContext) or PodSecurityContext()
    if security.seccomp_profile is None and SECCOMP_POD_KEY in metadata.annotations:
        yield f"{annotations}[{SECCOMP_POD_KEY}]: {_SECCOMP}"
    for container, at in containers_of(spec, path):
        yield from _of_profiles(container, security, metadata, annotations, template=bool(prefix))
        yield from _of_container(container, at)
    yield from warn_of_ports(spec, path)
    grace = spec.termination_grace_period_seconds
    if grace is not None and grace < 0:
        at = f"{path}.terminationGracePeriodSeconds"
        yield f"{at}: must be >= 0; negative values are invalid and will be treated as 1"
    for at, term in pod_affinity_terms(spec):
        if term.label_selector is None:
            yield f"{path}.{at}.labelSelector: {_NO_SELECTOR}"
    yield from _of_addresses(spec, path)


def _of_nodes(spec: PodSpec, path: str) -> Iterator[str]:
    for key in sorted(spec.node_selector.keys() & _OLD_LABELS.keys()):
        yield f"{path}.nodeSelector[{key}]: {_OLD_LABELS[key]}"
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is not None:
        required = affinity.required_during_scheduling_ignored_during_execution
        name = "requiredDuringSchedulingIgnoredDuringExecution"
        at = f"{path}.affinity.nodeAffinity.{name}.nodeSelectorTerms"
        for index, term in enumerate((required and required.node_selector_terms) or ()):
            yield from _of_term(term, f"{at}[{index}]", values=False)
        name = "preferredDuringSchedulingIgnoredDuringExecution"
        at = f"{path}.affinity.nodeAffinity.{name}"
        preferred = affinity.preferred_during_scheduling_ignored_during_execution
        for index, weighted in enumerate(preferred):
            yield from _of_term(weighted.preference, f"{at}[{index}].preference", values=True)
    for index, constraint in enumerate(spec.topology_spread_constraints):
        at = f"{path}.topologySpreadConstraints[{index}]"
        key = constraint.topology_key
        if key in _OLD_LABELS:
            yield f"{at}.topologyKey: {key} is {_OLD_LABELS[key]}"
        if constraint.label_selector is None:
            yield f"{at}.labelSelector: {_NO_SELECTOR}"


def _of_term(term: NodeSelectorTerm, path: str, *, values: bool) -> Iterator[str]:
    for index, clause in enumerate(term.match_expressions):
        at = f"{path}.matchExpressions[{index}]"
        if clause.key in _OLD_LABELS:
            yield f"{at}.key: {clause.key} is {_OLD_LABELS[clause.key]}"
        for place, value in enumerate(clause.values if values else ()):
            for message in names.label_value(value):
                yield f"{at}.values[{place}]: {value} is invalid, {message}"


def _of_names(spec: PodSpec, path: str) -> Iterator[str]:
    aliases = read_part(spec.host_aliases, tuple[HostAlias, ...]) or ()
    for index in _repeated(alias.ip for alias in aliases):
        yield f"{path}.hostAliases[{index}].ip: duplicate ip {quote(aliases[index].ip)}"
    secrets = spec.image_pull_secrets
    for index in _repeated(secret.name for secret in secrets):
        name = quote(secrets[index].name)
        yield f"{path}.imagePullSecrets[{index}].name: duplicate name {name}"
    for index, secret in enumerate(secrets):
        if not secret.name:
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _repeated(texts: Iterable[str]) -> Iterator[int]:
    seen: set[str] = set()
    for index, text in enumerate(texts):
        if text in seen:
            yield index
        seen.add(text)


def _of_profiles(
    container: Container,
    shared: PodSecurityContext,
    metadata: ObjectMeta,
    annotations: str,
    *,
    template: bool,
) -> Iterator[str]:
    own = read_part(container.security_context, SecurityContext) or SecurityContext()
    key = f"{SECCOMP_CONTAINER_PREFIX}{container.name}"
    if own.seccomp_profile is None and key in metadata.annotations:
        yield f"{annotations}[{key}]: {_SECCOMP}"
    key = f"{APP_ARMOR_PREFIX}{container.name}"
    if template and own.app_armor_profile is None and key in metadata.annotations:
        meant = _app_armor(metadata.annotations[key])
        if shared.app_armor_profile is None or shared.app_armor_profile != meant:
            yield f"{annotations}[{key}]: {_APP_ARMOR}"


def _app_armor(annotation: str) -> AppArmorProfile | None:
    """The profile an annotation means."""
    if annotation == "unconfined":
        return AppArmorProfile(type="Unconfined")
    if annotation == "runtime/default":
        return AppArmorProfile(type="RuntimeDefault")
    profile = annotation.removeprefix("localhost/")
    if profile != annotation and profile:
        return AppArmorProfile(type="Localhost", localhost_profile=profile)
    return None


def _of_container(container: Container, path: str) -> Iterator[str]:
    limits, requests = container.resources.limits, container.resources.requests
    for name in (RESOURCE_MEMORY, RESOURCE_EPHEMERAL_STORAGE):
        yield from _of_fractions(limits, f"{path}.resources.limits", name)
        yield from _of_fractions(requests, f"{path}.resources.requests", name)
    seen: set[str] = set()
    for index, variable in enumerate(container.env):
        reference = f"$({variable.name})"
        # Adding to a variable is no mistake; hiding it is.
        extends = reference in variable.value and variable.value != reference
        if variable.name in seen and (variable.value_from is not None or not extends):
            yield (
                f"{path}.env[{index}]: hides previous definition of {quote(variable.name)}, "
                "which may be dropped when using apply"
            )
        seen.add(variable.name)


def _of_fractions(amounts: Mapping[str, Quantity], path: str, *wanted: str) -> Iterator[str]:
    for name in wanted or (RESOURCE_MEMORY, RESOURCE_EPHEMERAL_STORAGE):
        amount = amounts.get(name)
        if amount is not None and is_fractional(amount):
            told = f"fractional byte value {quote(str(amount))} is invalid, must be an integer"
            yield f"{path}[{name}]: {told}"


def _of_addresses(spec: PodSpec, path: str) -> Iterator[str]:
    config = read_part(spec.dns_config, PodDNSConfig)
    for index, server in enumerate(config.nameservers if config is not None else ()):
        yield from _one(address_warning(server, f"{path}.dnsConfig.nameservers[{index}]"))
    aliases = read_part(spec.host_aliases, tuple[HostAlias, ...]) or ()
    for index, alias in enumerate(aliases):
        yield from _one(address_warning(alias.ip, f"{path}.hostAliases[{index}].ip"))


def _one(warning: str) -> Iterator[str]:
    if warning:
        yield warning
