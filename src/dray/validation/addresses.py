"""Addresses in fields that are older than the rules for them.

Such a field never minded how an address is spelled; today it must not have leading zeros, which
some read as octal, nor be an IPv4 address in IPv6 clothes. Upstream counterpart:
IsValidIPForLegacyField and GetWarningsForIP in apimachinery's pkg/util/validation.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from dray.errors import quote
from dray.validation.findings import Findings

__all__ = ["address_warning", "check_address"]

# So many zeros before a number as anybody could mean; hostile ones end here.
_V4: Final = re.compile(r"(?:\d{1,99}\.){3}\d{1,99}", re.ASCII)
_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])")

ORIGIN: Final = "format=ip-sloppy"


def check_address(found: Findings, text: str, path: str) -> None:
    address = _read(text)
    if address is None:
        detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        found.invalid(path, text, detail, origin=ORIGIN)
    elif _has_stray_zeros(text):
        found.invalid(path, text, "must not have leading 0s", origin=ORIGIN)
    elif isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        found.invalid(path, text, "must not be an IPv4-mapped IPv6 address", origin=ORIGIN)


def address_warning(text: str, path: str) -> str:
    """What to tell those who spell an address otherwise than RFC 5952 does; empty if nothing."""
    address = _read(text)
    if address is None:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    if _has_stray_zeros(text) or mapped is not None:
        preferred = str(mapped or address)
        return f"{path}: non-standard IP address {quote(text)} is invalid: use {quote(preferred)}"
    if isinstance(address, IPv6Address) and str(address) != text:
        preferred = quote(str(address))
        return (
            f"{path}: IPv6 address {quote(text)} should be in RFC 5952 canonical format "
            f"({preferred})"
        )
    return ""


def _read(text: str) -> IPv4Address | IPv6Address | None:
    plain = _ZEROS.sub("", text)
    try:
        if ":" not in text:
            return IPv4Address(plain) if _V4.fullmatch(text) else None
        # A zone is part of no address that travels.
        return None if "%" in text else IPv6Address(plain)
    except ValueError:
        return None


def _has_stray_zeros(text: str) -> bool:
    if ":" not in text:
        return any(len(part) > 1 and part.startswith("0") for part in text.split("."))
    *groups, last = text.split(":")
    if "." in last:
        return _has_stray_zeros(last) or any(len(group) > 4 for group in groups)
    return any(len(group) > 4 for group in (*groups, last))
