"""Answers in the form the client asked for: JSON or YAML, whole or metadata, with its warnings.

Objects arrive as JSON bytes and mostly leave as they are. Upstream counterpart: apiserver
pkg/endpoints/handlers/responsewriters.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from dray.errors import APIError
from dray.http.messages import Header, Request, Response
from dray.server.call import Call
from dray.server.models.model import STORED_START, shown
from dray.server.negotiation import Encoding, Media, wants_pretty
from dray.server.yaml_output import to_yaml

__all__ = [
    "document",
    "error_answer",
    "large_document",
    "metadata_of",
    "render",
    "status_answer",
    "warning_headers",
]

_JSON_HEADERS: Final = (
    ("Content-Type", "application/json"),
    ("Cache-Control", "no-cache, private"),
)


class _Metadata(msgspec.Struct):
    metadata: msgspec.Raw


_METADATA: Final = msgspec.json.Decoder(_Metadata)


def metadata_of(value: bytes, revision: int, api_version: str, *, typed: bool = True) -> bytes:
    """A stored value as PartialObjectMetadata: its metadata and nothing else."""
    raw = bytes(_METADATA.decode(value).metadata)
    head = STORED_START
    if typed:
        said = f'{{"kind":"PartialObjectMetadata","apiVersion":"{api_version}","metadata":{{'
        head = said.encode()
    return shown(STORED_START + raw[1:] + b"}", revision, head)


def status_answer(call: Call, code: int, status: dict[str, Any]) -> Response:
    """A Status that is no error."""
    return document(call, code, msgspec.json.encode(status))


def document(call: Call, status: int, body: bytes) -> Response:
    """A finished JSON document."""
    return render(status, body, call.media, call.request, call.warnings)


async def large_document(call: Call, status: int, body: bytes) -> Response:
    """A finished JSON document that may be large, and then takes long to be made YAML."""
    if call.media.encoding is not Encoding.YAML:
        return document(call, status, body)
    return await call.aside(len(body), document, call, status, body)


def render(
    status: int,
    body: bytes,
    media: Media,
    request: Request,
    warnings: Sequence[str] = (),
    headers: Sequence[Header] = (),
) -> Response:
    """JSON as the client's encoding has it, with the headers every answer has."""
    agent = request.headers.get("user-agent", "")
    if media.encoding is Encoding.YAML:
        body = to_yaml(json.loads(body))
        every: tuple[Header, ...] = (("Content-Type", media.content_type), _JSON_HEADERS[1])
    else:
        if wants_pretty(media, request.query, agent):
            body = msgspec.json.format(body, indent=2)
        body += b"\n"
        every = _JSON_HEADERS
    if warnings or headers:
        every = (*every, *warning_headers(warnings), *headers)
    return Response(status, every, body)


def warning_headers(warnings: Sequence[str]) -> list[Header]:
    """One header per warning, quoted as RFC 7234 has it."""
    return [("Warning", f"299 - {_quoted(text)}") for text in warnings]


_WARNING_CHARACTERS_MAX: Final = 4096


def _quoted(text: str) -> str:
    visible = "".join(
        character if character.isprintable() else " "
        for character in text[:_WARNING_CHARACTERS_MAX]
    )
    escaped = visible.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _encoded(status: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(status)
    except UnicodeEncodeError:
        # It quotes half a character that the client sent, for which there is no UTF-8.
        text = json.dumps(status, ensure_ascii=False)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def error_answer(
    error: APIError, request: Request, media: Media, warnings: Sequence[str] = ()
) -> Response:
    """A refusal as a Status, which is never a Table."""
    headers: list[Header] = []
    if error.details.retry_after_seconds:
        headers.append(("Retry-After", str(error.details.retry_after_seconds)))
    plain = Media(encoding=media.encoding, pretty=media.pretty)
    body = _encoded(error.as_status())
    return render(error.code, body, plain, request, warnings, headers)
