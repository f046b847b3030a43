"""Which texts may name things: labels, subdomains, keys, identifiers, path segments.

Every rule is a function from a text to the messages that say what is wrong with it, word for word
upstream's; no messages means the text is fine. Rules that exist for DRA alone (driver, pool and
qualified attribute names) are built from these in `dray.validation`, and so are field errors: here
nobody knows which field a name came from.

Two pairs differ only in wording. `dns_label` and `dns_subdomain` count "characters", as
hand-written validation does; `short_name` and `long_name` are the same rules in the words of
declarative validation, which counts "bytes". All rules count UTF-8 bytes.

Upstream counterparts: apimachinery's pkg/util/validation, pkg/api/validate and its content package.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeAlias

__all__ = [
    "DNS_LABEL_BYTES_MAX",
    "DNS_SUBDOMAIN_BYTES_MAX",
    "LABEL_VALUE_BYTES_MAX",
    "Messages",
    "c_identifier",
    "config_map_key",
    "dns_1035_label",
    "dns_label",
    "dns_subdomain",
    "dns_subdomain_with_underscores",
    "environment_variable_name",
    "http_header_name",
    "label_key",
    "label_value",
    "long_name",
    "long_name_caseless",
    "mask_trailing_dash",
    "path_segment",
    "path_segment_prefix",
    "port_name",
    "prefixed_label_key",
    "printable_name",
    "short_name",
    "uuid",
]

Messages: TypeAlias = tuple[str, ...]
Rule: TypeAlias = Callable[[str], Messages]

DNS_LABEL_BYTES_MAX: Final = 63
DNS_SUBDOMAIN_BYTES_MAX: Final = 253
LABEL_KEY_NAME_BYTES_MAX: Final = 63
LABEL_VALUE_BYTES_MAX: Final = 63
PORT_NAME_BYTES_MAX: Final = 15

# Slices repeat the same few thousand names and keys at every update; 4,096 verdicts per rule hold
# them. Longer texts are not kept, so that a hostile client cannot fill memory with them: no valid
# name is longer than a prefix, a slash and a name.
REMEMBERED_NAMES_MAX: Final = 4096
REMEMBERED_CHARACTERS_MAX: Final = DNS_SUBDOMAIN_BYTES_MAX + 1 + LABEL_KEY_NAME_BYTES_MAX

_FINE: Final[Messages] = ()


def _remember(rule: Rule) -> Rule:
    remembered = lru_cache(maxsize=REMEMBERED_NAMES_MAX)(rule)

    @wraps(rule)
    def check(text: str) -> Messages:
        return remembered(text) if len(text) <= REMEMBERED_CHARACTERS_MAX else rule(text)

    return check


# Names of objects and of parts of them ---------------------------------------------------------

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_1035_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"

_SEARCH_LABEL: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH_DOMAIN: Final = rf"{_SEARCH_LABEL}(\.{_SEARCH_LABEL})*"

_label: Final = re.compile(_LABEL)
_subdomain: Final = re.compile(_SUBDOMAIN)
# Go's case folding counts the long s and the Kelvin sign as letters of the alphabet; Python's
# would add two dotless and dotted i's, so the letters are spelled out.
_subdomain_caseless: Final = re.compile(_SUBDOMAIN.replace("a-z", "a-zA-Z\u017f\u212a"))
_1035_label: Final = re.compile(_1035_LABEL)
_search_domain: Final = re.compile(_SEARCH_DOMAIN)


@_remember
def dns_label(text: str) -> Messages:
    """RFC 1123 label: namespaces, requests, devices."""
    return _check_label(text, "characters")


@_remember
def short_name(text: str) -> Messages:
    """A DNS label, in the words of declarative validation."""
    return _check_label(text, "bytes")


@_remember
def dns_subdomain(text: str) -> Messages:
    """RFC 1123 subdomain: most objects, device classes, nodes."""
    return _check_subdomain(text, "characters")


@_remember
def long_name(text: str) -> Messages:
    """A DNS subdomain, in the words of declarative validation."""
    return _check_subdomain(text, "bytes")


@_remember
def long_name_caseless(text: str) -> Messages:
    """A DNS subdomain that may use upper case: drivers' names from before case was settled."""
    messages = []
    if _bytes(text) > DNS_SUBDOMAIN_BYTES_MAX:
        messages.append(_too_long(DNS_SUBDOMAIN_BYTES_MAX, "bytes"))
    if not _subdomain_caseless.fullmatch(text):
        messages.append(
            _mismatch(
                "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
                "and must start and end with an alphanumeric character",
                _SUBDOMAIN,
                "Example.com",
            )
        )
    return tuple(messages)


@_remember
def dns_1035_label(text: str) -> Messages:
    """RFC 1035 label: may not start with a digit."""
    messages = []
    if _bytes(text) > DNS_LABEL_BYTES_MAX:
        messages.append(_too_long(DNS_LABEL_BYTES_MAX, "characters"))
    if not _1035_label.fullmatch(text):
        messages.append(
            _mismatch(
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
                "start with an alphabetic character, and end with an alphanumeric character",
                _1035_LABEL,
                "my-name",
                "abc-123",
            )
        )
    return tuple(messages)


def mask_trailing_dash(prefix: str) -> str:
    """A generateName in the form its rule is applied to: what is appended will end it properly.

    Upstream replaces the last two bytes, not one; so does this, except that a character of several
    bytes stays whole, being wrong either way.
    """
    if len(prefix) < 2 or not prefix.endswith("-"):
        return prefix
    return f"{prefix[:-2] if prefix[-2].isascii() else prefix[:-1]}a"


def _check_label(text: str, unit: str) -> Messages:
    messages = []
    if _bytes(text) > DNS_LABEL_BYTES_MAX:
        messages.append(_too_long(DNS_LABEL_BYTES_MAX, unit))
    if not _label.fullmatch(text):
        if _subdomain.fullmatch(text):
            messages.append("must not contain dots")
        else:
            messages.append(
                _mismatch(
                    "a lowercase RFC 1123 label must consist of lower case alphanumeric "
                    "characters or '-', and must start and end with an alphanumeric character",
                    _LABEL,
                    "my-name",
                    "123-abc",
                )
            )
    return tuple(messages)


def _check_subdomain(text: str, unit: str) -> Messages:
    messages = []
    if _bytes(text) > DNS_SUBDOMAIN_BYTES_MAX:
        messages.append(_too_long(DNS_SUBDOMAIN_BYTES_MAX, unit))
    if not _subdomain.fullmatch(text):
        messages.append(
            _mismatch(
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                "characters, '-' or '.', and must start and end with an alphanumeric character",
                _SUBDOMAIN,
                "example.com",
            )
        )
    return tuple(messages)


@_remember
def dns_subdomain_with_underscores(text: str) -> Messages:
    """A domain to search in, which may be that of a service."""
    messages = []
    if _bytes(text) > DNS_SUBDOMAIN_BYTES_MAX:
        messages.append(_too_long(DNS_SUBDOMAIN_BYTES_MAX, "characters"))
    if not _search_domain.fullmatch(text):
        messages.append(
            _mismatch(
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                "characters, '_', '-' or '.', and must start and end with an alphanumeric "
                "character",
                _SEARCH_DOMAIN,
                "example.com",
            )
        )
    return tuple(messages)


# Labels ----------------------------------------------------------------------------------------

_KEY_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_KEY_NAME})?"

_key_name: Final = re.compile(_KEY_NAME)
_value: Final = re.compile(_VALUE)


@_remember
def label_key(text: str) -> Messages:
    """What upstream also calls a qualified name: an optional subdomain and slash, then a name."""
    messages: list[str] = []
    parts = text.split("/")
    rule = _mismatch(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
        "an alphanumeric character",
        _KEY_NAME,
        "MyName",
        "my.name",
        "123-abc",
    )
    if len(parts) > 2:
        prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {rule} {prefix}",)
    if len(parts) == 2:
        prefix = parts[0]
        if prefix:
            messages += (f"prefix part {message}" for message in long_name(prefix))
        else:
            messages.append("prefix part must be non-empty")
    name = parts[-1]
    if not name:
        messages.append("name part must be non-empty")
    elif _bytes(name) > LABEL_KEY_NAME_BYTES_MAX:
        messages.append(f"name part {_too_long(LABEL_KEY_NAME_BYTES_MAX, 'bytes')}")
    if not _key_name.fullmatch(name):
        messages.append(f"name part {rule}")
    return tuple(messages)


@_remember
def prefixed_label_key(text: str) -> Messages:
    """A label key that must have its prefix."""
    messages = label_key(text)
    if not messages and "/" not in text:
        return ("must include a prefix (e.g. 'example.com/key')",)
    return messages


@_remember
def label_value(text: str) -> Messages:
    """May be empty."""
    messages = []
    if _bytes(text) > LABEL_VALUE_BYTES_MAX:
        messages.append(_too_long(LABEL_VALUE_BYTES_MAX, "bytes"))
    if not _value.fullmatch(text):
        messages.append(
            _mismatch(
                "a valid label must be an empty string or consist of alphanumeric characters, "
                "'-', '_' or '.', and must start and end with an alphanumeric character",
                _VALUE,
                "MyValue",
                "my_value",
                "12345",
            )
        )
    return tuple(messages)


# Identifiers, keys and segments ----------------------------------------------------------------

_C_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_CONFIG_MAP_KEY: Final = "[-._a-zA-Z0-9]+"
_ENVIRONMENT_VARIABLE: Final = "[-._a-zA-Z][-._a-zA-Z0-9]*"

_c_identifier: Final = re.compile(_C_IDENTIFIER)
_config_map_key: Final = re.compile(_CONFIG_MAP_KEY)
_environment_variable: Final = re.compile(_ENVIRONMENT_VARIABLE)
_HEADER_NAME: Final = "[-A-Za-z0-9]+"
_header_name: Final = re.compile(_HEADER_NAME)
_printable: Final = re.compile("[ -<>-~]*")
_port_name: Final = re.compile("[-a-z0-9]+")
_letter: Final = re.compile("[a-z]")
_uuid: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@_remember
def c_identifier(text: str) -> Messages:
    """Of any length: callers limit it."""
    if _c_identifier.fullmatch(text):
        return _FINE
    return (
        _mismatch(
            "a valid C identifier must start with alphabetic character or '_', followed by a "
            "string of alphanumeric characters or '_'",
            _C_IDENTIFIER,
            "my_name",
            "MY_NAME",
            "MyName",
        ),
    )


@_remember
def uuid(text: str) -> Messages:
    """The one spelling upstream allows where it asks for a UUID, such as a share ID."""
    return _FINE if _uuid.fullmatch(text) else ("must be a lowercase UUID in 8-4-4-4-12 format",)


@_remember
def path_segment(text: str) -> Messages:
    """Names that only have to be safe in a URL."""
    if text in (".", ".."):
        return (f"may not be '{text}'",)
    return path_segment_prefix(text)


@_remember
def path_segment_prefix(text: str) -> Messages:
    """The beginning of a path segment, where `.` alone is not yet wrong."""
    return tuple(f"may not contain '{character}'" for character in "/%" if character in text)


@_remember
def config_map_key(text: str) -> Messages:
    """Also for keys of secrets."""
    messages = []
    if _bytes(text) > DNS_SUBDOMAIN_BYTES_MAX:
        messages.append(_too_long(DNS_SUBDOMAIN_BYTES_MAX, "characters"))
    if not _config_map_key.fullmatch(text):
        messages.append(
            _mismatch(
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                _CONFIG_MAP_KEY,
                "key.name",
                "KEY_NAME",
                "key-name",
            )
        )
    return (*messages, *_leaves_directory(text))


@_remember
def environment_variable_name(text: str) -> Messages:
    """The name of an environment variable, by the rule that allows dots and dashes."""
    messages = []
    if not _environment_variable.fullmatch(text):
        messages.append(
            _mismatch(
                "a valid environment variable name must consist of alphabetic characters, "
                "digits, '_', '-', or '.', and must not start with a digit",
                _ENVIRONMENT_VARIABLE,
                "my.env-name",
                "MY_ENV.NAME",
                "MyEnvName1",
            )
        )
    return (*messages, *_leaves_directory(text))


@_remember
def printable_name(text: str) -> Messages:
    """The name of an environment variable, by the rule that allows nearly everything."""
    messages = []
    if not text:
        messages.append("environment variable name must be non-empty")
    if not _printable.fullmatch(text):
        messages.append(
            "a valid environment variable name must consist only of printable ASCII characters "
            "other than '='"
        )
    return tuple(messages)


@_remember
def port_name(text: str) -> Messages:
    """The name of a service, as IANA registers them (RFC 6335)."""
    messages = []
    if _bytes(text) > PORT_NAME_BYTES_MAX:
        messages.append(_too_long(PORT_NAME_BYTES_MAX, "characters"))
    if not _port_name.fullmatch(text):
        messages.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _letter.search(text):
        messages.append("must contain at least one letter (a-z)")
    if "--" in text:
        messages.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        messages.append("must not begin or end with a hyphen")
    return tuple(messages)


@_remember
def http_header_name(text: str) -> Messages:
    """Stricter than HTTP is."""
    if _header_name.fullmatch(text):
        return _FINE
    rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return (_mismatch(rule, _HEADER_NAME, "X-Header-Name"),)


def _leaves_directory(text: str) -> Messages:
    if text in (".", ".."):
        return (f"must not be '{text}'",)
    return ("must not start with '..'",) if text.startswith("..") else _FINE


# Wording ---------------------------------------------------------------------------------------


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _too_long(bytes_max: int, unit: str) -> str:
    return f"must be no more than {bytes_max} {unit}"


def _mismatch(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"
