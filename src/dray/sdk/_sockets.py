"""Unix sockets of a driver: how long their names may be, and who listens at one already.

A socket file that a killed process left is in the way of its successor and goes; one that somebody
listens at stays. During rolling updates each instance has its own names, with its pod's UID in
them. Upstream counterpart: kubeletplugin's endpoint.go and draplugin.go.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from dray.errors import ConfigurationError

__all__ = [
    "SOCKET_PATH_BYTES_MAX",
    "clear_path",
    "clear_siblings",
    "registration_socket",
    "remove_socket",
    "service_socket",
]

# The kernel's sun_path has 108 bytes, the last of which is NUL.
SOCKET_PATH_BYTES_MAX: Final = 107


def service_socket(directory: Path, pod_uid: str = "") -> Path:
    """Where a driver serves. Raises ConfigurationError if no socket can have that path."""
    path = directory.absolute() / (f"dra-{pod_uid}.sock" if pod_uid else "dra.sock")
    _check_length(path)
    return path


def registration_socket(directory: Path, driver: str, pod_uid: str = "") -> Path:
    """Where a driver says who it is: the first name, of upstream's three, that fits."""
    base = directory.absolute()
    names = [f"{driver}-reg.sock"]
    if pod_uid:
        names = [
            f"{driver}-{pod_uid}-reg.sock",
            f"{driver}-{_digest(pod_uid, 8)}-reg.sock",
            f"dra-{_digest(chr(0).join((driver, pod_uid)), 16)}-reg.sock",
        ]
    fitting = [name for name in names if len(os.fsencode(base / name)) <= SOCKET_PATH_BYTES_MAX]
    path = base / (fitting[0] if fitting else names[-1])
    _check_length(path)
    return path


def _digest(text: str, length: int) -> str:
    raw = hashlib.sha256(text.encode()).digest()[:length]
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _check_length(path: Path) -> None:
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_BYTES_MAX:
        raise ConfigurationError(
            f"socket {path} has a path of {length} bytes, of {SOCKET_PATH_BYTES_MAX} at most:"
            " use a directory with a shorter path"
        )


async def clear_path(path: Path) -> None:
    """Remove a socket that nobody listens at any more. Raises ConfigurationError for one in use."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ConfigurationError(f"{path} is in the way, and is no socket")
    if await _is_listened_at(path):
        raise ConfigurationError(f"another process listens at {path}")
    remove_socket(path)


async def clear_siblings(registry: Path, plugin: Path, driver: str) -> tuple[Path, ...]:
    """Remove the sockets of earlier instances that were killed; returns which.

    In a rolling update each instance has names of its own, so nobody else would ever remove them,
    and a node goes on trying to reach whoever was there.
    """
    name = re.escape(driver)
    found = [
        *_matching(registry, rf"{name}-([0-9a-f-]{{36}}|[\w-]{{11}})-reg\.sock"),
        *_matching(plugin, r"dra-[\w.-]+\.sock"),
    ]
    removed = []
    for path in found:
        if not await _is_listened_at(path):
            remove_socket(path)
            removed.append(path)
    return tuple(removed)


def _matching(directory: Path, pattern: str) -> list[Path]:
    names = re.compile(pattern, re.ASCII)
    if not directory.is_dir():
        return []
    return sorted(
        path for path in directory.iterdir() if names.fullmatch(path.name) and path.is_socket()
    )


async def _is_listened_at(path: Path) -> bool:
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except OSError:
        # Somebody is there who has no time, or we may not ask: not ours to remove.
        return True
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True


def remove_socket(path: Path) -> None:
    """Remove a socket's file, if it is still there."""
    path.unlink(missing_ok=True)
