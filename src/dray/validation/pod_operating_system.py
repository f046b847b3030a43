"""What one operating system has and another has not, and whose users a pod's processes are.

Upstream counterparts: validateOS, validateLinux, validateWindows, validateWindowsHostProcessPod
and validateHostUsers in pkg/apis/core/validation.
"""

from __future__ import annotations

from typing import Final

from dray.api.carried import read_part
from dray.api.core import PodSpec
from dray.api.core.parts import PodSecurityContext, SecurityContext, VolumeDevice
from dray.validation.findings import Findings
from dray.validation.pod_leniency import Leniency
from dray.validation.pod_visits import containers_of

__all__ = ["check_host_processes", "check_host_users", "check_operating_system"]

_OPERATING_SYSTEMS: Final = ("linux", "windows")

_NOT_IN_WINDOWS: Final = "cannot be set for a windows pod"
_NOT_OF_WINDOWS_PODS: Final = (
    ("app_armor_profile", "appArmorProfile"),
    ("selinux_options", "seLinuxOptions"),
    ("seccomp_profile", "seccompProfile"),
    ("fs_group", "fsGroup"),
    ("fs_group_change_policy", "fsGroupChangePolicy"),
    ("sysctls", "sysctls"),
    ("run_as_user", "runAsUser"),
    ("run_as_group", "runAsGroup"),
    ("supplemental_groups", "supplementalGroups"),
    ("supplemental_groups_policy", "supplementalGroupsPolicy"),
    ("selinux_change_policy", "seLinuxChangePolicy"),
)
_NOT_OF_WINDOWS_CONTAINERS: Final = (
    ("app_armor_profile", "appArmorProfile"),
    ("selinux_options", "seLinuxOptions"),
    ("seccomp_profile", "seccompProfile"),
    ("capabilities", "capabilities"),
    ("read_only_root_filesystem", "readOnlyRootFilesystem"),
    ("privileged", "privileged"),
    ("allow_privilege_escalation", "allowPrivilegeEscalation"),
    ("proc_mount", "procMount"),
    ("run_as_user", "runAsUser"),
    ("run_as_group", "runAsGroup"),
)


def check_operating_system(found: Findings, spec: PodSpec, path: str) -> None:
    """The system a pod says it is made for, and what it may then not ask for."""
    if spec.os is None:
        return
    if not spec.os.name:
        found.required(f"{path}.os.name")
    elif spec.os.name not in _OPERATING_SYSTEMS:
        found.not_supported(f"{path}.os", spec.os.name, _OPERATING_SYSTEMS)
    elif spec.os.name == "linux":
        _check_linux(found, spec, path)
    else:
        _check_windows(found, spec, path)


def _check_linux(found: Findings, spec: PodSpec, path: str) -> None:
    detail = "windows options cannot be set for a linux pod"
    context = read_part(spec.security_context, PodSecurityContext)
    if context is not None and context.windows_options is not None:
        found.forbidden(f"{path}.securityContext.windowsOptions", detail)
    for container, at in containers_of(spec, path):
        own = read_part(container.security_context, SecurityContext)
        if own is not None and own.windows_options is not None:
            found.forbidden(f"{at}.securityContext.windowsOptions", detail)


def _check_windows(found: Findings, spec: PodSpec, path: str) -> None:
    context = read_part(spec.security_context, PodSecurityContext)
    for name, wire_name in _NOT_OF_WINDOWS_PODS:
        if context is not None and getattr(context, name) not in (None, ()):
            found.forbidden(f"{path}.securityContext.{wire_name}", _NOT_IN_WINDOWS)
    for wire_name, given in (
        ("hostUsers", spec.host_users is not None),
        ("hostPID", spec.host_pid),
        ("hostIPC", spec.host_ipc),
        ("shareProcessNamespace", spec.share_process_namespace is not None),
    ):
        if given:
            found.forbidden(f"{path}.{wire_name}", _NOT_IN_WINDOWS)
    for container, at in containers_of(spec, path):
        own = read_part(container.security_context, SecurityContext)
        for name, wire_name in _NOT_OF_WINDOWS_CONTAINERS:
            if own is not None and getattr(own, name) is not None:
                found.forbidden(f"{at}.securityContext.{wire_name}", _NOT_IN_WINDOWS)


def check_host_processes(found: Findings, spec: PodSpec, path: str) -> None:
    """On Windows either all containers are processes of the host, or none."""
    context = read_part(spec.security_context, PodSecurityContext)
    options = context.windows_options if context is not None else None
    wanted = options.host_process if options is not None else None
    total = on_host = 0
    for container, at in containers_of(spec, path):
        total += 1
        own = read_part(container.security_context, SecurityContext)
        options = own.windows_options if own is not None else None
        asked = options.host_process if options is not None else None
        if wanted is not None and asked is not None and wanted != asked:
            detail = (
                "pod hostProcess value must be identical if both are specified, was "
                f"{str(wanted).lower()}"
            )
            found.invalid(f"{at}.securityContext.windowsOptions.hostProcess", asked, detail)
        on_host += bool(wanted if asked is None else asked)
    if not on_host:
        return
    if on_host != total:
        detail = (
            "If pod contains any hostProcess containers then all containers must be HostProcess "
            "containers"
        )
        found.invalid(path, "", detail)
    if not spec.host_network:
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        found.invalid(f"{path}.hostNetwork", False, detail)


def check_host_users(found: Findings, spec: PodSpec, path: str, leniency: Leniency) -> None:
    """A pod with users of its own shares little else with its host."""
    if spec.host_users is not False:
        return
    detail = "when `hostUsers` is false"
    if spec.host_network and not leniency.host_network_without_users:
        found.forbidden(f"{path}.hostNetwork", detail)
    # Upstream's capitals.
    if spec.host_pid:
        found.forbidden(f"{path}.HostPID", detail)
    if spec.host_ipc:
        found.forbidden(f"{path}.HostIPC", detail)
    if leniency.devices_without_users:
        return
    for container, at in containers_of(spec, path):
        if read_part(container.volume_devices, tuple[VolumeDevice, ...]):
            found.forbidden(f"{at}.volumeDevices", detail)
