"""What a driver has prepared, on disk: so that a crash at any point can be made good.

An entry comes before the first change to hardware and goes after the last. It begins as an intent;
when all devices are ready and the CDI file is written, it is committed, and from then on holds the
answer to give again. An intent found later means that somebody was interrupted: nobody was told
that the claim is ready, so it is undone or done again. A commit of another boot is only an intent:
what hardware and tmpfs held then is gone.

The file is one JSON document with a version and a checksum over the text of what it holds, so that
fields added later do not make older files invalid. What cannot be read is set aside and reported;
the driver goes on with what it knows. Only a file of a later version stays: during an update it is
another instance's. Whoever calls holds the lock between processes, and has called `refresh` since
it was taken.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from dray.api.cdi import ContainerEdits
from dray.errors import DrayError, TransientError
from dray.files import set_aside, write_file

__all__ = [
    "BOOT_ID_PATH",
    "DeviceKey",
    "Entry",
    "Journal",
    "JournalDevice",
    "Phase",
    "Unreadable",
    "read_boot_id",
]

JOURNAL_VERSION: Final = 1

BOOT_ID_PATH: Final = Path("/proc/sys/kernel/random/boot_id")

# A node has some hundreds of claims at most, with some KB each. More than this is not ours.
JOURNAL_BYTES_MAX: Final = 64 * 1024 * 1024


class Phase(Enum):
    """How far a claim has come."""

    INTENT = "Intent"
    COMMITTED = "Committed"
    # The journal was lost and a CDI file was found: a container may depend on it. Nothing else is
    # known; the file stays until the claim is prepared or unprepared.
    FOUND = "Found"


class DeviceKey(NamedTuple):
    """What can be in use once: a device, or a share of one."""

    pool: str
    device: str
    share_id: str | None = None

    def __str__(self) -> str:
        share = f" (share {self.share_id})" if self.share_id else ""
        return f"{self.pool}/{self.device}{share}"


class JournalDevice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One device of a claim."""

    pool: str
    device: str
    share_id: str | None = None
    requests: tuple[str, ...] = ()  # without subrequests
    admin_access: bool = False
    state: Any = None  # what the driver's author wants to be told when undoing it
    edits: ContainerEdits | None = None
    cdi_devices: tuple[str, ...] = ()

    @property
    def key(self) -> DeviceKey:
        return DeviceKey(self.pool, self.device, self.share_id)


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One claim."""

    uid: str
    namespace: str = ""
    name: str = ""
    phase: Phase = Phase.INTENT
    boot_id: str = ""
    devices: tuple[JournalDevice, ...] = ()

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} ({self.uid})"

    @property
    def keys(self) -> frozenset[DeviceKey]:
        return frozenset(device.key for device in self.devices)


class _Content(msgspec.Struct, kw_only=True, rename="camel"):
    claims: tuple[Entry, ...] = ()


class _Head(msgspec.Struct):
    """What every version of the file has."""

    version: int


class _Document(msgspec.Struct, kw_only=True, rename="camel"):
    version: int
    driver: str
    checksum: int
    data: str


class Unreadable(DrayError):
    """The file is not a journal of this driver in a version that is known."""


class Journal:
    """The entries of one driver on one node, in a file or, without a path, in memory alone."""

    def __init__(
        self,
        path: Path | None,
        *,
        driver: str,
        boot_id: str = "",
        on_problem: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._path = path
        self._driver = driver
        self._boot_id = boot_id
        self._on_problem = on_problem
        self._entries: dict[str, Entry] = {}
        self._holders: dict[DeviceKey, dict[str, bool]] = {}
        self._seen: tuple[int, int, int] | None = None
        # Changes that come together are written together: one write, one sync.
        self._changes = 0
        self._written = 0
        self._writing = asyncio.Lock()
        self._lost = False

    @property
    def lost(self) -> bool:
        """Whether what was known may be known no longer: the file could not be read, or is missing.

        A driver's first start looks the same, but leaves no CDI files without a journal. Who set a
        damaged file aside may have been killed before anything took its place.
        """
        return self._lost

    def entries(self) -> tuple[Entry, ...]:
        """Everything, in the order in which it was begun."""
        return tuple(self._entries.values())

    def get(self, uid: str) -> Entry | None:
        return self._entries.get(uid)

    def current(self, entry: Entry) -> bool:
        """Whether the claim is ready: committed, and since the machine was started."""
        return entry.phase is Phase.COMMITTED and entry.boot_id == self._boot_id

    def holder(self, key: DeviceKey, *, other_than: str) -> Entry | None:
        """Another claim that has the device, other than for administration."""
        for uid, admin_access in self._holders.get(key, {}).items():
            if uid != other_than and not admin_access:
                return self._entries[uid]
        return None

    async def put(self, *entries: Entry) -> None:
        """Keep entries. They are on disk when this returns; if they cannot be, nothing has changed.

        A crash leaves all of them or none.
        """
        before = {entry.uid: self._entries.get(entry.uid) for entry in entries}
        for entry in entries:
            self._set(msgspec.structs.replace(entry, boot_id=self._boot_id))
        await self._write(before)

    async def remove(self, uid: str) -> None:
        """Forget an entry, with the same promise."""
        before = self._entries.get(uid)
        if before is not None:
            self._unset(uid)
            await self._write({uid: before})

    def refresh(self) -> None:
        """Read what another process may have written since we last looked.

        A file that vanished or was damaged meanwhile is written again. Raises TransientError for a
        file of a later version: the driver that wrote it still needs it.
        """
        if self._path is None:
            return
        seen = _identity(self._path)
        self._lost = self._lost or seen is None
        if seen == self._seen:
            return
        known = self._seen is not None
        if seen is not None:
            try:
                entries = _read(self._path, self._driver)
            except Unreadable as error:
                moved_to = set_aside(self._path)
                then = "is written again" if known else "starts anew"
                self._on_problem(f"{error}; it is kept as {moved_to}, and the journal {then}")
                self._lost = True
                seen = None
            else:
                self._entries, self._holders = {}, {}
                for entry in entries:
                    self._set(entry)
        elif known:
            self._on_problem(f"journal {self._path} is gone, and is written again")
        if seen is None and known:
            # What was read or written last is the best that anybody knows.
            write_file(self._path, _encode(self._driver, self.entries()))
            seen = _identity(self._path)
        self._seen = seen

    async def _write(self, before: Mapping[str, Entry | None]) -> None:
        if self._path is None:
            return
        put = {uid: self._entries.get(uid) for uid in before}
        self._changes += 1
        change = self._changes
        try:
            async with self._writing:
                if self._written < change:
                    # One turn for others who have something to write: it goes into the same file.
                    await asyncio.sleep(0)
                    covered = self._changes
                    write_file(self._path, _encode(self._driver, self.entries()))
                    self._written = covered
                    self._seen = _identity(self._path)
        finally:
            # Only this change is taken back: whoever waits for another one tries it himself.
            for uid, entry in before.items():
                if self._written < change and self._entries.get(uid) is put[uid]:
                    self._unset(uid)
                    if entry is not None:
                        self._set(entry)

    def _set(self, entry: Entry) -> None:
        old = self._entries.get(entry.uid)
        if old is not None:
            self._drop_keys(old)
        self._entries[entry.uid] = entry
        for device in entry.devices:
            self._holders.setdefault(device.key, {})[entry.uid] = device.admin_access

    def _unset(self, uid: str) -> None:
        entry = self._entries.pop(uid, None)
        if entry is not None:
            self._drop_keys(entry)

    def _drop_keys(self, entry: Entry) -> None:
        for key in entry.keys:
            holders = self._holders[key]
            del holders[entry.uid]
            if not holders:
                del self._holders[key]


def read_boot_id(path: Path = BOOT_ID_PATH) -> str:
    """What tells this boot of the machine from others."""
    return path.read_text().strip()


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _encode(driver: str, entries: tuple[Entry, ...]) -> bytes:
    data = msgspec.json.encode(_Content(claims=entries))
    document = _Document(
        version=JOURNAL_VERSION, driver=driver, checksum=zlib.crc32(data), data=data.decode()
    )
    return msgspec.json.encode(document) + b"\n"


def _read(path: Path, driver: str) -> tuple[Entry, ...]:
    if path.stat().st_size > JOURNAL_BYTES_MAX:
        raise Unreadable(f"journal {path} has more than {JOURNAL_BYTES_MAX} bytes")
    content = path.read_bytes()
    try:
        version = msgspec.json.decode(content, type=_Head).version
        if version > JOURNAL_VERSION:
            raise TransientError(
                f"journal {path} is of version {version}, known is {JOURNAL_VERSION}: a later"
                " version of the driver wrote it, and is to go on with it"
            )
        document = msgspec.json.decode(content, type=_Document)
        data = document.data.encode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Unreadable(f"journal {path} is damaged: {error}") from error
    if document.version != JOURNAL_VERSION:
        raise Unreadable(
            f"journal {path} is of version {document.version}, known is {JOURNAL_VERSION}"
        )
    if document.driver != driver:
        raise Unreadable(f"journal {path} belongs to driver {document.driver}, this is {driver}")
    if zlib.crc32(data) != document.checksum:
        raise Unreadable(f"journal {path} is damaged: its checksum does not match")
    try:
        return msgspec.json.decode(data, type=_Content).claims
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Unreadable(f"journal {path} is damaged: {error}") from error
