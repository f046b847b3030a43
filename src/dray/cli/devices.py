"""Devices from files: the slices in dumps, or one device to look at closely.

Slices of any version of resource.k8s.io are read, alone or in lists; other kinds are passed over
and counted. A pool's slices of an older generation are passed over too, as a scheduler does. A
device alone is one of a slice, or the bare object as it stands in a slice's list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from dray.api import scheme
from dray.api.codec import decode_builtins
from dray.api.resource import Device, DeviceID, ResourceSlice
from dray.cel import DeviceView
from dray.cli.errors import CommandError
from dray.cli.manifests import EmptyList, Manifest, find_files, read_documents, read_file
from dray.cli.manifests.errors import ManifestError
from dray.errors import DecodeError

__all__ = ["Found", "Inventory", "read_device", "read_devices"]


@dataclass(frozen=True, slots=True)
class Found:
    """A device and how expressions see it."""

    id: DeviceID
    view: DeviceView

    def __str__(self) -> str:
        """Pool and name: short, and enough unless drivers share both."""
        return f"{self.id.pool}/{self.id.device}" if self.id.pool else self.id.device or "device"


@dataclass(frozen=True, slots=True)
class Inventory:
    """All devices of some files, and what was passed over on the way."""

    devices: tuple[Found, ...]
    notes: tuple[str, ...]


def read_devices(paths: Sequence[str], standard_input: BinaryIO | None) -> Inventory:
    """The devices of all slices in these files; CommandError if one cannot be read."""
    slices: list[ResourceSlice] = []
    others: dict[str, int] = {}
    for manifest, path in _manifests(paths, standard_input):
        kind = manifest.value.get("kind") if isinstance(manifest.value, dict) else None
        if kind != "ResourceSlice":
            name = kind if isinstance(kind, str) and kind else "object without a kind"
            others[name] = others.get(name, 0) + 1
            continue
        slices.append(_slice(manifest, path))
    kept, outdated = _current(slices)
    notes = []
    if others:
        listed = ", ".join(f"{count} {name}" for name, count in sorted(others.items())[:5])
        notes.append(f"passed over what is no ResourceSlice: {listed}")
    if outdated:
        notes.append(f"passed over {outdated} slices of older generations of their pools")
    if not slices:
        notes.append(f"no ResourceSlice in {', '.join(paths)}")
    return Inventory(tuple(_devices(kept)), tuple(notes))


def read_device(path: str, driver: str | None, standard_input: BinaryIO | None) -> Found:
    """The one device in a file; CommandError says what else is there."""
    manifests = list(_manifests([path], standard_input))
    if len(manifests) != 1:
        raise CommandError(f"{path}: --device takes one object, this has {len(manifests)}")
    manifest, _ = manifests[0]
    value = manifest.value
    if isinstance(value, dict) and "kind" in value:
        if value["kind"] != "ResourceSlice":
            raise CommandError(f"{path}: {value['kind']} is neither a ResourceSlice nor a device")
        devices = list(_devices([_slice(manifest, path)]))
        if len(devices) != 1:
            raise CommandError(
                f"{path}: the slice has {len(devices)} devices, --device takes one; "
                "--slices takes any number"
            )
        return devices[0]
    if driver is None:
        raise CommandError(f"{path}: a device without its slice needs --driver NAME")
    if not isinstance(value, dict):
        raise CommandError(f"{path}: expected a device, which is an object")
    try:
        decoded = decode_builtins(_flat(value), Device)
    except DecodeError as error:
        raise CommandError(f"{path}: {error}") from error
    if decoded.unknown:
        raise CommandError(f"{path}: {decoded.unknown[0]}: unknown field of a device")
    device = decoded.value
    return Found(DeviceID(driver, "", device.name), DeviceView.of(driver, device))


def _flat(value: dict[str, Any]) -> dict[str, Any]:
    """A device of v1beta1 has its attributes one level deeper."""
    basic = value.get("basic")
    if not isinstance(basic, dict):
        return value
    return {**{name: member for name, member in value.items() if name != "basic"}, **basic}


def _manifests(
    paths: Sequence[str], standard_input: BinaryIO | None
) -> Iterator[tuple[Manifest, str]]:
    for path in find_files(paths):
        if isinstance(path, ManifestError):
            raise CommandError(str(path))
        try:
            data = read_file(path, standard_input)
        except ManifestError as error:
            raise CommandError(str(error.in_file(path))) from error
        for found in read_documents(data):
            if isinstance(found, ManifestError):
                raise CommandError(str(found.in_file(path)))
            if not isinstance(found, EmptyList):
                yield found, path


def _slice(manifest: Manifest, path: str) -> ResourceSlice:
    try:
        _, _, decoded = scheme.decode_any(manifest.value)
    except DecodeError as error:
        raise CommandError(f"{path}:{manifest.line_of(error.path)}: {error}") from error
    hub = scheme.to_hub(decoded.value)
    if not isinstance(hub, ResourceSlice):
        raise CommandError(f"{path}:{manifest.line}: not a ResourceSlice of resource.k8s.io")
    return hub


def _current(slices: Sequence[ResourceSlice]) -> tuple[list[ResourceSlice], int]:
    newest: dict[tuple[str, str], int] = {}
    for one in slices:
        key = (one.spec.driver, one.spec.pool.name)
        newest[key] = max(newest.get(key, one.spec.pool.generation), one.spec.pool.generation)
    kept = [
        one
        for one in slices
        if one.spec.pool.generation == newest[one.spec.driver, one.spec.pool.name]
    ]
    return kept, len(slices) - len(kept)


def _devices(slices: Iterable[ResourceSlice]) -> Iterator[Found]:
    for one in slices:
        spec = one.spec
        for device in spec.devices or ():
            identity = DeviceID(spec.driver, spec.pool.name, device.name)
            yield Found(identity, DeviceView.of(spec.driver, device))
