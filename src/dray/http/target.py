"""The target of a request: a path and a query, decoded once.

`/a%2Fb` is the path `/a/b`, as it is for upstream. A path that is not UTF-8, has an escape that is
none, or holds a NUL is refused; so is a target in a form that only proxies understand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote_to_bytes

from dray.errors import BadRequest

__all__ = ["read_target"]

_NO_QUERY: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})
_BAD_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
# A server must understand this form, though only proxies are sent it; user and password never.
_ABSOLUTE: Final = re.compile(rb"https?://[0-9A-Za-z.\-_~\[\]:%]+(?=[/?]|$)", re.IGNORECASE)


def read_target(method: str, target: bytes) -> tuple[str, Mapping[str, Sequence[str]]]:
    """The path, and every value of every parameter of the query, in order."""
    if target[:1] != b"/":
        target = _origin(method, target)
    path, mark, query = target.partition(b"?")
    text = _decode(path) if b"%" in path else path.decode("ascii")
    if "\0" in text:
        raise BadRequest("the path of the URL holds a NUL")
    return text, (_parameters(query) if mark else _NO_QUERY)


def _origin(method: str, target: bytes) -> bytes:
    if target == b"*" and method == "OPTIONS":
        return target
    found = _ABSOLUTE.match(target)
    if found is None or method == "CONNECT":
        raise BadRequest("the target of the request is not a path")
    rest = target[found.end() :]
    return rest if rest[:1] == b"/" else b"/" + rest


def _parameters(query: bytes) -> dict[str, list[str]]:
    parameters: dict[str, list[str]] = {}
    for pair in query.split(b"&"):
        if not pair:
            continue
        if b"+" in pair:
            pair = pair.replace(b"+", b" ")
        name, _, value = pair.partition(b"=")
        if b"%" in pair:
            key, text = _decode(name), _decode(value)
        else:
            key, text = name.decode("ascii"), value.decode("ascii")
        parameters.setdefault(key, []).append(text)
    return parameters


def _decode(text: bytes) -> str:
    if _BAD_ESCAPE.search(text):
        raise BadRequest("the URL has a percent sign that begins no escape")
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError as error:
        raise BadRequest("the URL is not UTF-8 once decoded") from error
