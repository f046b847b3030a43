"""The functions a device expression may call, read from the tables in _overloads.

Not here: what a function does (the evaluator), what it costs (_call_cost), and macros, which are
gone before types are checked (_macros).

Upstream counterpart: cel-go common/decls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from dray.cel import _types as types
from dray.cel._overloads import INCLUDES, NEW, STORED
from dray.cel._types import Type

__all__ = [
    "Function",
    "Overload",
    "functions",
]


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function. A member overload's first argument is what it is called on."""

    id: str
    arguments: tuple[Type, ...]
    result: Type
    member: bool
    type_parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    overloads: tuple[Overload, ...]


_OVERLOAD: Final = re.compile(r" +(\S+) (?:(.+)\.)?\((.*)\) -> (.+)")
_PART: Final = re.compile(r"<\w+>|[\w.]+|[(),]")

_NAMED: Final[dict[str, Type]] = {
    "bool": types.BOOL,
    "bytes": types.BYTES,
    "double": types.DOUBLE,
    "duration": types.DURATION,
    "dyn": types.DYN,
    "int": types.INT,
    "string": types.STRING,
    "timestamp": types.TIMESTAMP,
    "uint": types.UINT,
    "kubernetes.NamedFormat": types.FORMAT,
    "kubernetes.Quantity": types.QUANTITY,
    "kubernetes.Semver": types.SEMVER,
    "kubernetes.URL": types.URL,
    "net.CIDR": types.CIDR,
    "net.IP": types.IP,
}


@cache
def functions(*, includes: bool, stored: bool = True) -> Mapping[str, Function]:
    """All functions by name; `includes` says whether the list attributes' function is one."""
    tables: tuple[str, ...] = STORED if stored else NEW
    if includes:
        tables = (*tables, INCLUDES)
    overloads: dict[str, list[Overload]] = {}
    name = ""
    for line in "".join(tables).strip().splitlines():
        if line.startswith(" "):
            overloads[name].append(_overload(line))
        elif line:
            name = line
            overloads.setdefault(name, [])
    return {name: Function(name, tuple(found)) for name, found in overloads.items()}


def _overload(line: str) -> Overload:
    match = _OVERLOAD.fullmatch(line)
    assert match is not None, line
    overload_id, receiver, arguments, result = match.groups()
    taken = _types(f"{receiver}, {arguments}" if receiver and arguments else receiver or arguments)
    parameters = dict.fromkeys(re.findall(r"<(\w+)>", line.partition(overload_id)[2]))
    return Overload(
        id=overload_id,
        arguments=taken,
        result=_types(result)[0],
        member=receiver is not None,
        type_parameters=tuple(parameters),
    )


def _types(text: str) -> tuple[Type, ...]:
    """The comma-separated types in `text`."""
    stack: list[list[Type]] = [[]]
    names: list[str] = []
    parts = _PART.findall(text)
    for index, part in enumerate(parts):
        if part == "(":
            stack.append([])
        elif part == ")":
            stack[-2].append(_made_of(names.pop(), stack.pop()))
        elif parts[index + 1 : index + 2] == ["("]:
            names.append(part)
        elif part != ",":
            stack[-1].append(_simple(part))
    return tuple(stack[0])


def _simple(name: str) -> Type:
    if name.startswith("<"):
        return types.parameter(name[1:-1])
    return _NAMED.get(name) or types.struct(f"kubernetes.{name}")


def _made_of(name: str, parts: list[Type]) -> Type:
    match name, parts:
        case "list", [element]:
            return types.list_of(element)
        case "map", [key, value]:
            return types.map_of(key, value)
        case "optional_type", [value]:
            return types.optional_of(value)
        case "type", [of]:
            return types.type_of(of)
        case _:
            raise AssertionError(f"no such type: {name}({parts})")
