"""The file of what was last known of every device, in the form a kubelet reads and writes.

`dra_health_state` is a JSON object: driver → Devices → "pool/device" → what is believed. A
kubelet's decoder skips members it does not know, without regard to case; what is added here (what
the driver said where that is no longer believed, and since when) has names no kubelet uses.

Written only when something changed, and at most once per second: reports that repeat themselves
cost no disk. Not synced: after a crash of the machine nothing in it would be believed anyway. A
file that cannot be read is set aside, and the agent starts with nothing.

Upstream counterpart: the persistence half of pkg/kubelet/cm/dra/healthinfo.go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from dray.agent.health.cache import DeviceFact, HealthCache
from dray.agent.health.words import (
    DEFAULT_TIMEOUT_SECONDS,
    MESSAGE_BYTES_MAX,
    DeviceID,
    Health,
    Word,
    cut_text,
)
from dray.clock import Clock
from dray.files import set_aside, write_file

__all__ = ["FILE_NAME", "HealthHistory", "decode_facts", "encode_facts"]

log = logging.getLogger(__name__)

FILE_NAME: Final = "dra_health_state"

# Several drivers at the limit of devices and messages. Whatever is longer is not ours.
FILE_BYTES_MAX: Final = 256 * 1024 * 1024

WRITE_INTERVAL_SECONDS: Final = 1.0
# A disk that is full stays so for a while.
RETRY_SECONDS: Final = 10.0

# Encoding a device takes some microseconds: more than this many are written by another thread.
_INLINE_DEVICES_MAX: Final = 256

# A driver whose sixteen thousand devices flap gets two percent of a processor for its file.
_REST_PER_WRITE: Final = 50.0

_NANOSECONDS: Final = 1_000_000_000

_NEVER: Final = datetime.fromtimestamp(0, UTC)


class _Device(msgspec.Struct, rename="pascal", omit_defaults=False):
    """One device, as a kubelet has it; what follows the message is ours."""

    pool_name: str = ""
    device_name: str = ""
    health: str = ""
    last_updated: str = ""
    health_check_timeout: int = 0
    message: str = ""
    reported: str | msgspec.UnsetType = msgspec.UNSET
    reported_message: str | msgspec.UnsetType = msgspec.UNSET
    since: str | msgspec.UnsetType = msgspec.UNSET


class _Driver(msgspec.Struct, rename="pascal"):
    devices: dict[str, _Device] | None = None


_decoder: Final = msgspec.json.Decoder(dict[str, _Driver] | None)


class HealthHistory:
    """Keeps a cache's facts in a file."""

    def __init__(self, path: Path | None, cache: HealthCache, *, clock: Clock) -> None:
        """Without a path nothing is kept, for nodes that only seem to be there."""
        self._path = path
        self._cache = cache
        self._clock = clock
        self._saved_version = cache.version
        self._changed = asyncio.Event()

    def load(self) -> None:
        """Give the cache what an earlier agent knew."""
        if self._path is None:
            return
        try:
            size = self._path.stat().st_size
            data = self._path.read_bytes() if size <= FILE_BYTES_MAX else b""
        except FileNotFoundError:
            return
        except OSError as error:
            log.error("device health of earlier runs is not readable: %s", error)
            return
        try:
            facts = decode_facts(data)
        except (ValueError, msgspec.MsgspecError) as error:
            self._set_aside(error)
            return
        self._cache.restore(facts)
        self._saved_version = self._cache.version

    def note(self) -> None:
        """Look whether there is something new to write. Cheap: call it whenever there may be."""
        if self._path is not None and self._cache.version != self._saved_version:
            self._changed.set()

    async def run(self) -> None:
        """Write what changes, until cancelled; then write what is left."""
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                began = self._clock.monotonic()
                saved = await self._save()
                spent_seconds = self._clock.monotonic() - began
                rest_seconds = max(spent_seconds * _REST_PER_WRITE, WRITE_INTERVAL_SECONDS)
                await self._clock.sleep(rest_seconds if saved else RETRY_SECONDS)
                self.note()
        finally:
            self.save()

    def save(self) -> bool:
        """Write now, if anything changed; returns whether the file is up to date."""
        version = self._cache.version
        if self._path is None:
            return True
        return version == self._saved_version or self._write(version, self._cache.facts())

    async def _save(self) -> bool:
        if len(self._cache) <= _INLINE_DEVICES_MAX:
            return self.save()
        version, facts = self._cache.version, self._cache.facts()
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, version, facts))
        try:
            return await asyncio.shield(writing)
        finally:
            # A thread cannot be cancelled, and two must not write at a time.
            await asyncio.wait((writing,))

    def _write(self, version: int, facts: Sequence[DeviceFact]) -> bool:
        assert self._path is not None, "what has no place is not written"
        try:
            write_file(self._path, encode_facts(facts), sync=False)
        except OSError as error:
            log.error("device health is not saved: %s", error)
            return False
        self._saved_version = version
        return True

    def _set_aside(self, error: Exception) -> None:
        assert self._path is not None, "what has no place was not read"
        try:
            target = set_aside(self._path)
        except OSError as failure:
            log.error("damaged %s cannot be moved: %s", self._path, failure)
        else:
            log.error("%s is damaged (%s): now %s", self._path, error, target)


def encode_facts(facts: Sequence[DeviceFact]) -> bytes:
    """The content of the file."""
    drivers: dict[str, _Driver] = {}
    for fact in facts:
        device, word = fact.device, fact.reported
        driver = drivers.setdefault(device.driver, _Driver({}))
        assert driver.devices is not None
        driver.devices[f"{device.pool}/{device.device}"] = _Device(
            pool_name=device.pool,
            device_name=device.device,
            health=fact.health.value,
            last_updated=_write_time(fact.last_report),
            health_check_timeout=int(word.timeout_seconds * _NANOSECONDS),
            message=fact.message,
            reported=word.health.value if fact.stale else msgspec.UNSET,
            reported_message=word.message if fact.stale else msgspec.UNSET,
            since=_write_time(fact.since),
        )
    return msgspec.json.encode(drivers)


def decode_facts(data: bytes) -> list[DeviceFact]:
    """What a file says, ours or a kubelet's. Raises ValueError or msgspec's error if it is none."""
    facts = []
    for name, driver in (_decoder.decode(data) or {}).items():
        for device in (driver.devices or {}).values():
            if not name or not device.pool_name or not device.device_name:
                continue
            stale = device.reported is not msgspec.UNSET
            last_report = _read_time(device.last_updated)
            timeout_seconds = device.health_check_timeout / _NANOSECONDS
            message = _text(device.reported_message) if stale else device.message
            facts.append(
                DeviceFact(
                    DeviceID(name, device.pool_name, device.device_name),
                    _read_health(device.health),
                    device.message,
                    _read_time(device.since) if device.since else last_report,
                    Word(
                        _read_health(_text(device.reported) if stale else device.health),
                        cut_text(message, MESSAGE_BYTES_MAX),
                        timeout_seconds if timeout_seconds > 0 else DEFAULT_TIMEOUT_SECONDS,
                    ),
                    last_report,
                    stale=stale,
                )
            )
    return facts


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _read_health(text: str) -> Health:
    try:
        return Health(text)
    except ValueError:
        return Health.UNKNOWN


def _write_time(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _read_time(text: str) -> datetime:
    """An instant as Go writes it. ValueError if it is none."""
    instant = datetime.fromisoformat(text)
    # Go's zero time does not survive a change of zone.
    return instant.astimezone(UTC) if instant.tzinfo and instant.year > 1 else _NEVER
