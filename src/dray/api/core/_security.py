"""Under which users and with which privileges the processes of a pod run.

Upstream counterpart: SecurityContext and PodSecurityContext in k8s.io/api/core/v1.
"""

from __future__ import annotations

from msgspec import field

from dray.api.wire import Int64, Struct, always

__all__ = [
    "AppArmorProfile",
    "Capabilities",
    "PodSecurityContext",
    "SELinuxOptions",
    "SeccompProfile",
    "SecurityContext",
    "Sysctl",
    "WindowsSecurityContextOptions",
]


class Capabilities(Struct):
    """Linux capabilities beside the default ones."""

    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class SELinuxOptions(Struct):
    """A label of SELinux."""

    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


class WindowsSecurityContextOptions(Struct):
    """What only Windows knows."""

    gmsa_credential_spec_name: str | None = None
    gmsa_credential_spec: str | None = None
    run_as_user_name: str | None = None
    host_process: bool | None = None


class SeccompProfile(Struct):
    """Which system calls are allowed."""

    type: str = always("")
    localhost_profile: str | None = None


class AppArmorProfile(Struct):
    """Which profile of AppArmor applies."""

    type: str = always("")
    localhost_profile: str | None = None


class Sysctl(Struct):
    """A parameter of the kernel."""

    name: str = always("")
    value: str = always("")


class SecurityContext(Struct):
    """A container's own; it goes before the pod's."""

    capabilities: Capabilities | None = None
    privileged: bool | None = None
    selinux_options: SELinuxOptions | None = field(default=None, name="seLinuxOptions")
    windows_options: WindowsSecurityContextOptions | None = None
    run_as_user: Int64 | None = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    read_only_root_filesystem: bool | None = None
    allow_privilege_escalation: bool | None = None
    proc_mount: str | None = None
    seccomp_profile: SeccompProfile | None = None
    app_armor_profile: AppArmorProfile | None = None


class PodSecurityContext(Struct):
    """What holds for all containers."""

    selinux_options: SELinuxOptions | None = field(default=None, name="seLinuxOptions")
    windows_options: WindowsSecurityContextOptions | None = None
    run_as_user: Int64 | None = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    supplemental_groups: tuple[Int64, ...] = ()
    supplemental_groups_policy: str | None = None
    fs_group: Int64 | None = None
    sysctls: tuple[Sysctl, ...] = ()
    fs_group_change_policy: str | None = None
    seccomp_profile: SeccompProfile | None = None
    app_armor_profile: AppArmorProfile | None = None
    selinux_change_policy: str | None = field(default=None, name="seLinuxChangePolicy")
