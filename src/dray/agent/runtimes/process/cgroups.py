"""A cgroup for every container, where this host lets us make them.

With them limits hold, and death is certain: the kernel kills all that is inside, however it hid.
Version 2 only, wherever it is mounted; controllers that are not to be had are done without, and
said once. Without cgroups containers are process groups, and their supervisors the parents of
whatever leaves them.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from dray.agent.runtimes.process.shim.remains import kill_cgroup
from dray.agent.runtimes.runtime import ContainerConfig

__all__ = ["Cgroups", "find_cgroups", "limits"]

logger = logging.getLogger(__name__)

_MOUNTS: Final = Path("/proc/self/mountinfo")
_CONTROLLERS: Final = ("cpu", "memory", "pids")

CPU_PERIOD_MICROSECONDS: Final = 100_000
# The kernel takes no less.
CPU_QUOTA_MICROSECONDS_MIN: Final = 1_000

# The start of a node waits for it. What is not dead by then has the next start to be removed at.
SWEEP_WAIT_MS: Final = 1_000

# The ranges of cpu.shares and cpu.weight, for the conversion every runtime uses.
_SHARES_MIN: Final = 2
_SHARES_MAX: Final = 262_144
_WEIGHT_MAX: Final = 10_000


def find_cgroups(root: Path, *, mounts: Path = _MOUNTS) -> Cgroups | None:
    """Cgroups for the runtime of this root, None when there are none to be had."""
    mounted = _mount_point(mounts)
    if mounted is None:
        logger.info("no cgroup v2 is mounted: containers are process groups")
        return None
    # Two runtimes on one host must not meet.
    digest = hashlib.sha256(str(root.absolute()).encode()).hexdigest()[:12]
    base = mounted / "dray" / digest
    try:
        base.mkdir(parents=True, exist_ok=True)
        supervisors = base / "supervisors"
        supervisors.mkdir(exist_ok=True)
        if not (supervisors / "cgroup.procs").exists():
            raise OSError(0, "it is no cgroup")
    except OSError as error:
        logger.info("cgroups at %s cannot be made (%s): containers are process groups", base, error)
        return None
    for parent in (mounted, mounted / "dray", base):
        _delegate(parent)
    missing = sorted(set(_CONTROLLERS) - _words(base / "cgroup.subtree_control"))
    logger.info("containers are cgroups at %s", base)
    if missing:
        logger.warning("limits of %s are not kept: no such controllers", ", ".join(missing))
    return Cgroups(base)


class Cgroups:
    """The cgroups of one runtime's containers."""

    def __init__(self, base: Path) -> None:
        self._base = base

    @property
    def supervisors(self) -> str:
        """Where supervisors go, out of the way of whoever stops the agent."""
        return str(self._base / "supervisors")

    def make(self, pod_uid: str, name: str, config: ContainerConfig, *, pids_max: int = 0) -> str:
        """A cgroup with the container's limits; returns its path. Raises OSError."""
        pod = self._base / f"pod{pod_uid}"
        pod.mkdir(exist_ok=True)
        _delegate(pod)
        path = pod / name
        path.mkdir(exist_ok=True)
        for file, value in limits(config, pids_max=pids_max).items():
            # Without its controller the file is not there.
            with suppress(FileNotFoundError, PermissionError):
                (path / file).write_text(value)
        return str(path)

    def remove(self, path: str) -> None:
        """Remove a container's cgroup, which is empty, and its pod's when it was the last."""
        if not path:
            return
        top = Path(path)
        with suppress(OSError):
            # Containers may have made cgroups of their own.
            for inner in sorted(top.rglob("*/"), key=lambda at: len(at.parts), reverse=True):
                inner.rmdir()
        for directory in (top, top.parent):
            with suppress(OSError):
                directory.rmdir()

    def sweep(self, kept: Collection[str]) -> None:
        """Remove those of containers that are known no more, and end what runs in them."""
        for path in self._base.glob("pod*/*/"):
            if str(path) not in kept:
                logger.warning("cgroup %s is nobody's, and removed", path)
                kill_cgroup(str(path), wait_ms=SWEEP_WAIT_MS)
                self.remove(str(path))
        for pod in self._base.glob("pod*/"):
            with suppress(OSError):
                pod.rmdir()

    def close(self) -> None:
        """Remove what is empty."""
        for directory in (self._base / "supervisors", self._base, self._base.parent):
            with suppress(OSError):
                directory.rmdir()


def limits(config: ContainerConfig, *, pids_max: int = 0) -> dict[str, str]:
    """Files of a cgroup and what to write to them."""
    found = {}
    if config.memory_limit_bytes > 0:
        found["memory.max"] = str(config.memory_limit_bytes)
        found["memory.swap.max"] = "0"
        # A container dies as a whole.
        found["memory.oom.group"] = "1"
    if config.cpu_limit_millis > 0:
        quota = config.cpu_limit_millis * CPU_PERIOD_MICROSECONDS // 1000
        quota = max(quota, CPU_QUOTA_MICROSECONDS_MIN)
        found["cpu.max"] = f"{quota} {CPU_PERIOD_MICROSECONDS}"
    if config.cpu_request_millis > 0:
        shares = min(max(config.cpu_request_millis * 1024 // 1000, _SHARES_MIN), _SHARES_MAX)
        span = _SHARES_MAX - _SHARES_MIN
        found["cpu.weight"] = str(1 + (shares - _SHARES_MIN) * (_WEIGHT_MAX - 1) // span)
    if pids_max > 0:
        found["pids.max"] = str(pids_max)
    return found


def _mount_point(mounts: Path) -> Path | None:
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        before, _, after = line.partition(" - ")
        if after.split(" ")[0] == "cgroup2":
            return Path(before.split(" ")[4])
    return None


def _delegate(directory: Path) -> None:
    """Let cgroups inside have controllers: one by one, as any may be missing."""
    for name in _CONTROLLERS:
        with suppress(OSError):
            (directory / "cgroup.subtree_control").write_text(f"+{name}")


def _words(path: Path) -> set[str]:
    try:
        return set(path.read_text().split())
    except OSError:
        return set()
