"""What pods showed of their devices when they ended, kept until the pods are gone.

Unpreparing a pod's claims makes the node forget which devices it had, and the final status is
written after that. So its health is frozen before, and stays with the pod, also over restarts of
the agent: whoever looks at a dead pod sees what was wrong with its devices. Upstream shows nothing.

The file is a journal of lines, one per pod frozen or forgotten: freezing must be on disk before the
claims are given back, and a node may lose a hundred pods at once. It is not synced: a crash of the
agent loses nothing, a crash of the machine ends its pods in another way. A line that was cut short
is dropped, and a file with other damage is set aside once what is readable was read.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import msgspec

from dray.api.core import ResourceStatus
from dray.files import set_aside, write_file

__all__ = ["FILE_NAME", "FrozenHealth", "Tombstones"]

log = logging.getLogger(__name__)

FILE_NAME: Final = "dray_health_tombstones"

# Dead pods stay until somebody deletes them; a node runs about a hundred at a time. Beyond the
# limits the oldest are forgotten, and their statuses keep what they say already.
PODS_MAX: Final = 1024
BYTES_MAX: Final = 16 * 1024 * 1024

# With lines about pods that were forgotten, and then some.
FILE_BYTES_MAX: Final = 4 * BYTES_MAX

# Lines about pods that were forgotten, before the file is written anew.
_DEAD_LINES_MAX: Final = 256

FrozenHealth = Mapping[str, tuple[ResourceStatus, ...]]


class _Line(msgspec.Struct, omit_defaults=True):
    pod: str
    containers: dict[str, tuple[ResourceStatus, ...]] = {}  # none: the pod is forgotten


_decoder: Final = msgspec.json.Decoder(_Line)


class Tombstones:
    """The last health of pods that ended, by UID and container."""

    def __init__(self, path: Path | None) -> None:
        """Without a path they are kept in memory alone, for nodes that only seem to be there."""
        self._path = path
        self._pods: dict[str, FrozenHealth] = {}
        self._lines: dict[str, bytes] = {}
        self._bytes = 0
        self._dead_lines = 0
        # Whether the end of the file is not the end of a line.
        self._torn = False

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, pod_uid: str) -> FrozenHealth | None:
        """What was frozen for a pod; None if nothing was."""
        return self._pods.get(pod_uid)

    def freeze(self, pod_uid: str, containers: FrozenHealth) -> None:
        """Keep this for a pod, beside what was kept before.

        What was kept first stays: unpreparing is tried again, and by then the driver may be gone.
        """
        if not pod_uid or not any(containers.values()):
            return
        merged = _merge(self._pods.get(pod_uid, {}), containers)
        if merged != self._pods.get(pod_uid):
            self._keep(pod_uid, merged)
            self._append(self._lines[pod_uid])
            self._trim()

    def forget(self, pod_uid: str) -> None:
        """The pod is gone."""
        if self._drop(pod_uid):
            self._append(_encode(_Line(pod_uid)))

    def retain(self, pod_uids: Collection[str]) -> None:
        """All other pods are gone."""
        gone = [uid for uid in self._pods if uid not in pod_uids]
        for uid in gone:
            self._drop(uid)
        if gone:
            self._rewrite()

    def load(self) -> None:
        """Read what an earlier agent kept."""
        if self._path is None:
            return
        try:
            # A file that is longer than it can be is damaged: what follows is as good as cut off.
            with self._path.open("rb") as file:
                data = file.read(FILE_BYTES_MAX)
        except FileNotFoundError:
            return
        except OSError as error:
            log.error("health of ended pods is not readable: %s", error)
            return
        *lines, rest = data.split(b"\n")
        self._torn = bool(rest)
        damaged = 0
        for line in lines:
            try:
                read = _decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                damaged += 1
                continue
            self._drop(read.pod)
            if read.containers:
                self._keep(read.pod, read.containers)
        self._trim()
        self._dead_lines = len(lines) - len(self._pods)
        if damaged:
            log.error("%d lines of %s are damaged", damaged, self._path)
            try:
                set_aside(self._path)
            except OSError as error:
                log.error("damaged %s cannot be moved: %s", self._path, error)
            self._rewrite()

    # Keeping -----------------------------------------------------------------------------------

    def _keep(self, pod_uid: str, containers: FrozenHealth) -> None:
        self._drop(pod_uid)
        line = _encode(_Line(pod_uid, dict(containers)))
        self._pods[pod_uid] = containers
        self._lines[pod_uid] = line
        self._bytes += len(line)

    def _drop(self, pod_uid: str) -> bool:
        if pod_uid not in self._pods:
            return False
        del self._pods[pod_uid]
        self._bytes -= len(self._lines.pop(pod_uid))
        self._dead_lines += 1
        return True

    def _trim(self) -> None:
        while len(self._pods) > PODS_MAX or (self._bytes > BYTES_MAX and len(self._pods) > 1):
            self._drop(next(iter(self._pods)))

    # The file ----------------------------------------------------------------------------------

    def _append(self, line: bytes) -> None:
        if self._path is None:
            return
        if self._torn or self._dead_lines > _DEAD_LINES_MAX:
            self._rewrite()
            return
        try:
            with self._path.open("ab", buffering=0) as file:
                # Unless all of it arrives, the rest would become part of the next line.
                self._torn = file.write(line) != len(line)
                os.fchmod(file.fileno(), 0o600)
        except OSError as error:
            self._torn = True
            log.error("health of ended pods is not saved: %s", error)

    def _rewrite(self) -> None:
        if self._path is None:
            return
        try:
            write_file(self._path, b"".join(self._lines.values()), sync=False)
        except OSError as error:
            self._torn = True
            log.error("health of ended pods is not saved: %s", error)
        else:
            self._torn = False
            self._dead_lines = 0


def _encode(line: _Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _merge(kept: FrozenHealth, new: FrozenHealth) -> FrozenHealth:
    merged = {name: entries for name, entries in kept.items() if entries}
    for container, entries in new.items():
        if not entries:
            continue
        known = {entry.name: entry for entry in merged.get(container, ())}
        for entry in entries:
            before = known.get(entry.name, ResourceStatus(name=entry.name))
            named = {resource.resource_id for resource in before.resources}
            added = (found for found in entry.resources if found.resource_id not in named)
            known[entry.name] = ResourceStatus(
                name=entry.name, resources=(*before.resources, *added)
            )
        merged[container] = tuple(known.values())
    return merged
