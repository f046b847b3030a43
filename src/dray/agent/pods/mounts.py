"""Mounts that a node makes for its pods, and how to be rid of them.

They are below the pods' own directories and are found there again: whatever removes such a
directory asks here first, because removing through a mount would remove what it shows. Upstream
counterpart: k8s.io/mount-utils.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
from pathlib import Path
from typing import Final

__all__ = ["bind", "detach", "detach_below", "may_mount", "mount_memory", "mounts_below"]

_MS_NOSUID: Final = 0x2
_MS_NODEV: Final = 0x4
_MS_BIND: Final = 0x1000
_MNT_DETACH: Final = 2
_UMOUNT_NOFOLLOW: Final = 8

_TABLE: Final = Path("/proc/self/mountinfo")
_TABLE_POINT: Final = 4  # the field of a line that says where
_ESCAPE: Final = re.compile(rb"\\([0-7]{3})")

_STATUS: Final = Path("/proc/self/status")
_CAPABILITIES: Final = re.compile(r"^CapEff:\s*([0-9a-f]+)$", re.MULTILINE)
_CAP_SYS_ADMIN: Final = 21

_libc: Final = ctypes.CDLL(None, use_errno=True)


def may_mount() -> bool:
    """Whether the kernel lets us: root in a container often may not."""
    found = _CAPABILITIES.search(_STATUS.read_text())
    return found is not None and bool(int(found[1], 16) >> _CAP_SYS_ADMIN & 1)


def bind(descriptor: int, target: Path) -> None:
    """Show at a path what is open, whatever its name leads to by now."""
    # Of this process alone, which is the one that asks the kernel.
    source = f"/proc/self/fd/{descriptor}".encode()
    flags = ctypes.c_ulong(_MS_BIND)
    if _libc.mount(source, os.fsencode(target), None, flags, None) != 0:
        raise _failure(f"mount {target}")


def mount_memory(target: Path, *, mode: int, group: int | None, bytes_max: int) -> None:
    """Have a directory in memory, for so much; without a number, for what the kernel thinks."""
    options = [f"mode={mode:o}"]
    options += [] if group is None else [f"gid={group}"]
    options += [f"size={bytes_max}"] if bytes_max else []
    data = ",".join(options).encode()
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV)
    if _libc.mount(b"tmpfs", os.fsencode(target), b"tmpfs", flags, data) != 0:
        raise _failure(f"mount {target}")


def detach(target: Path) -> None:
    """Take away all that is mounted at a path; containers that see it go on seeing it."""
    flags = ctypes.c_int(_MNT_DETACH | _UMOUNT_NOFOLLOW)
    while _libc.umount2(os.fsencode(target), flags) == 0:
        pass
    if ctypes.get_errno() not in (errno.EINVAL, errno.ENOENT):
        raise _failure(f"unmount {target}")


def detach_below(directory: Path) -> None:
    """Take away all that is mounted at a directory or below it, or raise OSError."""
    for point in reversed(mounts_below(directory)):
        detach(point)
    left = mounts_below(directory)
    if left:
        raise OSError(errno.EBUSY, f"{left[0]} is still mounted")


def mounts_below(directory: Path) -> list[Path]:
    """Where something is mounted, from the top down."""
    top = directory.resolve()
    lines = (line.split(b" ") for line in _TABLE.read_bytes().splitlines())
    points = (_unescaped(fields[_TABLE_POINT]) for fields in lines)
    return sorted({point for point in points if point.is_relative_to(top)})


def _unescaped(text: bytes) -> Path:
    return Path(os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), text)))


def _failure(call: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")
