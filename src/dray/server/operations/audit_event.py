"""One entry of the audit log: an audit.k8s.io/v1 Event about one stage of one request.

Made in two steps. On the event loop only what will change or vanish is noted down; the bytes are
made by the thread that writes them. Upstream counterpart: apiserver pkg/audit.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from dray.errors import BadRequest, shorten
from dray.http.messages import Request
from dray.server.operations.audit_policy import AuditDecision, AuditLevel
from dray.server.protobuf import decode_protobuf, is_protobuf
from dray.server.routing import Route
from dray.server.user import Decision, User
from dray.server.yaml_bodies import parse_yaml

__all__ = ["AuditEntry", "encode_event"]

# Upstream's; a user agent is what a client says it is, however long.
AGENT_CHARACTERS_MAX: Final = 1024

# An object in an event: as large as one can be written. Lists can be larger, and are left out.
OBJECT_BYTES_MAX: Final = 3 * 1024 * 1024

# Upstream's mark of events that had to be shortened.
TRUNCATED: Final = "audit.k8s.io/truncated"

# Credentials, wherever a client puts them: not even the audit log is the place for those.
_SECRET_PARAMETERS: Final = frozenset({"token", "access_token", "authorization", "bearer_token"})


class AuditEntry(msgspec.Struct, frozen=True):
    """What is known of a request at one stage."""

    decision: AuditDecision
    audit_id: str
    stage: str
    request: Request
    where: Route
    user: User | None
    user_served: User | None
    decided: Decision | None  # by the authorizers
    received: datetime
    now: datetime
    code: int = 0  # of the answer, once there is one
    body: bytes = b""  # of the answer, if it is JSON

    @property
    def size(self) -> int:
        """Roughly what it keeps in memory."""
        return 1024 + len(self.request.body) + len(self.body)


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 - as JSON has it


class _Named(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_NAMED: Final = msgspec.json.Decoder(_Named)


def encode_event(entry: AuditEntry) -> bytes:
    """The event as one line of JSON."""
    request, where, level = entry.request, entry.where, entry.decision.level
    annotations: dict[str, str] = {}
    event: dict[str, Any] = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": level.label,
        "auditID": entry.audit_id,
        "stage": entry.stage,
        "requestURI": _uri(request),
        "verb": where.verb,
        "user": _user(entry.user),
    }
    if entry.user_served is not None and entry.user_served is not entry.user:
        event["impersonatedUser"] = _user(entry.user_served)
    event["sourceIPs"] = _sources(request)
    agent = request.headers.get("user-agent", "")
    if agent:
        event["userAgent"] = shorten(agent, characters_max=AGENT_CHARACTERS_MAX)
    if where.is_resource:
        event["objectRef"] = _reference(entry)
    if entry.code:
        event["responseStatus"] = _status(entry)
    if where.is_resource and level >= AuditLevel.REQUEST and request.body:
        _include(event, "requestObject", _request_object(entry), entry.decision, annotations)
    if where.is_resource and level >= AuditLevel.REQUEST_RESPONSE and entry.body:
        _include(event, "responseObject", entry.body, entry.decision, annotations)
    event["requestReceivedTimestamp"] = _time(entry.received)
    event["stageTimestamp"] = _time(entry.now)
    if entry.decided is not None:
        decided = "allow" if entry.decided.allowed else "forbid"
        annotations["authorization.k8s.io/decision"] = decided
        annotations["authorization.k8s.io/reason"] = entry.decided.reason
    if annotations:
        event["annotations"] = annotations
    return msgspec.json.encode(event) + b"\n"


def _user(user: User | None) -> dict[str, Any]:
    if user is None:
        return {}
    told: dict[str, Any] = {"username": user.name}
    if user.uid:
        told["uid"] = user.uid
    if user.groups:
        told["groups"] = user.groups
    if user.extra:
        told["extra"] = dict(user.extra)
    return told


def _uri(request: Request) -> str:
    path = quote(request.path, safe="/:@!$&'()*+,;=~")
    if not request.query:
        return path
    pairs = [
        (name, "***" if name.lower() in _SECRET_PARAMETERS else value)
        for name, values in request.query.items()
        for value in values
    ]
    return f"{path}?{urlencode(pairs)}"


def _sources(request: Request) -> list[str]:
    """Where it came from, through which proxies. All but the last is what the client says."""
    claimed = request.headers.get("x-forwarded-for", "").split(",")
    claimed.append(request.headers.get("x-real-ip", ""))
    sources = [source for source in map(_address, claimed) if source]
    peer = _address(request.peer.address.rpartition(":")[0].strip("[]"))
    if peer and sources[-1:] != [peer]:
        sources.append(peer)
    return sources


def _address(text: str) -> str:
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        return ""


def _reference(entry: AuditEntry) -> dict[str, str]:
    """What the request is about; of a new object, what the answer calls it."""
    where = entry.where
    found = _Metadata()
    if entry.body and entry.code < 400 and where.verb not in ("list", "watch", "deletecollection"):
        with suppress(msgspec.MsgspecError):  # a Table, or no object at all
            found = _NAMED.decode(entry.body).metadata
    told = {
        "resource": where.resource,
        "namespace": where.namespace or found.namespace,
        "name": where.name or found.name,
        "uid": found.uid,
        "apiGroup": where.group,
        "apiVersion": where.version,
        "resourceVersion": found.resourceVersion,
        "subresource": where.subresource,
    }
    return {name: value for name, value in told.items() if value}


def _status(entry: AuditEntry) -> dict[str, Any]:
    status: dict[str, Any] = {"metadata": {}}
    if entry.code >= 400 and entry.body:
        try:
            told = msgspec.json.decode(entry.body)
        except msgspec.DecodeError:
            told = None
        if isinstance(told, Mapping) and told.get("kind") == "Status":
            members = ("status", "message", "reason", "details")
            status.update({name: told[name] for name in members if told.get(name)})
    status["code"] = entry.code
    return status


def _request_object(entry: AuditEntry) -> bytes:
    """The body as JSON; nothing if it is neither JSON nor what can be made into it."""
    body = entry.request.body
    try:
        if is_protobuf(body):
            return msgspec.json.encode(decode_protobuf(body)[2])
        if "yaml" in entry.request.headers.get("content-type", ""):
            return msgspec.json.encode(parse_yaml(body))
    except (BadRequest, TypeError, ValueError):
        return b""
    return body


def _include(
    event: dict[str, Any],
    member: str,
    body: bytes,
    decision: AuditDecision,
    annotations: dict[str, str],
) -> None:
    if len(body) > OBJECT_BYTES_MAX:
        annotations[TRUNCATED] = "true"
        return
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return  # a body that is no object was refused; its answer says so
    event[member] = _without_managed_fields(value) if decision.omits_managed_fields else value


def _without_managed_fields(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("metadata"), dict):
        value["metadata"].pop("managedFields", None)
    for item in value.get("items") or ():
        _without_managed_fields(item)
    return value


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
