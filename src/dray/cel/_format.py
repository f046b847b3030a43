"""Whether a literal format string fits its arguments: `"%d of %s".format([1, "x"])`.

Only what can be known from types is checked; formatting itself is the library's, which reads
clauses by the same rules.

Upstream counterpart: stringFormatValidator in cel-go ext/formatting.go.
"""

from __future__ import annotations

from typing import Final

from dray.cel._nodes import Call, CheckedExpression, ListLiteral, MapLiteral, Node
from dray.cel._source import Issues
from dray.cel._types import Kind

__all__ = [
    "CLAUSES",
    "FormatError",
    "check_format",
    "read_clause",
]

_WHOLE: Final = frozenset({Kind.INT, Kind.UINT})
_PRINTABLE: Final = frozenset(
    {
        Kind.LIST,
        Kind.MAP,
        Kind.INT,
        Kind.UINT,
        Kind.DOUBLE,
        Kind.BOOL,
        Kind.STRING,
        Kind.TIMESTAMP,
        Kind.BYTES,
        Kind.DURATION,
        Kind.TYPE,
        Kind.NULL,
    }
)
CLAUSES: Final[dict[str, tuple[frozenset[Kind], str]]] = {
    "d": (_WHOLE, "decimal clause can only be used on integers"),
    "f": (frozenset({Kind.DOUBLE, Kind.STRING}), "fixed-point clause can only be used on doubles"),
    "e": (frozenset({Kind.DOUBLE, Kind.STRING}), "scientific clause can only be used on doubles"),
    "b": (_WHOLE | {Kind.BOOL}, "only integers and bools can be formatted as binary"),
    **dict.fromkeys(
        "xX",
        (
            _WHOLE | {Kind.STRING, Kind.BYTES},
            "only integers, byte buffers, and strings can be formatted as hex",
        ),
    ),
    "o": (_WHOLE, "octal clause can only be used on integers"),
    "s": (
        _PRINTABLE,
        (
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists,"
            " types, durations, and timestamps"
        ),
    ),
}
_PARSING: Final = "could not parse formatting clause: "


class FormatError(Exception):
    """Wrong, at this offset or at the call itself."""

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.offset = offset


def check_format(
    call: Call,
    text: str,
    arguments: tuple[Node, ...],
    checked: CheckedExpression,
    issues: Issues,
) -> None:
    try:
        used = _check_clauses(text.encode(), arguments, checked)
    except FormatError as error:
        issues.report(call.offset if error.offset is None else error.offset, str(error))
        return
    if len(arguments) > used:
        issues.report(
            call.offset,
            f"too many arguments supplied to string.format (expected {used}, got {len(arguments)})",
        )


def _check_clauses(text: bytes, arguments: tuple[Node, ...], checked: CheckedExpression) -> int:
    """Check each `%` clause against its argument; answer how many there are."""
    used = 0
    position = text.find(b"%")
    while position >= 0:
        if text[position + 1 : position + 2] == b"%":
            position = text.find(b"%", position + 2)
            continue
        if position + 1 >= len(text):
            raise FormatError("unexpected end of string")
        if used >= len(arguments):
            raise FormatError(f"index {used} out of range")
        letter, _, position = read_clause(text, position + 1)
        _check_type(letter, arguments[used], checked)
        used += 1
        position = text.find(b"%", position)
    return used


def read_clause(text: bytes, position: int) -> tuple[str, int | None, int]:
    """The letter of the clause that starts here, its precision, and where it ends."""
    precision: int | None = None
    if text[position : position + 1] == b".":
        start = position = position + 1
        while text[position : position + 1].isdigit():
            position += 1
        digits = text[start:position]
        if position >= len(text):
            raise FormatError(
                f"{_PARSING}error while parsing precision: could not find end of precision"
                " specifier"
            )
        if not digits or int(digits.lstrip(b"0")[:20] or b"0") > 2**63 - 1:
            problem = "invalid syntax" if not digits else "value out of range"
            raise FormatError(
                f"{_PARSING}error while parsing precision: error while converting precision to"
                f' integer: strconv.Atoi: parsing "{digits.decode()}": {problem}'
            )
        precision = int(digits.lstrip(b"0") or b"0")
    letter = chr(text[position])
    if letter not in CLAUSES:
        raise FormatError(f'{_PARSING}unrecognized formatting clause "{letter}"')
    return letter, precision, position + 1


def _check_type(clause: str, argument: Node, checked: CheckedExpression) -> None:
    allowed, rule = CLAUSES[clause]
    for node in _printed(argument) if clause == "s" else [argument]:
        found = checked.type(node)
        if found.kind is not Kind.DYN and found.kind not in allowed:
            raise FormatError(
                f"error during formatting: {rule}, was given {found.name}", node.offset
            )


def _printed(node: Node) -> list[Node]:
    """The node and, where it is written out as a list or map, everything in it."""
    found = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if isinstance(node, ListLiteral):
            waiting.extend(reversed(node.elements))
        elif isinstance(node, MapLiteral):
            parts = [part for entry in node.entries for part in (entry.key, entry.value)]
            waiting.extend(reversed(parts))
    return found
