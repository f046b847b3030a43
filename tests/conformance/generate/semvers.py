"""Version texts around the grammar of semver.org 2.0.0, in pairs so that order is asked too."""

# ruff: noqa: RUF001 - look-alike characters are part of the questions

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.conformance.generate.case import Request, chance, unique

TEXTS = 1_200

SEEDS = (
    "0.0.0", "1.0.0", "1.2.3", "10.20.30", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
    "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0+build", "1.0.0+001",
    "1.0.0-a+b", "1.0.0-0", "1.0.0-00", "1.0.0-01", "1.0.0-0a", "1.0.0-1a", "1.0.0--", "1.0.0---",
    "1.0.0-", "1.0.0+", "1.0.0-+", "1.0.0-a..b", "1.0.0-.a", "1.0.0-a.", "1.0.0+a..b", "1.0.0+a+b",
    "1.0.0-a_b", "1.0.0+a_b", "01.0.0", "1.00.0", "1.0.00", "1", "1.0", "1.0.0.0", "v1.0.0",
    "V1.0.0", "", " ", " 1.0.0", "1.0.0 ", "1. 0.0", "-1.0.0", "+1.0.0", "1.-1.0", "a.b.c", "1.a.0",
    "1.0.a", "1..0", ".1.0", "1.0.", "1,0,0", "1.0.0\n", "1.0.0-α", "１.0.0",
    "18446744073709551615.0.0", "18446744073709551616.0.0", "1.0.0-18446744073709551616",
    "99999999999999999999.0.0", "1.0.0-" + "a" * 57, "1.0.0-" + "a" * 58, "1.0.0-" + "a" * 59,
    "1.0.0+" + "b" * 200, "1.2.3-4.5.6+7.8.9", "1.2.3----RC-SNAPSHOT.12.9.1--.12+788",
    "1.2.3+build.123.abc-def",
)  # fmt: skip


def texts(random: Random) -> Iterator[Request]:
    """Exactly `TEXTS` different versions, each with another to compare it with."""
    asked = unique(
        {"op": "semver", "text": text, "other": _partner(random, text)} for text in _stream(random)
    )
    for _ in range(TEXTS):
        yield next(asked)


def _stream(random: Random) -> Iterator[str]:
    yield from SEEDS
    while True:
        text = _version(random)
        if chance(random, 0.25):
            at = random.randrange(len(text))
            text = random.choice(
                (text[:at] + text[at + 1 :], text[:at] + random.choice("0.-+aA _vé") + text[at:])
            )
        yield text


def _partner(random: Random, text: str) -> str:
    return text if chance(random, 0.1) else random.choice((random.choice(SEEDS), _version(random)))


def _version(random: Random) -> str:
    text = ".".join(str(random.choice((0, 1, 2, 9, 10, 11, 2024))) for _ in range(3))
    if chance(random, 0.5):
        text += "-" + ".".join(_identifier(random) for _ in range(random.randint(1, 3)))
    if chance(random, 0.3):
        text += "+" + ".".join(_identifier(random) for _ in range(random.randint(1, 2)))
    return text


def _identifier(random: Random) -> str:
    return random.choice(("0", "1", "2", "10", "011", "alpha", "beta", "rc", "x-y", "A", "a1", "-"))
