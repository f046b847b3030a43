"""Security contexts of pods and containers.

Upstream counterparts: ValidateSecurityContext and validatePodSpecSecurityContext in
pkg/apis/core/validation. Privileged containers are allowed, as every cluster that runs system
pods allows them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dray.api.core import PodSpec
from dray.api.core.parts import (
    AppArmorProfile,
    PodSecurityContext,
    SeccompProfile,
    SecurityContext,
    Sysctl,
)
from dray.validation.file_paths import check_relative_path
from dray.validation.findings import Findings
from dray.validation.pod_leniency import Leniency, belongs_to_host
from dray.validation.rules import byte_length
from dray.validation.shown import as_internal
from dray.validation.user_ids import check_user_id
from dray.validation.windows_options import check_windows_options

__all__ = ["check_pod_security", "check_security"]

SYSCTL_BYTES_MAX: Final = 253
APP_ARMOR_PROFILE_BYTES_MAX: Final = 4095

_SYSCTL: Final = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_sysctl: Final = re.compile(_SYSCTL)

_PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_PROC_MOUNTS: Final = ("Default", "Unmasked")
_CHANGE_POLICIES: Final = ("Always", "OnRootMismatch")
_GROUPS_POLICIES: Final = ("Merge", "Strict")
_SELINUX_POLICIES: Final = ("MountOption", "Recursive")
_SYS_ADMIN: Final = "CAP_SYS_ADMIN"


def check_security(
    found: Findings,
    context: SecurityContext,
    path: str,
    *,
    host_users: bool,
    leniency: Leniency,
) -> None:
    """What a container asks for itself."""
    check_user_id(found, context.run_as_user, f"{path}.runAsUser")
    check_user_id(found, context.run_as_group, f"{path}.runAsGroup")
    if context.proc_mount is not None:
        at = f"{path}.procMount"
        if context.proc_mount not in _PROC_MOUNTS:
            found.not_supported(at, context.proc_mount, _PROC_MOUNTS)
        if host_users and context.proc_mount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            found.invalid(at, context.proc_mount, detail)
    _check_seccomp(found, context.seccomp_profile, f"{path}.seccompProfile")
    if context.allow_privilege_escalation is False:
        if context.privileged:
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            found.invalid(path, as_internal(context), detail)
        added = context.capabilities.add if context.capabilities is not None else ()
        if _SYS_ADMIN in added and not leniency.admin_without_escalation:
            detail = (
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                "CAP_SYS_ADMIN"
            )
            found.invalid(path, as_internal(context), detail)
    check_windows_options(found, context.windows_options, f"{path}.windowsOptions")
    _check_app_armor(found, context.app_armor_profile, f"{path}.appArmorProfile")


def check_pod_security(
    found: Findings, context: PodSecurityContext, spec: PodSpec, path: str, leniency: Leniency
) -> None:
    """What a pod asks for all its containers."""
    check_user_id(found, context.fs_group, f"{path}.fsGroup")
    check_user_id(found, context.run_as_user, f"{path}.runAsUser")
    check_user_id(found, context.run_as_group, f"{path}.runAsGroup")
    for index, group in enumerate(context.supplemental_groups):
        check_user_id(found, group, f"{path}.supplementalGroups[{index}]")
    _check_sysctls(found, context.sysctls, spec, f"{path}.sysctls", leniency)
    at = f"{path}.fsGroupChangePolicy"
    _check_choice(found, context.fs_group_change_policy, _CHANGE_POLICIES, at)
    _check_seccomp(found, context.seccomp_profile, f"{path}.seccompProfile")
    check_windows_options(found, context.windows_options, f"{path}.windowsOptions")
    _check_app_armor(found, context.app_armor_profile, f"{path}.appArmorProfile")
    at = f"{path}.supplementalGroupsPolicy"
    _check_choice(found, context.supplemental_groups_policy, _GROUPS_POLICIES, at)
    at = f"{path}.seLinuxChangePolicy"
    _check_choice(found, context.selinux_change_policy, _SELINUX_POLICIES, at)


def _check_choice(found: Findings, choice: str | None, supported: Sequence[str], path: str) -> None:
    if choice is not None and choice not in supported:
        found.not_supported(path, choice, supported)


def _check_sysctls(
    found: Findings, sysctls: Sequence[Sysctl], spec: PodSpec, path: str, leniency: Leniency
) -> None:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        at = f"{path}[{index}].name"
        name = sysctl.name
        if not name:
            found.required(at)
        elif byte_length(name) > SYSCTL_BYTES_MAX or not _sysctl.fullmatch(name):
            detail = f"must have at most {SYSCTL_BYTES_MAX} characters and match regex ^{_SYSCTL}$"
            found.invalid(at, name, detail)
        elif name in seen:
            found.duplicate(at, name)
        seen.add(name)
        if not leniency.sysctls_of_host and (field := belongs_to_host(name, spec)):
            found.invalid(at, name, f"may not be specified when '{field}' is true")


# Profiles --------------------------------------------------------------------------------------


def _check_seccomp(found: Findings, profile: SeccompProfile | None, path: str) -> None:
    if profile is None:
        return
    if not profile.type:
        found.required(f"{path}.type", "type is required when seccompProfile is set")
    elif profile.type not in _PROFILE_TYPES:
        found.not_supported(f"{path}.type", profile.type, _PROFILE_TYPES)
    at = f"{path}.localhostProfile"
    if profile.type == "Localhost":
        if profile.localhost_profile is None:
            found.required(at, "must be set when seccomp type is Localhost")
        else:
            check_relative_path(found, profile.localhost_profile, at)
    elif profile.localhost_profile is not None:
        detail = "can only be set when seccomp type is Localhost"
        found.invalid(at, as_internal(profile), detail)


def _check_app_armor(found: Findings, profile: AppArmorProfile | None, path: str) -> None:
    if profile is None:
        return
    at, name = f"{path}.localhostProfile", profile.localhost_profile
    if profile.type == "Localhost":
        if not name:
            found.required(at, "must be set when AppArmor type is Localhost")
        elif name.strip() != name:
            found.invalid(at, name, "must not be padded with whitespace")
        if name is not None and byte_length(name) > APP_ARMOR_PROFILE_BYTES_MAX:
            found.too_long(at, APP_ARMOR_PROFILE_BYTES_MAX)
    elif profile.type in _PROFILE_TYPES:
        if name is not None:
            found.invalid(at, name, "can only be set when AppArmor type is Localhost")
    elif not profile.type:
        found.required(f"{path}.type", "type is required when appArmorProfile is set")
    else:
        found.not_supported(f"{path}.type", profile.type, _PROFILE_TYPES)
