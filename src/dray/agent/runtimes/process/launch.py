"""From a container's configuration to what its supervisor does: checked, complete, and plain JSON.

What this host cannot give is refused here, before anything runs, with a sentence that names it.

Mounts need a mount namespace, which root can make. Without one, a mount that shows a path where it
is already is granted (read only or not: nobody can keep it), and every other is refused, unless the
runtime was told to ignore mounts. The same holds for device nodes. A container of root keeps all
capabilities but those it drops: this runtime isolates nobody from the host.
"""

from __future__ import annotations

import grp
import os
import pwd
import signal
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dray.agent.runtimes.failures import CREATE_CONTAINER_ERROR, RuntimeFailed
from dray.agent.runtimes.runtime import ContainerConfig
from dray.api.cdi import ContainerEdits, DeviceNode

__all__ = ["DEFAULT_PATH", "Privileges", "build_launch", "find_privileges", "stop_signal_of"]

DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Images whose program waits and does nothing; they need no command.
_PAUSE_IMAGE: Final = "pause"

_OCI_VERSION: Final = "1.0.2"

# As in linux/capability.h, in order.
_CAPABILITIES: Final = (
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID",
    "SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW",
    "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT",
    "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD",
    "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG",
    "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Privileges:
    """What the agent may do on this host."""

    is_root: bool
    has_namespaces: bool  # may make mount namespaces
    user: int


def find_privileges() -> Privileges:
    """Those of this process."""
    user = os.geteuid()
    return Privileges(is_root=user == 0, has_namespaces=_has_admin(), user=user)


def build_launch(
    container_id: str,
    config: ContainerConfig,
    edits: ContainerEdits,
    privileges: Privileges,
    *,
    hostname: str,
    log_path: str,
    directory: Path,
    cgroup: str = "",
    supervisors_cgroup: str = "",
    annotations: Mapping[str, str] | None = None,
    ignore_mounts: bool = False,
) -> dict[str, Any]:
    """What the supervisor reads. Raises RuntimeFailed for what cannot be done here."""
    if edits.net_devices:
        raise _refused("CDI network devices need a network namespace, which containers here lack")
    if edits.intel_rdt is not None:
        raise _refused("CDI edits of Intel RDT are not supported for processes")
    mounts = [
        {
            "source": mount.host_path,
            "target": mount.container_path,
            "type": "",
            "options": ["ro"] if mount.read_only else [],
        }
        for mount in config.mounts
    ] + [
        {
            "source": mount.host_path,
            "target": mount.container_path,
            "type": mount.type,
            "options": list(mount.options),
        }
        for mount in edits.mounts
    ]
    devices = [_device(node) for node in edits.device_nodes]
    if privileges.has_namespaces:
        _check_sources(mounts, devices)
    else:
        _check_granted(mounts, devices, ignore_mounts=ignore_mounts)
        if config.read_only_root and not ignore_mounts:
            raise _refused("a read-only root needs a mount namespace, which only root can make")
        mounts, devices = [], []
    uid, gid, groups = _user(config, edits, privileges)
    return {
        "argv": _command(config),
        "env": _environment(config, edits),
        "cwd": config.working_directory,
        "uid": uid,
        "gid": gid,
        "groups": groups,
        "dropCapabilities": _dropped(config) if privileges.is_root else [],
        "noNewPrivileges": config.no_new_privileges,
        "hostname": hostname if privileges.has_namespaces else "",
        "stdin": config.stdin,
        "stdinOnce": config.stdin_once,
        "tty": config.tty,
        "log": log_path,
        "cgroup": cgroup,
        "supervisorsCgroup": supervisors_cgroup,
        "namespace": privileges.has_namespaces,
        "mounts": mounts,
        "devices": devices,
        "readOnlyRoot": config.read_only_root and privileges.has_namespaces,
        "oomScoreAdjustment": config.oom_score_adjustment,
        "hooks": [
            {
                "name": hook.hook_name,
                "path": hook.path,
                "args": list(hook.args),
                "env": list(hook.env),
                "timeout": hook.timeout,
            }
            for hook in edits.hooks
        ],
        "state": {
            "ociVersion": _OCI_VERSION,
            "id": container_id,
            "bundle": str(directory),
            "annotations": {**(annotations or {}), **config.annotations},
        },
    }


def stop_signal_of(config: ContainerConfig) -> int:
    """The number of the signal that asks the container to end. Raises RuntimeFailed."""
    name = config.stop_signal or "SIGTERM"
    try:
        return signal.Signals[name if name.startswith("SIG") else f"SIG{name}"]
    except KeyError:
        raise _refused(f"stop signal {name} is no signal of this host") from None


# What to run -----------------------------------------------------------------------------------


def _command(config: ContainerConfig) -> list[str] | None:
    """The command, None for one that waits and does nothing."""
    if config.command:
        return [*config.command, *config.arguments]
    repository = config.image.partition("@")[0].rsplit("/", 1)[-1].partition(":")[0]
    if repository == _PAUSE_IMAGE and not config.arguments:
        return None
    raise _refused(
        f"container {config.name} has no command: images are not pulled on this node, so what "
        f"{config.image} would run is not known; set its command (kubectl: --command -- ...), or "
        f"have a container runtime run pods (--runtime cri)"
    )


def _environment(config: ContainerConfig, edits: ContainerEdits) -> list[tuple[str, str]]:
    """As given, later ones over earlier ones; CDI's come last, as in any runtime."""
    found = {"PATH": DEFAULT_PATH} | dict(config.environment)
    for variable in edits.env:
        name, _, value = variable.partition("=")
        found[name] = value
    for name, value in found.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise _refused(f"variable {name!r} of container {config.name} cannot be set")
    return list(found.items())


def _user(
    config: ContainerConfig, edits: ContainerEdits, privileges: Privileges
) -> tuple[int | None, int | None, list[int] | None]:
    uid, gid = config.run_as_user, config.run_as_group
    extra = [*config.supplemental_groups, *edits.additional_gids]
    if not privileges.is_root:
        if uid not in (None, privileges.user):
            raise _refused(
                f"container {config.name} is to run as user {uid}, but the node runs as "
                f"{privileges.user} and cannot change that"
            )
        return None, None, None
    if uid is None and gid is None and not extra:
        return None, None, None
    if gid is None:
        gid = _primary_group(uid) if uid is not None else 0
    return uid, gid, list(dict.fromkeys([*_groups_of(uid), *extra]))


def _primary_group(uid: int) -> int:
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return 0


def _groups_of(uid: int | None) -> list[int]:
    try:
        name = pwd.getpwuid(0 if uid is None else uid).pw_name
    except KeyError:
        return []
    return [group.gr_gid for group in grp.getgrall() if name in group.gr_mem]


def _dropped(config: ContainerConfig) -> list[int]:
    kept = {name.upper().removeprefix("CAP_") for name in config.add_capabilities}
    dropped = {name.upper().removeprefix("CAP_") for name in config.drop_capabilities}
    if config.privileged or "ALL" in kept:
        return []
    return [
        number
        for number, name in enumerate(_CAPABILITIES)
        if name not in kept and (name in dropped or "ALL" in dropped)
    ]


# What it sees ----------------------------------------------------------------------------------


def _device(node: DeviceNode) -> dict[str, Any]:
    return {
        "path": node.path,
        "hostPath": node.host_path or node.path,
        "type": node.type,
        "major": node.major,
        "minor": node.minor,
        "fileMode": stat.S_IMODE(node.file_mode or 0),
        "uid": node.uid or 0,
        "gid": node.gid or 0,
    }


def _check_sources(mounts: list[dict[str, Any]], devices: list[dict[str, Any]]) -> None:
    for mount in mounts:
        _check_path("mount", mount["target"])
        if mount["type"] in ("", "bind") and not os.path.lexists(mount["source"]):
            raise _refused(f"mount {mount['target']}: {mount['source']} does not exist")
    for device in devices:
        _check_path("device", device["path"])
        # With type and numbers given, the node can be made.
        if not device["type"] and not os.path.exists(device["hostPath"]):
            raise _refused(f"device {device['path']}: {device['hostPath']} does not exist")


TOKEN_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path


def _check_granted(
    mounts: list[dict[str, Any]], devices: list[dict[str, Any]], *, ignore_mounts: bool
) -> None:
    for device in devices:
        _check_path("device", device["path"])
        if not os.path.exists(device["hostPath"]):
            raise _refused(f"device {device['path']}: {device['hostPath']} does not exist")
        if device["path"] != device["hostPath"] and not ignore_mounts:
            raise _refused(
                f"device {device['path']} is {device['hostPath']} on this host: showing it "
                "elsewhere needs a mount namespace, which only root can make"
            )
    for mount in mounts:
        _check_path("mount", mount["target"])
        source, target = (os.path.realpath(mount[key]) for key in ("source", "target"))
        if ignore_mounts or (source == target and os.path.lexists(source)):
            continue
        if mount["target"] == TOKEN_MOUNT_PATH:
            # Every pod gets it unless it says otherwise, and few read it. Nobody could run pods on
            # their own machine if it were refused.
            continue
        raise _refused(
            f"mount {mount['target']}: showing {mount['source']} there needs a mount namespace, "
            "which only root can make"
        )


def _check_path(noun: str, path: str) -> None:
    if not path.startswith("/") or ".." in path.split("/"):
        raise _refused(f"{noun} {path}: must be an absolute path without '..'")


def _has_admin() -> bool:
    """Whether the kernel lets us make mount namespaces: CAP_SYS_ADMIN, in effect."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return False
    effective = next((line for line in lines if line.startswith("CapEff:")), "CapEff: 0")
    return bool(int(effective.split()[1], 16) >> _CAPABILITIES.index("SYS_ADMIN") & 1)


def _refused(message: str) -> RuntimeFailed:
    return RuntimeFailed(message, reason=CREATE_CONTAINER_ERROR)
