"""Values the way Kubernetes prints them inside a message.

A rule the schema declares shows the value as the wire has it; a hand-written rule shows the value
its Go struct has, with Go's field names and every empty field. Both come out here as plain JSON
values, which FieldError prints. Nothing reads such text; it only has to look the same.

Upstream counterpart: json.Marshal of the versioned and of the internal types.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import unified_diff
from functools import cache
from math import isfinite
from typing import Any, Final

import msgspec

from dray.api.carried import held_by, read_part
from dray.api.codec import parse_json
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.shapes import JSONNumber
from dray.api.wire import Struct, Time
from dray.errors import DecodeError

__all__ = ["as_internal", "as_wire", "difference"]

# How Go's encoder writes what means something in HTML.
HTML_ESCAPES: Final = {
    ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"
}


def as_wire(value: Any) -> Any:
    """The value as its JSON has it."""
    if isinstance(value, Struct):
        shown = {}
        for name, wire_name, omitted in _wire_fields(type(value)):
            member = getattr(value, name)
            if member != omitted:
                shown[wire_name] = as_wire(member)
        return shown
    return _plain(value, as_wire)


def as_internal(value: Any) -> Any:
    """The value as the JSON of upstream's internal Go type has it."""
    if isinstance(value, Struct):
        # Types of apimachinery have no internal twin.
        if type(value).__module__ == "dray.api.meta":
            return as_wire(value)
        shown: dict[str, Any] = {}
        held = held_by(type(value))
        for name, go_name, nilable in _go_fields(type(value)):
            member = getattr(value, name)
            if name in held:
                member = read_part(member, held[name]) or None
            if isinstance(member, ObjectMeta):
                # Go embeds it, so that JSON has its fields in place of it.
                shown |= as_wire(member)
            else:
                shown[go_name] = as_internal(_nil(member, nilable))
        return shown
    return _plain(value, as_internal)


def difference(old: Any, new: Any) -> str:
    """What an update changes, as upstream shows it: a unified diff of the internal types' JSON."""
    before, after = (
        json.dumps(as_internal(value), indent=1, ensure_ascii=False).translate(HTML_ESCAPES)
        for value in (old, new)
    )
    lines = list(unified_diff(before.splitlines(), after.splitlines(), lineterm=""))[2:]
    return "".join(f"{line}\n" for line in lines)


def _plain(value: Any, show: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: show(value[key]) for key in sorted(value)}
    if isinstance(value, tuple):
        return [show(item) for item in value]
    if isinstance(value, msgspec.Raw):
        return _carried(bytes(value))
    if isinstance(value, (Quantity, Time)):
        return str(value)
    return value


# Carried JSON, which nobody has looked into -----------------------------------------------------

_UNREADABLE: Final = "(unreadable JSON)"
_TOO_DEEP: Final = "(and so on)"

# What is nested deeper tells a reader nothing; and those who print it must not run out of stack.
SHOWN_NESTING_MAX: Final = 64


def _carried(data: bytes) -> Any:
    try:
        return _printable(parse_json(data), SHOWN_NESTING_MAX)
    except (DecodeError, RecursionError):
        return _UNREADABLE


def _printable(value: Any, levels: int) -> Any:
    """The parsed value with plain numbers, down to so many levels of objects and lists."""
    if isinstance(value, JSONNumber):
        number = float(value.text)
        # JSON has no infinity; only the text tells such a number from any other.
        return number if isfinite(number) else value.text
    if isinstance(value, (dict, list)) and not levels:
        return _TOO_DEEP
    if isinstance(value, dict):
        return {key: _printable(member, levels - 1) for key, member in value.items()}
    if isinstance(value, list):
        return [_printable(item, levels - 1) for item in value]
    return value


# Fields ----------------------------------------------------------------------------------------

# Stands for "no value is left out": equal to nothing.
_NEVER: Final = object()


@cache
def _wire_fields(kind: type[Struct]) -> tuple[tuple[str, str, Any], ...]:
    """Name, wire name and the value for which the field is left out."""
    rows = []
    for field in msgspec.structs.fields(kind):
        if field.name == "unknown_fields":
            continue
        omitted = {} if field.default_factory is dict else _NEVER
        if field.default is not msgspec.NODEFAULT:
            omitted = field.default
        rows.append((field.name, field.encode_name, omitted))
    return tuple(rows)


# Words that Go writes in capitals where we write them small.
_GO_WORDS: Final[Mapping[str, str]] = {
    "api": "API",
    "aws": "AWS",
    "cel": "CEL",
    "cephfs": "CephFS",
    "chap": "CHAP",
    "cpu": "CPU",
    "csi": "CSI",
    "dns": "DNS",
    "fc": "FC",
    "fqdn": "FQDN",
    "fs": "FS",
    "gce": "GCE",
    "gmsa": "GMSA",
    "grpc": "GRPC",
    "http": "HTTP",
    "id": "ID",
    "io": "IO",
    "ip": "IP",
    "ipc": "IPC",
    "ips": "IPs",
    "iqn": "IQN",
    "iscsi": "ISCSI",
    "nfs": "NFS",
    "os": "OS",
    "pd": "PD",
    "pid": "PID",
    "rbd": "RBD",
    "selinux": "SELinux",
    "ssl": "SSL",
    "storageos": "StorageOS",
    "tcp": "TCP",
    "tty": "TTY",
    "uid": "UID",
    "uri": "URI",
    "uuid": "UUID",
    "wwids": "WWIDs",
    "wwns": "WWNs",
}


# Fields that the internal types call otherwise than the wire does.
_GO_NAMES: Final[Mapping[tuple[str, str], str]] = {
    ("PodSpec", "ServiceAccount"): "DeprecatedServiceAccount",
    ("PhotonPersistentDiskVolumeSource", "PDID"): "PdID",
    ("AzureDiskVolumeSource", "DiskURI"): "DataDiskURI",
    ("RBDVolumeSource", "Monitors"): "CephMonitors",
    ("RBDVolumeSource", "Image"): "RBDImage",
    ("RBDVolumeSource", "Pool"): "RBDPool",
    ("RBDVolumeSource", "User"): "RadosUser",
    ("GlusterfsVolumeSource", "Endpoints"): "EndpointsName",
    ("ISCSIVolumeSource", "CHAPAuthDiscovery"): "DiscoveryCHAPAuth",
    ("ISCSIVolumeSource", "CHAPAuthSession"): "SessionCHAPAuth",
}


@cache
def _go_fields(kind: type[Struct]) -> tuple[tuple[str, str, bool], ...]:
    """Name, Go name, and whether an empty value there can only mean an absent one."""
    rows = []
    for field in msgspec.structs.fields(kind):
        if field.name == "unknown_fields":
            continue
        words = field.name.split("_")
        go_name = "".join(_GO_WORDS.get(word, word.capitalize()) for word in words)
        go_name = _GO_NAMES.get((kind.__name__, go_name), go_name)
        rows.append((field.name, go_name, field.default is not None))
    return tuple(rows)


def _nil(value: Any, nilable: bool) -> Any:
    return None if nilable and (value == () or value == {}) else value
