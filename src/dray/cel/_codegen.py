"""Python code for an expression: the quick way to ask it about one device.

The code is optimistic. It reads attributes by plain lookups, uses Python's own operators where
values are of the types they usually are, and leaves by an exception as soon as anything is not as
expected: a missing key, another type, an error that `||` might absorb. Whoever runs it then asks
the exact program instead. All of it is pure, so the order in which it works does not matter, and
whatever it returns is what the exact program would have returned
(test_code_never_contradicts_the_exact_program).

Costs are not counted, so code is made such that no run can exceed a budget: it has few nodes, its
loops go few rounds, and the functions it calls cost little for the small values they accept here;
whatever is larger is a surprise. COST_MAX says how much that makes. Texts of the expression never
become code: constants are passed by reference, names are made up here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from dray.api.quantity import Quantity
from dray.cel import _code_support as support
from dray.cel._builder import INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT
from dray.cel._calls import LOOK_INTO_ALL, dispatched
from dray.cel._code_support import PARTS_MAX, TEXT_MAX, Surprise
from dray.cel._environment import DEVICE_VARIABLE
from dray.cel._failures import Abort, Failure
from dray.cel._library.equality import equal
from dray.cel._library.table import Implementation
from dray.cel._nodes import (
    Call,
    CheckedExpression,
    Comprehension,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
)
from dray.cel._operators import differ, member_set, membership
from dray.cel._planner import constant_list
from dray.cel._references import MAPS_BY_DOMAIN
from dray.cel._runtime_cost import call_charge
from dray.cel._stack import heights
from dray.cel._types import Kind, Type
from dray.cel._values import (
    LISTS,
    MAPS,
    NONE,
    MutableList,
    MutableMap,
    Optional,
    Unhashable,
    Value,
    encode_key,
)

__all__ = ["SURPRISES", "Function", "Surprise", "generate", "may_be_list"]

Function: TypeAlias = Callable[[Value], Value]
"""The value of an expression for a device, or one of SURPRISES."""

HEIGHT_MAX: Final = 30
"""Python's compiler nests parentheses 200 deep; nobody writes selectors this tall by hand."""

NODES_MAX: Final = 120
ROUNDS_MAX: Final = 64
"""Nodes of the expression, and rounds all its loops make together."""

COST_MAX: Final = NODES_MAX * (1 + ROUNDS_MAX) * PARTS_MAX
"""No run can cost more, and an expression may cost 1,000,000: each node runs at most once by itself
and once a round, and costs at most a unit per part or a tenth of one per character. The dear
functions are only called outside of loops, where the worst costs 1,664 and there are 120. A
selector taken apart makes code for each part, and repeats what it binds: there is room for that."""

_CHEAP: Final = frozenset(
    {
        "@in", "_!=_", "_+_", "_<=_", "_<_", "_==_", "_>=_", "_>_", "endsWith", "lowerAscii",
        "quantity", "semver", "startsWith", "trim", "upperAscii",
    }
)  # fmt: skip
"""Functions whose cost depends on sizes, and is at most a unit per part."""

_DEAR: Final = frozenset({"contains", "find", "matches"})
"""Functions that cost as much as two sizes multiplied: 26 for the text, 64 for the pattern."""


SURPRISES: Final = (KeyError, Failure, Surprise, Abort, Unhashable, TypeError, AttributeError)
"""What the code ends with when the exact program has to decide."""


class _Unsupported(Exception):
    """The expression has a part that no code is made for."""


def generate(checked: CheckedExpression) -> Function | None:
    """Code for the expression, or None where the exact program has to do."""
    if len(checked.types) > NODES_MAX or heights(checked.root).get(checked.root.id, 0) > HEIGHT_MAX:
        return None
    emitter = _Emitter(checked)
    try:
        return emitter.function()
    except _Unsupported:
        return None


def may_be_list(type_: Type) -> bool:
    """Whether a value of this type may be a list when the expression is evaluated.

    A bound list that is empty can be filled by one part and read by another: upstream's quirk,
    which parts evaluated apart, or in another order, would not show.
    """
    return type_.kind is Kind.LIST or type_.is_dyn or type_.kind is Kind.TYPE_PARAMETER


@dataclass(frozen=True, slots=True)
class _Constant:
    value: Value


@dataclass(frozen=True, slots=True)
class _Code:
    """A Python expression; `kind` is the type its value certainly has, where that is known.

    `sign` is a cheaper expression of the same sign, where there is one.
    """

    text: str
    kind: type | None = None
    sign: str | None = None


_Part: TypeAlias = _Constant | _Code

_COMPARISONS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_PLAIN: Final = frozenset({str, int, bool})
"""Types whose values Python compares as CEL does, among themselves."""

_QUANTITY_TESTS: Final = frozenset({"compareTo", "isGreaterThan", "isLessThan"})


class _Emitter:
    def __init__(self, checked: CheckedExpression) -> None:
        self._checked = checked
        self._namespace: dict[str, object] = {"__builtins__": {}}
        self._lines: list[str] = []
        self._indent = 1
        self._hoisted: dict[tuple[str, ...], str] = {}
        self._names_made = 0
        self._locals: list[tuple[str, _Part]] = []
        self._loops = 0

    def function(self) -> Function:
        result = self._written(self._emit(self._checked.root))
        head = [f"    {name} = {self._read(path)}" for path, name in self._hoisted.items()]
        if any("rounds" in line for line in self._lines):
            head.append("    rounds = 0")
        lines = ["def expression(device):", *head, *self._lines, f"    return {result}"]
        # The text is made of names and operators of this module alone.
        exec(compile("\n".join(lines), "<selector>", "exec"), self._namespace)  # noqa: S102
        function: Function = self._namespace["expression"]  # type: ignore[assignment]  # just made
        return function

    # Names and lines

    def _name(self, prefix: str) -> str:
        self._names_made += 1
        return f"{prefix}{self._names_made}"

    def _bound(self, value: object) -> str:
        """A name under which the code finds a value."""
        name = self._name("c")
        self._namespace[name] = value
        return name

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)

    def _written(self, part: _Part) -> str:
        if isinstance(part, _Code):
            return part.text
        if part.value is None or type(part.value) in (bool, int):
            return f"({part.value!r})"
        return self._bound(part.value)

    def _hoist(self, path: tuple[str, ...]) -> str:
        """A variable for a part of the device that every device has."""
        if path not in self._hoisted:
            self._hoisted[path] = self._name("d")
        return self._hoisted[path]

    def _read(self, path: tuple[str, ...]) -> str:
        return "device" + "".join(f"[{self._bound(name)}]" for name in path)

    # Nodes

    def _emit(self, node: Node) -> _Part:
        match node:
            case Literal():
                if isinstance(node.value, str | bytes) and len(node.value) > TEXT_MAX:
                    raise _Unsupported
                return _Constant(node.value)
            case Identifier() | Select() | Call(function="_[_]"):
                return self._path(node)
            case Call():
                return self._call(node)
            case ListLiteral() if not node.optional:
                return self._list(node)
            case MapLiteral() if not any(entry.optional for entry in node.entries):
                return self._map(node)
            case Comprehension():
                return self._comprehension(node)
            case _:
                raise _Unsupported

    def _truth(self, part: _Part) -> str:
        """The part as a condition: anything but a bool is a surprise."""
        text = self._written(part)
        if isinstance(part, _Code) and part.kind is bool:
            return text
        name = self._name("t")
        surprise = self._bound(support.surprise)
        return f"({name} if ({name} := {text}) is True or {name} is False else {surprise}())"

    # Paths

    def _path(self, node: Node) -> _Part:
        if isinstance(node, Identifier):
            return self._identifier(node)
        steps = _static_path(node, self._is_device)
        if steps is not None:
            return self._device_part(node, steps)
        if isinstance(node, Select):
            operand = self._written(self._emit(node.operand))
            field = self._bound(node.field)
            if node.test_only:
                return _Code(f"{self._bound(support.has)}({operand}, {field})", bool)
            return _Code(f"{self._bound(support.get)}({operand}, {field})")
        assert isinstance(node, Call)
        operand, key = (self._written(self._emit(argument)) for argument in node.arguments)
        return _Code(f"{self._bound(support.get)}({operand}, {key})")

    def _identifier(self, node: Identifier) -> _Part:
        for name, part in reversed(self._locals):
            if name == node.name:
                return part
        if node.id in self._checked.constants or not self._is_device(node):
            raise _Unsupported
        return _Code("device")

    def _is_device(self, node: Identifier) -> bool:
        name = node.name.removeprefix(".")
        hidden = not node.name.startswith(".") and any(name == local for local, _ in self._locals)
        return name == DEVICE_VARIABLE and not hidden

    def _device_part(self, node: Node, path: tuple[str, ...]) -> _Part:
        present = isinstance(node, Select) and node.test_only
        if len(path) > 3 or (len(path) > 1 and path[0] not in MAPS_BY_DOMAIN):
            raise _Unsupported
        if len(path) < 3:
            if present:
                return _Constant(True)
            kinds = {"driver": str, "allowMultipleAllocations": bool}
            return _Code(self._hoist(path), kinds.get(path[0]))
        domain, name = self._hoist(path[:2]), self._bound(path[2])
        if present:
            return _Code(f"({name} in {domain})", bool)
        return _Code(f"{domain}[{name}]", Quantity if path[0] == "capacity" else None)

    # Calls

    def _call(self, node: Call) -> _Part:
        function, arguments = node.function, node.arguments
        if function in ("_&&_", "_||_"):
            return self._logical(arguments, "and" if function == "_&&_" else "or")
        if function == "_?_:_":
            return self._conditional(arguments)
        if function in ("or", "orValue"):
            return self._alternative(node)
        if function in (OPTIONAL_INDEX, OPTIONAL_SELECT):
            return self.optional(node)
        operands = arguments if node.target is None else (node.target, *arguments)
        parts = [self._emit(operand) for operand in operands]
        match function, parts:
            case "@not_strictly_false", [part]:
                return _Code(f"({self._written(part)} is not False)", bool)
            case "_==_", [left, right]:
                return self._compared("==", equal, left, right)
            case "_!=_", [left, right]:
                return self._compared("!=", differ, left, right)
        overloads = self._checked.overloads[node.id]
        overload = overloads[0] if len(overloads) == 1 else ""
        called = self._callable(function, overload, parts)
        if function == "@in":
            return self._member(node, called, *parts)
        folded = _folded(called, parts)
        if folded is not None:
            return folded
        match function, parts:
            case "!_", [part]:
                return _Code(f"(not {self._truth(part)})", bool)
            case _, [left, right] if function in _COMPARISONS:
                return self._ordered(function, left, right)
            case _, [_Code(text, kind), _Constant(value)] if (
                kind is Quantity and type(value) is Quantity and function in _QUANTITY_TESTS
            ):
                return self._quantities(function, text, value)
        return _Code(f"{self._bound(called)}({', '.join(map(self._written, parts))})")

    def _quantities(self, function: str, text: str, value: Quantity) -> _Part:
        if function == "compareTo":
            called = self._bound(dispatched(function))
            exact = f"{called}({text}, {self._bound(value)})"
            return _Code(exact, int, sign=f"({text}.nano - {value.nano})")
        symbol = ">" if function == "isGreaterThan" else "<"
        return _Code(f"({text}.nano {symbol} {value.nano})", bool)

    def _aside(self, node: Node) -> tuple[_Part, list[str]]:
        """The part for a node, and the lines it needs, kept back: they may not have to run."""
        before, self._lines = self._lines, []
        self._indent += 1
        part = self._emit(node)
        lines, self._lines = self._lines, before
        self._indent -= 1
        return part, lines

    def _logical(self, arguments: tuple[Node, ...], word: str) -> _Part:
        first = self._truth(self._emit(arguments[0]))
        part, lines = self._aside(arguments[1])
        second = self._truth(part)
        if not lines:
            return _Code(f"({first} {word} {second})", bool)
        name = self._name("t")
        self._line(f"{name} = {first}")
        self._line(f"if {name if word == 'and' else f'not {name}'}:")
        self._lines += lines
        self._line(f"    {name} = {second}")
        return _Code(name, bool)

    def _conditional(self, arguments: tuple[Node, ...]) -> _Part:
        condition = self._truth(self._emit(arguments[0]))
        truthy, lines_if = self._aside(arguments[1])
        falsy, lines_else = self._aside(arguments[2])
        kind = _kind(truthy) if _kind(truthy) is _kind(falsy) else None
        one, other = self._written(truthy), self._written(falsy)
        if not lines_if and not lines_else:
            return _Code(f"({one} if {condition} else {other})", kind)
        name = self._name("t")
        self._line(f"if {condition}:")
        self._lines += lines_if
        self._line(f"    {name} = {one}")
        self._line("else:")
        self._lines += lines_else
        self._line(f"    {name} = {other}")
        return _Code(name, kind)

    def _compared(self, symbol: str, exact: Implementation, left: _Part, right: _Part) -> _Part:
        return self._quick(symbol, self._bound(support.of_light(exact)), left, right)

    def _ordered(self, function: str, left: _Part, right: _Part) -> _Part:
        match left, right:
            case _Code(sign=str() as sign), _Constant(0):
                return _Code(f"({sign} {_COMPARISONS[function]} 0)", bool)
        return self._quick(_COMPARISONS[function], self._bound(dispatched(function)), left, right)

    def _quick(self, symbol: str, exact: str, left: _Part, right: _Part) -> _Part:
        """Python's operator if both sides are of one plain type, else the exact function."""
        first, second = self._written(left), self._written(right)
        match left, right:
            case _Code(_, kind), _Constant(value) if type(value) in _PLAIN:
                test = first
            case _Constant(value), _Code(_, kind) if type(value) in _PLAIN:
                test = second
            case _:
                # Two texts, as in a loop over names, need no function either.
                one, other = self._name("t"), self._name("t")
                return _Code(
                    f"({one} {symbol} {other} if ({one} := {first}).__class__ is"
                    f" ({other} := {second}).__class__ is {self._bound(str)}"
                    f" else {exact}({one}, {other}))",
                    bool,
                )
        if kind is type(value):
            return _Code(f"({first} {symbol} {second})", bool)
        name = self._name("t")
        one, other = (name, second) if test is first else (first, name)
        return _Code(
            f"({one} {symbol} {other} if ({name} := {test}).__class__ is"
            f" {self._bound(type(value))} else {exact}({one}, {other}))",
            bool,
        )

    def _callable(self, function: str, overload: str, parts: list[_Part]) -> Implementation:
        """The function, if calling it here cannot cost much."""
        called = dispatched(function, overload, count=len(parts))
        charge = call_charge(function, overload)
        if isinstance(charge, int) and function not in LOOK_INTO_ALL:
            return called
        dear = function in _DEAR and not self._loops
        if function in _CHEAP or (dear and isinstance(parts[1], _Constant)):
            return support.of_light(called)
        raise _Unsupported

    def _member(self, node: Call, called: Implementation, member: _Part, container: _Part) -> _Part:
        """`x in y`: where y is constant to upstream, a lookup in a set as it makes one."""
        text = self._written(member)
        values = constant_list(self._checked, node.arguments[1])
        members = member_set(values) if values else None
        if members is None:
            return _Code(f"{self._bound(called)}({text}, {self._written(container)})", bool)
        texts = frozenset(key for key in members if type(key) is str)
        name = self._name("t")
        return _Code(
            f"({name} in {self._bound(texts)} if ({name} := {text}).__class__ is"
            f" {self._bound(str)} else {self._bound(membership(members))}({name}))",
            bool,
        )

    # Optionals

    def optional(self, node: Call) -> _Part:
        operand, key = node.arguments
        path = _static_path(operand, self._is_device)
        if path is None or len(path) != 2 or path[0] not in MAPS_BY_DOMAIN:
            raise _Unsupported
        part = self._emit(key)
        if not isinstance(part, _Constant) or type(part.value) is not str:
            raise _Unsupported
        return _Code(f"{self._bound(support.optional)}({self._hoist(path)}, {self._written(part)})")

    def _alternative(self, node: Call) -> _Part:
        assert node.target is not None
        optional = self._written(self._emit(node.target))
        before = len(self._lines)
        alternative = self._written(self._emit(node.arguments[0]))
        if len(self._lines) != before:
            raise _Unsupported
        name = self._name("t")
        value = name if node.function == "or" else f"{name}.value"
        surprise = self._bound(support.surprise)
        return _Code(
            f"({alternative} if ({name} := {optional}) is {self._bound(NONE)} else {value}"
            f" if {name}.__class__ is {self._bound(Optional)} else {surprise}())"
        )

    # Literals and loops

    def _list(self, node: ListLiteral) -> _Part:
        parts = [self._emit(element) for element in node.elements]
        if all(isinstance(part, _Constant) for part in parts):
            return _Constant([part.value for part in parts if isinstance(part, _Constant)])
        return _Code(f"[{', '.join(map(self._written, parts))}]", list)

    def _map(self, node: MapLiteral) -> _Part:
        encode = self._bound(encode_key)
        pairs: list[str] = []
        for entry in node.entries:
            key, value = (
                self._written(self._emit(entry.key)),
                self._written(self._emit(entry.value)),
            )
            pairs.append(f"{encode}({key}): {value}")
        return _Code(f"{{{', '.join(pairs)}}}", dict)

    def _comprehension(self, node: Comprehension) -> _Part:
        over = self._emit(node.range)
        empty = isinstance(over, _Constant) and type(over.value) in LISTS and not over.value
        outside = len(self._locals)
        accumulator = self._name("a")
        if empty:
            initial = self._emit(node.initial)
            if isinstance(initial, _Constant) and type(initial.value) in (*LISTS, *MAPS):
                # The list or map would be filled in place, in an order that code does not keep.
                raise _Unsupported
            bound = self._written(initial)
            if may_be_list(self._checked.type(node.initial)):
                bound = f"{self._bound(support.bindable)}({bound})"
            self._line(f"{accumulator} = {bound}")
            self._locals.append((node.accumulator, _Code(accumulator, _kind(initial))))
        else:
            self._loop(node, over, accumulator)
        result = self._emit(node.result)
        del self._locals[outside:]
        if empty:
            return result
        folded = self._name("t")
        self._line(f"{folded} = {self._bound(support.settled)}({self._written(result)})")
        return _Code(folded, result.kind if isinstance(result, _Code) else None)

    def _loop(self, node: Comprehension, over: _Part, accumulator: str) -> None:
        initial = node.initial
        if isinstance(initial, ListLiteral | MapLiteral):
            made: type = MutableList if isinstance(initial, ListLiteral) else MutableMap
            self._line(f"{accumulator} = {self._bound(made)}()")
        else:
            self._line(f"{accumulator} = {self._written(self._emit(initial))}")
        kind = bool if isinstance(initial, Literal) and type(initial.value) is bool else None
        self._locals.append((node.accumulator, _Code(accumulator, kind)))
        first, second = self._name("v"), self._name("v")
        pairs = support.entries if node.second_variable is not None else support.elements
        if isinstance(over, _Constant) and type(over.value) in LISTS:
            ranged = self._bound(pairs(over.value))
        else:
            ranged = f"{self._bound(pairs)}({self._written(over)})"
        self._line(f"for {first}, {second} in {ranged}:")
        self._locals.append((node.variable, _Code(first)))
        if node.second_variable is not None:
            self._locals.append((node.second_variable, _Code(second)))
        self._indent += 1
        self._loops += 1
        self._line("rounds += 1")
        self._line(f"if rounds > {ROUNDS_MAX}: {self._bound(support.surprise)}()")
        condition = self._emit(node.condition)
        if not isinstance(condition, _Constant):
            self._line(f"if ({self._written(condition)}) is False: break")
        elif condition.value is False:
            self._line("break")
        self._line(f"{accumulator} = {self._written(self._emit(node.step))}")
        self._loops -= 1
        self._indent -= 1
        del self._locals[-2 if node.second_variable is not None else -1 :]


def _kind(part: _Part) -> type | None:
    return part.kind if isinstance(part, _Code) else type(part.value)


def _folded(called: Implementation, parts: list[_Part]) -> _Constant | None:
    """The result of a call of constants, if it has one."""
    values = [part.value for part in parts if isinstance(part, _Constant)]
    if len(values) != len(parts):
        return None
    try:
        return _Constant(called(*values))
    except (Failure, Abort, Surprise, Unhashable):
        return None


def _static_path(node: Node, is_device: Callable[[Identifier], bool]) -> tuple[str, ...] | None:
    """The names from the device to here, if they are all written out."""
    names: list[str] = []
    while True:
        match node:
            case Identifier():
                return tuple(reversed(names)) if names and is_device(node) else None
            case Select():
                if node.test_only and names:
                    return None
                names.append(node.field)
                node = node.operand
            case Call() if node.function == INDEX:
                operand, key = node.arguments
                if not isinstance(key, Literal) or type(key.value) is not str:
                    return None
                names.append(key.value)
                node = operand
            case _:
                return None
