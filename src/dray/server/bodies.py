"""What a request carries: an object, options or a patch, in whichever encoding it was written.

JSON stays bytes as long as it can, because the typed decoder is quickest on them; YAML and protobuf
become the values that JSON would have had. Upstream counterpart: the request half of apiserver
pkg/endpoints/handlers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dray.api.codec import parse_plain
from dray.api.wire import Time
from dray.errors import BadRequest, DecodeError
from dray.server.call import Call
from dray.server.models.model import Reading
from dray.server.negotiation import Encoding, body_encoding
from dray.server.options import WriteOptions
from dray.server.protobuf import decode_protobuf
from dray.server.yaml_bodies import parse_yaml

__all__ = ["body_document", "judge_strictness", "read_body", "read_object"]


def read_body(call: Call) -> bytes | Mapping[str, Any]:
    """The body: JSON as it came, anything else as the values JSON would have had."""
    request = call.request
    encoding = body_encoding(request.headers.get("content-type", ""))
    if encoding is Encoding.JSON:
        # Nothing, said explicitly, is an object without members.
        return {} if request.body.strip() == b"null" else request.body
    if encoding is Encoding.YAML:
        value = parse_yaml(request.body)
        if not isinstance(value, Mapping):
            raise BadRequest("error decoding YAML: expected an object")
        return value
    resource = call.resource
    decoded = decode_protobuf(request.body, api_version=resource.api_version, kind=resource.kind)
    return decoded[2]


def body_document(call: Call) -> Any:
    """The body as JSON values, or None if there is none."""
    if not call.request.body:
        return None
    body = read_body(call)
    if isinstance(body, bytes):
        try:
            return parse_plain(body)
        except DecodeError as error:
            raise BadRequest(f"the body of the request cannot be read: {error}") from error
    return body


def read_object(call: Call, options: WriteOptions, now: Time) -> Any:
    """The object in the body, at the hub version. Raises BadRequest."""
    reading: Reading = call.model.read(read_body(call), call.resource, now)
    judge_strictness(call, options, reading.problems)
    return reading.object


def judge_strictness(call: Call, options: WriteOptions, problems: Sequence[str]) -> None:
    """Refuse, warn of, or overlook fields that are unknown or written twice."""
    if not problems or options.strictness == "Ignore":
        return
    if options.strictness == "Warn":
        for problem in problems:
            call.warn(problem)
        return
    kind, version = call.resource.kind, call.resource.version
    told = f"strict decoding error: {', '.join(problems)}"
    raise BadRequest(f'{kind} in version "{version}" cannot be handled as a {kind}: {told}')
