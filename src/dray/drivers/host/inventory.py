"""Finds what a configuration describes: the devices that are there now.

Names come from templates and are made labels as the API wants them, so two paths may ask for one
name: that is refused, with both of them. A device of which something cannot be read, such as one
that is being unplugged, is left out; the others are not held up by it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dray.drivers.host.commands import CommandFailed, run_command
from dray.drivers.host.config import CapacityValue, DerivedValue, Group, HostConfig
from dray.drivers.host.files import HostFiles
from dray.drivers.host.patterns import PATHS_MAX, Glob, PatternError, Template
from dray.sdk import (
    ConfigurationError,
    Context,
    Device,
    DeviceCapacity,
    InventoryError,
    TransientError,
    Version,
    capacity_of,
    device,
)

__all__ = ["Found", "HostDevice", "find_devices", "label_of"]

_LABEL_BYTES_MAX: Final = 63
# What the API takes as a text. A product's name is not worth losing the device over.
_TEXT_BYTES_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class HostDevice:
    """A device, where it was found, and what was captured there."""

    group: Group
    origin: str
    captures: Mapping[str, str]  # its name among them
    device: Device

    @property
    def path(self) -> str | None:
        """The path it was found by, unless a command listed it."""
        return None if self.group.command else self.captures["path"]


@dataclass(frozen=True, slots=True)
class Found:
    """All devices by name, and why others are left out."""

    devices: Mapping[str, HostDevice]
    left_out: tuple[str, ...] = ()


async def find_devices(config: HostConfig, context: Context) -> Found:
    """Look for devices now.

    Raises ConfigurationError where two have one name, TransientError where looking is impossible.
    """
    files = HostFiles(Path(config.root))
    found: dict[str, HostDevice] = {}
    left_out: list[str] = []
    for number, group in enumerate(config.groups):
        at = f"$.groups[{number}]"
        if group.command is None:
            listed = await asyncio.to_thread(_by_path, group, files, at)
        else:
            listed = await _by_command(group, context, at)
        made = await asyncio.to_thread(_made, group, listed, files, left_out)
        for each in made:
            _add(found, each)
        if len(found) > PATHS_MAX:
            raise ConfigurationError(f"{at}: more than {PATHS_MAX} devices are not offered")
    return Found(found, tuple(left_out))


def _add(found: dict[str, HostDevice], new: HostDevice) -> None:
    old = found.setdefault(new.device.name, new)
    if old is not new:
        raise ConfigurationError(
            f"{old.origin} and {new.origin} would both be device {new.device.name!r}:"
            " let name tell them apart"
        )


def label_of(text: str) -> str:
    """A DNS label that looks like this text; empty if nothing of it fits into one."""
    label = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return label[:_LABEL_BYTES_MAX].rstrip("-")


# Where devices come from ------------------------------------------------------------------------

_Listed = list[tuple[str, dict[str, str]]]  # origin and captures of each


def _by_path(group: Group, files: HostFiles, at: str) -> _Listed:
    excluded = {path for text in group.exclude for path, _ in _paths(Glob(text), files, at)}
    listed: dict[str, dict[str, str]] = {}
    for glob in group.globs:
        for path, captures in _paths(glob, files, at):
            if path in listed or path in excluded:
                continue
            if group.expression is not None:
                match = group.expression.search(path)
                if match is None:
                    continue
                captures |= {key: value or "" for key, value in match.groupdict().items()}
            base = path.rpartition("/")[2]
            listed[path] = captures | {"path": path, "base": base, "target": files.target(path)}
    return list(listed.items())


def _paths(glob: Glob, files: HostFiles, at: str) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        for number, match in enumerate(glob.matches(files.root)):
            if number >= PATHS_MAX:
                raise ConfigurationError(f"{at}: {glob.text} matches more than {PATHS_MAX} paths")
            yield match.path, dict(match.captures)
    except OSError as error:
        raise TransientError(f"{at}: {glob.text} cannot be looked for: {error}") from error


async def _by_command(group: Group, context: Context, at: str) -> _Listed:
    assert group.command is not None, "its devices are listed by one"
    words = group.command.run
    try:
        outcome = await run_command(words, seconds=group.command.timeout_seconds, context=context)
    except CommandFailed as error:
        raise TransientError(f"{at}.command: {error}") from error
    if outcome.code:
        raise TransientError(
            f"{at}.command: {words[0]} exited with {outcome.code}: {outcome.last_words()}"
        )
    if group.expression is not None:
        return _of_lines(group.expression, outcome.output, words[0])
    return _of_json(outcome.output, words[0], at)


def _of_lines(expression: re.Pattern[str], output: bytes, word: str) -> _Listed:
    listed: _Listed = []
    for number, line in enumerate(output.decode(errors="replace").splitlines(), 1):
        match = expression.search(line)
        if match is not None:
            groups = {str(n): value or "" for n, value in enumerate(match.groups())}
            named = {key: value or "" for key, value in match.groupdict().items()}
            listed.append((f"line {number} of {word}", {"line": line} | groups | named))
    return listed


def _of_json(output: bytes, word: str, at: str) -> _Listed:
    try:
        entries = json.loads(output)
    except (ValueError, RecursionError) as error:
        raise TransientError(f"{at}.command: {word} did not write JSON: {error}") from error
    if not isinstance(entries, list):
        raise TransientError(f"{at}.command: {word} wrote no list, but a {_kind(entries)}")
    listed: _Listed = []
    for number, entry in enumerate(entries):
        members = entry if isinstance(entry, dict) else {"0": entry}
        captures: dict[str, str] = {}
        for key, value in members.items():
            # What is nested cannot be filled into a text; nobody can mean it.
            if isinstance(value, bool):
                captures[key] = str(value).lower()
            elif isinstance(value, (str, int, float)):
                captures[key] = str(value)
        listed.append((f"entry {number} of {word}", captures))
    return listed


def _kind(value: object) -> str:
    return {dict: "JSON object", str: "text", type(None): "null"}.get(type(value), "scalar")


# What devices are like --------------------------------------------------------------------------


def _made(group: Group, listed: _Listed, files: HostFiles, left_out: list[str]) -> list[HostDevice]:
    made = []
    for origin, captures in listed:
        try:
            made.append(_make(group, origin, captures, files))
        except (PatternError, InventoryError, ValueError, OSError) as error:
            left_out.append(f"{origin}: {error}")
    return made


def _make(group: Group, origin: str, captures: dict[str, str], files: HostFiles) -> HostDevice:
    text = Template(group.name).fill(captures)
    name = label_of(text)
    if not name:
        raise ValueError(f"{text!r} has no letter and no digit to be named by")
    known = captures | {"name": name}
    attributes: dict[str, Any] = {}
    for key, value in group.attributes.items():
        read = _derive(value, known, files) if isinstance(value, DerivedValue) else value
        if read is not None:
            attributes[key] = read
    capacity = {key: _amount(value, known, files) for key, value in group.capacity.items()}
    made = device(name, attributes=attributes, capacity=capacity, shared=group.shared)
    return HostDevice(group, origin, known, made)


def _derive(
    value: DerivedValue, captures: Mapping[str, str], files: HostFiles
) -> str | int | bool | Version | None:
    try:
        if value.file is not None:
            path = Template(value.file).fill(captures)
            return _typed(value.type, files.read(path), path)
        return _typed(value.type, Template(value.value or "").fill(captures), "the value")
    except (OSError, ValueError):
        if value.optional:
            return None
        raise


def _typed(kind: str, text: str, where: str) -> str | int | bool | Version:
    match kind:
        case "int":
            # Base 0 takes the kernel's 0x10de as well; but 010 is ten to whoever wrote it.
            return int(text, 10) if text.lstrip("+-").isdecimal() else int(text, 0)
        case "bool":
            lowered = text.lower()
            if lowered in ("1", "y", "yes", "true", "on", "enabled"):
                return True
            if lowered in ("0", "n", "no", "false", "off", "disabled"):
                return False
            raise ValueError(f"{where}: {text!r} is neither true nor false")
        case "version":
            return Version(text + ".0" * (2 - text.count(".")) if _PLAIN.fullmatch(text) else text)
        case _:
            return text.encode()[:_TEXT_BYTES_MAX].decode(errors="ignore")


# Many call that a version; the API wants three numbers.
_PLAIN: Final = re.compile(r"\d+(\.\d+)?")


def _amount(
    value: str | int | CapacityValue, captures: Mapping[str, str], files: HostFiles
) -> str | int | DeviceCapacity:
    if not isinstance(value, CapacityValue):
        return value
    amount = value.value
    if value.file is not None:
        amount = files.read(Template(value.file).fill(captures)) + value.unit
    assert amount is not None, "one of the two is there, or the file is refused"
    return capacity_of(
        amount,
        default=value.default,
        values=value.values,
        minimum=value.minimum,
        maximum=value.maximum,
        step=value.step,
    )
