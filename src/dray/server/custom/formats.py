"""Formats of texts that schemas may ask for, and what is in them.

A format that is not here is not looked at. Dashes in names do not count: date-time is datetime.
Upstream counterparts: kube-openapi pkg/validation/strfmt, and the formats that
apiextensions-apiserver supports.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from email.errors import MessageError
from email.headerregistry import Address
from typing import Final

from dray.cel.texts import fits_format, matches

__all__ = ["is_known", "is_recognized", "text_fits"]

_INTEGER_FORMATS: Final = frozenset({"int32", "int64"})
_NUMBER_FORMATS: Final = frozenset({"float", "double"})


def is_known(format_: str) -> bool:
    """Whether texts of this format are looked at."""
    return _plain(format_) in _CHECKS


def is_recognized(format_: str, types: tuple[str, ...]) -> bool:
    """Whether the format means anything for values of this one type, or of any."""
    type_ = types[0] if len(types) == 1 else ""
    if type_ in ("", "string"):
        return is_known(format_)
    if type_ == "integer":
        return format_ in _INTEGER_FORMATS
    return type_ == "number" and format_ in _NUMBER_FORMATS


def text_fits(text: str, format_: str) -> bool:
    """Whether the text has a known format."""
    return _CHECKS[_plain(format_)](text)


def _plain(format_: str) -> str:
    return format_.replace("-", "")


def _of_cel(name: str) -> Callable[[str], bool]:
    return lambda text: fits_format(text, name)


def _pattern(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


_HOST_LABEL: Final = r"[a-zA-Z0-9\p{S}\p{L}]"
_HOSTNAME: Final = (
    rf"^({_HOST_LABEL}((-?{_HOST_LABEL}{{0,62}})?)"
    rf"|({_HOST_LABEL}(([a-zA-Z0-9-\p{{S}}\p{{L}}]{{0,61}}{_HOST_LABEL})?)(\.)){{1,}}"
    r"([a-zA-Z\p{L}]){2,63})$"
)
_HOSTNAME_BYTES_MAX: Final = 255
_HOST_LABEL_BYTES_MAX: Final = 63


def _hostname(text: str) -> bool:
    if len(text.encode()) > _HOSTNAME_BYTES_MAX or not matches(text, _HOSTNAME):
        return False
    return all(len(part.encode()) <= _HOST_LABEL_BYTES_MAX for part in text.split("."))


def _email(text: str) -> bool:
    """An address as headers of mail have it, with or without the name of its owner."""
    if not text.isascii() or any(not each.isprintable() for each in text):
        return False
    match = re.fullmatch(r"(?:[^<>]*<([^<>]+)>|([^<>\s]+))", text.strip())
    if match is None:
        return False
    try:
        address = Address(addr_spec=match[1] or match[2])
    except (MessageError, ValueError, IndexError):
        return False
    return bool(address.username and address.domain)


_LEADING_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F:])0+(?=\d)")


def _address(text: str) -> bool:
    try:
        # Zeros in front were once allowed in IPv4, and are still read as decimal.
        ipaddress.ip_address(_LEADING_ZEROS.sub("", text) if "." in text else text)
    except ValueError:
        return False
    return "%" not in text


def _cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    if not slash or not re.fullmatch(r"[0-9]{1,3}", length) or not _address(address):
        return False
    return int(length) <= (128 if ":" in address else 32)


_HEX: Final = "[0-9a-fA-F]"
_MAC: Final = "|".join(
    rf"{_HEX}{{{digits}}}(?:{separator}{_HEX}{{{digits}}}){{{count - 1}}}"
    for digits, separator, counts in ((2, ":", (6, 8, 20)), (2, "-", (6, 8, 20)))
    for count in counts
) + "".join(rf"|{_HEX}{{4}}(?:\.{_HEX}{{4}}){{{count - 1}}}" for count in (3, 4, 10))

_CARD: Final = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}"
)


def _credit_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(each % 10 + each // 10 for each in doubled) % 10 == 0


def _isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    weighed = sum(int(digit) * (1 + 2 * (place % 2)) for place, digit in enumerate(digits[:12]))
    return (10 - weighed % 10) % 10 == int(digits[12])


_GO_DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_SPOKEN_DURATION: Final = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_UNITS: Final = (
    "ns", "nano", "us", "µs", "micro", "ms", "milli", "s", "sec", "m", "min", "h", "hr", "hour",
    "d", "day", "w", "wk", "week",
)  # fmt: skip
_SPOKEN_UNITS: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


def _duration(text: str) -> bool:
    """A duration of Go's, or one as people write it: 3 days, 2 weeks."""
    if _GO_DURATION.fullmatch(text):
        return True
    units = [unit.lower() for _count, unit in _SPOKEN_DURATION.findall(text)]
    return any(unit in _UNITS or unit.startswith(_SPOKEN_UNITS) for unit in units)


_SHORT_NAME: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"

_CHECKS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _pattern("[0-9a-fA-F]{24}"),
    "uri": _of_cel("uri"),
    "email": _email,
    "hostname": _hostname,
    "ipv4": lambda text: "." in text and _address(text),
    "ipv6": lambda text: ":" in text and _address(text),
    "cidr": _cidr,
    "mac": _pattern(_MAC),
    "uuid": _of_cel("uuid"),
    "uuid3": _pattern(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?3{_HEX}{{3}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    **{
        f"uuid{version}": _pattern(
            rf"{_HEX}{{8}}-?{_HEX}{{4}}-?{version}{_HEX}{{3}}-?[89abAB]{_HEX}{{3}}-?{_HEX}{{12}}"
        )
        for version in (4, 5)
    },
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _credit_card,
    "ssn": lambda text: len(text) == 11 and bool(re.fullmatch(r"\d{3}[- ]?\d{2}[- ]?\d{4}", text)),
    "hexcolor": _pattern("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _pattern(
        r"rgb\(\s*{part}\s*,\s*{part}\s*,\s*{part}\s*\)".replace(
            "{part}", r"(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
        )
    ),
    "byte": _of_cel("byte"),
    "password": lambda _text: True,
    "date": _of_cel("date"),
    "duration": _duration,
    "datetime": _of_cel("datetime"),
    "k8sshortname": lambda text: len(text) <= 63 and bool(re.fullmatch(_SHORT_NAME, text)),
    "k8slongname": lambda text: (
        len(text) <= 253 and bool(re.fullmatch(rf"{_SHORT_NAME}(?:\.{_SHORT_NAME})*", text))
    ),
}
