"""Requests to an API server that are almost right: recorded ones, damaged.

A request here is what a client puts on the wire; tests/fuzz/server.py sends it.
"""

from __future__ import annotations

import base64
import json
import random
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import yaml

from dray.errors import DrayError
from dray.server.protobuf import encode_protobuf
from tests.fuzz.hostile_values import (
    STRINGS,
    as_json,
    damage_bytes,
    damage_text,
    damage_value,
    hostile_value,
    paths_in,
)
from tests.interop.script import APPLY, JSON, JSON_PATCH, MERGE, PROTOBUF, STRATEGIC

__all__ = ["Sent", "damaged", "patch_of"]

YAML = "application/yaml"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FOO", "get")
PATCH_TYPES = (JSON_PATCH, MERGE, STRATEGIC, APPLY)

CONTENT_TYPES = (
    JSON,
    YAML,
    PROTOBUF,
    *PATCH_TYPES,
    "",
    "text/plain",
    "application/json; charset=latin-1",
    "APPLICATION/JSON",
    ";",
    "application/json;;;",
    "application/cbor",
    "multipart/form-data; boundary=x",
)

ACCEPTS = (
    "",
    "*/*",
    JSON,
    YAML,
    PROTOBUF,
    "text/plain",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    "application/yaml;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=Table;v=v9;g=nowhere",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/json;pretty=1",
    ";;;,,,q=;q=9",
    "a" * 3000,
    "application/json;q=0",
    "application/cbor, application/json;q=0.5",
)

QUERIES: dict[str, tuple[str, ...]] = {
    "resourceVersion": (
        "0",
        "1",
        "-1",
        "99999999",
        "18446744073709551616",
        "abc",
        "",
        "01",
        "\uff11",
    ),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "Other", ""),
    "continue": (
        "",
        "a",
        "%%%",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vLi4vYVx1MDAwMCJ9",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAwMDAwMDAwMDAwMDAwMDAwMDAwLCJzdGFydCI6ImEifQ",
        "=" * 50,
        "é",
    ),
    "limit": ("0", "1", "2", "-1", "9223372036854775807", "9223372036854775808", "x", "1.5", ""),
    "labelSelector": (
        "a=b",
        "a",
        "!a",
        "a in (b,c)",
        "a notin (b)",
        "a in (",
        "a>1",
        "a>x",
        "a=b,",
        ",",
        "a==b==c",
        "a in (" + ",".join(f"v{n}" for n in range(500)) + ")",
        "x/y/z=a",
        "\0",
        "a=" + "b" * 64,
        "()",
        "in in (in)",
    ),
    "fieldSelector": (
        "metadata.name=a",
        "metadata.name!=a",
        "metadata.namespace=default",
        "metadata.name=a,metadata.name=b",
        "spec.nodeName=",
        "status.phase=Running",
        "spec.unknown=a",
        "metadata.name=../a",
        "metadata.name=a\\,b",
        "metadata.name=\\",
        "=",
        "a",
        ",,,",
        "metadata.name=a/b",
    ),
    "fieldManager": ("a", "", "a" * 129, "a\0", "é", "\u202e", "kubectl"),
    "force": ("true", "false", "", "x"),
    "dryRun": ("All", "None", "", "all"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "Other", ""),
    "gracePeriodSeconds": ("0", "1", "-1", "9223372036854775807", "99999999999999999999", "x", ""),
    "propagationPolicy": ("Orphan", "Foreground", "Background", "Other", ""),
    "orphanDependents": ("true", "false", "x", ""),
    "ignoreStoreReadErrorWithClusterBreakingPotential": ("true", "x"),
    "watch": ("true", "1", "false", "0", "", "x"),
    "allowWatchBookmarks": ("true", "x"),
    "sendInitialEvents": ("true", "false", "x"),
    "timeoutSeconds": ("0", "1", "-1", "99999999999999999999", "x", "1.5"),
    "timeout": ("1s", "-1s", "0", "x", "99999999999h", "1ns"),
    "pretty": ("true", "1", "x"),
    "includeObject": ("Object", "None", "Metadata", "Other"),
    "unknown": ("1",),
    "": ("", "a"),
}

HEADERS: dict[str, tuple[str, ...]] = {
    "authorization": ("Bearer ", "Bearer a.b.c", "Basic x", "x", "Bearer " + "e30." * 3, "é"),
    "impersonate-user": ("", "a", "system:admin", "system:serviceaccount:a:b", "é", "x" * 5000),
    "impersonate-group": ("system:masters", "", "a, b"),
    "impersonate-uid": ("1", ""),
    "impersonate-extra-a%2fb": ("1",),
    "impersonate-extra-%": ("1",),
    "impersonate-extra-": ("",),
    "user-agent": ("", "/", "curl/1", "é" * 300, "a" * 3000, "kubectl/v1 (x)", "\u202e"),
    "x-remote-user": ("admin",),
    "kubectl-command": ("apply",),
    "range": ("bytes=0-1",),
    "if-none-match": ("*", '"a"'),
    "if-match": ("*",),
    "accept-encoding": ("gzip", "br, gzip;q=0", "*"),
    "content-encoding": ("gzip", "identity"),
    "upgrade": ("websocket", "SPDY/3.1"),
    "connection": ("Upgrade",),
    "origin": ("https://elsewhere",),
}

# What YAML can do that JSON cannot.
YAML_TEXTS = (
    b"a: &a [x, x, x]\n"
    + b"".join(b"%c: &%c [*%c, *%c, *%c, *%c]\n" % (n, n, *[n - 1] * 4) for n in range(98, 110)),
    b"a: &a\n  b: *a\n",
    b"&a [*a]",
    b"!!python/object/apply:os.system ['true']",
    b"!!set {a, b}",
    b"!!timestamp 2001-01-01",
    b"!!binary aGVsbG8=",
    b"!!float .nan",
    b"a: .inf\nb: -.inf\n",
    b"a: 0o777\nb: 0b1\nc: 1_000\nd: 190:20:30\ne: 0x_F\n",
    b"? [complex, key]\n: value\n",
    b"? {a: b}\n: c\n",
    b"1: a\n1.5: b\ntrue: c\nnull: d\n~: e\n",
    b"a: 1\na: 2\n",
    b"<<: {a: 1}\na: 2\n",
    b"<<: [1, 2]\n",
    b"---\na: 1\n---\nb: 2\n",
    b"--- !<tag:x> a\n",
    b"\t- a",
    b"- " * 500 + b"a",
    b"{" * 500,
    b"a: |\n" + b"  x\n" * 2000,
    b"a: 'unfinished",
    b"yes: no\nOn: off\n",
    b"%TAG ! tag:x,2000:\n--- !a b\n",
)


@dataclass(frozen=True)
class Sent:
    """A request as a client sends it: the path may hold anything, and the query comes apart."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    anonymous: bool = False

    @property
    def target(self) -> str:
        text = quote(self.path.encode("utf-8", "replace"), safe="/:%")
        if not self.query:
            return text
        pairs = "&".join(f"{_escaped(name)}={_escaped(value)}" for name, value in self.query)
        return f"{text}?{pairs}"

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def value(self) -> Any:
        """The body, if it is JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def _escaped(text: str) -> str:
    return quote(text.encode("utf-8", "replace"), safe="")


def damaged(source: random.Random, sent: Sent, known: dict[str, Any]) -> Sent:
    """The request with something wrong. `known` are objects by their paths, to make patches of."""
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        sent = source.choice(_DAMAGES)(source, sent, known)
    return sent


def _in_value(source: random.Random, sent: Sent, known: dict[str, Any]) -> Sent:
    value = sent.value
    if value is None:
        return _in_query(source, sent, known)
    return replace(sent, body=as_json(source, damage_value(source, value)))


def _in_bytes(source: random.Random, sent: Sent, known: dict[str, Any]) -> Sent:
    return replace(sent, body=damage_bytes(source, sent.body))


def _in_query(source: random.Random, sent: Sent, known: dict[str, Any]) -> Sent:
    query = list(sent.query)
    for _ in range(source.choice((1, 1, 2, 4))):
        name = source.choice(tuple(QUERIES))
        value = source.choice(QUERIES[name])
        if source.random() < 0.2:
            value = damage_text(source, value)
        query.append((name, value))
    if source.random() < 0.1:
        source.shuffle(query)
    return replace(sent, query=tuple(query))


def _in_headers(source: random.Random, sent: Sent, known: dict[str, Any]) -> Sent:
    name = source.choice(tuple(HEADERS))
    return replace(sent, headers={**sent.headers, name: source.choice(HEADERS[name])})


def _in_types(source: random.Random, sent: Sent, known: dict[str, Any]) -> Sent:
    if source.random() < 0.5:
        return replace(sent, headers={**sent.headers, "accept": source.choice(ACCEPTS)})
    return replace(sent, headers={**sent.headers, "content-type": source.choice(CONTENT_TYPES)})


def _in_method(source: random.Random, sent: Sent, known: dict[str, Any]) -> Sent:
    return replace(sent, method=source.choice(METHODS))


def _in_path(source: random.Random, sent: Sent, known: dict[str, Any]) -> Sent:
    parts = sent.path.split("/")
    at = source.randrange(len(parts))
    match source.randrange(5):
        case 0:
            parts[at] = source.choice(STRINGS).replace("/", "%2f")
        case 1:
            parts.insert(at, source.choice(("watch", "namespaces", "status", "scale", "..", "")))
        case 2:
            del parts[at]
        case 3:
            parts.append(source.choice(("status", "scale", "finalize", "log", "exec", "token", "")))
        case _:
            parts[at] = damage_text(source, parts[at])
    return replace(sent, path="/" + "/".join(parts).lstrip("/"))


def _as_yaml(source: random.Random, sent: Sent, known: dict[str, Any]) -> Sent:
    value = sent.value
    headers = {**sent.headers, "content-type": APPLY if sent.method == "PATCH" else YAML}
    if value is None or source.random() < 0.3:
        return replace(sent, body=source.choice(YAML_TEXTS), headers=headers)
    text = yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "surrogatepass")
    if source.random() < 0.3:
        text += source.choice(YAML_TEXTS)
    elif source.random() < 0.5:
        text = damage_bytes(source, text)
    return replace(sent, body=text, headers=headers)


def _as_protobuf(source: random.Random, sent: Sent, known: dict[str, Any]) -> Sent:
    value = sent.value
    headers = {**sent.headers, "content-type": PROTOBUF}
    try:
        body = encode_protobuf(value["apiVersion"], value["kind"], value)
    except (DrayError, KeyError, TypeError, AttributeError, ValueError):
        body = b"k8s\0" + source.randbytes(source.choice((0, 1, 10, 200)))
    if source.random() < 0.8:
        at = source.randint(4, len(body))
        body = body[:4] + (damage_bytes(source, body[4:]) if at % 2 else body[at:])
    return replace(sent, body=body, headers=headers)


def _as_patch(source: random.Random, sent: Sent, known: dict[str, Any]) -> Sent:
    if not known:
        return _in_method(source, sent, known)
    path = source.choice(sorted(known))
    return patch_of(source, path, known[path])


_DAMAGES = (
    _in_value,
    _in_value,
    _in_value,
    _in_value,
    _in_bytes,
    _in_bytes,
    _in_query,
    _in_headers,
    _in_types,
    _in_method,
    _in_path,
    _as_yaml,
    _as_protobuf,
    _as_patch,
    _as_patch,
)


# Patches ---------------------------------------------------------------------------------------


def patch_of(source: random.Random, path: str, document: Any) -> Sent:
    """A patch of the object at a path, of any kind, most of them wrong."""
    kind = source.choice(PATCH_TYPES)
    query: list[tuple[str, str]] = []
    if kind == JSON_PATCH:
        body: Any = _operations(source, document)
    elif kind == APPLY:
        body = _applied(source, document)
        query = [("fieldManager", source.choice(("one", "two", "three", "é", "a" * 128)))]
        if source.random() < 0.5:
            query.append(("force", "true"))
    else:
        body = _merged(source, document)
    data = as_json(source, body)
    if source.random() < 0.1:
        data = damage_bytes(source, data)
    if source.random() < 0.3:
        path += source.choice(("/status", "/scale", "/finalize", "/ephemeralcontainers"))
    return Sent("PATCH", path, tuple(query), {"content-type": kind}, data)


def _operations(source: random.Random, document: Any) -> Any:
    places = list(paths_in(document))
    operations = []
    for _ in range(source.choice((1, 1, 3, 20))):
        operation: dict[str, Any] = {
            "op": source.choice(("add", "remove", "replace", "move", "copy", "test", "x", None)),
            "path": _pointer(source, places),
            "value": hostile_value(source),
        }
        if operation["op"] in ("move", "copy"):
            operation["from"] = _pointer(source, places)
        operations.append(damage_value(source, operation) if source.random() < 0.1 else operation)
    return operations


def _pointer(source: random.Random, places: list[Any]) -> str:
    steps = [str(step).replace("~", "~0").replace("/", "~1") for step in source.choice(places)]
    extra = source.choice(("", "", "", "/-", "/0", "/-1", "/00", "/~", "/~2", "/9999999999", "/a"))
    return "".join(f"/{step}" for step in steps) + extra


def _merged(source: random.Random, document: Any) -> Any:
    """A part of the object, damaged."""
    return damage_value(source, _part(source, document))


def _applied(source: random.Random, document: Any) -> Any:
    part = _part(source, document)
    if isinstance(part, dict) and isinstance(document, dict):
        metadata = part.get("metadata")
        if isinstance(metadata, dict) and source.random() < 0.95:
            metadata.pop("managedFields", None)
            metadata.pop("resourceVersion", None)
        if source.random() < 0.95:
            part["apiVersion"], part["kind"] = document.get("apiVersion"), document.get("kind")
    return damage_value(source, part) if source.random() < 0.6 else part


def _part(source: random.Random, value: Any) -> Any:
    """Some members of an object, and some of theirs."""
    if isinstance(value, dict):
        return {
            name: _part(source, member) for name, member in value.items() if source.random() < 0.7
        }
    if isinstance(value, list):
        return [_part(source, item) for item in value if source.random() < 0.8]
    return value


def binary(text: str) -> bytes:
    """A body as recordings hold it."""
    return base64.b64decode(text)
