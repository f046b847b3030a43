"""Environment variables of a container, and the facts of a pod they and files may show.

Upstream counterparts: ValidateEnv, ValidateEnvFrom and what they call in
pkg/apis/core/validation; pkg/fieldpath.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dray.api import names
from dray.api.core import (
    ConfigMapKeySelector,
    EnvFromSource,
    EnvVar,
    FileKeySelector,
    ObjectFieldSelector,
    PodSpec,
    ResourceFieldSelector,
    SecretKeySelector,
)
from dray.api.core.parts import Volume
from dray.api.quantity import Quantity
from dray.validation.file_paths import check_no_backsteps
from dray.validation.findings import Findings
from dray.validation.pod_visits import containers_of
from dray.validation.rules import check_dns_label, check_dns_subdomain

__all__ = [
    "check_environment",
    "check_environment_files",
    "check_environment_sources",
    "check_field_ref",
    "check_resource_ref",
]

# What a pod can tell of itself, whoever asks; which of it a variable or a file may show differs.
_FACTS: Final = frozenset(
    {
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.host",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.phase",
        "status.podIP",
        "status.podIPs",
    }
)
_MAPS: Final = ("metadata.annotations", "metadata.labels")
_FACTS_IN_VARIABLES: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_RESOURCES: Final = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_CPU_UNITS: Final = ("1m", "1")
_BYTE_UNITS: Final = (
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
)  # fmt: skip


def check_environment(found: Findings, variables: Sequence[EnvVar], path: str) -> None:
    for index, variable in enumerate(variables):
        at = f"{path}[{index}]"
        if not variable.name:
            found.required(f"{at}.name")
        else:
            for message in names.printable_name(variable.name):
                found.invalid(f"{at}.name", variable.name, message)
        if variable.value_from is not None:
            _check_value_from(found, variable, f"{at}.valueFrom")


def _check_value_from(found: Findings, variable: EnvVar, path: str) -> None:
    source = variable.value_from
    assert source is not None
    count = 0
    if source.field_ref is not None:
        count += 1
        check_field_ref(found, source.field_ref, _FACTS_IN_VARIABLES, f"{path}.fieldRef")
    if source.resource_field_ref is not None:
        count += 1
        reference = source.resource_field_ref
        check_resource_ref(found, reference, f"{path}.resourceFieldRef", in_file=False)
    if source.config_map_key_ref is not None:
        count += 1
        _check_key(found, source.config_map_key_ref, f"{path}.configMapKeyRef")
    if source.secret_key_ref is not None:
        count += 1
        _check_key(found, source.secret_key_ref, f"{path}.secretKeyRef")
    if source.file_key_ref is not None:
        count += 1
        _check_file_key(found, source.file_key_ref, f"{path}.fileKeyRef")
    if not count:
        found.invalid(
            path,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
            "`secretKeyRef` or `fileKeyRef`",
        )
    elif variable.value:
        found.invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        found.invalid(path, "", "may not have more than one field specified at a time")


def _check_key(
    found: Findings, reference: ConfigMapKeySelector | SecretKeySelector, path: str
) -> None:
    check_dns_subdomain(found, reference.name, f"{path}.name")
    if not reference.key:
        found.required(f"{path}.key")
        return
    for message in names.config_map_key(reference.key):
        found.invalid(f"{path}.key", reference.key, message)


def _check_file_key(found: Findings, reference: FileKeySelector, path: str) -> None:
    if not reference.key:
        found.required(f"{path}.key")
    else:
        for message in names.printable_name(reference.key):
            found.invalid(f"{path}.key", reference.key, message)
    if not reference.volume_name:
        found.required(f"{path}.volumeName")
    else:
        check_dns_label(found, reference.volume_name, f"{path}.volumeName")
    if not reference.path:
        found.required(f"{path}.path")
    else:
        check_no_backsteps(found, reference.path, f"{path}.path")


def check_environment_sources(found: Findings, sources: Sequence[EnvFromSource], path: str) -> None:
    for index, source in enumerate(sources):
        at = f"{path}[{index}]"
        if source.prefix:
            for message in names.printable_name(source.prefix):
                found.invalid(f"{at}.prefix", source.prefix, message)
        count = 0
        for name, reference in (
            ("configMapRef", source.config_map_ref),
            ("secretRef", source.secret_ref),
        ):
            if reference is None:
                continue
            count += 1
            if not reference.name:
                found.required(f"{at}.{name}.name")
            else:
                # Upstream takes the name for the beginning of one.
                for message in names.dns_subdomain(names.mask_trailing_dash(reference.name)):
                    found.invalid(f"{at}.{name}.name", reference.name, message)
        # Upstream names the list where it means the entry.
        if not count:
            found.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif count > 1:
            found.invalid(path, "", "may not have more than one field specified at a time")


def check_environment_files(
    found: Findings, spec: PodSpec, volumes: Sequence[Volume], path: str
) -> None:
    """Files with variables are in directories that the pod's own containers filled."""
    by_name = {volume.name: volume for volume in volumes}
    for container, at in containers_of(spec, path):
        for index, variable in enumerate(container.env):
            source = variable.value_from
            if source is None or source.file_key_ref is None:
                continue
            name = source.file_key_ref.volume_name
            where = f"{at}.env[{index}].valueFrom.fileKeyRef.volumeName"
            volume = by_name.get(name)
            if volume is None:
                found.not_found(where, name)
            elif volume.empty_dir is None:
                found.invalid(where, name, "referenced volume must be of type emptyDir")


# Facts of the pod ------------------------------------------------------------------------------


def check_field_ref(
    found: Findings, reference: ObjectFieldSelector, allowed: Sequence[str], path: str
) -> None:
    """A field of the pod: one of these, or one entry of its labels or annotations."""
    if not reference.api_version:
        found.required(f"{path}.apiVersion")
        return
    fact = reference.field_path
    if not fact:
        found.required(f"{path}.fieldPath")
        return
    where, subscript = _subscripted(fact)
    problem = ""
    if reference.api_version != "v1":
        problem = f"unsupported pod version: {reference.api_version}"
    elif subscript is not None and where not in _MAPS:
        problem = f"field label does not support subscript: {fact}"
    elif subscript is None and fact not in _FACTS:
        problem = f"field label not supported: {fact}"
    if problem:
        found.invalid(f"{path}.fieldPath", fact, f"error converting fieldPath: {problem}")
    elif subscript is not None:
        key = subscript.lower() if where == "metadata.annotations" else subscript
        for message in names.label_key(key):
            found.invalid(path, key, message)
    else:
        # Clients of long ago called the node the pod's host.
        fact = "spec.nodeName" if fact == "spec.host" else fact
        if fact not in allowed:
            found.not_supported(f"{path}.fieldPath", fact, allowed)


def _subscripted(fact: str) -> tuple[str, str | None]:
    """`metadata.labels['key']` as its two parts."""
    if not fact.endswith("']"):
        return fact, None
    where, bracket, subscript = fact[:-2].partition("['")
    return (where, subscript) if bracket and where else (fact, None)


def check_resource_ref(
    found: Findings, reference: ResourceFieldSelector, path: str, *, in_file: bool
) -> None:
    """A request or a limit; a file belongs to no container, so it must name one."""
    resource = reference.resource
    if in_file and not reference.container_name:
        found.required(f"{path}.containerName")
    elif not resource:
        found.required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        found.not_supported(f"{path}.resource", resource, _RESOURCES)
    _check_divisor(found, resource, reference.divisor, f"{path}.divisor")


_DIVISORS: Final[Mapping[str, tuple[Sequence[str], str]]] = {
    "limits.cpu": (_CPU_UNITS, "cpu"),
    "requests.cpu": (_CPU_UNITS, "cpu"),
    "limits.memory": (_BYTE_UNITS, "memory"),
    "requests.memory": (_BYTE_UNITS, "memory"),
    "limits.ephemeral-storage": (_BYTE_UNITS, "local ephemeral storage"),
    "requests.ephemeral-storage": (_BYTE_UNITS, "local ephemeral storage"),
}


def _check_divisor(found: Findings, resource: str, divisor: Quantity, path: str) -> None:
    if divisor.is_zero:
        return
    units, title = _DIVISORS.get(resource, ((), ""))
    if resource.startswith(_HUGE_PAGES):
        units, title = _BYTE_UNITS, "hugepages"
    if units and str(divisor) not in units:
        listed = "1m and 1" if units is _CPU_UNITS else ", ".join(units)
        # Upstream shows the resource where it means the divisor.
        detail = f"only divisor's values {listed} are supported with the {title} resource"
        found.invalid(path, resource, detail)
