"""Quantity texts: ordinary, canonical-breaking, at every limit of the representation, hostile.

Upstream has two representations (int64 with a scale, and arbitrary decimal) and picks by digit
count, suffix and sign. The texts therefore cluster around 18 digits, 2^63, nano precision and the
largest suffixes, where one representation hands over to the other.
"""

# ruff: noqa: RUF001 - look-alike characters are part of the questions

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.conformance.generate.case import Request, chance, unique

TEXTS = 21_000
PAIRS = 5_400

DECIMAL_SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
BINARY_SUFFIXES = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
SUFFIXES = DECIMAL_SUFFIXES + BINARY_SUFFIXES
SIGNS = ("", "", "", "", "-", "+")

# Exponents past this make upstream's arbitrary decimals slow, not more interesting; the few
# larger ones below are chosen because upstream narrows them to 32 bits.
EXPONENT_MAX = 40

INTERESTING_INTEGERS = (
    0, 1, 2, 7, 8, 9, 10, 12, 99, 100, 101, 128, 500, 512, 999, 1000, 1001, 1023, 1024, 1025, 1536,
    2000, 2048, 4096, 10000, 65536, 100000, 999999, 1000000, 1048576, 1073741824, 999999999999,
    2**31 - 1, 2**31, 2**32, 2**40, 2**50, 2**53, 2**60, 2**62, 2**63 - 1, 2**63, 2**63 + 1,
    2**64 - 1, 2**64, 10**15, 10**17, 10**18 - 1, 10**18, 10**18 + 1, 10**19, 10**20, 10**24,
    9223372036854775, 9223372036854776, 9223372036, 9223372037, 8, 8191, 8192, 9007199254740993,
)  # fmt: skip

FRACTIONS = (
    ".0", ".", ".5", ".1", ".25", ".125", ".001", ".0001", ".000001", ".000000001", ".0000000001",
    ".0000000005", ".9999999999", ".999999999", ".50", ".500", ".0000000000000000000000001",
    ".123456789", ".1234567891", ".9", ".99", ".999", ".75", ".333333333333333333333", ".000",
)  # fmt: skip

HOSTILE = (
    "", " ", "  ", "\t", "\n", "1 ", " 1", " 1 ", "\t1Gi\n", "1 Gi", "1\u00a0", "\u00a01",
    "\u20031", "+", "-", ".", "+.", "-.", "..", "1.", ".1", "-.1", "+.1", "1..2", "1.2.3", "1,000",
    "1_000", "0x10", "0b1", "0o7", "1e", "1E", "1e+", "1e-", "1e1.5", "1e 1", "1ee1", "1e1e1",
    "1e+1",
    "1E+1", "1e-1", "1E-1", "1e01", "1e001", "1e-01", "1E0", "1e0", "1e+0", "1e-0", "--1", "++1",
    "+-1", "-+1", "1-", "1+", "1+1", "NaN", "nan", "Inf", "inf", "-Inf", "+Inf", "infinity", "null",
    "true", "false", "nil", "<nil>", "one", "K", "Ki", "m", "Gi", "e3", "E3", "1K", "1ki", "1KI",
    "1mi", "1MI", "1gi", "1g", "1t", "1p", "1N", "1U", "1µ", "1μ", "1Z", "1Zi", "1Y", "1Yi", "1R",
    "1Qi", "1mm", "1kk", "1Kii", "1KiB", "1Kib", "1MB", "1GB", "1B", "1b", "1Ki ", "1 Ki", "1Ki1",
    "1m1", "1k5", "1.5.Gi", "1.Gi", ".Gi", "0", "00", "000", "-0", "+0", "0.0", "-0.0", "00.00",
    "0m",
    "0Ki", "0n", "0E", "0Ei", "0e0", "0e5", "0e-5", "-0m", "+0Ki", "0.", ".0", "000.000", "00001",
    "0001Ki", "-0001", "007", "0100m", "00.5", "0x1p-2", "1p", "1P", "1Pi", "1\u0000", "\u0000",
    "１",
    "١", "1٫5", "一", "Ⅳ", "½", "²", "1\u200b", "\ufeff1", "\u202e1", "−1", "1e９", "💾", "1💾",
    "é",
    "1é",
    '"', '"1"', "'1'", "\\1", "1\\n", "1;", "1%", "100%", "$1", "#1", "1/2", "1*2", "(1)", "[1]",
    "{1}", "1e2147483647x", "1e99999999999999999999", "1e-99999999999999999999",
    "1e9223372036854775808", "1e-9223372036854775809", "1e4294967296", "1e4294967299",
    "1e-4294967299", "5e8589934594", "12E4294967297", "1e100", "1e-100", "-1e-100", "1e200",
    "3e400", "-3e400", "1e-400", "1e999", "1e-999", "1E400", "0e400", "0e-400",
)  # fmt: skip


def texts(random: Random) -> Iterator[Request]:
    """Exactly `TEXTS` different questions about one quantity."""
    asked = unique({"op": "quantity", "text": text} for text in _stream(random))
    for _ in range(TEXTS):
        yield next(asked)


def pairs(random: Random) -> Iterator[Request]:
    """Exactly `PAIRS` different questions about two quantities and a factor."""
    asked = unique(_pair_stream(random))
    for _ in range(PAIRS):
        yield next(asked)


def _stream(random: Random) -> Iterator[str]:
    yield from HOSTILE
    for number in INTERESTING_INTEGERS:
        for suffix in SUFFIXES:
            yield f"{number}{suffix}"
            yield f"-{number}{suffix}"
    for fraction in FRACTIONS:
        for suffix in SUFFIXES:
            for whole in ("", "0", "1", "12", "-3", "1023", "999", "9223372036854775807"):
                yield f"{whole}{fraction}{suffix}"
    for exponent in range(-EXPONENT_MAX, EXPONENT_MAX + 1):
        for mantissa in ("1", "-7", "1.5", "1000", "1024", "0.001", "123456789012345678", "10"):
            yield f"{mantissa}e{exponent}"
            yield f"{mantissa}E{exponent:+d}"
    for length in (15, 16, 17, 18, 19, 20, 40, 100, 400):
        for digit in "0159":
            for suffix in SUFFIXES:
                yield digit * length + suffix
                yield "0." + digit * length + suffix
    while True:
        yield _random_text(random)


def _random_text(random: Random) -> str:
    if chance(random, 0.1):
        return _garbled(random)
    return random.choice(SIGNS) + _digits(random) + _ending(random)


def _digits(random: Random) -> str:
    shape = random.random()
    if shape < 0.15:
        whole = str(random.choice(INTERESTING_INTEGERS) + random.randint(-2, 2)).lstrip("-")
    elif shape < 0.3:
        whole = str(random.randint(1, 999) * 10 ** random.randint(0, 18))
    elif shape < 0.45:
        whole = str(random.randint(1, 4096) * 1024 ** random.randint(0, 6))
    else:
        whole = str(random.randint(0, 10 ** random.randint(1, 22)))
    if chance(random, 0.08):
        whole = "0" * random.randint(1, 4) + whole
    if chance(random, 0.35):
        places = random.randint(0, 14)
        whole += "." + "".join(random.choice("0000123456789") for _ in range(places))
    return whole


def _ending(random: Random) -> str:
    if chance(random, 0.2):
        exponent = random.randint(-EXPONENT_MAX, EXPONENT_MAX)
        sign = random.choice(("", "+")) if exponent >= 0 else ""
        return f"{random.choice('eE')}{sign}{exponent}"
    return random.choice(SUFFIXES)


def _garbled(random: Random) -> str:
    """A plausible text with one character inserted, removed or replaced."""
    text = random.choice(SIGNS) + _digits(random) + _ending(random)
    at = random.randrange(len(text))
    stray = random.choice("0123456789.eEkKMGTPimnu+- _,xX\t٣µ")
    return random.choice((text[:at] + text[at + 1 :], text[:at] + stray + text[at:], stray + text))


def _pair_stream(random: Random) -> Iterator[Request]:
    related = ("1Gi", "1024Mi", "1073741824", "1e3", "1k", "1000", "1000m", "0", "-0", "1n", "0.5",
               "500m", "1Ki", "1.5Gi", "1536Mi", "9223372036854775807", "8Ei", "-8Ei", "1E", "100E",
               "7Ei", "1e19", "-1", "-1Ki", "0Ki", "0e3", "1e-9", "999999999n", "1u")  # fmt: skip
    for a in related:
        for b in related:
            yield {"op": "quantityPair", "a": a, "b": b, "factor": random.choice(FACTORS)}
    while True:
        a = random.choice(SIGNS) + _digits(random) + _ending(random)
        shape = random.random()
        if shape < 0.15:
            b = a
        elif shape < 0.3:
            b = random.choice(related)
        else:
            b = random.choice(SIGNS) + _digits(random) + _ending(random)
        yield {"op": "quantityPair", "a": a, "b": b, "factor": random.choice(FACTORS)}


FACTORS = (0, 1, -1, 2, 3, 10, 1000, 1024, -7, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63), 999999937)
