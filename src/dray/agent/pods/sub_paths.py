"""Parts of volumes that containers mount: found inside the volume, and nowhere else.

Whoever can write to a volume can move things in it while they are looked for, and can put links to
anywhere in their place. So nothing is checked by name and used by name later. Each step is opened
from the one before and follows no link; what was found is bound to a place in the pod's own
directory, and the runtime is told of that place. Links that stay in the volume are resolved first.

Without the right to mount, the runtime can only be told a name. Links are refused then, except in
volumes whose files the cluster writes. A container that swaps a directory at the right moment is
not kept from it: but without root, it could go wherever the agent can anyway. Upstream counterpart:
pkg/volume/util/subpath.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

from dray.agent.pods.mounts import bind, detach
from dray.agent.pods.starting import ConfigFailed

__all__ = ["SUB_PATHS", "hold", "locate"]

# The directory of a pod that has its places, as a kubelet names it.
SUB_PATHS = "volume-subpaths"


def hold(volume: Path, sub_path: str, place: Path) -> Path:
    """Show a part of a volume at a place, made if it is not there; raises ConfigFailed."""
    relative = _resolved(volume, sub_path)
    try:
        found = _open(volume, relative, sub_path)
        try:
            _make_point(place, is_directory=stat.S_ISDIR(os.fstat(found).st_mode))
            bind(found, place)
        finally:
            os.close(found)
    except OSError as error:
        raise _failed(sub_path, error) from error
    return place


def locate(volume: Path, sub_path: str, *, links: bool) -> Path:
    """Where a part of a volume is, made if it is not there; raises ConfigFailed.

    `links`: whether there may be any on the way, because no container made them.
    """
    relative = _resolved(volume, sub_path) if links else _checked(sub_path)
    try:
        os.close(_open(volume, relative, sub_path))
    except OSError as error:
        raise _failed(sub_path, error) from error
    return volume.resolve() / relative


def _checked(sub_path: str) -> PurePosixPath:
    if "\0" in sub_path:
        raise ConfigFailed(f"subPath {sub_path!r} has a NUL character, which no path has")
    relative = PurePosixPath(sub_path)
    if relative.is_absolute() or ".." in relative.parts:
        raise ConfigFailed(f"subPath {sub_path!r} leads out of its volume")
    return relative


def _resolved(volume: Path, sub_path: str) -> PurePosixPath:
    """The path without links, as far as is known: opening it shows whether it was so."""
    inside = os.path.realpath(volume)
    path = Path(os.path.realpath(os.path.join(inside, _checked(sub_path))))
    if not path.is_relative_to(inside):
        raise ConfigFailed(f"subPath {sub_path!r} leads out of its volume")
    return PurePosixPath(path.relative_to(inside))


def _open(volume: Path, relative: PurePosixPath, sub_path: str) -> int:
    """A descriptor of what is there, only to name it by; directories that are missing are made."""
    at = os.open(volume, os.O_PATH | os.O_CLOEXEC)
    try:
        like = os.fstat(at)
        for name in relative.parts:
            below = _open_or_make(at, name, like)
            os.close(at)
            at = below
            if stat.S_ISLNK(os.fstat(at).st_mode):
                raise ConfigFailed(f"subPath {sub_path!r} has a link at {name!r}")
    except (OSError, ConfigFailed):
        os.close(at)
        raise
    return at


def _open_or_make(at: int, name: str, like: os.stat_result) -> int:
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=at)
    except FileNotFoundError:
        # Nobody's but the agent's until it is what it should be.
        os.mkdir(name, 0o700, dir_fd=at)
    made = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        # Whoever may use the volume may use its parts.
        if os.geteuid() == 0:
            os.fchown(made, -1, like.st_gid)
        os.fchmod(made, stat.S_IMODE(like.st_mode))
    except OSError:
        os.close(made)
        raise
    return made


def _make_point(place: Path, *, is_directory: bool) -> None:
    """A place to bind to, without what an earlier container had there."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
    detach(place)
    if place.is_dir():
        place.rmdir()
    else:
        place.unlink(missing_ok=True)
    if is_directory:
        place.mkdir(mode=0o750)
    else:
        place.touch(mode=0o640)


def _failed(sub_path: str, error: OSError) -> ConfigFailed:
    return ConfigFailed(f"failed to prepare subPath {sub_path!r} of the volume: {error}")
