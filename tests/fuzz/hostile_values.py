"""Values nobody would send, and damage to values that somebody did.

Everything is drawn from a random source, so that one seed gives one request.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

__all__ = [
    "STRINGS",
    "Path",
    "as_json",
    "damage_bytes",
    "damage_text",
    "damage_value",
    "hostile_value",
    "paths_in",
]

Path = tuple[str | int, ...]

STRINGS = (
    "",
    " ",
    "a",
    "0",
    "-1",
    "null",
    "true",
    "\0",
    "a\0b",
    "\ud800",
    "\udfff\ud800",
    "\u202e",
    "\ufeff",
    "\U0010ffff",
    "é",
    "e\u0301",
    "ß",
    "İ",
    "../../etc",
    "a/b",
    "/",
    "a" * 64,
    "a" * 254,
    "A" * 5000,
    "a." * 130,
    "-a",
    "a-",
    "*",
    "?",
    "%s%n",
    "${namespace}",
    "$(VAR)",
    "$$",
    "{{",
    "default",
    "kube-system",
    "system:masters",
    "1Gi",
    "1e99999",
    "-1m",
    "0.0000000000001",
    "99999999999999999999Ei",
    "1e-400",
    "1E",
    "Ki",
    "NaN",
    "0x10",
    "1_000",
    "2024-01-01T00:00:00Z",
    "2024-02-30T00:00:00Z",
    "0000-00-00T00:00:00Z",
    "9999-12-31T23:59:60Z",
    "10000-01-01T00:00:00Z",
    "2024-01-01T00:00:00+99:99",
    "0001-01-01T00:00:00Z",
    "1h",
    "-9223372036854775808ns",
    "999999999999h",
    "127.0.0.1",
    "::1",
    "10.0.0.0/33",
    "999.1.1.1",
    "fe80::1%eth0",
    "v1",
    "apps/v1",
    "a/b/c",
    "Pod",
    "=",
    "==",
    "!",
    "!a",
    "a in (",
    "a in (b,c)",
    "a notin ()",
    "a=b,c!=d",
    "a>1",
    "device.driver == 'x'",
    "device.attributes['a'].b",
    "[" * 200,
    "(" * 500,
    "'",
    '"',
    "(a+)+$",
    "[",
    "(?P<a>",
    "\\",
    "\\p{L}",
    "a{1,1000000}",
    "self.matches('(a|a)*b')",
    "self == oldSelf",
    "self.all(x, self.all(y, x == y))",
    "kubernetes.io/hostname",
    "kubernetes.io/" + "a" * 70,
    "foregroundDeletion",
    "orphan",
    "2147483648",
    "9223372036854775808",
    "-9223372036854775809",
)

NUMBERS = (
    0,
    -1,
    1,
    2**31,
    -(2**31) - 1,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63),
    -(2**63) - 1,
    2**64,
    10**40,
    0.5,
    -0.0,
    1e308,
    5e-324,
    1.0,
    65536,
    70000,
)

# Patches and field sets give these a meaning of their own.
DIRECTIVES: tuple[tuple[str, Any], ...] = (
    ("$patch", "delete"),
    ("$patch", "replace"),
    ("$patch", "merge"),
    ("$patch", "explode"),
    ("$patch", None),
    ("$patch", 1),
    ("$retainKeys", ["a"]),
    ("$retainKeys", "a"),
    ("$retainKeys", [1, None]),
    ("$deleteFromPrimitiveList/finalizers", ["a"]),
    ("$deleteFromPrimitiveList/finalizers", "a"),
    ("$setElementOrder/containers", [{"name": "a"}, {"name": "a"}]),
    ("$setElementOrder/finalizers", ["b", "a", "b"]),
    ("$setElementOrder/env", [1]),
    ("$setElementOrder/", []),
    ("$unknown", 1),
    (".", {}),
    ("f:a", {".": {}}),
    ('k:{"a":1}', {}),
    ("v:1", {}),
    ("i:0", {}),
)

FIELDS = (
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    "status",
    "name",
    "namespace",
    "generateName",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "data",
    "items",
    "containers",
    "conditions",
    "unknown",
    "__proto__",
    "self",
    "Name",
    "",
)

# Inserted into bytes.
BITS = (
    b"\0",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\xf4\x90\x80\x80",
    b"\\ud800",
    b"\\u0000",
    b"\\",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"{}",
    b"[]",
    b"1e999999",
    b"-",
    b"1" * 400,
    b"[" * 3000,
    b'{"a":' * 3000,
    b"\n",
    b"\t",
    b"\r\n---\r\n",
    b"&a ",
    b"*a",
    b"!!python/object:os.system ",
    b"!!binary ",
    b"<<: ",
    b"? ",
    b"| ",
    b">-\n",
    b"%YAML 9.9\n",
    b"#",
    b"k8s\0",
    b"\x0a\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x0b\x0c",
)


def hostile_value(source: random.Random, depth: int = 0) -> Any:
    """A value that belongs nowhere."""
    match source.randrange(12):
        case 0 | 1 | 2 | 3:
            return source.choice(STRINGS)
        case 4 | 5:
            return source.choice(NUMBERS)
        case 6:
            return source.choice((None, True, False))
        case 7:
            return source.choice(([], {}, [None], [[]], [{}], {"": ""}, {"a": None}))
        case 8 if depth < 3:
            size = source.choice((1, 2, 3, 40))
            return [hostile_value(source, depth + 1) for _ in range(size)]
        case 9 if depth < 3:
            size = source.choice((1, 2, 5))
            return {
                source.choice(FIELDS + STRINGS): hostile_value(source, depth + 1)
                for _ in range(size)
            }
        case 10:
            return dict([source.choice(DIRECTIVES)])
        case _:
            return _nested(source)


def _nested(source: random.Random) -> Any:
    """Something inside something inside something."""
    value: Any = source.choice(NUMBERS)
    for _ in range(source.choice((10, 50, 90, 150))):
        value = [value] if source.random() < 0.5 else {source.choice(FIELDS): value}
    return value


def paths_in(value: Any, start: Path = ()) -> Iterator[Path]:
    """Every place in a value, its own included."""
    pending: list[tuple[Path, Any]] = [(start, value)]
    while pending:
        path, found = pending.pop()
        yield path
        members: Any = ()
        if isinstance(found, dict):
            members = found.items()
        elif isinstance(found, list):
            members = enumerate(found)
        pending.extend(((*path, key), member) for key, member in members)


def damage_value(source: random.Random, value: Any) -> Any:
    """The value with something wrong somewhere inside."""
    value = copy.deepcopy(value)
    paths = list(paths_in(value))
    for _ in range(source.choice((1, 1, 1, 2, 5))):
        value = _damage_at(source, value, source.choice(paths), paths)
    return value


def _damage_at(source: random.Random, root: Any, path: Path, paths: list[Path]) -> Any:
    if not path:
        return hostile_value(source) if source.random() < 0.2 else _enrich(source, root)
    try:
        parent = _at(root, path[:-1])
        last = path[-1]
        match source.randrange(9):
            case 0 | 1 | 2:
                parent[last] = hostile_value(source)
            case 3:
                del parent[last]
            case 4:
                parent[last] = copy.deepcopy(_at(root, source.choice(paths)))
            case 5:
                parent[last] = source.choice(([parent[last]], {"a": parent[last]}))
            case 6:
                _double(source, parent, last)
            case 7:
                _enrich(source, parent[last])
            case _:
                parent[last] = _near(source, parent[last])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        pass  # what was damaged before is not there any more
    return root


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _double(source: random.Random, parent: Any, last: str | int) -> None:
    if isinstance(parent, list):
        parent.extend([copy.deepcopy(parent[int(last)])] * source.choice((1, 2, 100)))
    else:
        parent[source.choice(FIELDS)] = parent.pop(last)


def _enrich(source: random.Random, value: Any) -> Any:
    """One more member that does not belong."""
    if isinstance(value, dict):
        if source.random() < 0.4:
            name, member = source.choice(DIRECTIVES)
            value[name] = member
        else:
            value[source.choice(FIELDS + STRINGS)] = hostile_value(source)
    elif isinstance(value, list):
        value.insert(source.randint(0, len(value)), hostile_value(source))
    return value


def _near(source: random.Random, value: Any) -> Any:
    """Something of the same type, or what looks like it."""
    if isinstance(value, bool):
        return source.choice((not value, str(value).lower(), int(value)))
    if isinstance(value, int | float):
        return source.choice((*NUMBERS, str(value), -value, value + 1))
    if isinstance(value, str):
        return damage_text(source, value)
    return hostile_value(source)


def damage_text(source: random.Random, text: str) -> str:
    """A text with something put in, left out, doubled or replaced."""
    at = source.randint(0, len(text))
    match source.randrange(5):
        case 0:
            return text[:at] + source.choice(STRINGS) + text[at:]
        case 1:
            return text[:at] + text[at + 1 :]
        case 2:
            return text * source.choice((2, 2, 200))
        case 3:
            return text.upper()
        case _:
            return source.choice(STRINGS)


def damage_bytes(source: random.Random, data: bytes) -> bytes:
    """Bytes changed, dropped, doubled, cut off, or with bits of a grammar in between."""
    for _ in range(source.choice((1, 1, 2, 6))):
        at = source.randint(0, len(data))
        match source.randrange(6):
            case 0 | 1:
                data = data[:at] + source.choice(BITS) + data[at:]
            case 2:
                data = data[:at] + source.randbytes(1) + data[at + 1 :]
            case 3:
                data = data[:at] + data[at + source.randint(1, 8) :]
            case 4:
                data = data[:at] + data[max(at - 40, 0) :]
            case _:
                data = data[:at]
    return data


def as_json(source: random.Random, value: Any) -> bytes:
    """A value as JSON: sometimes with members twice, or as no encoder would write it."""
    text = json.dumps(value, ensure_ascii=source.random() < 0.5)
    if source.random() < 0.1 and text.startswith("{") and len(text) > 2:
        name = json.dumps(source.choice(FIELDS))
        text = f"{{{name}:{json.dumps(hostile_value(source))},{text[1:]}"
    return text.encode("utf-8", "surrogatepass")
