"""The file `dra_manager_state`: claims on this node, as a kubelet writes and reads them.

A JSON object with a text and the CRC-32 of its UTF-8 bytes; the text is JSON too. As the checksum
covers the text itself, versions may add fields. Keys are the names of upstream's struct fields. Of
a kubelet's file everything this agent knows is read; a kubelet reads ours.

A file is read whole or not at all. What cannot be read is moved aside and reported, and the agent
goes on without it: a kubelet would not start. Until somebody says that the new file has all that
the old one had, a mark beside it says that it has not, for an agent that starts before then.
Upstream counterpart: pkg/kubelet/cm/dra/state.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from dray.agent.claims.claim_info import ClaimInfo, ClaimName, PreparedDevice
from dray.errors import DrayError, quote
from dray.files import remove_file, set_aside, write_file

__all__ = [
    "CheckpointFile",
    "CheckpointUnwritable",
    "NoCheckpoint",
    "decode_checkpoint",
    "encode_entry",
]

KIND: Final = "DRACheckpoint"
API_VERSION: Final = "checkpoint.dra.kubelet.k8s.io/v1"

# A thousand claims take half a megabyte. A file beyond this is not one that we or a kubelet wrote.
BYTES_MAX: Final = 64 * 1024 * 1024

# Behind the name of the file.
INCOMPLETE_SUFFIX: Final = ".incomplete"

_HEAD: Final = f'{{"kind":"{KIND}","apiVersion":"{API_VERSION}","ClaimInfoStateList":'.encode()

# Go writes these characters as escapes, for JSON inside of HTML and scripts.
_GO_ESCAPES: Final = tuple(
    (character.encode(), f"\\u{ord(character):04x}".encode()) for character in "<>&\u2028\u2029"
)


class CheckpointUnwritable(DrayError):
    """The file could not be written; what it held before is still there."""


class _DamagedCheckpoint(DrayError):
    """The content is not a checkpoint."""


class _Device(
    msgspec.Struct,
    frozen=True,
    rename={
        "pool": "PoolName",
        "device": "DeviceName",
        "share_id": "ShareID",
        "requests": "RequestNames",
        "cdi_devices": "CDIDeviceIDs",
    },
):
    pool: str = ""
    device: str = ""
    share_id: str | None = None
    requests: tuple[str, ...] | None = None
    cdi_devices: tuple[str, ...] | None = None


class _DriverState(
    msgspec.Struct,
    frozen=True,
    rename={"devices": "Devices", "skipped_operations": "skipNodeOperations"},
):
    devices: tuple[_Device, ...] | None = None
    # The one field that a kubelet leaves out when it is empty.
    skipped_operations: tuple[str, ...] | msgspec.UnsetType | None = msgspec.UNSET


class _Nothing(msgspec.Struct, frozen=True):
    """The value of each key in Go's sets."""


class _Entry(
    msgspec.Struct,
    frozen=True,
    rename={
        "uid": "ClaimUID",
        "name": "ClaimName",
        "namespace": "Namespace",
        "pods": "PodUIDs",
        "drivers": "DriverState",
    },
):
    uid: str
    name: str
    namespace: str
    pods: dict[str, _Nothing] | None = None
    drivers: dict[str, _DriverState | None] | None = None


class _Data(msgspec.Struct, frozen=True, rename={"entries": "ClaimInfoStateList"}):
    kind: str = ""
    api_version: str = msgspec.field(default="", name="apiVersion")
    entries: tuple[_Entry, ...] | None = None


class _Envelope(msgspec.Struct, frozen=True, rename={"data": "Data", "checksum": "Checksum"}):
    data: str
    checksum: int


class CheckpointFile:
    """Where the claims of a node are kept over restarts."""

    def __init__(self, path: Path, *, on_damage: Callable[[str], None]) -> None:
        self._path = path
        self._mark = path.with_name(f"{path.name}{INCOMPLETE_SUFFIX}")
        self._on_damage = on_damage
        self._is_marked = False
        self._incomplete = False

    @property
    def incomplete(self) -> bool:
        """Whether claims may be in use that are not in the file: it, or the one before, was lost.

        Known once it was loaded.
        """
        return self._incomplete

    def load(self) -> tuple[ClaimInfo, ...]:
        """All claims of the file: none if there was no file or no reading it."""
        entries = self._read()
        # As pathlib asks, a directory that must not be looked into would stop the agent.
        self._is_marked = os.path.exists(self._mark)
        self._incomplete = entries is None or self._is_marked
        return entries or ()

    def complete(self) -> None:
        """From now on, claims that are in use are in the file."""
        self._incomplete = False
        # If it stays, the next agent looks for claims in vain.
        with suppress(OSError):
            remove_file(self._mark)
            self._is_marked = False

    def _read(self) -> tuple[ClaimInfo, ...] | None:
        try:
            if self._path.stat().st_size > BYTES_MAX:
                raise _DamagedCheckpoint(f"larger than {BYTES_MAX} bytes")
            return decode_checkpoint(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, DrayError) as error:
            self._damaged(error)
            return None

    def create(self) -> None:
        """Write a file without claims where there is none, as a kubelet does."""
        if os.path.exists(self._path):
            return
        # If there can be no directory, there can be no file, and that is said below.
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        self._write(b"null")

    def store(self, entries: Iterable[bytes]) -> None:
        """Replace the content by these, each as `encode_entry` returned it; on disk on return."""
        self._write(b"[%b]" % b",".join(entries))

    def _write(self, entries: bytes) -> None:
        data = _HEAD + entries + b"}"
        text = msgspec.json.encode(data.decode())
        try:
            if self._incomplete and not self._is_marked:
                write_file(self._mark, b"")
                self._is_marked = True
            write_file(self._path, b'{"Data":%b,"Checksum":%d}' % (text, zlib.crc32(data)))
        except OSError as error:
            raise CheckpointUnwritable(
                f"could not save checkpoint {self._path.name}: {error}"
            ) from error

    def _damaged(self, error: Exception) -> None:
        try:
            where = f"it is kept as {set_aside(self._path)}"
        except OSError as another:
            where = f"it cannot be moved aside: {another}"
        self._on_damage(f"checkpoint {self._path} cannot be read: {error}; {where}")


class NoCheckpoint:
    """For nodes that only seem to be there: what is not kept cannot be lost."""

    incomplete = False

    def complete(self) -> None:
        pass

    def load(self) -> tuple[ClaimInfo, ...]:
        return ()

    def create(self) -> None:
        pass

    def store(self, entries: Iterable[bytes]) -> None:
        pass


def encode_entry(info: ClaimInfo) -> bytes:
    """One claim, as the text of the file lists it."""
    entry = _Entry(
        uid=info.claim.uid,
        name=info.claim.name,
        namespace=info.claim.namespace,
        pods=dict.fromkeys(sorted(info.pods), _Nothing()),
        drivers={driver: _driver_state(info, driver) for driver in sorted(info.drivers)},
    )
    text = msgspec.json.encode(entry)
    for character, escape in _GO_ESCAPES:
        text = text.replace(character, escape)
    return text


def decode_checkpoint(content: bytes) -> tuple[ClaimInfo, ...]:
    """The claims in the content of a file; raises DrayError if there is anything wrong with it."""
    try:
        envelope = msgspec.json.decode(content, type=_Envelope)
        text = envelope.data.encode()
        if zlib.crc32(text) != envelope.checksum:
            raise _DamagedCheckpoint(
                f"its checksum is {envelope.checksum}, that of its text is {zlib.crc32(text)}"
            )
        data = msgspec.json.decode(text, type=_Data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _DamagedCheckpoint(str(error)) from error
    if (data.kind, data.api_version) != (KIND, API_VERSION):
        raise _DamagedCheckpoint(
            f"it is a {quote(data.kind)} of version {quote(data.api_version)},"
            f" not a {KIND} of {API_VERSION}"
        )
    return tuple(_claim_info(entry) for entry in data.entries or ())


def _claim_info(entry: _Entry) -> ClaimInfo:
    if not (entry.uid and entry.name and entry.namespace):
        raise _DamagedCheckpoint(
            f"a claim in it lacks its UID, name or namespace: {quote(entry.uid)},"
            f" {quote(entry.name)}, {quote(entry.namespace)}"
        )
    drivers = {driver: state or _DriverState() for driver, state in (entry.drivers or {}).items()}
    return ClaimInfo(
        claim=ClaimName(entry.namespace, entry.name, entry.uid),
        pods=frozenset(entry.pods or ()),
        drivers={
            driver: tuple(_prepared_device(device) for device in state.devices or ())
            for driver, state in drivers.items()
        },
        skipped_operations={
            driver: state.skipped_operations
            for driver, state in drivers.items()
            if state.skipped_operations
        },
        restored=True,
    )


def _prepared_device(device: _Device) -> PreparedDevice:
    return PreparedDevice(
        pool=device.pool,
        device=device.device,
        requests=device.requests or (),
        cdi_devices=device.cdi_devices or (),
        share_id=device.share_id,
    )


def _driver_state(info: ClaimInfo, driver: str) -> _DriverState:
    # Adopted devices are not what a driver prepared, and a kubelet could not tell.
    known = () if info.adopted else info.drivers[driver]
    devices = tuple(
        _Device(
            pool=device.pool,
            device=device.device,
            share_id=device.share_id,
            requests=device.requests or None,
            cdi_devices=device.cdi_devices or None,
        )
        for device in known
    )
    return _DriverState(
        devices=devices or None,
        skipped_operations=info.skipped_operations.get(driver) or msgspec.UNSET,
    )
