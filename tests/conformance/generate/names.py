"""Texts for every name format: each allowed, each broken in one place, each at its length limit."""

# ruff: noqa: RUF001 - look-alike characters are part of the questions

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.conformance.generate.case import Request, chance, unique

TEXTS = 1_500

SEEDS = (
    "", "a", "A", "0", "-", ".", "_", "/", "a-b", "a.b", "a_b", "a/b", "a/b/c", "a//b", "/a", "a/",
    "-a", "a-", ".a", "a.", "_a", "a_", "a..b", "a.-b", "a-.b", "Ab", "aB", "a b", " a", "a ",
    "a\n", "gpu.example.com", "GPU.example.com", "gpu.Example.com", "example.com/name",
    "Example.com/name", "example.com/Name", "example.com/na-me", "example.com/na_me",
    "example.com/9name",
    "name9", "example.com/", "/name", "dra.example.com/a/b", "a.b/c.d", "domain/identifier", "x/y",
    "x/_y", "kubernetes.io/gpu", "example.kubernetes.io/gpu", "requests.cpu",
    "requests.example.com/gpu", "deviceclass.resource.kubernetes.io/gpu", "cpu", "memory",
    "hugepages-2Mi",
    "nvidia.com/gpu", "..", "...", "../a", "%41", "a%b", "é", "名前", "ａ", "a\u0000", "\ufeffa",
    "a\u200bb",
    "💾", "550e8400-e29b-41d4-a716-446655440000", "550E8400-E29B-41D4-A716-446655440000",
    "550e8400e29b41d4a716446655440000", "{550e8400-e29b-41d4-a716-446655440000}",
    "urn:uuid:550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-44665544000",
    "550e8400-e29b-41d4-a716-4466554400000", "550e8400-e29b-41d4-a716-44665544000g",
    "00000000-0000-0000-0000-000000000000", "550e8400-e29b-41d4-a7160446655440000",
    "192.168.0.1", "192.168.0.1/24", "192.168.0.0/24", "192.168.000.001/24", "192.168.0.1/33",
    "192.168.0.1/024", "192.168.0.1/-1", "192.168.0.1/", "256.0.0.1/8", "1.2.3/8", "10.0.0.5/32",
    "0.0.0.0/0", "::/0", "2001:db8::1/64", "2001:DB8::1/64", "2001:0db8::1/64",
    "2001:db8:0:0::1/64", "2001:db8::1", "2001:db8::1/129", "::ffff:1.2.3.4/96",
    "::ffff:1.2.3.4/120",
    "fe80::1%eth0/64", "kubernetes", "resource.kubernetes.io/delete-protection", "orphan",
    "foregroundDeletion", "foo", "PATH", "1PATH", "MY.VAR", "my-var", "true", "null", "pool/a",
    "node-1/pool.x",
    "Pool/a", "pool//a", "node_1", "a/b/c/d/e/f", "a" * 5 + "/" + "b" * 5,
)  # fmt: skip

LENGTHS = (1, 31, 32, 33, 62, 63, 64, 127, 128, 129, 252, 253, 254, 255, 316, 317, 318, 400)
ALPHABET = "abcxyz019-._/AZ é%"


def texts(random: Random) -> Iterator[Request]:
    """Exactly `TEXTS` different texts, each put to every rule."""
    asked = unique({"op": "names", "text": text} for text in _stream(random))
    for _ in range(TEXTS):
        yield next(asked)


def _stream(random: Random) -> Iterator[str]:
    yield from SEEDS
    for length in LENGTHS:
        yield "a" * length
        yield "a" * (length - 1) + "-"
        yield ("a" * 63 + ".") * (length // 64) + "a" * (length % 64 or 1)
        yield "a" * length + "/b"
        yield "a/" + "b" * length
        yield "example.com/" + "b" * length
        yield ("a" * 60 + ".") * (length // 61) + "com/id"
        yield "é" * length
    while True:
        yield _mutated(random) if chance(random, 0.6) else _scribble(random)


def _mutated(random: Random) -> str:
    text = random.choice(SEEDS) or "a"
    for _ in range(random.randint(1, 2)):
        at = random.randrange(len(text) + 1)
        stray = random.choice(ALPHABET)
        text = random.choice((text[:at] + text[at + 1 :], text[:at] + stray + text[at:]))
    return text


def _scribble(random: Random) -> str:
    return "".join(random.choice(ALPHABET) for _ in range(random.randint(1, 14)))
