"""Rules that all kinds share: names, sizes, uniqueness, immutability.

Each function takes the findings to add to, a value and its path. `check_…` is a hand-written rule
of upstream, `declare_…` one that upstream's schema declares; where both exist they differ in
wording and sometimes in what they accept, and a kind's module applies them in upstream's places.
`shared` says that a hand-written rule gives way to its declared twin (see `findings`).

What a name may look like is in `dray.api.names`; whether a whole object is right is in the
modules named after the kinds. Upstream counterparts: pkg/apis/resource/validation, the parts of
pkg/apis/core/validation it calls, and apimachinery's api/validate.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence, Sized
from typing import Any, Final

from dray.api import names
from dray.api.equality import semantically_equal
from dray.errors import quote
from dray.validation.findings import Findings
from dray.validation.shown import as_internal, as_wire

__all__ = [
    "DOMAIN_BYTES_MAX",
    "IDENTIFIER_BYTES_MAX",
    "IMMUTABLE",
    "LONG_NAME",
    "POOL_NAME_BYTES_MAX",
    "byte_length",
    "check_dns_label",
    "check_dns_subdomain",
    "check_driver_name",
    "check_fully_qualified_name",
    "check_immutable",
    "check_label_key",
    "check_label_value",
    "check_node_name",
    "check_pool_name",
    "check_qualified_name",
    "check_size",
    "check_unique",
    "check_uuid",
    "declare_dns_label",
    "declare_dns_subdomain",
    "declare_driver_name",
    "declare_fully_qualified_name",
    "declare_pool_name",
    "declare_unique",
    "declare_uuid",
]

# A driver's name is a domain, and a domain is what qualifies a name.
DOMAIN_BYTES_MAX: Final = 63
IDENTIFIER_BYTES_MAX: Final = 32
POOL_NAME_BYTES_MAX: Final = 253

IMMUTABLE: Final = "field is immutable"

SHORT_NAME: Final = "format=k8s-short-name"
LONG_NAME: Final = "format=k8s-long-name"
LONG_NAME_CASELESS: Final = "format=k8s-long-name-caseless"
LABEL_KEY: Final = "format=k8s-label-key"
POOL_NAME: Final = "format=k8s-resource-pool-name"
FULLY_QUALIFIED_NAME: Final = "format=k8s-resource-fully-qualified-name"
UUID: Final = "format=k8s-uuid"
MAX_ITEMS: Final = "maxItems"
MAX_LENGTH: Final = "maxLength"


def byte_length(text: str) -> int:
    """What upstream's limits count."""
    return len(text) if text.isascii() else len(text.encode())


# Names -----------------------------------------------------------------------------------------


def check_dns_label(found: Findings, value: str, path: str, *, shared: bool | None = None) -> None:
    for message in names.dns_label(value):
        found.invalid(path, value, message, origin=SHORT_NAME, shared=shared)


def declare_dns_label(
    found: Findings, value: str, path: str, *, shared: bool | None = None
) -> None:
    for message in names.short_name(value):
        found.invalid(path, value, message, origin=SHORT_NAME, shared=shared)


def check_dns_subdomain(
    found: Findings, value: str, path: str, *, shared: bool | None = None
) -> None:
    for message in names.dns_subdomain(value):
        found.invalid(path, value, message, origin=LONG_NAME, shared=shared)


def declare_dns_subdomain(
    found: Findings, value: str, path: str, *, shared: bool | None = None
) -> None:
    for message in names.long_name(value):
        found.invalid(path, value, message, origin=LONG_NAME, shared=shared)


def check_label_key(found: Findings, value: str, path: str, *, shared: bool | None = None) -> None:
    for message in names.label_key(value):
        found.invalid(path, value, message, origin=LABEL_KEY, shared=shared)


def check_label_value(found: Findings, value: str, path: str) -> None:
    for message in names.label_value(value):
        found.invalid(path, value, message)


def check_node_name(found: Findings, value: str, path: str) -> None:
    for message in names.dns_subdomain(value):
        found.invalid(path, value, message)


def check_driver_name(
    found: Findings, value: str, path: str, *, shared: bool | None = None
) -> None:
    """A DNS subdomain in any case."""
    if not value:
        found.required(path, shared=shared)
        return
    if byte_length(value) > DOMAIN_BYTES_MAX:
        found.too_long(path, DOMAIN_BYTES_MAX, origin=MAX_LENGTH, shared=shared)
    for message in names.dns_subdomain(value.lower()):
        found.invalid(path, value, message, origin=LONG_NAME_CASELESS, shared=shared)


def declare_driver_name(
    found: Findings,
    value: str,
    path: str,
    *,
    bounded: bool = True,
    length_first: bool = False,
    shared: bool | None = None,
) -> None:
    """`length_first` is for versions whose schema lists the two rules the other way round."""
    if not value:
        found.required(path, shared=shared)
        return
    too_long = bounded and len(value) > DOMAIN_BYTES_MAX
    if too_long and length_first:
        found.too_long(path, DOMAIN_BYTES_MAX, "characters", origin=MAX_LENGTH, shared=shared)
    for message in names.long_name_caseless(value):
        found.invalid(path, value, message, origin=LONG_NAME_CASELESS, shared=shared)
    if too_long and not length_first:
        found.too_long(path, DOMAIN_BYTES_MAX, "characters", origin=MAX_LENGTH, shared=shared)


def check_pool_name(found: Findings, value: str, path: str, *, shared: bool | None = None) -> None:
    """One or more DNS subdomains, separated by slashes."""
    if not value:
        found.required(path, shared=shared)
        return
    if byte_length(value) > POOL_NAME_BYTES_MAX:
        found.too_long(path, POOL_NAME_BYTES_MAX, origin=POOL_NAME, shared=shared)
    for part in value.split("/"):
        for message in names.dns_subdomain(part):
            found.invalid(path, part, message, origin=POOL_NAME, shared=shared)


def declare_pool_name(
    found: Findings, value: str, path: str, *, shared: bool | None = None
) -> None:
    """The format alone; whether a name is required is for the caller to say."""
    if byte_length(value) > POOL_NAME_BYTES_MAX:
        found.too_long(path, POOL_NAME_BYTES_MAX, origin=POOL_NAME, shared=shared)
    for index, part in enumerate(value.split("/")):
        if not part:
            detail = f"segment {index}: must not be empty"
            found.invalid(path, value, detail, origin=POOL_NAME, shared=shared)
            continue
        for message in names.long_name(part):
            detail = f"segment {index}: {message}"
            found.invalid(path, part, detail, origin=POOL_NAME, shared=shared)


def check_qualified_name(
    found: Findings, value: str, path: str, *, origin: str = "", shared: bool | None = None
) -> None:
    """An identifier, optionally in a domain. Upstream lets names with more slashes pass."""
    domain, slash, identifier = value.partition("/")
    if not slash:
        _check_identifier(found, value, path, origin=origin, shared=shared)
        return
    if "/" in identifier:
        return
    if not domain:
        found.invalid(path, "", "the domain must not be empty", origin=origin, shared=shared)
    else:
        if byte_length(domain) > DOMAIN_BYTES_MAX:
            found.too_long(path, DOMAIN_BYTES_MAX, origin=origin, shared=shared)
        for message in names.dns_subdomain(domain.lower()):
            found.invalid(path, domain, message, origin=origin, shared=shared)
    if not identifier:
        found.invalid(path, "", "the name must not be empty", origin=origin, shared=shared)
    else:
        _check_identifier(found, identifier, path, origin=origin, shared=shared)


def check_fully_qualified_name(
    found: Findings, value: str, path: str, *, shared: bool | None = None
) -> None:
    check_qualified_name(found, value, path, origin=FULLY_QUALIFIED_NAME, shared=shared)
    if "/" not in value:
        found.invalid(path, value, _NOT_FULL, origin=FULLY_QUALIFIED_NAME, shared=shared)


def declare_fully_qualified_name(
    found: Findings, value: str, path: str, *, shared: bool | None = None
) -> None:
    """As the hand-written rule, but the domain must be in lower case."""
    origin = FULLY_QUALIFIED_NAME
    domain, slash, identifier = value.partition("/")
    if not slash:
        _check_identifier(found, value, path, origin=origin, shared=shared)
        found.invalid(path, value, _NOT_FULL, origin=origin, shared=shared)
        return
    if "/" in identifier:
        return
    if not domain:
        found.invalid(path, "", "prefix must not be empty", origin=origin, shared=shared)
    else:
        if byte_length(domain) > DOMAIN_BYTES_MAX:
            found.too_long(path, DOMAIN_BYTES_MAX, origin=origin, shared=shared)
        for message in names.long_name(domain):
            found.invalid(path, domain, f"prefix: {message}", origin=origin, shared=shared)
    if not identifier:
        found.invalid(path, "", "name must not be empty", origin=origin, shared=shared)
    else:
        _check_identifier(found, identifier, path, origin=origin, shared=shared)


_NOT_FULL: Final = "a fully qualified name must be a domain and a name separated by a slash"


def _check_identifier(
    found: Findings, value: str, path: str, *, origin: str, shared: bool | None
) -> None:
    if byte_length(value) > IDENTIFIER_BYTES_MAX:
        found.too_long(path, IDENTIFIER_BYTES_MAX, origin=origin, shared=shared)
    for message in names.c_identifier(value):
        found.invalid(path, value, message, origin=origin, shared=shared)


def check_uuid(found: Findings, value: str, path: str, *, shared: bool | None = None) -> None:
    if not names.uuid(value):
        return
    problem = _uuid_problem(value)
    detail = (
        f"error validating uid: {problem}"
        if problem
        else "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with"
        " lowercase hexadecimal characters"
    )
    found.invalid(path, value, detail, origin=UUID, shared=shared)


def declare_uuid(found: Findings, value: str, path: str, *, shared: bool | None = None) -> None:
    for message in names.uuid(value):
        found.invalid(path, value, message, origin=UUID, shared=shared)


def _uuid_problem(value: str) -> str:
    """Why a text is no UUID in any of the forms the hand-written rule knows; empty if it is."""
    length = byte_length(value)
    if length == 45:
        if value[:9].lower() != "urn:uuid:":
            return f"invalid urn prefix: {quote(value[:9])}"
        value = value[9:]
    elif length == 38:
        if value[0] != "{" or value[-1] != "}":
            return "invalid bracketed UUID format"
        value = value[1:-1]
    elif length == 32:
        return "" if re.fullmatch("[0-9a-fA-F]{32}", value) else "invalid UUID format"
    elif length != 36:
        return f"invalid UUID length: {length}"
    return "invalid UUID format" if names.uuid(value.lower()) else ""


# Lists and changes -----------------------------------------------------------------------------


def check_size(
    found: Findings, items: Sized, count_max: int, path: str, *, shared: bool | None = None
) -> bool:
    """Whether a list is short enough to look at its items; the declared rule is the same."""
    if len(items) <= count_max:
        return True
    found.too_many(path, len(items), count_max, origin=MAX_ITEMS, shared=shared)
    return False


def check_unique(
    found: Findings, keys: Iterable[Hashable], path: str, *, shared: bool | None = None
) -> None:
    """Every key once; names the later ones."""
    seen: set[Hashable] = set()
    for index, key in enumerate(keys):
        if key in seen:
            found.duplicate(f"{path}[{index}]", key, shared=shared)
        seen.add(key)


def declare_unique(
    found: Findings,
    items: Sequence[Any],
    keys: Iterable[Hashable],
    path: str,
    *,
    shared: bool | None = None,
) -> None:
    """Every key once; shows the whole later items."""
    seen: set[Hashable] = set()
    for index, key in enumerate(keys):
        if key in seen:
            found.duplicate(f"{path}[{index}]", as_wire(items[index]), shared=shared)
        seen.add(key)


def check_immutable(
    found: Findings,
    new: Any,
    old: Any,
    path: str,
    *,
    origin: str = "",
    shared: bool | None = None,
) -> None:
    if not semantically_equal(new, old):
        found.invalid(path, as_internal(new), IMMUTABLE, origin=origin, shared=shared)
