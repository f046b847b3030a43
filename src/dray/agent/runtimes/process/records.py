"""What the runtime keeps of sandboxes and containers: a directory each, found again by any agent.

`sandboxes/<id>.json` and `containers/<id>/container.json` are ours; other files in a container's
directory are between us and its supervisor. A directory is made under another name and renamed when
it is complete, and renamed before it is removed, so that a crash leaves whole ones only. One whose
file is damaged is set aside: what ran there is killed by what its supervisor wrote down.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from dray.agent.runtimes.process.shim.records import LAUNCH, write_record
from dray.agent.runtimes.runtime import PodIdentity
from dray.files import remove_file, set_aside, write_file

__all__ = ["ContainerRecord", "Damaged", "SandboxRecord", "StateDirectory"]

logger = logging.getLogger(__name__)

_CONTAINER: Final = "container.json"
_MAKING: Final = ".making"
_REMOVING: Final = ".removing"
_DAMAGED: Final = ".damaged-"
_PRIVATE: Final = 0o700

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SandboxRecord:
    """A sandbox, as it was asked for."""

    id: str
    pod: PodIdentity
    attempt: int
    hostname: str
    log_directory: str
    created_at: datetime
    ready: bool = True
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContainerRecord:
    """A container, as far as it does not change any more."""

    id: str
    sandbox_id: str
    pod: PodIdentity
    name: str
    attempt: int
    image: str
    created_at: datetime
    log_path: str
    stop_signal: int
    tty: bool = False
    stdin: bool = False
    cgroup: str = ""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A container's directory that cannot be read, where it was moved to."""

    directory: Path
    why: str


class StateDirectory:
    """All of one runtime."""

    def __init__(self, root: Path) -> None:
        self._sandboxes = root / "sandboxes"
        self._containers = root / "containers"
        for directory in (self._sandboxes, self._containers):
            directory.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)

    def sandboxes(self) -> Iterator[SandboxRecord]:
        """Those that were made; a damaged one is set aside."""
        for path in sorted(self._sandboxes.glob("*.json")):
            if path.name.startswith("."):
                continue
            try:
                yield _decode(path, SandboxRecord)
            except (OSError, msgspec.MsgspecError) as error:
                logger.error("sandbox %s is damaged, and set aside: %s", path, error)
                set_aside(path)

    def containers(self) -> Iterator[tuple[Path, ContainerRecord] | Damaged]:
        """Those that were made, with their directories."""
        for directory in sorted(self._containers.iterdir()):
            if directory.name.endswith((_MAKING, _REMOVING)):
                shutil.rmtree(directory, ignore_errors=True)
                continue
            if _DAMAGED in directory.name:
                continue
            try:
                yield directory, _decode(directory / _CONTAINER, ContainerRecord)
            except (OSError, msgspec.MsgspecError) as error:
                yield Damaged(set_aside(directory), str(error))

    def write_sandbox(self, sandbox: SandboxRecord) -> None:
        """Keep it, or what became of it."""
        write_file(self._sandboxes / f"{sandbox.id}.json", msgspec.json.encode(sandbox), sync=False)

    def remove_sandbox(self, sandbox_id: str) -> None:
        """Keep it no longer."""
        remove_file(self._sandboxes / f"{sandbox_id}.json")

    def directory(self, name: str) -> Path:
        """Where a container of this name is kept."""
        return self._containers / name

    def write_container(self, name: str, record: ContainerRecord, launch: dict[str, Any]) -> Path:
        """Keep a container that has not run, in place of one that has not run either."""
        directory, making = self.directory(name), self._containers / f"{name}{_MAKING}"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(mode=_PRIVATE)
        write_file(making / _CONTAINER, msgspec.json.encode(record), sync=False)
        write_record(str(making / LAUNCH), launch)
        if directory.exists():
            self.remove_container(directory)
        making.rename(directory)
        return directory

    def remove_container(self, directory: Path) -> None:
        """Keep it no longer; nothing may run in it."""
        removing = directory.with_name(f"{directory.name}{_REMOVING}")
        shutil.rmtree(removing, ignore_errors=True)
        with suppress(FileNotFoundError):
            directory.rename(removing)
        shutil.rmtree(removing, ignore_errors=True)


def _decode(path: Path, kind: type[T]) -> T:
    return msgspec.json.decode(path.read_bytes(), type=kind)
