"""Which devices of a machine are offered, and how, as a YAML file says it.

    driver: cameras.example.com
    discoverSeconds: 10
    groups:
    - match: /dev/video*
      name: camera-{0}
      attributes: {kind: camera, index: {value: "{0}", type: int}}
      capacity: {pixels: {file: "/sys/class/video4linux/video{0}/pixels"}}
      container:
        env: {CAMERA: "{path}"}
        deviceNodes: [{path: "{path}", permissions: rw}]
      health:
        checks:
        - {file: "/sys/class/video4linux/video{0}/device/state", equals: running}
        - {command: [/usr/bin/v4l2-ctl, -d, "{path}", --info], message: it does not answer}
    - command: {run: [/usr/sbin/list-boards, --json]}
      name: board-{serial}
      container: {mounts: [{hostPath: "/run/boards/{serial}", containerPath: /run/board}]}

Members that nobody knows are refused by name, and so are captures that nothing captures: what is
wrong is said before a device is offered, with its place in the file and the rule. Here is what a
file may hold; `reading` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Final, Literal

import msgspec

from dray.drivers.host.patterns import Glob

__all__ = [
    "CapacityValue",
    "Check",
    "CommandSource",
    "Container",
    "DerivedValue",
    "Group",
    "HealthRules",
    "HookRule",
    "HostConfig",
    "MountRule",
    "NodeRule",
]

# What every device found by its path has, besides what its wildcards captured.
PATH_CAPTURES: Final = frozenset({"path", "base", "target"})


class _Strict(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What a file may say, and nothing else."""


class DerivedValue(_Strict, frozen=True):
    """A value of captures, or of what a file says."""

    value: str | None = None
    file: str | None = None
    type: Literal["text", "int", "bool", "version"] = "text"
    optional: bool = False  # whether a device without it is still one


class CapacityValue(_Strict, frozen=True):
    """An amount, or a file with one; of shared devices claims may take a part."""

    value: str | int | None = None
    file: str | None = None
    unit: str = ""  # put behind what the file says: Ki
    default: str | int | None = None
    values: tuple[str | int, ...] = ()
    minimum: str | int | None = None
    maximum: str | int | None = None
    step: str | int | None = None


class CommandSource(_Strict, frozen=True):
    """A program that lists devices: as a JSON list, or in lines that an expression reads."""

    run: tuple[str, ...]
    lines: str | None = None
    timeout_seconds: float = 10.0


class NodeRule(_Strict, frozen=True):
    """A device file that a container gets."""

    path: str
    container_path: str | None = None
    permissions: str = "rw"
    optional: bool = False  # whether a container can do without


class MountRule(_Strict, frozen=True):
    """A path that a container sees."""

    host_path: str
    container_path: str | None = None
    options: tuple[str, ...] = ("ro", "nosuid", "nodev", "bind")


class HookRule(_Strict, frozen=True):
    """A program that a runtime runs for a container."""

    hook_name: str
    path: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    timeout_seconds: int | None = None


class Container(_Strict, frozen=True):
    """What a container gets with a device."""

    env: Mapping[str, str] = {}
    device_nodes: tuple[NodeRule, ...] | None = None  # unless said, the path that was matched
    mounts: tuple[MountRule, ...] = ()
    hooks: tuple[HookRule, ...] = ()


class Check(_Strict, frozen=True):
    """One question about a device's health."""

    exists: str | None = None
    file: str | None = None
    command: tuple[str, ...] = ()
    equals: str | int | None = None
    matches: str | None = None
    at_most: float | None = None
    at_least: float | None = None
    exit_code: int = 0
    timeout_seconds: float = 5.0
    health: Literal["Unhealthy", "Degraded"] = "Unhealthy"  # what a device is that fails
    message: str = ""


class HealthRules(_Strict, frozen=True):
    """The questions, and how often they are asked."""

    checks: tuple[Check, ...]
    every_seconds: float = 5.0


class Group(_Strict, frozen=True, dict=True):
    """Devices that are alike, found by globs of paths or by a command."""

    name: str = "{base}"
    match: str | tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    pattern: str | None = None  # that paths must match, with captures of its own
    command: CommandSource | None = None
    attributes: Mapping[str, str | bool | int | list[str] | DerivedValue] = {}
    capacity: Mapping[str, str | int | CapacityValue] = {}
    shared: bool = False
    container: Container = Container()
    health: HealthRules | None = None

    @cached_property
    def globs(self) -> tuple[Glob, ...]:
        texts = (self.match,) if isinstance(self.match, str) else self.match
        return tuple(Glob(text) for text in texts)

    @cached_property
    def expression(self) -> re.Pattern[str] | None:
        """What reads a path, or a line of the command."""
        text = self.command.lines if self.command else self.pattern
        return re.compile(text) if text is not None else None

    @property
    def captures(self) -> frozenset[str] | None:
        """What is captured of every device; None where only the command's answer tells."""
        named = set(self.expression.groupindex) if self.expression else set()
        if self.command is not None:
            if self.expression is None:
                return None
            return frozenset(named | {"line"} | {str(n) for n in range(self.expression.groups)})
        globs = [frozenset(glob.names) for glob in self.globs]
        return frozenset.intersection(*globs) | named | PATH_CAPTURES


class HostConfig(_Strict, frozen=True):
    """All of a file."""

    driver: str
    groups: tuple[Group, ...]
    root: str = "/"  # where the driver finds the machine's files, if it is in a container itself
    discover_seconds: float = 10.0
