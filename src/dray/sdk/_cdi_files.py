"""A driver's CDI files: one for each prepared claim, for container runtimes to read.

Files are written whole or not at all, in the oldest version of CDI that has what they use, and bear
the claim's UID in their name and in the names of their devices, so that no runtime's cache mistakes
one claim's devices for another's. Only this driver's files are ever touched.

A claim keeps the class in its names for as long as it is prepared, also if the driver has another
one by then: whoever was told the names may still use them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dray.api.cdi import (
    Device,
    Spec,
    decode_spec,
    encode_spec,
    is_device_name,
    validate_spec,
    with_required_version,
)
from dray.errors import DecodeError, PermanentError
from dray.files import TEMPORARY_PREFIX, TEMPORARY_SUFFIX, remove_file, write_file
from dray.sdk._journal import JournalDevice

__all__ = ["CDIFiles", "Reconciled"]

_log = logging.getLogger(__name__)

_SUFFIX: Final = ".json"

# Runtimes that do not run as root read them as well; there are no secrets in them.
_MODE: Final = 0o644


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What was done so that files and journal agree: UIDs of claims."""

    removed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


class CDIFiles:
    """The files in a directory or, without one, in memory alone."""

    def __init__(self, directory: Path | None, *, driver: str, device_class: str) -> None:
        self._directory = directory
        self._vendor = f"k8s.{driver}"
        self._class = device_class
        # The driver's own, and those that it had and that claims still have.
        self._classes = {device_class}
        self._memory: dict[str, bytes] = {}

    def named(self, uid: str, devices: Iterable[JournalDevice]) -> tuple[tuple[str, ...], ...]:
        """The qualified names for each of a claim's devices: none for one without edits."""
        names = _device_names(uid, tuple(devices))
        kind = f"{self._vendor}/{self._class}"
        return tuple((f"{kind}={name}",) if name else () for name in names)

    def write(self, uid: str, devices: Iterable[JournalDevice]) -> None:
        """Put a claim's file in place, unless it is there already as it should be.

        Raises PermanentError if the driver's edits break CDI's rules.
        """
        held = tuple(devices)
        data = self._content(uid, held)
        if data is None:
            self.remove(uid)
        elif self._stored(uid, held) != data:
            self._store(uid, held, data)

    def check(self, uid: str, devices: Iterable[JournalDevice]) -> None:
        """Raise PermanentError if the driver's edits break CDI's rules."""
        self._content(uid, tuple(devices))

    def remove(self, uid: str) -> None:
        """Remove a claim's file, if there is one. Names that cannot be a file's have none."""
        if not is_device_name(uid):
            return
        self._memory.pop(uid, None)
        if self._directory is not None and self._directory.is_dir():
            for device_class in self._classes:
                remove_file(self._directory / self._name(uid, device_class))

    def claims(self) -> tuple[str, ...]:
        """The UIDs of the claims that have a file."""
        if self._directory is None:
            return tuple(self._memory)
        if not self._directory.is_dir():
            return ()
        uids = (self._uid(path) for path in self._directory.iterdir())
        return tuple(sorted({uid for uid in uids if uid}))

    def reconcile(
        self, expected: Mapping[str, tuple[JournalDevice, ...]], *, keep: Iterable[str] = ()
    ) -> Reconciled:
        """Have files for exactly these claims; those to keep are left as they are.

        So is, and logged, the file of a claim whose edits break rules that are newer than they.
        """
        self._remove_leftovers()
        untouched = frozenset(keep)
        removed = tuple(
            uid for uid in self.claims() if uid not in expected and uid not in untouched
        )
        for uid in removed:
            self.remove(uid)
        written = []
        for uid, devices in expected.items():
            try:
                right = self._stored(uid, devices) == self._content(uid, devices)
            except PermanentError as error:
                _log.error("the CDI file of claim %s is left as it is: %s", uid, error)
                continue
            if not right:
                self.write(uid, devices)
                written.append(uid)
        return Reconciled(removed, tuple(written))

    def _prefix(self, device_class: str) -> str:
        return f"{self._vendor}-{device_class}_"

    def _name(self, uid: str, device_class: str) -> str:
        return f"{self._prefix(device_class)}{uid}{_SUFFIX}"

    def _uid(self, path: Path) -> str:
        """Whose file this is; empty if none of this driver's."""
        if not path.name.startswith(f"{self._vendor}-") or path.suffix != _SUFFIX:
            return ""
        device_class = self._class
        if not path.name.startswith(self._prefix(device_class)):
            # Of another class, or of a driver whose name begins like this one's: the file says so.
            try:
                vendor, _, device_class = decode_spec(path.read_bytes()).kind.partition("/")
            except (OSError, DecodeError):
                return ""
            if vendor != self._vendor:
                return ""
        uid = path.name.removeprefix(self._prefix(device_class)).removesuffix(_SUFFIX)
        if not is_device_name(uid) or path.name != self._name(uid, device_class):
            return ""
        self._classes.add(device_class)
        return uid

    def _class_of(self, devices: Iterable[JournalDevice]) -> str:
        """The class in the names that devices were given; the driver's own if they have none."""
        for name in (name for device in devices for name in device.cdi_devices):
            vendor, _, device_class = name.partition("=")[0].partition("/")
            if vendor == self._vendor:
                return device_class
        return self._class

    def _path(self, uid: str, devices: tuple[JournalDevice, ...]) -> Path | None:
        if self._directory is None:
            return None
        device_class = self._class_of(devices)
        self._classes.add(device_class)
        return self._directory / self._name(uid, device_class)

    def _stored(self, uid: str, devices: tuple[JournalDevice, ...]) -> bytes | None:
        path = self._path(uid, devices)
        if path is None:
            return self._memory.get(uid)
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def _store(self, uid: str, devices: tuple[JournalDevice, ...], data: bytes) -> None:
        path = self._path(uid, devices)
        if path is None:
            self._memory[uid] = data
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, data, mode=_MODE)

    def _content(self, uid: str, devices: tuple[JournalDevice, ...]) -> bytes | None:
        names = _device_names(uid, devices)
        held = tuple(
            Device(name=name, container_edits=device.edits)
            for name, device in zip(names, devices, strict=True)
            if name and device.edits
        )
        if not held:
            return None
        kind = f"{self._vendor}/{self._class_of(devices)}"
        spec = with_required_version(Spec(kind=kind, devices=held))
        errors = validate_spec(spec)
        if errors:
            raise PermanentError(
                f"the driver's edits break rules of CDI: {'; '.join(map(str, errors))}"
            )
        return encode_spec(spec)

    def _remove_leftovers(self) -> None:
        """Remove what was being written when a process was killed."""
        if self._directory is None or not self._directory.is_dir():
            return
        prefix = f"{TEMPORARY_PREFIX}{self._prefix(self._class)}"
        for path in self._directory.glob(f"{prefix}*{TEMPORARY_SUFFIX}"):
            remove_file(path)


def _device_names(uid: str, devices: tuple[JournalDevice, ...]) -> tuple[str, ...]:
    """What each device is called in the claim's file; empty for one without edits."""
    bare = [device.device for device in devices]
    names = []
    for index, device in enumerate(devices):
        name = f"{uid}-{device.device}"
        if bare.count(device.device) > 1:
            # Two pools have devices of one name, or a claim has several shares of one device.
            name = f"{name}-{device.share_id or index}"
        names.append(name if device.edits else "")
    return tuple(names)
