"""Texts of IP addresses and prefixes, read and written the way Go's net/netip does.

Python's ipaddress module differs in what it accepts (zones, forms of prefix) and in every error
text, so nothing of it is used. An address is a number, its family's width and perhaps a zone;
whether a zone or an IPv4-mapped address is welcome is the caller's business.

Upstream counterpart: Go's net/netip.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dray.cel._library.go_text import quoted

__all__ = ["IPV4_BITS", "IPV6_BITS", "Address", "AddressError", "parse_address", "parse_prefix"]

IPV4_BITS: Final = 32
IPV6_BITS: Final = 128


class AddressError(Exception):
    """A text is no address or prefix; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class Address:
    number: int
    bits: int
    zone: str = ""

    @property
    def is_ipv4_mapped(self) -> bool:
        return self.bits == IPV6_BITS and self.number >> 32 == 0xFFFF

    def __str__(self) -> str:
        if self.bits == IPV4_BITS:
            return _dotted(self.number)
        if self.is_ipv4_mapped:
            text = f"::ffff:{_dotted(self.number & 0xFFFF_FFFF)}"
        else:
            text = _colons([self.number >> shift & 0xFFFF for shift in range(112, -1, -16)])
        return f"{text}%{self.zone}" if self.zone else text


def _dotted(number: int) -> str:
    return ".".join(str(octet) for octet in number.to_bytes(4, "big"))


def _colons(groups: list[int]) -> str:
    """Hexadecimal groups, the first of the longest runs of two or more zeros as `::`."""
    start, length = 0, 1
    for index in range(len(groups)):
        run = 0
        while index + run < len(groups) and groups[index + run] == 0:
            run += 1
        if run > length:
            start, length = index, run
    written = [f"{group:x}" for group in groups]
    if length < 2:
        return ":".join(written)
    return f"{':'.join(written[:start])}::{':'.join(written[start + length :])}"


def parse_address(text: str) -> Address:
    first = re.search("[.:%]", text)
    if first is None:
        raise _refusal(text, "unable to parse IP")
    if first[0] == ".":
        return Address(_read_ipv4(text, text), IPV4_BITS)
    if first[0] == "%":
        raise _refusal(text, "missing IPv6 address")
    return _read_ipv6(text)


_LENGTH: Final = re.compile("[0-9]|[1-9][0-9]*")
_LENGTH_DIGITS_MAX: Final = 18
"""Upstream reads a 64-bit integer; what is longer is another error than what is out of range."""


def parse_prefix(text: str) -> tuple[Address, int]:
    """The address before the slash, unmasked, and the number after it."""
    where = f"netip.ParsePrefix({quoted(text)})"
    written, slash, length = text.rpartition("/")
    if not slash:
        raise AddressError(f"{where}: no '/'")
    try:
        address = parse_address(written)
    except AddressError as error:
        raise AddressError(f"{where}: {error}") from None
    if address.zone:
        raise AddressError(f"{where}: IPv6 zones cannot be present in a prefix")
    if not _LENGTH.fullmatch(length) or _exceeds_int64(length):
        raise AddressError(f"{where}: bad bits after slash: {quoted(length)}")
    if len(length) > 3 or int(length) > address.bits:
        raise AddressError(f"{where}: prefix length out of range")
    return address, int(length)


def _exceeds_int64(digits: str) -> bool:
    if len(digits) <= _LENGTH_DIGITS_MAX:
        return False
    return len(digits) > 19 or int(digits) >= 2**63


def _refusal(text: str, rule: str, at: str = "") -> AddressError:
    place = f" (at {quoted(at)})" if at else ""
    return AddressError(f"ParseAddr({quoted(text)}): {rule}{place}")


def _read_ipv4(text: str, fields: str) -> int:
    """The number of four octets; `text` is what they are part of."""
    octets: list[int] = []
    octet, digits = 0, 0
    for index, character in enumerate(fields):
        if "0" <= character <= "9":
            if digits == 1 and octet == 0:
                raise _refusal(text, "IPv4 field has octet with leading zero")
            octet, digits = octet * 10 + int(character), digits + 1
            if octet > 255:
                raise _refusal(text, "IPv4 field has value >255")
        elif character == ".":
            if not digits or index == len(fields) - 1:
                rest = fields[index:]
                raise _refusal(text, "IPv4 field must have at least one digit", rest)
            if len(octets) == 3:
                raise _refusal(text, "IPv4 address too long")
            octets.append(octet)
            octet, digits = 0, 0
        else:
            raise _refusal(text, "unexpected character", fields[index:])
    if len(octets) < 3:
        raise _refusal(text, "IPv4 address too short")
    return int.from_bytes((*octets, octet), "big")


_GROUP: Final = re.compile("[0-9a-fA-F]{0,5}")
_GROUPS: Final = 8


def _read_ipv6(text: str) -> Address:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _refusal(text, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis: int | None = None
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
    while rest and len(groups) < _GROUPS:
        match = _GROUP.match(rest)
        assert match is not None
        digits = match[0]
        if len(digits) > 4:
            raise _refusal(text, "each group must have 4 or less digits", rest)
        if not digits:
            rule = "each colon-separated field must have at least one digit"
            raise _refusal(text, rule, rest)
        if rest[len(digits) :].startswith("."):
            number = _read_embedded_ipv4(text, rest, len(groups), ellipsis)
            groups += (number >> 16, number & 0xFFFF)
            rest = ""
            break
        groups.append(int(digits, 16))
        rest = rest[len(digits) :]
        if rest:
            rest = _after_colon(text, rest)
            if rest.startswith(":"):
                if ellipsis is not None:
                    raise _refusal(text, "multiple :: in address", rest)
                ellipsis, rest = len(groups), rest[1:]
    if rest:
        raise _refusal(text, "trailing garbage after address", rest)
    missing = _GROUPS - len(groups)
    if missing and ellipsis is None:
        raise _refusal(text, "address string too short")
    if ellipsis is not None:
        if not missing:
            raise _refusal(text, "the :: must expand to at least one field of zeros")
        groups[ellipsis:ellipsis] = [0] * missing
    number = 0
    for group in groups:
        number = number << 16 | group
    return Address(number, IPV6_BITS, zone)


def _after_colon(text: str, rest: str) -> str:
    if rest[0] != ":":
        raise _refusal(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _refusal(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _read_embedded_ipv4(text: str, rest: str, groups: int, ellipsis: int | None) -> int:
    if ellipsis is None and groups != _GROUPS - 2:
        rule = "embedded IPv4 address must replace the final 2 fields of the address"
        raise _refusal(text, rule, rest)
    if groups > _GROUPS - 2:
        rule = "too many hex fields to fit an embedded IPv4 at the end of the address"
        raise _refusal(text, rule, rest)
    return _read_ipv4(text, rest)
