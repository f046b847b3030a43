"""Makes texts at the edges of the language: tokens in any order, conversions, formats, depth.

The same random source gives the same texts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

__all__ = ["conversions", "depths", "formats", "soups"]

_TOKEN_TEXT = (
    "== != in < <= >= > && || [ ] { } ( ) . , - ! ? : + * / % true false null 1 1.5 2u \"s\" b'x' x"
    ' foo `a` has all map device as if _ 0x1 && || . ( ) [ ] , : ? @ # $ \\ \' " & | = ` """ r\''
    " // é 世"
)
_TOKENS = _TOKEN_TEXT.split()
_BASES = (
    'device.attributes["d"].x == 1',
    "[1,2,3].all(x, x > 0)",
    '{"a":1,"b":2}.a == 1 ? true : false',
    "f(a, b.c(1)[2], {1:[2]}) && !x || -y",
    "google.protobuf.Int32Value{value: 1} == 1",
    'cel.bind(a, device.driver, a == "x" && a.startsWith("y"))',
    "a.?b[?c].d{e: 1, ?f: 2}",
)
_FUNCTIONS = (
    "int", "uint", "double", "string", "bytes", "bool", "timestamp", "duration", "dyn", "type",
)  # fmt: skip
_VALUE_TEXT = (
    "1 -1 0 9223372036854775807 -9223372036854775808 1u 18446744073709551615u 1.0 1.5 -0.5 1e6"
    " 123456.0 1234567.0 1e21 9.3e18 1e-5 0.0001 9223372036854775807.0 18446744073709551616.0"
    ' "x" "1" "-1" "+1" "01" "1_0" "0x10" "1.5" "1e5" "inf" "-Infinity" "NaN" "+nan" "0x1p4"'
    ' "1e400" "1." ".5" "." "" "true" "True" "t" "yes" "1h" "1h30m" "1.5h" "-2s" "+2s" "0" "s"'
    ' "1x" ".s" "1.s" "9223372036854775807ns" "9223372036854775808ns" "-9223372036854775808ns"'
    ' "1us" "1µs" "0.1ns" "2024-01-01T00:00:00Z" "2024-02-30T00:00:00Z" "2024-01-01T1:00:00Z"'
    ' "2024-01-01T00:00:00.123456789123Z" "2024-01-01T00:00:00,5Z" "2024-01-01T00:00:00+25:00"'
    ' "0000-01-01T00:00:00Z" "0001-01-01T00:00:00+01:00" "9999-12-31T23:59:59-01:00"'
    ' "2024-01-01T24:00:00Z" "2024-01-01t00:00:00z" b"x" b"\\xff" true false null [] [1] {}'
    ' {"a":1} 253402300799 253402300800 -62135596800 -62135596801 int net.IP optional.none()'
)
_VALUES = _VALUE_TEXT.split()
_CLAUSE_TEXT = (
    "%s %d %f %e %b %x %X %o %% %.3f %.f %. % %z %.2e %s%s é%s %.99999999999999999999f %é"
)
_CLAUSES = _CLAUSE_TEXT.split()
_FORMATTED_TEXT = (
    '1|1u|1.5|"s"|true|null|[1]|["a"]|{1:2}|device|device.driver|dyn(1)|type(1)|quantity("1")'
    '|timestamp(0)|duration("1s")|b"x"|optional.none()|device.attributes["x"].y|[quantity("1")]'
    '|{"a": semver("1.0.0")}|[[quantity("1")]]|[dyn(quantity("1"))]'
)
_FORMATTED = _FORMATTED_TEXT.split("|")


def soups(source: random.Random, count: int) -> Iterator[str]:
    """Half of them tokens at random, half expressions with a few tokens changed."""
    for index in range(count):
        if index % 2:
            separator = source.choice(["", " ", " "])
            yield separator.join(source.choice(_TOKENS) for _ in range(source.randint(1, 12)))
            continue
        parts = re.findall(r'\w+|"[^"]*"|\s+|.', source.choice(_BASES))
        for _ in range(source.randint(1, 3)):
            at = source.randrange(len(parts))
            match source.randrange(4):
                case 0 if len(parts) > 1:
                    parts.pop(at)
                case 1:
                    parts[at] = source.choice(_TOKENS)
                case 2:
                    other = source.randrange(len(parts))
                    parts[at], parts[other] = parts[other], parts[at]
                case _:
                    parts.insert(at, source.choice(_TOKENS))
        yield "".join(parts)


def conversions(source: random.Random, count: int) -> Iterator[str]:
    """Constants converted, and converted again, where a constant is worked out."""

    def converted(depth: int) -> str:
        if depth == 0 or source.random() < 0.15:
            return source.choice(_VALUES)
        inner = converted(depth - 1)
        if source.random() < 0.35:
            inner = f"dyn({inner})"
        return f"{source.choice(_FUNCTIONS)}({inner})"

    for _ in range(count):
        value = converted(source.randint(1, 3))
        yield source.choice(
            [
                f"dyn({value}) == null",
                f"dyn({value}) == null",
                f'"x".find({value}) == ""',
                f"dyn({{}})[{value}] == 1",
                f"({value} in [{converted(1)}]) || dyn({{{converted(1)}: 1}}) == 1",
            ]
        )


def formats(source: random.Random, count: int) -> Iterator[str]:
    for _ in range(count):
        text = "".join(source.choice(_CLAUSES) for _ in range(source.randint(0, 3)))
        values = ", ".join(source.choice(_FORMATTED) for _ in range(source.randint(0, 3)))
        yield f'"{text}".format([{values}]) == "x"'


def depths() -> Iterator[str]:
    """Each way of nesting, just within and just beyond the bounds."""
    for depth in (33, 83, 84, 124, 125, 248, 249, 250, 251):
        yield "(" * depth + "true" + ")" * depth
        yield "+".join(["1"] * depth) + " == 1"
        yield "1+1*(" * depth + "1" + ")" * depth + " == 1"
        yield "dyn(1)" + ".a" * depth + " == 1"
        yield "[" * depth + "1" + "]" * depth + " == dyn(1)"
        yield "true ? true : " * depth + "true"
        yield "[1].all(x, " * depth + "true" + ")" * depth
        yield "cel.bind(x, 1, " * depth + "true" + ")" * depth
        yield " && ".join(["true"] * depth)
