"""Files of a volume that change together, or not at all.

As a kubelet writes them: the files are in a directory of their own that the link `..data` points
to, and what a container sees are links through it. A new version is written beside and the one link
is moved, so a reader has the old version or the new. Upstream counterpart:
pkg/volume/util/atomic_writer.go.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from dray.agent.pods.starting import ConfigFailed

__all__ = ["VolumeFile", "write_payload"]

_DATA: Final = "..data"
_DATA_NEXT: Final = "..data_tmp"
_VERSION: Final = re.compile(r"\.\.version_([0-9]+)")


@dataclass(frozen=True, slots=True)
class VolumeFile:
    """What a file holds, and who may read it."""

    data: bytes
    mode: int = 0o644
    user: int | None = None  # whose it is; the agent's if nobody's


def write_payload(
    directory: Path, payload: Mapping[str, VolumeFile], *, group: int | None = None
) -> bool:
    """Let a volume hold these files, by their paths in it; returns whether anything changed."""
    for path in payload:
        _check(path)
    directory.mkdir(parents=True, exist_ok=True, mode=0o755)
    current = directory / _DATA
    old = _version(current)
    if old and current.is_dir() and _holds(current, payload):
        _link(directory, payload)
        return False
    fresh = directory / _next_name(old)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o755)
    for path, file in payload.items():
        target = fresh / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        target.write_bytes(file.data)
        # A group of the pod reads what its owner reads.
        mode = file.mode | 0o040 if group is not None else file.mode
        target.chmod(mode)
        if os.geteuid() == 0:
            owners = (-1 if one is None else one for one in (file.user, group))
            os.chown(target, *owners)
    with suppress(FileNotFoundError):
        (directory / _DATA_NEXT).unlink()
    (directory / _DATA_NEXT).symlink_to(fresh.name)
    (directory / _DATA_NEXT).replace(current)
    _link(directory, payload)
    if old and old != fresh.name:
        shutil.rmtree(directory / old, ignore_errors=True)
    return True


def _check(path: str) -> None:
    parts = PurePosixPath(path)
    if not parts.parts or parts.is_absolute() or ".." in parts.parts or path.startswith(".."):
        raise ConfigFailed(f"invalid path: {path!r} must be inside of its volume")
    if "\0" in path:
        raise ConfigFailed(f"invalid path: {path!r} has a NUL character, which no path has")


def _holds(current: Path, payload: Mapping[str, VolumeFile]) -> bool:
    """Whether the files there are the same, no more and no less."""
    present = {
        path.relative_to(current).as_posix() for path in current.rglob("*") if path.is_file()
    }
    return present == set(payload) and all(
        (current / path).read_bytes() == file.data for path, file in payload.items()
    )


def _link(directory: Path, payload: Mapping[str, VolumeFile]) -> None:
    """Show the files at the top of the volume, and nothing that is no more."""
    wanted = {PurePosixPath(path).parts[0] for path in payload}
    for name in sorted(wanted):
        link = directory / name
        if not link.is_symlink():
            link.symlink_to(f"{_DATA}/{name}")
    for entry in directory.iterdir():
        if entry.is_symlink() and not entry.name.startswith("..") and entry.name not in wanted:
            entry.unlink()


def _version(current: Path) -> str:
    """The directory that holds what is seen now, empty if there is none.

    What is there may be a container's work, in a volume it could once write to. A link to anywhere
    else is nothing of ours: following it would remove what it points to.
    """
    old = os.readlink(current) if current.is_symlink() else ""
    return old if _VERSION.fullmatch(old) else ""


def _next_name(old: str) -> str:
    found = _VERSION.fullmatch(old)
    return f"..version_{int(found[1]) + 1 if found else 1}"
