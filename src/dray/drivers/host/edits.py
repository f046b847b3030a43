"""What a container gets with a device of the host."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from dray.drivers.host.config import Container, NodeRule
from dray.drivers.host.files import HostFiles
from dray.drivers.host.inventory import HostDevice
from dray.drivers.host.patterns import PatternError, Template
from dray.sdk import DeviceFailed, DeviceNode, Edits, Hook, Mount, OpaqueConfig, PermanentError

__all__ = ["ClaimParameters", "edits_for"]

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ClaimParameters(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What the author of a claim or a class may ask for: variables besides the device's own."""

    env: Mapping[str, str] = {}
    api_version: str = ""
    kind: str = ""


def edits_for(found: HostDevice, config: Sequence[OpaqueConfig], files: HostFiles) -> Edits:
    """The edits for one device.

    Raises DeviceFailed where a file of the device is gone, InvalidConfig for what a claim may not
    ask for.
    """
    rules, captures = found.group.container, found.captures
    try:
        own = {key: Template(value).fill(captures) for key, value in rules.env.items()}
        asked = _asked(config, own)
        return Edits(
            env=tuple(f"{key}={value}" for key, value in (asked | own).items()),
            device_nodes=tuple(
                node for rule in _nodes(found) if (node := _node(rule, captures, files)) is not None
            ),
            mounts=_mounts(rules, captures),
            hooks=_hooks(rules, captures),
        )
    except PatternError as error:
        raise PermanentError(f"{found.origin}: {error}") from error


def _asked(config: Sequence[OpaqueConfig], own: Mapping[str, str]) -> dict[str, str]:
    """Variables of claims and classes; of two entries with one name the later counts."""
    asked: dict[str, str] = {}
    for entry in config:
        for key, value in entry.decode(ClaimParameters).env.items():
            if not _VARIABLE.fullmatch(key) or "\0" in value:
                raise entry.refuse(f"{key!r} cannot be a variable", path="$.env")
            if key in own:
                raise entry.refuse(f"{key} is the driver's to set", path="$.env")
            asked[key] = value
    return asked


def _nodes(found: HostDevice) -> Sequence[NodeRule]:
    rules = found.group.container.device_nodes
    if rules is not None:
        return rules
    path = found.path
    return (NodeRule(path="{path}"),) if path is not None and path.startswith("/dev/") else ()


def _node(rule: NodeRule, captures: Mapping[str, str], files: HostFiles) -> DeviceNode | None:
    path = _path(rule.path, captures)
    inside = _path(rule.container_path, captures) if rule.container_path else path
    try:
        mode = os.stat(files.here(path)).st_mode
    except OSError as error:
        if rule.optional:
            return None
        raise DeviceFailed(f"{path} is gone: {error.strerror}") from error
    if not (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)):
        raise PermanentError(f"{path} is not a device file")
    # Runtimes do not follow links, and links of udev are the names that stay.
    target = files.target(path)
    return DeviceNode(
        path=inside, host_path=target if target != inside else "", permissions=rule.permissions
    )


def _mounts(rules: Container, captures: Mapping[str, str]) -> tuple[Mount, ...]:
    mounts = []
    for rule in rules.mounts:
        host = _path(rule.host_path, captures)
        inside = _path(rule.container_path, captures) if rule.container_path else host
        mounts.append(Mount(host_path=host, container_path=inside, options=rule.options))
    return tuple(mounts)


def _hooks(rules: Container, captures: Mapping[str, str]) -> tuple[Hook, ...]:
    return tuple(
        Hook(
            hook_name=rule.hook_name,
            path=_path(rule.path, captures),
            args=tuple(Template(text).fill(captures) for text in rule.args),
            env=tuple(f"{key}={Template(text).fill(captures)}" for key, text in rule.env.items()),
            timeout=rule.timeout_seconds,
        )
        for rule in rules.hooks
    )


def _path(text: str, captures: Mapping[str, str]) -> str:
    """A path with captures. What they capture must not lead elsewhere."""
    path = Template(text).fill(captures)
    if not path.startswith("/") or posixpath.normpath(path) != path.rstrip("/"):
        raise PatternError(f"{text!r} becomes {path!r}, which is no absolute path without detours")
    return path
