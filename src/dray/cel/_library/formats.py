"""Named formats in expressions: `format.dns1123Label().validate("my-name")`.

A format is a name and a rule from a text to what is wrong with it, word for word upstream's; most
rules are those of `dray.api.names`. Formats are equal if their names are.

Upstream counterparts: apiserver pkg/cel/library/format.go and pkg/cel/format.go; kube-openapi's
strfmt for dates, UUIDs and base64.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, Final

from dray.api import names
from dray.api.names import Messages
from dray.cel import _types as types
from dray.cel._failures import Failure, no_such_overload
from dray.cel._library.table import FunctionTable, Implementation
from dray.cel._library.urls import URLError, check_request_uri
from dray.cel._types import Type
from dray.cel._values import NONE, Optional, Value

__all__ = ["FUNCTIONS", "NamedFormat"]


@dataclass(frozen=True, slots=True, eq=False)
class NamedFormat:
    """`regex_size` is what upstream takes for the length of the rule as a regular expression.

    A format cannot be a key of a map: upstream crashes there.
    """

    cel_type: ClassVar[Type] = types.FORMAT
    name: str
    check: Callable[[str], Messages]
    regex_size: int

    def cel_equal(self, other: Value) -> bool:
        if type(other) is not NamedFormat:
            raise Failure("no such overload")
        return self.name == other.name

    def __str__(self) -> str:
        return f"{{{self.name} {self.regex_size}}}"


# Rules

_FINE: Final[Messages] = ()


def _prefix_of(rule: Callable[[str], Messages]) -> Callable[[str], Messages]:
    """The rule for the beginning of a name to which something will be added."""
    return lambda text: rule(names.mask_trailing_dash(text))


def _uri(text: str) -> Messages:
    try:
        check_request_uri(text)
    except URLError as error:
        return (str(error),)
    return _FINE


_HEXADECIMAL: Final = "[0-9a-fA-F]"
_UUID: Final = re.compile(f"{_HEXADECIMAL}{{8}}-?({_HEXADECIMAL}{{4}}-?){{3}}{_HEXADECIMAL}{{12}}")
_BASE64: Final = re.compile("(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_DATE: Final = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:[zZ]|[+-][0-9]{2}:[0-9]{2})"
)


def _uuid(text: str) -> Messages:
    """More forgiving than the rule for share IDs: upper case, and dashes where one likes."""
    return _FINE if _UUID.fullmatch(text) else ("does not match the UUID format",)


def _byte(text: str) -> Messages:
    return _FINE if text and _BASE64.fullmatch(text) else ("invalid base64",)


def _date(text: str) -> Messages:
    return _FINE if _is_date(text) else ("invalid date",)


def _datetime(text: str) -> Messages:
    """Whatever follows a second `t` is ignored, and the zone may be anything of its form."""
    parts = re.split("[tT]", text, maxsplit=2)
    if len(parts) >= 2 and _is_date(parts[0]):
        time = _TIME.fullmatch(parts[1])
        if time is not None and time[1] <= "23" and time[2] <= "59" and time[3] <= "59":
            return _FINE
    return ("invalid datetime",)


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    try:
        # Year 0 exists in the notation, and is a leap year like year 4.
        date(year or 4, month, day)
    except ValueError:
        return False
    return True


_FORMATS: Final = {
    "dns1123Label": NamedFormat("DNS1123Label", names.dns_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", names.dns_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", names.dns_1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", names.label_key, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix_of(names.dns_label), 30),
    "dns1123SubdomainPrefix": NamedFormat(
        "DNS1123SubdomainPrefix", _prefix_of(names.dns_subdomain), 60
    ),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix_of(names.dns_1035_label), 30),
    "labelValue": NamedFormat("LabelValue", names.label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _uuid, 70),
    "byte": NamedFormat("byte", _byte, 84),
    "date": NamedFormat("date", _date, 71),
    "datetime": NamedFormat("datetime", _datetime, 71),
}


# Functions


def _named(name: str) -> Optional:
    found = _FORMATS.get(name)
    return NONE if found is None else Optional(found)


def _validate(form: NamedFormat, text: Value) -> Optional:
    if type(text) is not str:
        raise no_such_overload("validate", form, text)
    messages = form.check(text)
    return Optional(list(messages)) if messages else NONE


def _constant(form: NamedFormat) -> Implementation:
    return lambda: form


FUNCTIONS: Final[FunctionTable] = {
    "format.named": {str: _named},
    "validate": {NamedFormat: _validate},
    **{f"format.{name}": {object: _constant(form)} for name, form in _FORMATS.items()},
}
