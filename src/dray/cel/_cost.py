"""Estimates what evaluating an expression may cost at worst.

The estimate walks the checked tree once. It knows how large literals are and, through the path
from `device` to a value, how large parts of a device may be; what it does not know it takes for
2^64 - 1. Loops cost their body times the size of what they run over.

The numbers are upstream's to the unit, quirks included, because admission compares them with a
limit. One quirk has a name here: upstream keeps paths in slices that sometimes share memory, so
that a path can change after it was made. _Path does the same, on purpose.

Upstream counterparts: cel-go checker/cost.go, sizeEstimator in dynamic-resource-allocation
cel/compile.go.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dray.cel._call_cost import LIST_COST, CallCost, Called, Operand, call_cost
from dray.cel._environment import Environment
from dray.cel._estimate import NO_RANGE, NOTHING, ONE, UNKNOWN, Range
from dray.cel._macros import ACCUMULATOR
from dray.cel._nodes import (
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
from dray.cel._types import Kind, Type

__all__ = [
    "max_cost",
]

_LIST_COST: Final = Range(LIST_COST, LIST_COST)
_MAP_COST: Final = Range(30, 30)
_MESSAGE_COST: Final = Range(40, 40)
_SCALARS: Final = frozenset(
    {Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT}
)
_SELECTED: Final = frozenset({Kind.MAP, Kind.STRUCT, Kind.TYPE_PARAMETER})
_ADDITIONS: Final = frozenset({"add_string", "add_bytes", "add_list"})


def max_cost(checked: CheckedExpression, environment: Environment) -> int:
    return run(_Estimator(checked, environment).cost(checked.root)).max


class _Path:
    """The steps from a variable to a value, as a Go slice keeps them.

    Appending writes into the shared memory while there is room, and moves to twice the room when
    there is not; two paths grown from the same one may thus end in the same step.
    """

    __slots__ = ("_length", "_memory")

    def __init__(self, memory: list[str | None], length: int) -> None:
        self._memory = memory
        self._length = length

    def __bool__(self) -> bool:
        return self._length > 0

    def steps(self) -> list[str]:
        # Only what is beyond the length is None.
        return self._memory[: self._length]  # type: ignore[return-value]

    def plus(self, step: str) -> _Path:
        length = self._length
        memory = self._memory
        if length == len(memory):
            memory = memory + [None] * (length or 1)
        memory[length] = step
        return _Path(memory, length + 1)


_NO_PATH: Final = _Path([], 0)


class _EntrySize(NamedTuple):
    """How large the keys (or indices) and values of a list or map are."""

    container: Kind
    key: Range
    value: Range


class _Local(NamedTuple):
    path: _Path
    size: Range | None
    entry_size: _EntrySize | None


class _Estimator:
    def __init__(self, checked: CheckedExpression, environment: Environment) -> None:
        self._types = checked.types
        self._overloads = checked.overloads
        self._environment = environment
        self._paths: dict[int, _Path] = {}
        self._locals: dict[str, list[_Local]] = {}
        self._sizes: dict[int, Range] = {}
        self._entry_sizes: dict[int, _EntrySize] = {}

    def cost(self, node: Node) -> Steps[Range]:
        match node:
            case Identifier():
                local = self._local(node.name)
                self._paths[node.id] = local.path if local else _Path([node.name], 1)
                return done(ONE)
            case Select():
                return self._select_cost(node)
            case Call() if node.function == "dyn":
                return self._dyn_cost(node)
            case Call():
                return self._call_cost(node)
            case ListLiteral():
                return self._list_cost(node)
            case MapLiteral():
                return self._map_cost(node)
            case MessageLiteral():
                return self._message_cost(node)
            case Comprehension():
                return self._bind_cost(node) if _is_bind(node) else self._comprehension_cost(node)
        return done(NOTHING)

    def _select_cost(self, node: Select) -> Steps[Range]:
        total: Range = yield self.cost(node.operand)
        if node.test_only:
            return total
        if self._types[node.operand.id].kind in _SELECTED:
            total = total.plus(ONE)
        self._paths[node.id] = self._path(node.operand).plus(node.field)
        return total

    # Calls

    def _dyn_cost(self, node: Call) -> Steps[Range]:
        """`dyn` only hides a type: sizes pass through it."""
        argument = node.arguments[0]
        total: Range = yield self.cost(argument)
        self._copy_sizes(node, argument)
        return total.plus(ONE)

    def _call_cost(self, node: Call) -> Steps[Range]:
        costs: list[Range] = []
        operands = []
        for argument in node.arguments:
            cost = NOTHING if isinstance(argument, Literal) else (yield self.cost(argument))
            costs.append(cost)
            operands.append(self._operand(argument))
        target_cost, target = NOTHING, None
        if node.target is not None:
            target_cost = yield self.cost(node.target)
            target = self._operand(node.target)
        worst = NO_RANGE
        result_size: Range | None = None
        for overload in self._overloads.get(node.id, ()):
            answer = self._overload_cost(node, overload, target, operands, costs)
            worst = worst.union(answer.cost)
            if answer.result_size is not None:
                result_size = (
                    answer.result_size
                    if result_size is None
                    else result_size.union(answer.result_size)
                )
            if overload in ("index_list", "index_map"):
                indexed = node.arguments[0]
                entry = self._entry_size(indexed)
                result_size = entry.value if entry else None
                step = "@items" if overload == "index_list" else "@values"
                self._paths[node.id] = self._path(indexed).plus(step)
            if result_size is None:
                result_size = self._size(node)
        if result_size is not None:
            self._sizes[node.id] = result_size
        return target_cost.plus(worst)

    def _overload_cost(
        self,
        node: Call,
        overload: str,
        target: Operand | None,
        operands: list[Operand],
        costs: list[Range],
    ) -> CallCost:
        """The call and its arguments; of the operators some arguments may not be needed."""
        match overload:
            case "logical_or" | "logical_and":
                left, right = costs
                return CallCost(Range(left.min, left.plus(right).max))
            case "conditional":
                return self._conditional_cost(node, operands, costs)
        answer = call_cost(Called(node.function, overload, target, operands))
        if overload in _ADDITIONS:
            self._set_entry_size(
                node, self._united_entry_size(node.arguments[0], node.arguments[1])
            )
        total = answer.cost
        for cost in costs:
            total = total.plus(cost)
        return CallCost(total, answer.result_size)

    def _conditional_cost(
        self, node: Call, operands: list[Operand], costs: list[Range]
    ) -> CallCost:
        _, true, false = operands
        condition, if_true, if_false = costs
        self._set_entry_size(node, self._united_entry_size(true.node, false.node))
        size = true.computed_size.union(false.computed_size)
        return CallCost(condition.plus(if_true.union(if_false)), size)

    def _operand(self, node: Node) -> Operand:
        path = self._path(node)
        steps = path.steps()
        if steps and steps[0] in (ACCUMULATOR, "__result__"):
            path = _NO_PATH

        def path_size(*further: str) -> Range | None:
            return self._path_size([*path.steps(), *further])

        return Operand(node, self._types[node.id], self._size(node), path_size)

    # Aggregates

    def _list_cost(self, node: ListLiteral) -> Steps[Range]:
        total = _LIST_COST
        sizes = NO_RANGE if node.elements else NOTHING
        for element in node.elements:
            total = total.plus((yield self.cost(element)))
            sizes = sizes.union(self._size(element) or UNKNOWN)
        self._entry_sizes[node.id] = _EntrySize(Kind.LIST, ONE, sizes)
        return total

    def _map_cost(self, node: MapLiteral) -> Steps[Range]:
        total = _MAP_COST
        keys = values = NO_RANGE if node.entries else NOTHING
        for entry in node.entries:
            total = total.plus((yield self.cost(entry.key)))
            total = total.plus((yield self.cost(entry.value)))
            keys = keys.union(self._size(entry.key) or UNKNOWN)
            values = values.union(self._size(entry.value) or UNKNOWN)
        self._entry_sizes[node.id] = _EntrySize(Kind.MAP, keys, values)
        return total

    def _message_cost(self, node: MessageLiteral) -> Steps[Range]:
        total = _MESSAGE_COST
        for field in node.fields:
            total = total.plus((yield self.cost(field.value)))
        return total

    # Comprehensions

    def _comprehension_cost(self, node: Comprehension) -> Steps[Range]:
        total: Range = yield self.cost(node.range)
        total = total.plus((yield self.cost(node.initial)))
        self._push(node.accumulator, self._bound(node.initial))
        if node.second_variable is None:
            self._push(node.variable, self._iterated(node.range, None))
        else:
            self._push(node.variable, self._iterated(node.range, "key"))
            self._push(node.second_variable, self._iterated(node.range, "value"))
        condition = yield self.cost(node.condition)
        step = yield self.cost(node.step)
        self._pop(node.variable)
        if node.second_variable is not None:
            self._pop(node.second_variable)
        total = total.plus((yield self.cost(node.result)))
        self._pop(node.accumulator)
        count = self._size(node.range) or UNKNOWN
        self._set_comprehension_size(node, count)
        return total.plus(count.times(step.plus(condition)))

    def _set_comprehension_size(self, node: Comprehension, count: Range) -> None:
        match node.initial:
            case Literal():
                size = self._size(node.initial)
                if size is not None:
                    self._sizes[node.id] = size
            case ListLiteral() | MapLiteral():
                self._sizes[node.id] = count
                self._set_entry_size(node, self._entry_size(node.step))

    def _bind_cost(self, node: Comprehension) -> Steps[Range]:
        total: Range = yield self.cost(node.range)
        total = total.plus((yield self.cost(node.initial)))
        self._push(node.accumulator, self._bound(node.initial))
        total = total.plus((yield self.cost(node.result)))
        self._pop(node.accumulator)
        self._copy_sizes(node, node.result)
        return total

    def _bound(self, node: Node) -> _Local:
        entry_size = self._entry_size(node)
        return _Local(self._path(node), self._size(node), entry_size)

    def _iterated(self, over: Node, which: str | None) -> _Local:
        """A loop's variable: the keys or the values, or whatever a lone variable gets."""
        entry = self._entry_size(over)
        container = entry.container if entry else self._types[over.id].kind
        is_list = container is Kind.LIST
        if which == "key":
            step, key = "@indices" if is_list else "@keys", True
        elif which == "value":
            step, key = "@items" if is_list else "@values", False
        else:
            step, key = ("@items", False) if is_list else ("@keys", True)
        size = None if entry is None else entry.key if key else entry.value
        return _Local(self._path(over).plus(step), size, None)

    # What is known about nodes

    def _path(self, node: Node) -> _Path:
        if isinstance(node, Identifier):
            local = self._local(node.name)
            if local is not None:
                return local.path
        return self._paths.get(node.id, _NO_PATH)

    def _size(self, node: Node) -> Range | None:
        known = self._sizes.get(node.id)
        if known is not None:
            return known
        size = _literal_size(node)
        if size is not None:
            return size
        size = self._path_size(self._path(node).steps())
        if size is not None:
            self._sizes[node.id] = size
            return size
        if _is_scalar(self._types[node.id]):
            return ONE
        if isinstance(node, Identifier):
            local = self._local(node.name)
            if local is not None:
                return local.size
        return None

    def _path_size(self, steps: list[str]) -> Range | None:
        """How large the part of the device at the end of the path may be."""
        shape = self._environment.shape(steps[0]) if steps else None
        if shape is None:
            return None
        attribute_shape = self._environment.attribute_shape
        for step in steps[1:]:
            if step in ("@items", "@values"):
                following = shape.element
            elif step == "@keys":
                following = shape.key
            elif step in shape.fields:
                following = shape.fields[step]
            elif shape.element is attribute_shape:
                following = shape.element
            else:
                following = None
            if following is None:
                return None
            shape = following
        return Range(0, shape.size_max)

    def _entry_size(self, node: Node) -> _EntrySize | None:
        known = self._entry_sizes.get(node.id)
        if known is None and isinstance(node, Identifier):
            local = self._local(node.name)
            if local is not None:
                return local.entry_size
        return known

    def _united_entry_size(self, first: Node, second: Node) -> _EntrySize | None:
        one, other = self._entry_size(first), self._entry_size(second)
        if one is None or other is None:
            return None
        return _EntrySize(one.container, one.key.union(other.key), one.value.union(other.value))

    def _set_entry_size(self, node: Node, size: _EntrySize | None) -> None:
        if size is not None:
            self._entry_sizes[node.id] = size

    def _copy_sizes(self, to: Node, source: Node) -> None:
        size = self._size(source)
        if size is not None:
            self._sizes[to.id] = size
        self._set_entry_size(to, self._entry_size(source))

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _pop(self, name: str) -> None:
        self._locals[name].pop()


def _is_bind(node: Comprehension) -> bool:
    return (
        isinstance(node.range, ListLiteral)
        and not node.range.elements
        and isinstance(node.condition, Literal)
        and node.condition.value is False
        and node.accumulator != "__result__"
    )


def _literal_size(node: Node) -> Range | None:
    if isinstance(node, Literal):
        if not isinstance(node.value, str | bytes):
            return ONE
        size = len(node.value)
    elif isinstance(node, ListLiteral):
        size = len(node.elements)
    elif isinstance(node, MapLiteral):
        size = len(node.entries)
    else:
        return None
    return Range(size, size)


def _is_scalar(type_: Type) -> bool:
    while type_.is_optional:
        type_ = type_.parameters[0]
    return type_.kind in _SCALARS
