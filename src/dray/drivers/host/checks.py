"""Questions about a device's health: whether a path is there, what a file says, how a command ends.

The first that fails decides, and its message says why. What cannot be asked, because a file may not
be read or a command does not end, makes for Unknown: that is no statement about the device.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass

from dray.drivers.host.commands import CommandFailed, run_command
from dray.drivers.host.config import Check
from dray.drivers.host.files import HostFiles
from dray.drivers.host.inventory import HostDevice
from dray.drivers.host.patterns import Template
from dray.sdk import Context, DeviceHealth, Health

__all__ = ["examine", "is_examined"]

# What of a file is worth repeating in a message.
_EXCERPT_MAX = 80


@dataclass(frozen=True, slots=True)
class _Failed(Exception):
    """The device is not as it should be."""

    message: str


@dataclass(frozen=True, slots=True)
class _Unanswered(Exception):
    """Nobody knows."""

    message: str


def is_examined(found: HostDevice) -> bool:
    """Whether there is anything to ask."""
    return found.group.health is not None or found.path is not None


async def examine(found: HostDevice, files: HostFiles, context: Context) -> DeviceHealth:
    """Ask all there is to ask; a device found by its path must at least still be there."""
    rules, name = found.group.health, found.device.name
    if found.path is not None and not await asyncio.to_thread(files.exists, found.path):
        return DeviceHealth(name, Health.UNHEALTHY, f"{found.path} is gone")
    worst = DeviceHealth(name, Health.HEALTHY)
    for check in rules.checks if rules else ():
        try:
            await _ask(check, found.captures, files, context)
        except _Unanswered as error:
            if worst.health is Health.HEALTHY:
                worst = DeviceHealth(name, Health.UNKNOWN, error.message)
        except _Failed as error:
            said = Template(check.message).fill(found.captures)
            message = f"{said}: {error.message}" if said else error.message
            failed = DeviceHealth(name, Health(check.health), message)
            if failed.health is Health.UNHEALTHY:
                return failed
            worst = failed
    return worst


async def _ask(
    check: Check, captures: Mapping[str, str], files: HostFiles, context: Context
) -> None:
    if check.exists is not None:
        path = Template(check.exists).fill(captures)
        if not await asyncio.to_thread(files.exists, path):
            raise _Failed(f"{path} is gone")
    elif check.file is not None:
        path = Template(check.file).fill(captures)
        _compare(check, await _read(files, path), path)
    else:
        words = [Template(word).fill(captures) for word in check.command]
        try:
            outcome = await run_command(words, seconds=check.timeout_seconds, context=context)
        except CommandFailed as error:
            raise _Unanswered(str(error)) from error
        if outcome.code != check.exit_code:
            last = outcome.last_words()
            told = f": {last[:_EXCERPT_MAX]}" if last else ""
            raise _Failed(f"{words[0]} exited with {outcome.code}{told}")
        _compare(check, outcome.output.decode(errors="replace").strip(), words[0])


async def _read(files: HostFiles, path: str) -> str:
    try:
        return await asyncio.to_thread(files.read, path)
    except PermissionError as error:
        raise _Unanswered(f"{path} cannot be read: {error.strerror}") from error
    except OSError as error:
        # What the kernel cannot read of a device says something about the device.
        raise _Failed(f"{path} cannot be read: {error.strerror}") from error


def _compare(check: Check, text: str, where: str) -> None:
    said = f"{where} says {text[:_EXCERPT_MAX]!r}"
    if check.equals is not None and text != str(check.equals):
        raise _Failed(f"{said}, not {str(check.equals)!r}")
    if check.matches is not None and re.search(check.matches, text) is None:
        raise _Failed(f"{said}, which does not match {check.matches!r}")
    if check.at_most is None and check.at_least is None:
        return
    try:
        number = float(text)
    except ValueError as error:
        raise _Unanswered(f"{said}, which is no number") from error
    if check.at_most is not None and not number <= check.at_most:
        raise _Failed(f"{where} says {number:g}, more than {check.at_most:g}")
    if check.at_least is not None and not number >= check.at_least:
        raise _Failed(f"{where} says {number:g}, less than {check.at_least:g}")
