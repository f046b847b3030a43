"""CDI without a runtime that knows it: edits of devices, written into a container's configuration.

CRI can say variables, mounts, device nodes and groups. What it cannot (hooks, network interfaces,
cache classes, mounts of other file systems) is refused: a container that lacks half of its device
is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dray.agent.runtimes.failures import CREATE_CONTAINER_ERROR, RuntimeFailed
from dray.api.cdi import ContainerEdits, DeviceNode, Mount
from dray.proto import cri_v1_pb2 as cri

__all__ = ["apply_edits"]

DEFAULT_PERMISSIONS: Final = "rwm"

_PROPAGATION: Final = {
    "rslave": cri.PROPAGATION_HOST_TO_CONTAINER,
    "slave": cri.PROPAGATION_HOST_TO_CONTAINER,
    "rshared": cri.PROPAGATION_BIDIRECTIONAL,
    "shared": cri.PROPAGATION_BIDIRECTIONAL,
}


def apply_edits(message: cri.ContainerConfig, edits: ContainerEdits) -> None:
    """Write the edits into the message, which names no CDI devices any more. Raises RuntimeFailed.

    As a runtime does it: of variables the last of a name wins, and what is mounted at a path
    replaces what was to be mounted there.
    """
    refused = list(_refused(edits))
    if refused:
        raise RuntimeFailed(
            f"container {message.metadata.name}: this runtime has no CDI, and without it a "
            f"container cannot have {', '.join(refused)}",
            reason=CREATE_CONTAINER_ERROR,
        )
    del message.CDI_devices[:]
    _set_variables(message, edits.env)
    for mount in edits.mounts:
        _set_mount(message, mount)
    for node in edits.device_nodes:
        _set_device(message, node)
    groups = message.linux.security_context.supplemental_groups
    groups.extend(group for group in edits.additional_gids if group not in groups)


def _refused(edits: ContainerEdits) -> Iterator[str]:
    for hook in edits.hooks:
        yield f"{hook.hook_name} hook {hook.path}"
    for interface in edits.net_devices:
        yield f"network interface {interface.host_interface_name}"
    if edits.intel_rdt is not None:
        yield "a class of Intel's resource director"
    for mount in edits.mounts:
        if mount.type not in ("", "bind", "none"):
            yield f"a mount of type {mount.type} at {mount.container_path}"
    for node in edits.device_nodes:
        if node.type == "p":
            yield f"a named pipe at {node.path}"


def _set_variables(message: cri.ContainerConfig, pairs: tuple[str, ...]) -> None:
    added = dict(pair.split("=", 1) for pair in pairs)
    kept = [variable for variable in message.envs if variable.key not in added]
    del message.envs[:]
    message.envs.extend(kept)
    message.envs.extend(
        cri.KeyValue(key=name, value=value.encode("utf-8", "surrogateescape"))
        for name, value in added.items()
    )


def _set_mount(message: cri.ContainerConfig, mount: Mount) -> None:
    kept = [other for other in message.mounts if other.container_path != mount.container_path]
    del message.mounts[:]
    message.mounts.extend(kept)
    message.mounts.add(
        container_path=mount.container_path,
        host_path=mount.host_path,
        readonly="ro" in mount.options,
        propagation=next(
            (_PROPAGATION[option] for option in mount.options if option in _PROPAGATION),
            cri.PROPAGATION_PRIVATE,
        ),
    )


def _set_device(message: cri.ContainerConfig, node: DeviceNode) -> None:
    kept = [other for other in message.devices if other.container_path != node.path]
    del message.devices[:]
    message.devices.extend(kept)
    message.devices.add(
        container_path=node.path,
        host_path=node.host_path or node.path,
        permissions=node.permissions or DEFAULT_PERMISSIONS,
    )
