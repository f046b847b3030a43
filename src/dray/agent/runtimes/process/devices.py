"""CDI devices by name: what the specification files of this host say about them.

Files are read when they are asked for, and again when they change, as drivers write them moments
before a container is made. Of directories the last that defines a device wins; two files of one
directory that define the same device define it for nobody. A file that is invalid is skipped and
reported. Upstream counterpart: pkg/cdi's Cache.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dray.agent.runtimes.failures import UnresolvedDevices
from dray.api.cdi import ContainerEdits, Spec, decode_spec, merge_edits, read_spec
from dray.errors import DrayError, ParseError, shorten

__all__ = ["DIRECTORIES", "DeviceFiles"]

logger = logging.getLogger(__name__)

# Written by administrators, and by drivers until the next start of the host.
DIRECTORIES: Final = ("/etc/cdi", "/var/run/cdi")

# A thousand devices with a few edits each are below a megabyte.
FILE_BYTES_MAX: Final = 16 * 1024 * 1024
# Anchors in a device file share a hook or two.
ALIASED_NODES_MAX: Final = 10_000
# Invalid files that an error names.
NAMED_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class _File:
    """What a file held when it was last read."""

    version: tuple[int, int, int]  # inode, change time, size
    spec: Spec | None
    problem: str = ""


class DeviceFiles:
    """The specification files of some directories, the last of which has precedence."""

    def __init__(self, directories: Sequence[str | Path] = DIRECTORIES) -> None:
        self._directories = tuple(Path(directory) for directory in directories)
        self._files: dict[Path, _File] = {}

    @property
    def problems(self) -> Mapping[str, str]:
        """Files that cannot be used, and why."""
        self._refresh()
        return {str(path): file.problem for path, file in self._files.items() if file.problem}

    def resolve(self, names: Sequence[str]) -> ContainerEdits:
        """What a container needs that gets these devices. Raises UnresolvedDevices."""
        if not names:
            return ContainerEdits()
        self._refresh()
        devices = self._devices()
        missing = tuple(dict.fromkeys(name for name in names if name not in devices))
        if missing:
            raise UnresolvedDevices(self._unresolved(missing), missing)
        edits: list[ContainerEdits] = []
        seen: set[Path] = set()
        for name in dict.fromkeys(names):
            path, spec, own = devices[name]
            if path not in seen:
                seen.add(path)
                edits.append(spec.container_edits)
            edits.append(own)
        return merge_edits(*edits)

    # Private --------------------------------------------------------------------------------------

    def _unresolved(self, missing: tuple[str, ...]) -> str:
        told = f"CDI device injection failed: unresolvable CDI devices {', '.join(missing)}"
        problems = [f"{path}: {file.problem}" for path, file in self._files.items() if file.problem]
        if problems:
            told += f" (invalid specification files: {'; '.join(problems[:NAMED_MAX])})"
        return told

    def _devices(self) -> dict[str, tuple[Path, Spec, ContainerEdits]]:
        found: dict[str, tuple[Path, Spec, ContainerEdits]] = {}
        for directory in self._directories:
            here: dict[str, tuple[Path, Spec, ContainerEdits]] = {}
            twice: set[str] = set()
            for path, file in self._files.items():
                if path.parent != directory or file.spec is None:
                    continue
                for device in file.spec.devices:
                    name = f"{file.spec.kind}={device.name}"
                    if name in here:
                        twice.add(name)
                        logger.warning("CDI device %s is in %s and %s", name, here[name][0], path)
                    here[name] = (path, file.spec, device.container_edits)
            found |= here
            for name in twice:
                del found[name]
        return found

    def _refresh(self) -> None:
        """Read what is new or has changed, and forget what is gone."""
        files: dict[Path, _File] = {}
        for path in self._paths():
            try:
                status = path.stat()
            except OSError:
                continue  # removed just now
            version = (status.st_ino, status.st_ctime_ns, status.st_size)
            known = self._files.get(path)
            if known is not None and known.version == version:
                files[path] = known
                continue
            files[path] = file = _read(path, version)
            if file.problem:
                logger.warning("CDI file %s is skipped: %s", path, file.problem)
        self._files = files

    def _paths(self) -> list[Path]:
        paths: list[Path] = []
        for directory in self._directories:
            try:
                entries = sorted(directory.iterdir())
            except OSError:
                continue
            paths += (
                path
                for path in entries
                if path.suffix in (".json", ".yaml") and not path.name.startswith(".")
            )
        return paths


def _read(path: Path, version: tuple[int, int, int]) -> _File:
    if version[2] > FILE_BYTES_MAX:
        return _File(version, None, f"it is larger than {FILE_BYTES_MAX} bytes")
    try:
        data = path.read_bytes()
        spec = decode_spec(data) if path.suffix == ".json" else read_spec(_parse_yaml(data))
    except (OSError, DrayError) as error:
        return _File(version, None, shorten(str(error)))
    return _File(version, spec)


def _parse_yaml(data: bytes) -> Any:
    # Drivers of ours write JSON; few hosts need what reads YAML.
    from dray.api.yaml.composer import NOTHING, Composer  # noqa: PLC0415

    try:
        value = Composer(aliased_nodes_max=ALIASED_NODES_MAX).compose(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ParseError(f"byte {error.start}", "not UTF-8") from error
    if value is NOTHING:
        raise ParseError("", "the file is empty")
    return value
