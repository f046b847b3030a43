"""Mounts and devices of one container, in a mount namespace of its own.

Nothing is ever written to the host's tree: where a mount point does not exist, its nearest existing
directory is replaced, in the namespace alone, by a tmpfs that holds the same entries (each bound
from the original) and has room for more. Files made in such a directory end with the container. A
mount inside another mount gets its mount point made there, as any container runtime does.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from dray.agent.runtimes.process.shim import kernel

__all__ = ["enter_namespace"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Each entry of a replaced directory is a mount; more than these, and starting would take seconds.
ENTRIES_MAX = 4096
# Room for mount points, and for what a container drops beside them.
STAGE_OPTIONS = "mode=755,size=64m"

# No place to make files in: the kernel decides what is there.
_KERNEL_TREES = ("/proc", "/sys")

_FLAGS = {
    "ro": kernel.MS_RDONLY,
    "nosuid": kernel.MS_NOSUID,
    "nodev": kernel.MS_NODEV,
    "noexec": kernel.MS_NOEXEC,
}


def enter_namespace(launch: dict[str, Any], stage: str) -> None:
    """Leave the host's mounts for those of the launch. Raises OSError with a sentence."""
    kernel.unshare(kernel.CLONE_NEWNS | (kernel.CLONE_NEWUTS if launch["hostname"] else 0))
    if launch["hostname"]:
        import socket  # noqa: PLC0415 - loaded by then, except in tests

        socket.sethostname(launch["hostname"])
    # What the host mounts later is seen, what is mounted here is not seen there.
    kernel.mount("", "/", flags=kernel.MS_REC | kernel.MS_SLAVE)
    mounts = sorted(
        ({**mount, "target": os.path.realpath(mount["target"])} for mount in launch["mounts"]),
        key=lambda mount: mount["target"].count("/") if mount["target"] != "/" else 0,
    )
    devices = [{**device, "path": os.path.realpath(device["path"])} for device in launch["devices"]]
    _make_room([*(m["target"] for m in mounts), *(d["path"] for d in devices)], stage)
    for mount in mounts:
        _apply(mount)
    for device in devices:
        _make_device(device)
    if launch["readOnlyRoot"]:
        flags = kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY
        kernel.mount("", "/", flags=flags)


def _make_room(targets: list[str], stage: str) -> None:
    """Have a directory to make each missing mount point in."""
    made: list[str] = []
    for target in targets:
        if os.path.lexists(target):
            made.append(target)
            continue
        if any(target.startswith(f"{other}/") for other in made):
            continue  # the mount it is inside of holds it
        ancestor = os.path.dirname(target)
        while not os.path.isdir(ancestor):
            ancestor = os.path.dirname(ancestor)
        if any(ancestor == tree or ancestor.startswith(f"{tree}/") for tree in _KERNEL_TREES):
            raise OSError(0, f"{target} does not exist, and cannot be made below {ancestor}")
        _replace_directory(ancestor, stage)
        # Made at once: the next target may be beside it.
        os.makedirs(os.path.dirname(target), exist_ok=True)
        made.append(target)


def _replace_directory(directory: str, stage: str) -> None:
    """Put a tmpfs in its place that shows the same, and can be written to."""
    entries = sorted(os.listdir(directory))
    if len(entries) > ENTRIES_MAX:
        raise OSError(0, f"no mount point can be made in {directory}: it has too many entries")
    os.makedirs(stage, exist_ok=True)
    kernel.mount("tmpfs", stage, "tmpfs", data=STAGE_OPTIONS)
    # Or binding what contains the stage would bind the stage into itself.
    kernel.mount("", stage, flags=kernel.MS_UNBINDABLE)
    for entry in entries:
        source, target = os.path.join(directory, entry), f"{stage}/{entry}"
        # What vanished meanwhile need not be shown.
        with suppress(FileNotFoundError):
            mode = os.lstat(source).st_mode
            if stat.S_ISLNK(mode):
                os.symlink(os.readlink(source), target)
                continue
            _make_point(target, is_directory=stat.S_ISDIR(mode))
            kernel.mount(source, target, flags=kernel.MS_BIND | kernel.MS_REC)
    there = os.stat(directory)
    os.chown(stage, there.st_uid, there.st_gid)
    os.chmod(stage, stat.S_IMODE(there.st_mode))
    if directory == "/":
        kernel.pivot_root(stage)
    else:
        kernel.mount(stage, directory, flags=kernel.MS_MOVE)


def _apply(mount: dict[str, Any]) -> None:
    source, target, kind = mount["source"], mount["target"], mount["type"]
    options = mount["options"]
    flags = 0
    for option in options:
        flags |= _FLAGS.get(option, 0)
    if kind not in ("", "bind"):
        # Of a file system, a tmpfs for instance.
        _make_point(target, is_directory=True)
        known = (*_FLAGS, "rw", "bind", "rbind", "private", "rprivate", "slave", "rslave")
        data = ",".join(option for option in options if option not in known)
        kernel.mount(source or kind, target, kind, flags, data)
        return
    if not os.path.exists(source):
        raise OSError(0, f"mount {target}: {source} does not exist on this host")
    _make_point(target, is_directory=os.path.isdir(source))
    kernel.mount(source, target, flags=kernel.MS_BIND | kernel.MS_REC)
    if flags:
        kernel.mount("", target, flags=kernel.MS_BIND | kernel.MS_REMOUNT | flags)


def _make_device(device: dict[str, Any]) -> None:
    source, path = device["hostPath"], device["path"]
    if os.path.exists(source):
        if os.path.realpath(source) != path:
            _make_point(path, is_directory=False)
            kernel.mount(source, path, flags=kernel.MS_BIND)
        return
    kinds = {"b": stat.S_IFBLK, "c": stat.S_IFCHR, "u": stat.S_IFCHR, "p": stat.S_IFIFO}
    kind = kinds.get(device["type"])
    if kind is None:
        raise OSError(0, f"device {path}: {source} does not exist on this host")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = device["fileMode"] or 0o660
    os.mknod(path, kind | mode, os.makedev(device["major"], device["minor"]))
    os.chmod(path, mode)
    os.chown(path, device["uid"], device["gid"])


def _make_point(path: str, *, is_directory: bool) -> None:
    """A place to mount on."""
    if os.path.lexists(path):
        return
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if is_directory:
            os.mkdir(path)
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
    except OSError as error:
        raise OSError(0, f"mount point {path} cannot be made: {error.strerror}") from error
