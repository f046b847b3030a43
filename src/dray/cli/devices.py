"""Devices from files: the slices in dumps, or one device to look at closely.

Slices of any version of resource.k8s.io are read, alone or in lists; other kinds are passed over
and counted. A pool's slices of an older generation are passed over too, as a scheduler does. A
device alone is one of a slice, or the bare object as it stands in a slice's list.

What cannot be read is an error, all of it at once; what can but looks like a mistake is a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import IO, Any, BinaryIO, Final

from dray.api import scheme
from dray.api.codec import decode_builtins
from dray.api.resource import Device, DeviceID, ResourceSlice
from dray.api.yaml.errors import ManifestError
from dray.cel import DeviceView
from dray.cli.errors import CommandError
from dray.cli.hints import decoding_hint, hints_for
from dray.cli.manifests import (
    STANDARD_INPUT,
    EmptyList,
    Manifest,
    find_files,
    read_documents,
    read_file,
)
from dray.errors import DecodeError, shorten
from dray.validation.findings import Findings
from dray.validation.rules import check_driver_name

__all__ = ["Found", "Inventory", "Unreadable", "read_device", "read_devices"]

_NOTES_MAX: Final = 5
"""Notes of one kind; a dump has the same mistake in every slice."""

_PROBLEMS_MAX: Final = 100
_GZIP: Final = b"\x1f\x8b"
_KIND: Final = "ResourceSlice"


class Unreadable(CommandError):
    """Inputs that cannot be read, each with its place."""

    def __init__(self, problems: Sequence[ManifestError]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)

    def show(self, file: IO[Any] | None = None) -> None:
        for problem in self.problems:
            CommandError(str(problem)).show(file)


@dataclass(frozen=True, slots=True)
class Found:
    """A device and how expressions see it."""

    id: DeviceID
    view: DeviceView
    ambiguous: bool = False  # another driver has a device of this name in a pool of this name

    def __str__(self) -> str:
        """Pool and name: short, and enough unless drivers share both."""
        if not self.id.pool:
            return self.id.device or "device"
        driver = f"{self.id.driver}/" if self.ambiguous else ""
        return f"{driver}{self.id.pool}/{self.id.device}"


@dataclass(frozen=True, slots=True)
class Inventory:
    """All devices of some files, and what was passed over on the way."""

    devices: tuple[Found, ...]
    notes: tuple[str, ...]


def read_devices(paths: Sequence[str], standard_input: BinaryIO | None) -> Inventory:
    """The devices of all slices in these files; Unreadable if one cannot be read."""
    reader = _Reader()
    for found, path in _manifests(paths, standard_input):
        reader.take(found, path)
    if reader.problems:
        raise Unreadable(reader.problems[:_PROBLEMS_MAX])
    names = ", ".join(_name(path) for path in paths)
    if not reader.documents:
        raise CommandError(f"no objects in {names}")
    kept, outdated = _current(reader.slices)
    notes = [*reader.kind_notes(), *_few(reader.notes)]
    if outdated:
        slices = "1 slice of an older generation of its pool"
        if outdated > 1:
            slices = f"{outdated} slices of older generations of their pools"
        notes.append(f"passed over {slices}")
    notes += _few(_incomplete(kept))
    if not reader.slices:
        notes.append(f"no {_KIND} in {names}")
    return Inventory(tuple(_told_apart(_devices(kept))), tuple(notes))


class _Reader:
    """Takes objects one after another."""

    def __init__(self) -> None:
        self.documents = 0
        self.slices: list[ResourceSlice] = []
        self.notes: list[str] = []
        self.problems: list[ManifestError] = []
        self._others: Counter[str] = Counter()
        self._met: dict[str, tuple[ResourceSlice, str]] = {}

    def take(self, found: Manifest | EmptyList | ManifestError, path: str) -> None:
        if isinstance(found, ManifestError):
            self.problems.append(found)
            return
        self.documents += 1
        if isinstance(found, EmptyList):
            return
        kind = found.value.get("kind") if isinstance(found.value, dict) else None
        if kind != _KIND:
            self._others[kind if isinstance(kind, str) and kind else "object without a kind"] += 1
            return
        try:
            self._take_slice(found, path)
        except Unreadable as error:
            self.problems.extend(error.problems)

    def _take_slice(self, manifest: Manifest, path: str) -> None:
        one, notes = _slice(manifest, path)
        self.notes += notes
        name, place = one.metadata.name, f"{_name(path)}:{manifest.line}"
        before = self._met.setdefault(name, (one, place)) if name else (one, place)
        if before[1] != place:
            same = before[0] == one
            counted = "counted once" if same else "and differs, so both are counted"
            self.notes.append(f"{place}: {_KIND}/{name} is at {before[1]} already, {counted}")
            if same:
                return
        self.slices.append(one)

    def kind_notes(self) -> Iterator[str]:
        """What was passed over, and what was probably meant as a slice."""
        if self._others:
            listed = ", ".join(
                f"{count} {shorten(name)}" for name, count in sorted(self._others.items())[:5]
            )
            yield f"passed over what is no {_KIND}: {listed}"
        for name in self._others:
            if get_close_matches(name.lower(), [_KIND.lower()], cutoff=0.85):
                yield f"there is no kind {shorten(name)}: did you mean {_KIND}?"


def read_device(path: str, driver: str | None, standard_input: BinaryIO | None) -> Found:
    """The one device in a file; CommandError says what else is there."""
    if driver is not None:
        _check_driver(driver)
    manifests: list[Manifest] = []
    for found, _ in _manifests([path], standard_input):
        if isinstance(found, ManifestError):
            raise Unreadable([found])
        if isinstance(found, Manifest):
            manifests.append(found)
    name = _name(path)
    if len(manifests) != 1:
        raise CommandError(f"{name}: --device takes one object, this has {len(manifests)}")
    (manifest,) = manifests
    value = manifest.value
    if isinstance(value, dict) and "kind" in value:
        return _device_of_slice(manifest, path, driver)
    if driver is None:
        raise CommandError(f"{name}: a device without its slice needs --driver NAME")
    if not isinstance(value, dict):
        raise CommandError(f"{name}: expected a device, which is an object")
    try:
        decoded = decode_builtins(_flat(value), Device)
    except DecodeError as error:
        raise Unreadable(_problems(error, manifest, path)) from error
    if decoded.unknown:
        hint = hints_for(decoded.value, decoded.unknown).get(decoded.unknown[0])
        advice = f"; {hint}" if hint else ""
        raise CommandError(f"{name}: {decoded.unknown[0]}: unknown field of a device{advice}")
    device = decoded.value
    return Found(DeviceID(driver, "", device.name), DeviceView.of(driver, device))


def _device_of_slice(manifest: Manifest, path: str, driver: str | None) -> Found:
    name = _name(path)
    kind = manifest.value["kind"]
    if kind != _KIND:
        raise CommandError(f"{name}: {kind} is neither a {_KIND} nor a device")
    one, _ = _slice(manifest, path)
    if driver is not None and driver != one.spec.driver:
        raise CommandError(f"{name}: the slice is of driver {one.spec.driver}, not {driver}")
    devices = list(_devices([one]))
    if len(devices) != 1:
        raise CommandError(
            f"{name}: the slice has {len(devices)} devices, --device takes one; "
            "--slices takes any number"
        )
    return devices[0]


def _check_driver(driver: str) -> None:
    found = Findings()
    check_driver_name(found, driver, "--driver")
    for finding in found:
        raise CommandError(str(finding.error))


def _name(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path


def _few(notes: Iterable[str]) -> Iterator[str]:
    """The first notes, and how many there are beyond them."""
    found = list(notes)
    yield from found[:_NOTES_MAX]
    if len(found) > _NOTES_MAX:
        yield f"and {len(found) - _NOTES_MAX} more like that"


def _flat(value: dict[str, Any]) -> dict[str, Any]:
    """A device of v1beta1 has its attributes one level deeper."""
    basic = value.get("basic")
    if not isinstance(basic, dict):
        return value
    return {**{name: member for name, member in value.items() if name != "basic"}, **basic}


def _manifests(
    paths: Sequence[str], standard_input: BinaryIO | None
) -> Iterator[tuple[Manifest | EmptyList | ManifestError, str]]:
    for path in find_files(paths):
        if isinstance(path, ManifestError):
            yield path, ""
            continue
        try:
            data = read_file(path, standard_input)
        except ManifestError as error:
            yield error.in_file(_name(path)), path
            continue
        if data.startswith(_GZIP):
            yield ManifestError("is compressed by gzip: unpack it first", file=_name(path)), path
            continue
        for found in read_documents(data):
            yield (found.in_file(_name(path)) if isinstance(found, ManifestError) else found), path


def _slice(manifest: Manifest, path: str) -> tuple[ResourceSlice, list[str]]:
    """The slice in a manifest, and notes on what looks like a mistake in it."""
    try:
        _, _, decoded = scheme.decode_any(manifest.value)
    except DecodeError as error:
        raise Unreadable(_problems(error, manifest, path)) from error
    hub = scheme.to_hub(decoded.value)
    if not isinstance(hub, ResourceSlice):
        rule = f"not a {_KIND} of resource.k8s.io"
        raise Unreadable([ManifestError(rule, manifest.line, file=_name(path))])
    hints = hints_for(decoded.value, decoded.unknown)
    notes = [
        f"{_name(path)}:{manifest.line_of(field)}: {shorten(field)} is passed over, because a "
        f"{_KIND} has no such field{f'; {hints[field]}' if field in hints else ''}"
        for field in decoded.unknown
    ]
    if not hub.spec.driver:
        title = f"{_KIND}/{hub.metadata.name or '?'}"
        notes.append(f"{_name(path)}:{manifest.line}: {title} names no driver in its spec")
    return hub, notes


def _problems(error: DecodeError, manifest: Manifest, path: str) -> list[ManifestError]:
    """What is wrong with an object, told as `dray validate` does."""
    place = f"document {manifest.document.index}"
    if manifest.item is not None:
        place += f", item {manifest.item}"
    metadata = manifest.value.get("metadata") if isinstance(manifest.value, dict) else None
    if isinstance(metadata, dict):
        place += f" ({_KIND}/{shorten(str(metadata.get('name') or '?'))})"
    return [
        ManifestError(
            f"{place}: {one}{decoding_hint(one)}", manifest.line_of(one.path), file=_name(path)
        )
        for one in (error, *error.others)
    ]


def _incomplete(slices: Sequence[ResourceSlice]) -> Iterator[str]:
    """Pools of which some slices are not here; a scheduler does not allocate from those."""
    by_pool: dict[tuple[str, str], list[ResourceSlice]] = {}
    for one in slices:
        by_pool.setdefault((one.spec.driver, one.spec.pool.name), []).append(one)
    for (driver, pool), members in by_pool.items():
        wanted = max(one.spec.pool.resource_slice_count for one in members)
        if len(members) < wanted:
            yield f"pool {pool} of {driver} is incomplete: {len(members)} of {wanted} slices"


def _told_apart(devices: Iterable[Found]) -> Iterator[Found]:
    """The devices, with those marked that need their driver to be told apart."""
    found = list(devices)
    drivers: dict[tuple[str, str], set[str]] = {}
    for one in found:
        drivers.setdefault((one.id.pool, one.id.device), set()).add(one.id.driver)
    for one in found:
        ambiguous = len(drivers[one.id.pool, one.id.device]) > 1
        yield replace(one, ambiguous=True) if ambiguous else one


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
