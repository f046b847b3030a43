"""What of a device an expression reads.

Two devices that agree in everything an expression reads get the same answer from it, value or
error. So a verdict can be kept by what was read instead of by device, and a name that no device has
is probably misspelt.

A Reference is a place in a device: one attribute or capacity, all of one domain, all domains, or a
field of the device itself. Places are found by following paths from `device` through the tree, also
through variables of `cel.bind`. Where a path ends in something computed, the whole part counts as
read, so the answer may name too much and never too little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

from dray.cel._builder import INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT
from dray.cel._environment import DEVICE_VARIABLE
from dray.cel._nodes import (
    Broken,
    Call,
    CheckedExpression,
    Comprehension,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    MessageLiteral,
    Node,
    Select,
)
from dray.cel._trampoline import Steps, done, run

__all__ = ["MAPS_BY_DOMAIN", "Reference", "only_asked_for", "references"]

MAPS_BY_DOMAIN: Final = ("attributes", "capacity")

_NO_FIELDS: Final = frozenset({"in", "true", "false", "null"})
"""Words that cannot follow a dot."""


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """A place in a device.

    `field` is `attributes`, `capacity`, `driver` or `allowMultipleAllocations`. An attribute or
    capacity has a domain and a name; a whole domain has no name, and all domains have neither.
    """

    field: str
    domain: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        """The path as an expression writes it."""
        path = f"{DEVICE_VARIABLE}.{self.field}"
        if self.domain is not None:
            path += f'["{self.domain}"]'
        if self.name is not None:
            selectable = self.name.isidentifier() and self.name not in _NO_FIELDS
            path += f".{self.name}" if selectable else f'["{self.name}"]'
        return path

    def covers(self, other: Reference) -> bool:
        """Whether whoever reads this also reads the other."""
        return self.field == other.field and (
            self.domain is None
            or (self.domain == other.domain and (self.name is None or self.name == other.name))
        )


_Path: TypeAlias = tuple[str, ...] | None
"""Where in the device a value comes from; None if from elsewhere. () is the device itself."""

_DEPTH_MAX: Final = 3
"""Field, domain, name: whatever is selected beyond belongs to the same place."""


def references(checked: CheckedExpression) -> frozenset[Reference]:
    """Everything the expression may read of a device."""
    found = _Finder.of(checked).found
    return frozenset(
        one for one in found if not any(other.covers(one) and other != one for other in found)
    )


def only_asked_for(checked: CheckedExpression) -> frozenset[Reference]:
    """What the expression asks the presence of, with `in` or `has`, and never the value."""
    finder = _Finder.of(checked)
    return frozenset(finder.asked_for - finder.valued)


class _Finder:
    def __init__(self) -> None:
        self.asked_for: set[Reference] = set()
        self.valued: set[Reference] = set()
        self._locals: list[tuple[str, _Path]] = []

    @classmethod
    def of(cls, checked: CheckedExpression) -> Self:
        finder = cls()
        finder.read(run(finder.visit(checked.root)))
        return finder

    @property
    def found(self) -> set[Reference]:
        return self.asked_for | self.valued

    def read(self, path: _Path) -> None:
        """The value at a path is used for something else than being selected from."""
        self.valued.update(_places(path))

    def ask_for(self, path: _Path) -> None:
        """Whether there is something at a path is used, and nothing else of it."""
        self.asked_for.update(_places(path))

    def visit(self, node: Node) -> Steps[_Path]:
        match node:
            case Literal() | Broken():
                return done(None)
            case Identifier():
                return done(self._identifier(node))
            case Select():
                return self._select(node)
            case Call() if node.function in (INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT):
                return self._index(node)
            case Call(function="_?_:_"):
                return self._each(node.arguments)
            case Call(function="@in"):
                return self._membership(node)
            case Call():
                operands = node.arguments if node.target is None else (node.target, *node.arguments)
                return self._each(operands)
            case ListLiteral():
                return self._each(node.elements)
            case MapLiteral():
                return self._each(
                    tuple(part for entry in node.entries for part in (entry.key, entry.value))
                )
            case MessageLiteral():
                return self._each(tuple(field.value for field in node.fields))
            case Comprehension():
                return self._comprehension(node)

    def _each(self, nodes: tuple[Node, ...]) -> Steps[_Path]:
        for node in nodes:
            self.read((yield self.visit(node)))
        return None

    def _identifier(self, node: Identifier) -> _Path:
        for name, path in reversed(self._locals):
            if name == node.name:
                return path
        return () if node.name.removeprefix(".") == DEVICE_VARIABLE else None

    def _select(self, node: Select) -> Steps[_Path]:
        path: _Path = yield self.visit(node.operand)
        longer = _extended(path, node.field)
        if node.test_only:
            self.ask_for(longer)
            return None
        return longer

    def _index(self, node: Call) -> Steps[_Path]:
        operand, key = node.arguments
        path: _Path = yield self.visit(operand)
        if isinstance(key, Literal) and isinstance(key.value, str):
            return _extended(path, key.value)
        self.read((yield self.visit(key)))
        self.read(path)
        return None

    def _membership(self, node: Call) -> Steps[_Path]:
        """`"x" in map` reads one key of the map; anything else reads all of it."""
        member, container = node.arguments
        path: _Path = yield self.visit(container)
        if isinstance(member, Literal) and isinstance(member.value, str) and path is not None:
            if len(path) < _DEPTH_MAX:
                self.ask_for(_extended(path, member.value))
            else:
                self.read(path)
            return None
        self.read((yield self.visit(member)))
        self.read(path)
        return None

    def _comprehension(self, node: Comprehension) -> Steps[_Path]:
        initial: _Path = yield self.visit(node.initial)
        over: _Path = yield self.visit(node.range)
        self.read(over)
        loops = not (isinstance(node.range, ListLiteral) and not node.range.elements)
        if loops:
            self.read(initial)
        outside = len(self._locals)
        self._locals.append((node.accumulator, None if loops else initial))
        self._locals += [(name, None) for name in _loop_variables(node)]
        if loops:
            yield self._each((node.condition, node.step))
        del self._locals[outside + 1 :]
        result: _Path = yield self.visit(node.result)
        del self._locals[outside:]
        return result


def _loop_variables(node: Comprehension) -> Iterator[str]:
    yield node.variable
    if node.second_variable is not None:
        yield node.second_variable


def _places(path: _Path) -> Iterator[Reference]:
    if path:
        yield Reference(*path)
    elif path is not None:
        for field in (*MAPS_BY_DOMAIN, "driver", "allowMultipleAllocations"):
            yield Reference(field)


def _extended(path: _Path, key: str) -> _Path:
    if path is None:
        return None
    if len(path) == _DEPTH_MAX or (path and path[0] not in MAPS_BY_DOMAIN):
        return path
    return (*path, key)
