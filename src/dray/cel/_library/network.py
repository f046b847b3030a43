"""IP addresses and networks in expressions: `ip("10.0.0.1")`, `cidr("10.0.0.0/8").containsIP(…)`.

Addresses with a zone and IPv4-mapped ones are no values here: upstream refuses them, whatever
netip makes of them. Two addresses are equal if family and number are, so they are keys of maps by
value.

Upstream counterparts: apiserver pkg/cel/library/ip.go and cidr.go, pkg/cel/ip.go and cidr.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from dray.cel import _types as types
from dray.cel._failures import Failure, no_such_overload
from dray.cel._library.go_text import quoted
from dray.cel._library.netip import (
    IPV4_BITS,
    IPV6_BITS,
    Address,
    AddressError,
    parse_address,
    parse_prefix,
)
from dray.cel._library.table import FunctionTable, Implementation
from dray.cel._types import Type
from dray.cel._values import Value

__all__ = ["CIDR", "FUNCTIONS", "IP", "OVERLOADS"]


@dataclass(frozen=True, slots=True)
class IP:
    cel_type: ClassVar[Type] = types.IP
    number: int
    bits: int

    def cel_equal(self, other: Value) -> bool:
        if type(other) is not IP:
            raise Failure("no such overload")
        return self == other

    def __str__(self) -> str:
        return str(Address(self.number, self.bits))

    @property
    def size(self) -> int:
        """In bytes, for what a call costs."""
        return self.bits // 8

    @property
    def is_ipv4(self) -> bool:
        return self.bits == IPV4_BITS

    def starts_with(self, prefix: int, length: int) -> bool:
        """The first `length` bits are those of `prefix`."""
        return self.number >> self.bits - length == prefix


@dataclass(frozen=True, slots=True)
class CIDR:
    """An address, not necessarily the first of its network, and the length of the prefix."""

    cel_type: ClassVar[Type] = types.CIDR
    ip: IP
    length: int

    def cel_equal(self, other: Value) -> bool:
        if type(other) is not CIDR:
            raise Failure("no such overload")
        return self == other

    def __str__(self) -> str:
        return f"{self.ip}/{self.length}"

    @property
    def size(self) -> int:
        """The bytes of the prefix, for what a call costs."""
        return -(-self.length // 8)

    @property
    def prefix(self) -> int:
        return self.ip.number >> self.ip.bits - self.length

    def contains(self, ip: IP) -> bool:
        return ip.bits == self.ip.bits and ip.starts_with(self.prefix, self.length)


# Reading


def _read_ip(text: str) -> IP:
    try:
        address = parse_address(text)
    except AddressError as error:
        raise Failure(
            f"IP Address {quoted(text)} parse error during conversion from string: {error}"
        ) from None
    if address.zone:
        raise Failure(f"IP address {quoted(text)} with zone value is not allowed")
    if address.is_ipv4_mapped:
        raise Failure(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return IP(address.number, address.bits)


# Upstream adds the same words twice, once where it reads the text and once where it converts it.
_CONVERSION: Final = "network address parse error during conversion from string: "


def _read_cidr(text: str) -> CIDR:
    try:
        address, length = parse_prefix(text)
    except AddressError as error:
        raise Failure(f"{_CONVERSION}{_CONVERSION}{error}") from None
    if address.is_ipv4_mapped:
        raise Failure(f"{_CONVERSION}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return CIDR(IP(address.number, address.bits), length)


def _is_ip(text: str) -> bool:
    try:
        _read_ip(text)
    except Failure:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        _read_cidr(text)
    except Failure:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(_read_ip(text)) == text


# Addresses


def _family(ip: IP) -> int:
    return 4 if ip.is_ipv4 else 6


def _is_unspecified(ip: IP) -> bool:
    return ip.number == 0


def _is_loopback(ip: IP) -> bool:
    return ip.starts_with(127, 8) if ip.is_ipv4 else ip.number == 1


def _is_link_local_multicast(ip: IP) -> bool:
    if ip.is_ipv4:
        return ip.starts_with(0xE00000, 24)
    # ff?2: the third digit has flags that do not matter.
    return ip.number >> IPV6_BITS - 16 & 0xFF0F == 0xFF02


def _is_link_local_unicast(ip: IP) -> bool:
    return ip.starts_with(0xA9FE, 16) if ip.is_ipv4 else ip.starts_with(0b1111111010, 10)


def _is_multicast(ip: IP) -> bool:
    return ip.starts_with(0xE, 4) if ip.is_ipv4 else ip.starts_with(0xFF, 8)


def _is_global_unicast(ip: IP) -> bool:
    """Private addresses are global to upstream: only special purposes and broadcast are not."""
    return not (
        _is_unspecified(ip)
        or (ip.is_ipv4 and ip.number == 0xFFFF_FFFF)
        or _is_loopback(ip)
        or _is_multicast(ip)
        or _is_link_local_unicast(ip)
    )


# Networks


def _contains_ip(cidr: CIDR, other: Value) -> bool:
    if type(other) is str:
        try:
            other = _read_ip(other)
        except Failure:
            # Upstream blames the network for a text that is no address.
            raise Failure("no such overload") from None
    elif type(other) is not IP:
        raise no_such_overload("containsIP", cidr, other)
    return cidr.contains(other)


def _contains_cidr(cidr: CIDR, other: Value) -> bool:
    if type(other) is str:
        other = _read_cidr(other)
    elif type(other) is not CIDR:
        raise no_such_overload("containsCIDR", cidr, other)
    return cidr.length <= other.length and cidr.contains(other.ip)


def _ip_of(cidr: CIDR) -> IP:
    return cidr.ip


def _masked(cidr: CIDR) -> CIDR:
    number = cidr.prefix << cidr.ip.bits - cidr.length
    return CIDR(IP(number, cidr.ip.bits), cidr.length)


def _prefix_length(cidr: CIDR) -> int:
    return cidr.length


FUNCTIONS: Final[FunctionTable] = {
    "ip": {str: _read_ip, CIDR: _ip_of},
    "isIP": {str: _is_ip},
    "ip.isCanonical": {str: _is_canonical},
    "family": {IP: _family},
    "isUnspecified": {IP: _is_unspecified},
    "isLoopback": {IP: _is_loopback},
    "isLinkLocalMulticast": {IP: _is_link_local_multicast},
    "isLinkLocalUnicast": {IP: _is_link_local_unicast},
    "isGlobalUnicast": {IP: _is_global_unicast},
    "cidr": {str: _read_cidr},
    "isCIDR": {str: _is_cidr},
    "containsIP": {CIDR: _contains_ip},
    "containsCIDR": {CIDR: _contains_cidr},
    "masked": {CIDR: _masked},
    "prefixLength": {CIDR: _prefix_length},
    "string": {IP: str, CIDR: str},
}


def _ip_of_text(value: Value) -> IP:
    if type(value) is not str:
        raise no_such_overload("ip", value)
    return _read_ip(value)


def _ip_of_cidr(value: Value) -> IP:
    if type(value) is not CIDR:
        raise no_such_overload("ip", value)
    return _ip_of(value)


OVERLOADS: Final[Mapping[str, Implementation]] = {
    "string_to_ip": _ip_of_text,
    "cidr_ip": _ip_of_cidr,
}
"""By the overload that was found when the expression was checked: `x.ip()` and `ip(x)` are always
told apart, whatever x turns out to be."""
