"""The macros: calls that are written like functions but are rewritten before types are checked.

Each expander takes the call's target and arguments and answers the tree that replaces the call;
every node it makes is placed where the call's parenthesis is. Answering None leaves the call a
call (`x.bind(…)` on anything but `cel`). A wrong argument raises MacroError at that argument.

Upstream counterparts: cel-go parser/macro.go, cel/library.go (optional macros), ext/bindings.go,
ext/comprehensions.go and ext/lists.go (sortBy).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from dray.cel._nodes import (
    Call,
    Comprehension,
    FieldEntry,
    Identifier,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    MessageLiteral,
    Node,
    Select,
)
from dray.cel._trampoline import Steps, run
from dray.cel._values import Constant

__all__ = [
    "ACCUMULATOR",
    "MACROS",
    "Expander",
    "Macro",
    "MacroError",
]

ACCUMULATOR: Final = "@result"
"""No expression can name it, so a macro's own variable never hides the user's."""

_OLD_ACCUMULATOR: Final = "__result__"
_UNUSED: Final = "#unused"
_SORT_INPUT: Final = "@__sortBy_input__"


class MacroError(Exception):
    """A macro was recognised, but its argument at `offset` is not what it takes."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


class Expander:
    """Makes the nodes of one expansion, all in the same place."""

    __slots__ = ("_next_id", "_offset")

    def __init__(self, next_id: Callable[[], int], offset: int) -> None:
        self._next_id = next_id
        self._offset = offset

    def literal(self, value: Constant) -> Node:
        return Literal(self._next_id(), self._offset, value)

    def identifier(self, name: str) -> Node:
        return Identifier(self._next_id(), self._offset, name)

    def accumulator(self) -> Node:
        return self.identifier(ACCUMULATOR)

    def list_literal(self, *elements: Node) -> Node:
        return ListLiteral(self._next_id(), self._offset, elements, frozenset())

    def map_literal(self) -> Node:
        return MapLiteral(self._next_id(), self._offset, ())

    def call(self, function: str, *arguments: Node) -> Node:
        return Call(self._next_id(), self._offset, function, None, arguments)

    def member_call(self, function: str, target: Node, *arguments: Node) -> Node:
        return Call(self._next_id(), self._offset, function, target, arguments)

    def presence(self, operand: Node, field: str) -> Node:
        return Select(self._next_id(), self._offset, operand, field, test_only=True)

    def fold(
        self,
        over: Node,
        variables: tuple[str, str | None],
        initial: Node,
        condition: Node,
        step: Node,
        result: Node,
    ) -> Node:
        variable, second = variables
        return Comprehension(
            self._next_id(),
            self._offset,
            over,
            variable,
            second,
            ACCUMULATOR,
            initial,
            condition,
            step,
            result,
        )

    def bind(self, name: str, value: Node, result: Node) -> Node:
        """`result` with `name` standing for `value`: a fold over nothing."""
        return Comprehension(
            self._next_id(),
            self._offset,
            self.list_literal(),
            _UNUSED,
            None,
            name,
            value,
            self.literal(False),
            self.identifier(name),
            result,
        )

    def copy(self, node: Node) -> Node:
        """The same tree again, with ids of its own."""
        copied: Node = run(self._copy(node))
        return copied

    def _copy(self, node: Node) -> Steps[Node]:
        new_id = self._next_id()
        match node:
            case Literal(_, offset, value):
                return Literal(new_id, offset, value)
            case Identifier(_, offset, name):
                return Identifier(new_id, offset, name)
            case Select(_, offset, operand, field, test_only):
                return Select(new_id, offset, (yield self._copy(operand)), field, test_only)
            case Call(_, offset, function, target, arguments):
                copies = yield self._copy_all(arguments)
                target = target and (yield self._copy(target))
                return Call(new_id, offset, function, target, copies)
            case ListLiteral(_, offset, elements, optional):
                return ListLiteral(new_id, offset, (yield self._copy_all(elements)), optional)
            case MapLiteral(_, offset, entries):
                made = []
                for entry in entries:
                    entry_id = self._next_id()
                    key = yield self._copy(entry.key)
                    value = yield self._copy(entry.value)
                    made.append(MapEntry(entry_id, self._offset, key, value, entry.optional))
                return MapLiteral(new_id, offset, tuple(made))
            case MessageLiteral(_, offset, name, fields):
                set_ = []
                for field_ in fields:
                    field_id = self._next_id()
                    value = yield self._copy(field_.value)
                    set_.append(
                        FieldEntry(field_id, self._offset, field_.name, value, field_.optional)
                    )
                return MessageLiteral(new_id, offset, name, tuple(set_))
            case Comprehension():
                return Comprehension(
                    new_id,
                    node.offset,
                    (yield self._copy(node.range)),
                    node.variable,
                    node.second_variable,
                    node.accumulator,
                    (yield self._copy(node.initial)),
                    (yield self._copy(node.condition)),
                    (yield self._copy(node.step)),
                    (yield self._copy(node.result)),
                )
        return node

    def _copy_all(self, nodes: tuple[Node, ...]) -> Steps[tuple[Node, ...]]:
        copies = []
        for node in nodes:
            copies.append((yield self._copy(node)))  # noqa: PERF401 (a yield cannot be comprehended)
        return tuple(copies)


Macro: TypeAlias = Callable[[Expander, Node | None, tuple[Node, ...]], Node | None]


def _has(make: Expander, target: Node | None, arguments: tuple[Node, ...]) -> Node | None:  # noqa: ARG001
    tested = arguments[0]
    if not isinstance(tested, Select):
        raise MacroError(tested.offset, "invalid argument to has() macro")
    return make.presence(tested.operand, tested.field)


def _one(arguments: tuple[Node, ...], message: str) -> tuple[str, None]:
    """The variable of a one-variable macro."""
    name = arguments[0]
    if not isinstance(name, Identifier):
        raise MacroError(name.offset, message)
    _not_accumulator(name)
    return name.name, None


def _two(arguments: tuple[Node, ...]) -> tuple[str, str]:
    """The variables of a two-variable macro."""
    first, second = arguments[:2]
    if not isinstance(first, Identifier):
        raise MacroError(first.offset, _NOT_SIMPLE)
    if not isinstance(second, Identifier):
        raise MacroError(second.offset, _NOT_SIMPLE)
    if first.name == second.name:
        raise MacroError(second.offset, f"duplicate variable name: {first.name}")
    _not_accumulator(first)
    _not_accumulator(second)
    return first.name, second.name


_NOT_SIMPLE: Final = "argument must be a simple name"
_NOT_IDENTIFIER: Final = "argument is not an identifier"


def _not_accumulator(name: Identifier) -> None:
    if name.name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroError(name.offset, "iteration variable overwrites accumulator variable")


def _variables(arguments: tuple[Node, ...], count: int) -> tuple[str, str | None]:
    return _two(arguments) if count == 2 else _one(arguments, _NOT_SIMPLE)


def _all(count: int) -> Macro:
    def expand(make: Expander, target: Node | None, arguments: tuple[Node, ...]) -> Node | None:
        assert target is not None
        variables = _variables(arguments, count)
        return make.fold(
            target,
            variables,
            make.literal(True),
            make.call("@not_strictly_false", make.accumulator()),
            make.call("_&&_", make.accumulator(), arguments[count]),
            make.accumulator(),
        )

    return expand


def _exists(count: int) -> Macro:
    def expand(make: Expander, target: Node | None, arguments: tuple[Node, ...]) -> Node | None:
        assert target is not None
        variables = _variables(arguments, count)
        return make.fold(
            target,
            variables,
            make.literal(False),
            make.call("@not_strictly_false", make.call("!_", make.accumulator())),
            make.call("_||_", make.accumulator(), arguments[count]),
            make.accumulator(),
        )

    return expand


def _exists_one(count: int) -> Macro:
    def expand(make: Expander, target: Node | None, arguments: tuple[Node, ...]) -> Node | None:
        assert target is not None
        variables = _variables(arguments, count)
        counted = make.call("_+_", make.accumulator(), make.literal(1))
        return make.fold(
            target,
            variables,
            make.literal(0),
            make.literal(True),
            make.call("_?_:_", arguments[count], counted, make.accumulator()),
            make.call("_==_", make.accumulator(), make.literal(1)),
        )

    return expand


def _collected(
    make: Expander,
    target: Node,
    variables: tuple[str, str | None],
    empty: Node,
    condition: Node | None,
    step: Node,
) -> Node:
    """A fold that builds a list or map from the elements that meet `condition`, or from all."""
    if condition is not None:
        step = make.call("_?_:_", condition, step, make.accumulator())
    return make.fold(target, variables, empty, make.literal(True), step, make.accumulator())


def _appended(make: Expander, element: Node) -> Node:
    return make.call("_+_", make.accumulator(), make.list_literal(element))


def _map(make: Expander, target: Node | None, arguments: tuple[Node, ...]) -> Node | None:
    assert target is not None
    variables = _one(arguments, _NOT_IDENTIFIER)
    condition = arguments[1] if len(arguments) == 3 else None
    step = _appended(make, arguments[-1])
    return _collected(make, target, variables, make.list_literal(), condition, step)


def _filter(make: Expander, target: Node | None, arguments: tuple[Node, ...]) -> Node | None:
    assert target is not None
    variables = _one(arguments, _NOT_IDENTIFIER)
    step = _appended(make, arguments[0])
    return _collected(make, target, variables, make.list_literal(), arguments[1], step)


def _transform_list(
    make: Expander, target: Node | None, arguments: tuple[Node, ...]
) -> Node | None:
    assert target is not None
    variables = _two(arguments)
    condition = arguments[2] if len(arguments) == 4 else None
    step = _appended(make, arguments[-1])
    return _collected(make, target, variables, make.list_literal(), condition, step)


def _transform_map(make: Expander, target: Node | None, arguments: tuple[Node, ...]) -> Node | None:
    assert target is not None
    variables = _two(arguments)
    condition = arguments[2] if len(arguments) == 4 else None
    key = make.identifier(variables[0])
    step = make.call("cel.@mapInsert", make.accumulator(), key, arguments[-1])
    return _collected(make, target, variables, make.map_literal(), condition, step)


def _transform_map_entry(
    make: Expander, target: Node | None, arguments: tuple[Node, ...]
) -> Node | None:
    assert target is not None
    variables = _two(arguments)
    condition = arguments[2] if len(arguments) == 4 else None
    step = make.call("cel.@mapInsert", make.accumulator(), arguments[-1])
    return _collected(make, target, variables, make.map_literal(), condition, step)


def _bind(make: Expander, target: Node | None, arguments: tuple[Node, ...]) -> Node | None:
    if not (isinstance(target, Identifier) and target.name == "cel"):
        return None
    name, value, result = arguments
    if not isinstance(name, Identifier):
        raise MacroError(name.offset, "cel.bind() variable names must be simple identifiers")
    return make.bind(name.name, value, result)


def _optional_map(make: Expander, target: Node | None, arguments: tuple[Node, ...]) -> Node | None:
    assert target is not None
    mapped = _with_value(make, target, arguments, "optMap")
    return _if_present(make, target, make.call("optional.of", mapped))


def _optional_flat_map(
    make: Expander, target: Node | None, arguments: tuple[Node, ...]
) -> Node | None:
    assert target is not None
    return _if_present(make, target, _with_value(make, target, arguments, "optFlatMap"))


def _with_value(make: Expander, target: Node, arguments: tuple[Node, ...], macro: str) -> Node:
    name, mapped = arguments
    if not isinstance(name, Identifier):
        raise MacroError(name.offset, f"{macro}() variable name must be a simple identifier")
    return make.bind(name.name, make.member_call("value", make.copy(target)), mapped)


def _if_present(make: Expander, target: Node, present: Node) -> Node:
    condition = make.member_call("hasValue", target)
    return make.call("_?_:_", condition, present, make.call("optional.none"))


def _sort_by(make: Expander, target: Node | None, arguments: tuple[Node, ...]) -> Node | None:
    if not isinstance(target, ListLiteral | Select | Identifier | Comprehension | Call):
        assert target is not None
        raise MacroError(
            target.offset,
            "sortBy can only be applied to a list, identifier, comprehension, call or select"
            " expression",
        )
    keys = _map(make, make.identifier(_SORT_INPUT), arguments)
    assert keys is not None
    ordered = make.member_call("@sortByAssociatedKeys", make.identifier(_SORT_INPUT), keys)
    return make.bind(_SORT_INPUT, target, ordered)


MACROS: Final[dict[tuple[str, int, bool], Macro]] = {
    ("has", 1, False): _has,
    ("all", 2, True): _all(1),
    ("all", 3, True): _all(2),
    ("exists", 2, True): _exists(1),
    ("exists", 3, True): _exists(2),
    ("exists_one", 2, True): _exists_one(1),
    ("exists_one", 3, True): _exists_one(2),
    ("existsOne", 3, True): _exists_one(2),
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    ("transformMap", 3, True): _transform_map,
    ("transformMap", 4, True): _transform_map,
    ("transformMapEntry", 3, True): _transform_map_entry,
    ("transformMapEntry", 4, True): _transform_map_entry,
    ("bind", 3, True): _bind,
    ("optMap", 2, True): _optional_map,
    ("optFlatMap", 2, True): _optional_flat_map,
    ("sortBy", 2, True): _sort_by,
}
"""By name, number of arguments, and whether it is called on something."""
