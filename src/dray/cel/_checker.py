"""Finds the type of every node of a tree, or what is wrong with it.

Names are resolved, overloads chosen, type variables unified. The checker answers a new tree in
which resolved names are spelled out: `net.IP` becomes one Identifier, `sets.contains(a, b)` a
call without a target. A type error makes the node's type ERROR, which agrees with everything, so
that one mistake is reported once and checking goes on.

Upstream counterparts: cel-go checker/checker.go, checker/env.go and checker/errors.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Final, NamedTuple

from dray.cel import _types as types
from dray.cel._builder import OPTIONAL_SELECT
from dray.cel._environment import Environment
from dray.cel._functions import Function, Overload
from dray.cel._names import (
    ENUMERATION_VALUES,
    MESSAGES,
    RUNTIME_TYPES,
    WELL_KNOWN_NAMES,
    message_type,
)
from dray.cel._nodes import (
    Broken,
    Call,
    CheckedExpression,
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
from dray.cel._source import Issues
from dray.cel._trampoline import Steps, done, run
from dray.cel._types import Kind, Type, describe, describe_signature
from dray.cel._unify import Substitution, most_general
from dray.cel._values import UInt

__all__ = [
    "check",
]

_LOGICAL: Final = frozenset({"_&&_", "_||_"})
_LITERAL_TYPES: Final[dict[type, Type]] = {
    bool: types.BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
}
_RANGES_OF_ANYTHING: Final = frozenset({Kind.DYN, Kind.ERROR, Kind.TYPE_PARAMETER})

ANSWERS_MAX: Final = 4096
"""Calls whose overloads are remembered; a cluster's selectors make a few dozen different ones."""

_ANSWERS: Final[
    dict[
        tuple[int | bool, ...], tuple[tuple[tuple[str, ...], Type], int, Function, tuple[Type, ...]]
    ]
] = {}
"""The overloads and result of a call by the identity of its function and types, which stand beside
the answer so that they stay alive; and how many type variables finding it makes."""


def check(root: Node, environment: Environment, issues: Issues) -> CheckedExpression:
    """The checked expression; of no use if there are issues afterwards."""
    checker = _Checker(environment, issues)
    node = run(checker.check(root))
    return checker.finish(node)


class _Resolved(NamedTuple):
    """What a name stands for. `shadowed` says that a local variable has the same name."""

    name: str
    type: Type
    shadowed: bool
    constant: int | None = None


class _Checker:
    def __init__(self, environment: Environment, issues: Issues) -> None:
        self._environment = environment
        self._functions = environment.functions
        self._issues = issues
        self._known = Substitution()
        self._scopes: list[dict[str, Type]] = []
        self._variables_made = 0
        self._types: dict[int, Type] = {}
        self._overloads: dict[int, tuple[str, ...]] = {}
        self._constants: dict[int, int] = {}

    def finish(self, root: Node) -> CheckedExpression:
        found = self._known.finish(self._types)
        return CheckedExpression(root, found, self._overloads, self._constants)

    def check(self, node: Node) -> Steps[Node]:
        match node:
            case Literal():
                self._types[node.id] = _LITERAL_TYPES[type(node.value)]
                return done(node)
            case Identifier():
                return done(self._check_identifier(node))
            case Select():
                return self._check_select(node)
            case Call() if node.function == OPTIONAL_SELECT:
                return self._check_optional_select(node)
            case Call():
                return self._check_call(node)
            case ListLiteral():
                return self._check_list(node)
            case MapLiteral():
                return self._check_map(node)
            case MessageLiteral():
                return self._check_message(node)
            case Comprehension():
                return self._check_comprehension(node)
            case Broken():
                raise AssertionError("a broken tree is not checked")

    # Names

    def _check_identifier(self, node: Identifier) -> Node:
        resolved = self._resolve(node.name)
        if resolved is None:
            self._undeclared(node, node.name)
            return node
        return self._named(node, resolved, resolved.name.removeprefix("."))

    def _named(self, node: Identifier | Select, resolved: _Resolved, name: str) -> Node:
        self._types[node.id] = resolved.type
        if resolved.constant is not None:
            self._constants[node.id] = resolved.constant
        name = f".{name}" if resolved.shadowed else name
        if isinstance(node, Identifier) and name == node.name:
            return node
        return Identifier(node.id, node.offset, name)

    def _resolve(self, name: str) -> _Resolved | None:
        """A single name: a local variable, unless it starts with a dot, or a global one."""
        local = self._local(name)
        if local is not None and not name.startswith("."):
            return _Resolved(name, local, shadowed=False)
        return self._global(name.removeprefix("."), shadowed=local is not None)

    def _resolve_qualified(self, words: list[str]) -> _Resolved | None:
        """A dotted name, which only ever is global: a local's fields are selected."""
        local = self._local(words[0])
        if local is not None and not words[0].startswith("."):
            return None
        return self._global(".".join(words).removeprefix("."), shadowed=local is not None)

    def _local(self, name: str) -> Type | None:
        name = name.removeprefix(".")
        for scope in reversed(self._scopes):
            found = scope.get(name)
            if found is not None:
                return found
        return None

    def _global(self, name: str, *, shadowed: bool) -> _Resolved | None:
        variable = self._environment.variable(name)
        if variable is not None:
            return _Resolved(name, variable, shadowed)
        of = self._type_named(name)
        if of is not None:
            return _Resolved(name, types.type_of(of), shadowed)
        constant = ENUMERATION_VALUES.get(name)
        if constant is not None:
            return _Resolved(name, types.INT, shadowed, constant)
        return None

    def _type_named(self, name: str) -> Type | None:
        return RUNTIME_TYPES.get(name) or message_type(name, self._environment.message_types)

    # Fields

    def _check_select(self, node: Select) -> Steps[Node]:
        words = _qualified(node)
        if words is not None:
            resolved = self._resolve_qualified(words)
            if resolved is not None:
                return self._named(node, resolved, resolved.name)
        operand = yield self.check(node.operand)
        result = self._field_type(node, operand, node.field, optional=False)
        if node.test_only:
            result = types.BOOL
        self._types[node.id] = self._known.apply(result)
        if operand is node.operand:
            return node
        return Select(node.id, node.offset, operand, node.field, node.test_only)

    def _check_optional_select(self, node: Call) -> Steps[Node]:
        operand, key = node.arguments
        assert isinstance(key, Literal)
        assert isinstance(key.value, str)
        operand = yield self.check(operand)
        result = self._field_type(node, operand, key.value, optional=True)
        self._types[node.id] = self._known.apply(result)
        self._overloads[node.id] = ("select_optional_field",)
        # The key has no type upstream either, but everything that reads types may expect one.
        self._types[key.id] = types.STRING
        return Call(node.id, node.offset, node.function, None, (operand, key))

    def _field_type(self, node: Node, operand: Node, field: str, *, optional: bool) -> Type:
        target = self._known.apply(self._types[operand.id])
        if target.is_optional:
            optional = True
            target = target.parameters[0]
        result = types.ERROR
        match target.kind:
            case Kind.MAP:
                result = target.parameters[1]
            case Kind.STRUCT:
                result = self._message_field(node.offset, target.name, field) or result
            case Kind.TYPE_PARAMETER:
                self._agrees(types.DYN, target)
                result = types.DYN
            case _:
                if not target.is_dyn_or_error:
                    self._issues.report(
                        node.offset, f"type '{describe(target)}' does not support field selection"
                    )
                result = types.DYN
        return types.optional_of(result) if optional else result

    def _message_field(self, offset: int, message: str, field: str) -> Type | None:
        fields = self._message_fields(message)
        if fields is None:
            self._issues.report(offset, f"unexpected failed resolution of '{message}'")
            return None
        if field not in fields:
            self._issues.report(offset, f"undefined field '{field}'")
            return None
        return fields[field]

    def _message_fields(self, message: str) -> dict[str, Type] | None:
        own = self._environment.message_fields(message)
        if own is not None:
            return dict(own)
        if message in MESSAGES:
            return dict(MESSAGES[message][1])
        return None

    # Calls

    def _check_call(self, node: Call) -> Steps[Node]:
        checked: list[Node] = []
        for argument in node.arguments:
            # Literals are the commonest arguments, and not worth a walk of their own.
            if isinstance(argument, Literal):
                self._types[argument.id] = _LITERAL_TYPES[type(argument.value)]
                checked.append(argument)
            else:
                checked.append((yield self.check(argument)))
        arguments = tuple(checked)
        if node.target is None:
            function = self._function(node.function)
            if function is None:
                self._undeclared(node, node.function)
                return node
            return self._resolve_call(node, function, None, arguments)
        # `a.b.c()` is a function of that whole name, or `c` called on `a.b`; never both.
        prefix = _qualified(node.target)
        if prefix is not None:
            function = self._function(f"{'.'.join(prefix)}.{node.function}")
            if function is not None:
                return self._resolve_call(node, function, None, arguments)
        target = yield self.check(node.target)
        function = self._function(node.function)
        if function is None:
            self._undeclared(node, node.function)
            return node
        return self._resolve_call(node, function, target, arguments)

    def _function(self, name: str) -> Function | None:
        return self._functions.get(name.removeprefix("."))

    def _resolve_call(
        self, node: Call, function: Function, target: Node | None, arguments: tuple[Node, ...]
    ) -> Node:
        if function.name in _LOGICAL:
            matched, result = self._check_logical(function, arguments)
        else:
            matched, result = self._matching_overloads(node, function, target, arguments)
        self._types[node.id] = result
        if matched:
            self._overloads[node.id] = matched
        if (
            function.name == node.function
            and target is node.target
            and all(map(is_, arguments, node.arguments))
        ):
            return node
        return Call(node.id, node.offset, function.name, target, arguments)

    def _check_logical(
        self, function: Function, arguments: tuple[Node, ...]
    ) -> tuple[tuple[str, ...], Type]:
        """`&&` and `||` complain about the operand that is no bool, not about the pair."""
        failed = False
        for argument in arguments:
            given = self._types[argument.id]
            if not self._agrees(given, types.BOOL):
                self._mismatch(argument.offset, types.BOOL, given)
                failed = True
        if failed:
            return (), types.ERROR
        return (function.overloads[0].id,), types.BOOL

    def _matching_overloads(
        self, node: Call, function: Function, target: Node | None, arguments: tuple[Node, ...]
    ) -> tuple[tuple[str, ...], Type]:
        given = tuple(self._types[argument.id] for argument in arguments)
        member = target is not None
        if target is not None:
            given = (self._types[target.id], *given)
        # Where no type is open, the answer depends on nothing but the types: most calls of most
        # expressions are made with the same few. Types are told apart by identity, and kept with
        # the answer so that it stays theirs.
        key = (id(function), member, *map(id, given))
        remembered = _ANSWERS.get(key)
        if remembered is not None:
            # Errors name variables by number, and upstream makes them for every call.
            self._variables_made += remembered[1]
            return remembered[0]
        made_before = self._variables_made
        answer = self._find_overloads(function, given, member=member)
        if answer is None:
            shown = self._known.finish(dict(enumerate(given)))
            signature = describe_signature(list(shown.values()), member=member)
            self._issues.report(
                node.offset,
                f"found no matching overload for '{function.name}' applied to '{signature}'",
            )
            return (), types.ERROR
        if not answer[1].generic and not any(type_.generic for type_ in given):
            if len(_ANSWERS) >= ANSWERS_MAX:
                _ANSWERS.clear()
            _ANSWERS[key] = (answer, self._variables_made - made_before, function, given)
        return answer

    def _find_overloads(
        self, function: Function, given: tuple[Type, ...], *, member: bool
    ) -> tuple[tuple[str, ...], Type] | None:
        matched: list[str] = []
        result: Type | None = None
        for overload in function.overloads:
            if overload.member != member:
                continue
            if _never_agree(given, overload.arguments):
                self._variables_made += len(overload.type_parameters)
                continue
            taken, answered = self._instantiate(overload)
            if not self._known.assign_all(given, taken):
                continue
            matched.append(overload.id)
            answered = self._known.apply(answered)
            if result is None:
                result = answered
            elif not result.is_dyn and not answered.is_exactly(result):
                result = types.DYN
        return None if result is None else (tuple(matched), result)

    def _instantiate(self, overload: Overload) -> tuple[Sequence[Type], Type]:
        """The overload's types with type variables of their own."""
        if not overload.type_parameters:
            return overload.arguments, overload.result
        fresh = Substitution({name: self._new_variable() for name in overload.type_parameters})
        taken = [fresh.apply(argument) for argument in overload.arguments]
        return taken, fresh.apply(overload.result)

    # Aggregates

    def _check_list(self, node: ListLiteral) -> Steps[Node]:
        elements = []
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            element = yield self.check(element)
            elements.append(element)
            found = self._types[element.id]
            if index in node.optional:
                found = self._unwrapped(element, found)
            joined = self._joined(joined, found)
        self._types[node.id] = types.list_of(joined or self._new_variable())
        if all(map(is_, elements, node.elements)):
            return node
        return ListLiteral(node.id, node.offset, tuple(elements), node.optional)

    def _check_map(self, node: MapLiteral) -> Steps[Node]:
        entries = []
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            key = yield self.check(entry.key)
            keys = self._joined(keys, self._types[key.id])
            value = yield self.check(entry.value)
            found = self._types[value.id]
            if entry.optional:
                found = self._unwrapped(value, found)
            values = self._joined(values, found)
            entries.append(MapEntry(entry.id, entry.offset, key, value, entry.optional))
        if keys is None or values is None:
            keys = self._new_variable()
            values = self._new_variable()
        self._types[node.id] = types.map_of(keys, values)
        return MapLiteral(node.id, node.offset, tuple(entries))

    def _unwrapped(self, node: Node, found: Type) -> Type:
        """What is in the optional behind a `?`."""
        if found.is_optional:
            return found.parameters[0]
        if not found.is_dyn:
            self._mismatch(node.offset, types.optional_of(found), found)
        return found

    def _joined(self, previous: Type | None, current: Type) -> Type:
        """The type of both; elements that disagree are reported by validation, not here."""
        if previous is None:
            return current
        return most_general(previous, current) if self._agrees(previous, current) else types.DYN

    def _check_message(self, node: MessageLiteral) -> Steps[Node]:
        name = node.name.removeprefix(".")
        of = self._type_named(name)
        if of is None:
            self._undeclared(node, node.name)
            return node
        result, message = of, name
        if _is_well_known(of):
            message = WELL_KNOWN_NAMES[of.kind]
        elif of.kind is Kind.STRUCT:
            message = of.name
        else:
            self._issues.report(node.offset, f"'{of.declared_name}' is not a message type")
            result = types.ERROR
        self._types[node.id] = result
        fields = []
        for field in node.fields:
            value = yield self.check(field.value)
            self._check_field(field, value, message)
            fields.append(FieldEntry(field.id, field.offset, field.name, value, field.optional))
        return MessageLiteral(node.id, node.offset, name, tuple(fields))

    def _check_field(self, field: FieldEntry, value: Node, message: str) -> None:
        wanted = self._message_field(field.offset, message, field.name) or types.ERROR
        given = self._types[value.id]
        if field.optional:
            given = self._unwrapped(value, given)
        if not self._agrees(wanted, given):
            self._issues.report(
                field.offset,
                f"expected type of field '{field.name}' is '{describe(wanted)}'"
                f" but provided type is '{describe(given)}'",
            )

    # Comprehensions

    def _check_comprehension(self, node: Comprehension) -> Steps[Node]:
        over = yield self.check(node.range)
        initial = yield self.check(node.initial)
        first, second = self._iteration_types(node, over)
        accumulated = self._types[initial.id]
        self._scopes.append({node.accumulator: accumulated})
        self._scopes.append({node.variable: first})
        if node.second_variable is not None:
            self._scopes[-1][node.second_variable] = second
        condition = yield self.check(node.condition)
        self._assert_type(condition, types.BOOL)
        step = yield self.check(node.step)
        self._assert_type(step, accumulated)
        self._scopes.pop()
        result = yield self.check(node.result)
        self._scopes.pop()
        self._types[node.id] = self._known.apply(self._types[result.id])
        parts = (over, initial, condition, step, result)
        if all(map(is_, parts, (node.range, node.initial, node.condition, node.step, node.result))):
            return node
        return Comprehension(
            node.id,
            node.offset,
            over,
            node.variable,
            node.second_variable,
            node.accumulator,
            initial,
            condition,
            step,
            result,
        )

    def _iteration_types(self, node: Comprehension, over: Node) -> tuple[Type, Type]:
        """The types of the variable or variables: elements, keys, or index and element."""
        range_type = self._known.apply(self._types[over.id])
        if range_type.kind is Kind.LIST:
            element = range_type.parameters[0]
            return (types.INT, element) if node.second_variable is not None else (element, element)
        if range_type.kind is Kind.MAP:
            return range_type.parameters[0], range_type.parameters[1]
        if range_type.kind in _RANGES_OF_ANYTHING:
            self._agrees(types.DYN, range_type)
            return types.DYN, types.DYN
        self._issues.report(
            over.offset,
            f"expression of type '{describe(range_type)}' cannot be range of a comprehension"
            " (must be list, map, or dynamic)",
        )
        return types.ERROR, types.ERROR

    # Helpers

    def _agrees(self, wanted: Type, given: Type) -> bool:
        return self._known.assign(wanted, given)

    def _assert_type(self, node: Node, wanted: Type) -> None:
        given = self._types[node.id]
        if not self._agrees(wanted, given):
            self._mismatch(node.offset, wanted, given)

    def _mismatch(self, offset: int, wanted: Type, given: Type) -> None:
        self._issues.report(
            offset, f"expected type '{describe(wanted)}' but found '{describe(given)}'"
        )

    def _undeclared(self, node: Node, name: str) -> None:
        self._types[node.id] = types.ERROR
        self._issues.report(node.offset, f"undeclared reference to '{name}' (in container '')")

    def _new_variable(self) -> Type:
        self._variables_made += 1
        return types.parameter(f"_var{self._variables_made - 1}")


_DECIDED: Final = frozenset(
    {
        Kind.BOOL, Kind.BYTES, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.LIST, Kind.MAP,
        Kind.OPAQUE, Kind.STRING, Kind.TIMESTAMP, Kind.UINT,
    }
)  # fmt: skip
"""Kinds of types that stand for themselves alone."""


def _never_agree(given: Sequence[Type], wanted: Sequence[Type]) -> bool:
    """Whether a look at the kinds is enough to see that these arguments do not fit."""
    return len(given) != len(wanted) or any(
        one.kind is not other.kind and one.kind in _DECIDED and other.kind in _DECIDED
        for one, other in zip(given, wanted, strict=True)
    )


def _qualified(node: Node) -> list[str] | None:
    """The words of `a.b.c`; None for anything else."""
    words: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        words.append(node.field)
        node = node.operand
    if not isinstance(node, Identifier):
        return None
    return [node.name, *reversed(words)]


def _is_well_known(type_: Type) -> bool:
    match type_.kind:
        case Kind.ANY | Kind.TIMESTAMP | Kind.DURATION | Kind.DYN | Kind.NULL:
            return True
        case Kind.LIST:
            return type_.parameters[0].kind is Kind.DYN
        case Kind.MAP:
            key, value = type_.parameters
            return key.kind is Kind.STRING and value.kind is Kind.DYN
        case _:
            return type_.nullable
