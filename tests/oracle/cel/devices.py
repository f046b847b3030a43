"""Makes devices to ask about, from a random source.

Names are those that generated expressions mention, so that most lookups find something. Each name
has a usual kind of value; now and then it holds another kind, or nothing is there. A few devices
are poisoned: one attribute that upstream cannot read, so that every expression fails.

A name is never given twice for one domain (`model` and `d.com/model` of driver d.com): which of
the two counts is chance upstream.
"""

from __future__ import annotations

import random
from typing import Any

__all__ = ["FIXED", "Device", "devices"]

Device = dict[str, Any]

DRIVERS = ("d.com", "d.com", "d.com", "e.org", "d")
FOREIGN = ("e.org", "d.com", "d", "f.net")

_STRINGS = ("a", "b", "ab", "fish", "é世", "", "A100", "a100-80g", " x ", "d.com", "long " * 12)
_VERSIONS = ("1.2.3", "1.0.0", "0.0.1", "2.0.0-rc.1", "1.2.3+build.7", "10.20.30-alpha.1+x")
_INTS = (0, 1, 2, 3, -1, -7, 8, 80, 1_000_000, 2**63 - 1, -(2**63))
_QUANTITIES = (
    "0", "1", "2", "40", "1Gi", "40Gi", "80Gi", "100Ti", "1Pi", "1Ei", "1000m", "500m", "1e3",
    "1E3", "0.5", "1.5Gi", "-1", "-2Gi", "1k", "1n", "1u", "9223372036854775807",
    "9223372036854775808", "99999999999999999999", "1.0", "5.", "12E", "0.1n",
    "2000000000000000000000Gi", "-0.5",
)  # fmt: skip

_TEXTS: dict[str, tuple[str, ...]] = {
    "model": _STRINGS,
    "name": _STRINGS,
    "uuid": ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "not-a-uuid"),
    "q": (*_QUANTITIES, "1K", "x", "1 Gi", ""),
    "u": ("https://a.example:8080/b?c=d", "/path", "://", "http://[::1]/x", "a b"),
    "ip": ("10.0.0.1", "::1", "fe80::1", "256.0.0.1", "::ffff:1.2.3.4", "224.0.0.1", "01.2.3.4"),
    "cidr": ("10.0.0.0/8", "10.0.0.1/8", "fd00::/64", "10.0.0.0/33", "1.2.3.4"),
    "re": ("^a", "[a-z]+", "(", "(?P<n>x)", ".*", "a{1001}"),
    "when": ("2024-02-29T12:00:00Z", "2023-01-01T00:00:00.5+01:00", "yesterday"),
    "span": ("1h", "1h30m", "-2.5s", "1x", "9223372036854775807ns"),
    "zone": ("UTC", "America/New_York", "+05:30", "-08:00", "Nowhere/Town", ""),
    "template": ("%s", "%d-%s", "%.2f", "%z", "%", "100%%"),
    "number": ("1", "-7", "0x10", "1.5", "1e3", "x", "18446744073709551615", "true", "NaN"),
    "a.b": _STRINGS,
    "semver": (*_VERSIONS, "v1.2.3", "1.2", "01.2.3", "x"),
}
_NAMES = (
    *_TEXTS, "count", "index", "flag", "shared", "version", "any", "v", "x", "ints", "bools",
    "strings", "versions", "in", "if",
)  # fmt: skip
_CAPACITIES = ("memory", "m", "cores", "x", "count", "in")

_POISONS: tuple[dict[str, Any], ...] = (
    {},
    {"version": "1.2"},
    {"version": "v1.2.3"},
    {"version": ""},
    {"version": "01.2.3"},
    {"version": "1.2.3-é"},
    {"versions": ["1.2.3", "x"]},
)


def devices(source: random.Random, count: int) -> list[Device]:
    return [_device(source) for _ in range(count)]


def _device(source: random.Random) -> Device:
    driver = source.choice(DRIVERS)
    made: Device = {"driver": driver}
    if source.random() < 0.05:
        return made
    prefixes = [""]
    foreign = source.choice(FOREIGN)
    if foreign != driver and source.random() < 0.5:
        prefixes.append(f"{foreign}/")
    if source.random() < 0.1:
        # The driver's own domain, written out.
        prefixes[0] = f"{driver}/"
    made["attributes"] = {
        f"{prefix}{name}": _attribute(source, name)
        for prefix in prefixes
        for name in _NAMES
        if source.random() < 0.92
    }
    made["capacity"] = {
        f"{prefix}{name}": {"value": source.choice(_QUANTITIES)}
        for prefix in prefixes
        for name in _CAPACITIES
        if source.random() < 0.9
    }
    if source.random() < 0.02:
        made["attributes"]["poison"] = source.choice(_POISONS)
    if source.random() < 0.6:
        made["allowMultipleAllocations"] = source.random() < 0.6
    return made


def _attribute(source: random.Random, name: str) -> dict[str, Any]:
    if name in ("any", "v", "x", "in", "if") or source.random() < 0.06:
        return source.choice([_int, _bool, _string, _version, _ints, _bools, _strings, _versions])(
            source
        )
    if name in ("count", "index"):
        return _int(source)
    if name in ("flag", "shared"):
        return _bool(source)
    if name == "version":
        return _version(source)
    if name in ("ints", "bools", "strings", "versions"):
        return {"ints": _ints, "bools": _bools, "strings": _strings, "versions": _versions}[name](
            source
        )
    return {"string": source.choice(_TEXTS[name])}


def _int(source: random.Random) -> dict[str, Any]:
    return {"int": source.choice(_INTS[:6] if source.random() < 0.7 else _INTS)}


def _bool(source: random.Random) -> dict[str, Any]:
    return {"bool": source.random() < 0.5}


def _string(source: random.Random) -> dict[str, Any]:
    return {"string": source.choice(_STRINGS)}


def _version(source: random.Random) -> dict[str, Any]:
    return {"version": source.choice(_VERSIONS)}


def _ints(source: random.Random) -> dict[str, Any]:
    return {"ints": [source.choice(_INTS[:7]) for _ in range(source.randint(0, 4))]}


def _bools(source: random.Random) -> dict[str, Any]:
    return {"bools": [source.random() < 0.5 for _ in range(source.randint(0, 3))]}


def _strings(source: random.Random) -> dict[str, Any]:
    return {"strings": [source.choice(_STRINGS[:7]) for _ in range(source.randint(0, 4))]}


def _versions(source: random.Random) -> dict[str, Any]:
    return {"versions": [source.choice(_VERSIONS) for _ in range(source.randint(0, 3))]}


FIXED: tuple[Device, ...] = (
    {
        "driver": "d.com",
        "attributes": {
            "str": {"string": "fish"},
            "i": {"int": 3},
            "b": {"bool": True},
            "ver": {"version": "1.2.3"},
            "pre": {"version": "1.2.3-rc.1+build"},
            "ints": {"ints": [1, 2, 3]},
            "none": {"ints": []},
            "strs": {"strings": ["a", "b"]},
            "flags": {"bools": [True, False]},
            "vers": {"versions": ["1.2.3", "2.0.0"]},
            "namespace": {"string": "ns"},
            "in": {"int": 1},
            "a.b": {"string": "dotted"},
            "big": {"int": 2**63 - 1},
            "uni": {"string": "é世𝄞"},
            "e.org/model": {"string": "foreign"},
        },
        "capacity": {
            "mem": {"value": "40Gi"},
            "m": {"value": "1000m"},
            "e.org/x": {"value": "0.5"},
            "huge": {"value": "100Ti"},
        },
        "allowMultipleAllocations": True,
    },
    {
        "driver": "e.org",
        "attributes": {
            "str": {"int": 4},
            "d.com/str": {"string": "bird"},
            "d.com/i": {"string": "three"},
            "d.com/b": {"int": 0},
            "d.com/ver": {"string": "1.2.3"},
            "d.com/ints": {"int": 2},
            "d.com/strs": {"string": "a"},
        },
        "capacity": {"d.com/mem": {"value": "1e3"}, "mem": {"value": "-1"}},
    },
    {"driver": "d.com"},
)
"""One device with all that the hand-written expressions mention, one where the same names hold
other kinds, one without anything."""
