"""URLs in expressions: `url("https://example.com/a?b=c").getHost()` and the rest.

A text becomes a URL in two steps, as upstream does it: it must be one by the strict rules for
request lines, which know no fragment, and is then read by the rules that do. Everything works on
bytes, because unescaping can make texts that are no UTF-8; see go_text for how those are held.

As keys of maps URLs go by identity: upstream compares addresses there.

Upstream counterparts: Go's net/url, apiserver pkg/cel/library/urls.go and pkg/cel/url.go.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from dray.cel import _types as types
from dray.cel._failures import Failure
from dray.cel._library.go_text import from_bytes, quoted, to_bytes
from dray.cel._library.netip import IPV4_BITS, AddressError, parse_address
from dray.cel._library.table import FunctionTable
from dray.cel._types import Type
from dray.cel._values import Value

__all__ = ["FUNCTIONS", "URL", "URLError", "check_request_uri"]

QUERY_PARAMETERS_MAX: Final = 10_000
"""Parameters in a query; one with more counts as empty. Go's default."""


class URLError(Exception):
    """A text is no URL; the message is upstream's."""


@dataclass(frozen=True, slots=True, eq=False)
class URL:
    """The parts of a URL. A `raw` part is the text as written, empty if escaping restores it."""

    cel_type: ClassVar[Type] = types.URL
    scheme: bytes = b""
    opaque: bytes = b""
    user: tuple[bytes, ...] | None = None
    """The name, and the password if there is a colon."""
    host: bytes = b""
    path: bytes = b""
    raw_path: bytes = b""
    query: bytes = b""
    ends_with_question: bool = False
    without_host: bool = False
    """There is a scheme and a path but no `//`."""
    fragment: bytes = b""
    raw_fragment: bytes = b""

    def cel_equal(self, other: Value) -> bool:
        if type(other) is not URL:
            raise Failure("no such overload")
        return str(self) == str(other)

    def __str__(self) -> str:
        text = self.scheme + b":" if self.scheme else b""
        if self.opaque:
            text += self.opaque
        else:
            text += self._authority()
            path = self.escaped_path
            if path and not path.startswith(b"/") and self.host:
                text += b"/"
            if not text and b":" in path.partition(b"/")[0]:
                text += b"./"
            text += path
        if self.ends_with_question or self.query:
            text += b"?" + self.query
        if self.fragment:
            text += b"#" + _restored(self.fragment, self.raw_fragment, _FRAGMENT)
        return from_bytes(text)

    def _authority(self) -> bytes:
        if not (self.scheme or self.host or self.user is not None):
            return b""
        if self.without_host and not self.host and self.user is None:
            return b""
        text = b"//" if self.host or self.path or self.user is not None else b""
        if self.user is not None:
            text += b":".join(_escape(part, _USER) for part in self.user) + b"@"
        return text + _escape(self.host, _HOST)

    @property
    def escaped_path(self) -> bytes:
        if self.path == b"*" and not self.raw_path:
            return b"*"
        return _restored(self.path, self.raw_path, _PATH)


# Escaping

_UNRESERVED: Final = frozenset((string.ascii_letters + string.digits + "-_.~").encode())
_PATH: Final = _UNRESERVED | frozenset(b"$&+,/:;=@")
_HOST: Final = _UNRESERVED | frozenset(b"!\"$&'()*+,:;<=>[]")
_USER: Final = _UNRESERVED | frozenset(b"$&+,;=")
_FRAGMENT: Final = _UNRESERVED | frozenset(b"!$&()*+,/:;=?@")
_WELL_ENCODED: Final = frozenset(b"!$&'()*+,;=:@[]%")
"""Left as they are in a raw part, although escaping would not leave all of them."""

_ESCAPE: Final = re.compile(rb"%([0-9a-fA-F]{2})?")
_HOST_ITEM: Final = re.compile(rb"%([0-9a-fA-F]{2})?|[\x00-\x7f]")


def _escape(data: bytes, allowed: frozenset[int]) -> bytes:
    if allowed.issuperset(data):
        return data
    return b"".join(bytes((byte,)) if byte in allowed else b"%%%02X" % byte for byte in data)


def _unescape(data: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: _unescaped(data, match), data) if b"%" in data else data


def _unescaped(data: bytes, match: re.Match[bytes]) -> bytes:
    digits = match[1]
    if digits is None:
        raise _bad_escape(data, match.start())
    return bytes((int(digits, 16),))


def _unescape_host(data: bytes, *, zone: bool = False) -> bytes:
    """Of ASCII only `%` may be escaped; in a zone also what would be fine as it is."""

    def unescape(match: re.Match[bytes]) -> bytes:
        if match[0][:1] != b"%":
            if match[0][0] not in _HOST:
                shown = quoted(from_bytes(match[0]))
                raise URLError(f"invalid character {shown} in host name")
            return match[0]
        byte = _unescaped(data, match)
        if zone:
            allowed = byte in (b"%", b" ") or byte[0] in _HOST
        else:
            allowed = byte == b"%" or byte[0] >= 0x80
        if not allowed:
            raise _bad_escape(data, match.start())
        return byte

    return _HOST_ITEM.sub(unescape, data)


def _bad_escape(data: bytes, start: int) -> URLError:
    return URLError(f"invalid URL escape {quoted(from_bytes(data[start : start + 3]))}")


def _raw(written: bytes, unescaped: bytes, allowed: frozenset[int]) -> bytes:
    return b"" if _escape(unescaped, allowed) == written else written


def _restored(part: bytes, raw: bytes, allowed: frozenset[int]) -> bytes:
    if raw and (allowed | _WELL_ENCODED).issuperset(raw):
        return raw
    return _escape(part, allowed)


# Reading


_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]")


def _parse(data: bytes, *, request: bool) -> URL:
    """The URL a text without fragment stands for; request lines have stricter rules."""
    if _CONTROL.search(data):
        raise URLError("net/url: invalid control character in URL")
    if request and not data:
        raise URLError("empty url")
    if data == b"*":
        return URL(path=b"*")
    scheme, rest = _split_scheme(data)
    ends_with_question = rest.endswith(b"?") and rest.count(b"?") == 1
    rest, _, query = rest.partition(b"?")
    if not rest.startswith(b"/"):
        if scheme:
            return URL(scheme, rest, query=query, ends_with_question=ends_with_question)
        if request:
            raise URLError("invalid URI for request")
        if b":" in rest.partition(b"/")[0]:
            raise URLError("first path segment in URL cannot contain colon")
    user, host = None, b""
    has_authority = rest.startswith(b"//") and (
        bool(scheme) or not (request or rest.startswith(b"///"))
    )
    if has_authority:
        authority, slash, rest = rest[2:].partition(b"/")
        rest = slash + rest
        user, host = _parse_authority(scheme, authority)
    path = _unescape(rest)
    return URL(
        scheme,
        b"",
        user,
        host,
        path,
        _raw(rest, path, _PATH),
        query,
        ends_with_question,
        without_host=bool(scheme) and not has_authority and rest.startswith(b"/"),
    )


_SCHEME: Final = re.compile(rb"([a-zA-Z][a-zA-Z0-9+.-]*)?:")


def _split_scheme(data: bytes) -> tuple[bytes, bytes]:
    match = _SCHEME.match(data)
    if match is None:
        return b"", data
    if match[1] is None:
        raise URLError("missing protocol scheme")
    return match[1].lower(), data[match.end() :]


_USER_INFORMATION: Final = _UNRESERVED | frozenset(b":!$&'()*+,;=%@")


def _parse_authority(scheme: bytes, authority: bytes) -> tuple[tuple[bytes, ...] | None, bytes]:
    written, at, host = authority.rpartition(b"@")
    host = _parse_host(scheme, host)
    if not at:
        return None, host
    if not _USER_INFORMATION.issuperset(written):
        raise URLError("net/url: invalid userinfo")
    return tuple(_unescape(part) for part in written.split(b":", 1)), host


def _parse_host(scheme: bytes, host: bytes) -> bytes:
    bracket = host.rfind(b"[")
    if bracket > 0:
        raise URLError("invalid IP-literal")
    if bracket == 0:
        return _parse_literal(host)
    if b":" in host:
        # Upstream is strict about several colons only where the schemes are known to have none.
        strict = scheme in (b"http", b"https")
        colon = host.index(b":") if strict else host.rindex(b":")
        _check_port(host[colon:])
    return _unescape_host(host)


def _parse_literal(host: bytes) -> bytes:
    """`[address]:port`"""
    close = host.rfind(b"]")
    if close < 0:
        raise URLError("missing ']' in host")
    _check_port(host[close + 1 :])
    port = _unescape_host(host[close + 1 :])
    written = host[1:close]
    zone = written.find(b"%25")
    if zone < 0:
        address = _unescape_host(written)
    else:
        address = _unescape_host(written[:zone]) + _unescape_host(written[zone:], zone=True)
    try:
        parsed = parse_address(from_bytes(address))
    except AddressError as error:
        raise URLError(f"invalid host: {error}") from None
    if parsed.bits == IPV4_BITS:
        raise URLError("invalid IP-literal")
    return b"[" + address + b"]" + port


_PORT: Final = re.compile(rb"(?::[0-9]*)?")


def _check_port(port: bytes) -> None:
    if not _PORT.fullmatch(port):
        raise URLError(f"invalid port {quoted(from_bytes(port))} after host")


def check_request_uri(text: str) -> None:
    """Raises URLError for what is no URL by the rules for request lines."""
    try:
        _parse(to_bytes(text), request=True)
    except URLError as error:
        raise URLError(f"parse {quoted(text)}: {error}") from None


def _read_url(text: str) -> URL:
    check_request_uri(text)
    data = to_bytes(text)
    written, _, fragment = data.partition(b"#")
    try:
        url = _parse(written, request=False)
    except URLError as error:
        raise URLError(f"parse {quoted(from_bytes(written))}: {error}") from None
    if not fragment:
        return url
    try:
        unescaped = _unescape(fragment)
    except URLError as error:
        raise URLError(f"parse {quoted(text)}: {error}") from None
    raw = _raw(fragment, unescaped, _FRAGMENT)
    return replace(url, fragment=unescaped, raw_fragment=raw)


# Functions


def _url(text: str) -> URL:
    try:
        return _read_url(text)
    except URLError as error:
        raise Failure(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    try:
        check_request_uri(text)
    except URLError:
        return False
    return True


def _get_scheme(url: URL) -> str:
    return from_bytes(url.scheme)


def _get_host(url: URL) -> str:
    return from_bytes(url.host)


def _get_hostname(url: URL) -> str:
    host, _ = _split_port(url.host)
    if host.startswith(b"[") and host.endswith(b"]"):
        host = host[1:-1]
    return from_bytes(host)


def _get_port(url: URL) -> str:
    return from_bytes(_split_port(url.host)[1])


def _split_port(host: bytes) -> tuple[bytes, bytes]:
    before, colon, port = host.rpartition(b":")
    return (before, port) if colon and _PORT.fullmatch(b":" + port) else (host, b"")


def _get_escaped_path(url: URL) -> str:
    return from_bytes(url.escaped_path)


def _get_query(url: URL) -> dict[str, list[str]]:
    """Parameters that cannot be read are left out, as upstream ignores the error."""
    found: dict[str, list[str]] = {}
    if url.query.count(b"&") >= QUERY_PARAMETERS_MAX:
        return found
    for parameter in url.query.split(b"&"):
        if not parameter or b";" in parameter:
            continue
        name, _, value = parameter.partition(b"=")
        try:
            key = _unescape(name.replace(b"+", b" "))
            read = _unescape(value.replace(b"+", b" "))
        except URLError:
            continue
        found.setdefault(from_bytes(key), []).append(from_bytes(read))
    return found


FUNCTIONS: Final[FunctionTable] = {
    "url": {str: _url},
    "isURL": {str: _is_url},
    "getScheme": {URL: _get_scheme},
    "getHost": {URL: _get_host},
    "getHostname": {URL: _get_hostname},
    "getPort": {URL: _get_port},
    "getEscapedPath": {URL: _get_escaped_path},
    "getQuery": {URL: _get_query},
}
