"""Attributes of devices: exactly one value, or one list of values, under a qualified name.

Upstream counterpart: validateDeviceAttribute in pkg/apis/resource/validation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dray.api.resource import DeviceAttribute
from dray.validation.findings import Findings
from dray.validation.rules import (
    DOMAIN_BYTES_MAX,
    IDENTIFIER_BYTES_MAX,
    byte_length,
    check_qualified_name,
)
from dray.validation.shown import as_internal

__all__ = [
    "ATTRIBUTE_VALUE_BYTES_MAX",
    "check_attributes",
    "declare_attributes",
    "has_list",
    "shown_key",
    "version_holds",
]

ATTRIBUTE_VALUE_BYTES_MAX: Final = 64

# A domain, a slash and an identifier: longer keys are shortened where a path shows them.
_KEY_BYTES_MAX: Final = DOMAIN_BYTES_MAX + 1 + IDENTIFIER_BYTES_MAX

_UNION: Final = "union"
_MEMBERS: Final = (
    ("int", "int_value"),
    ("bool", "bool_value"),
    ("string", "string_value"),
    ("version", "version_value"),
    ("ints", "int_values"),
    ("bools", "bool_values"),
    ("strings", "string_values"),
    ("versions", "version_values"),
)
_MEMBERS_SHOWN: Final = ", ".join(f"`{name}`" for name, _ in _MEMBERS)

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_PRE_RELEASE: Final = r"(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = r"[0-9a-zA-Z-]+"
version_holds: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    rf"(?:-{_PRE_RELEASE}(?:\.{_PRE_RELEASE})*)?"
    rf"(?:\+{_BUILD}(?:\.{_BUILD})*)?"
).fullmatch


def check_attributes(found: Findings, attributes: Mapping[str, DeviceAttribute], path: str) -> None:
    for name, attribute in attributes.items():
        check_qualified_name(found, name, path)
        _check_attribute(found, attribute, f"{path}[{shown_key(name)}]")


def _check_attribute(found: Findings, attribute: DeviceAttribute, path: str) -> None:
    if attribute.string_value is not None:
        _check_string(found, attribute.string_value, f"{path}.string")
    if attribute.version_value is not None:
        _check_version(found, attribute.version_value, f"{path}.version")
    for name, values in (
        ("bools", attribute.bool_values),
        ("ints", attribute.int_values),
        ("strings", attribute.string_values),
        ("versions", attribute.version_values),
    ):
        if values is None:
            continue
        if not values:
            found.invalid(f"{path}.{name}", [], "must not be empty if specified")
        check = {"strings": _check_string, "versions": _check_version}.get(name)
        if check is not None:
            for index, value in enumerate(values):
                check(found, str(value), f"{path}.{name}[{index}]")
    count = sum(getattr(attribute, member) is not None for _, member in _MEMBERS)
    if count != 1:
        shown = as_internal(attribute) if count else ""
        detail = "exactly one value must be specified"
        found.invalid(path, shown, detail, origin=_UNION, shared=True)


def _check_string(found: Findings, value: str, path: str) -> None:
    if byte_length(value) > ATTRIBUTE_VALUE_BYTES_MAX:
        found.too_long(path, ATTRIBUTE_VALUE_BYTES_MAX)


def _check_version(found: Findings, value: str, path: str) -> None:
    if not version_holds(value):
        found.invalid(path, value, "must be a string compatible with semver.org spec 2.0.0")
    _check_string(found, value, path)


def declare_attributes(
    found: Findings, attributes: Mapping[str, DeviceAttribute], path: str
) -> None:
    for key, attribute in attributes.items():
        # An empty list counts as none here, unlike on the hand-written side.
        given = [name for name, member in _MEMBERS if getattr(attribute, member) not in (None, ())]
        if not given:
            detail = f"must specify one of: {_MEMBERS_SHOWN}"
            found.invalid(f"{path}[{key}]", "", detail, origin=_UNION)
        elif len(given) > 1:
            detail = f"must specify exactly one of: {_MEMBERS_SHOWN}"
            found.invalid(f"{path}[{key}]", f"{{{', '.join(given)}}}", detail, origin=_UNION)


def has_list(attribute: DeviceAttribute) -> bool:
    return (
        attribute.int_values is not None
        or attribute.bool_values is not None
        or attribute.string_values is not None
        or attribute.version_values is not None
    )


def shown_key(key: str, *, bytes_max: int = _KEY_BYTES_MAX) -> str:
    """A map's key as a path shows it: a hostile one loses its middle."""
    raw = key.encode()
    if len(raw) <= bytes_max:
        return key
    rest = bytes_max - 3
    return (raw[: (rest + 1) // 2] + b"..." + raw[len(raw) - rest // 2 :]).decode(errors="replace")
