"""Calls of Linux that Python has no function for in every version that dray runs on."""

from __future__ import annotations

import ctypes
import os

__all__ = [
    "CLONE_NEWNS",
    "CLONE_NEWUTS",
    "MS_BIND",
    "MS_MOVE",
    "MS_NODEV",
    "MS_NOEXEC",
    "MS_NOSUID",
    "MS_PRIVATE",
    "MS_RDONLY",
    "MS_REC",
    "MS_REMOUNT",
    "MS_SLAVE",
    "MS_UNBINDABLE",
    "become_subreaper",
    "die_with_parent",
    "drop_capability",
    "gain_no_privileges",
    "mount",
    "pivot_root",
    "set_namespace",
    "unshare",
]

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_MOVE = 0x2000
MS_REC = 0x4000
MS_UNBINDABLE = 0x20000
MS_PRIVATE = 0x40000
MS_SLAVE = 0x80000

_PR_SET_PDEATHSIG = 1
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_MNT_DETACH = 2

# The number of pivot_root, for which libc has no function.
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Leave namespaces for new ones."""
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def set_namespace(descriptor: int, kind: int) -> None:
    """Enter the namespace that is open."""
    _check(_libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount; what is empty is not passed on."""
    result = _libc.mount(
        _text(source), _text(target), _text(kind), ctypes.c_ulong(flags), _text(data)
    )
    _check(result, f"mount {target}")


def pivot_root(new_root: str) -> None:
    """Make a mount the root, and let go of the one that was."""
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(0, f"pivot_root is not known on {os.uname().machine}")
    os.chdir(new_root)
    _check(_libc.syscall(ctypes.c_long(number), b".", b"."), f"pivot_root {new_root}")
    _check(_libc.umount2(b".", ctypes.c_int(_MNT_DETACH)), "umount2")
    os.chdir("/")


def become_subreaper() -> None:
    """Orphans among the descendants become children of this process, not of init."""
    _check(_prctl(_PR_SET_CHILD_SUBREAPER, 1), "prctl")


def die_with_parent(signal: int) -> None:
    """Get this signal when the parent ends, however it does."""
    _check(_prctl(_PR_SET_PDEATHSIG, signal), "prctl")


def drop_capability(number: int) -> None:
    """Never have this capability again, nor anyone this process becomes."""
    _check(_prctl(_PR_CAPBSET_DROP, number), "prctl")


def gain_no_privileges() -> None:
    """Never gain privileges by executing: files that would give some give none."""
    _check(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "prctl")


def _prctl(option: int, value: int) -> int:
    zero = ctypes.c_ulong(0)
    result: int = _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero)
    return result


def _text(value: str) -> bytes | None:
    return os.fsencode(value) if value else None


def _check(result: int, call: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
