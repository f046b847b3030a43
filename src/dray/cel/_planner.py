"""Turns a checked expression into steps: one function per node, called with the evaluation's frame.

This is the exact evaluator, the reference for every faster one: values, errors and costs are
upstream's, in upstream's order. Constants are worked out here (conversions, lists, maps, patterns),
and an expression whose constants cannot be what they are used for is refused with a PlanError,
although its types are right; Kubernetes does so at admission.

Operands that fail are remembered while the other operands are evaluated, because upstream
evaluates both sides of an operator before it looks at either; that shows in costs and in crashes.

Upstream counterparts: cel-go interpreter/planner.go, interpretable.go and decorators.go.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from dray.cel._attributes import Attribute, Conditional, Qualifier, Step, presence_test
from dray.cel._builder import INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT
from dray.cel._calls import CONSTRUCTORS, call_step, constant_call_step, dispatched
from dray.cel._failures import Failure
from dray.cel._folds import accumulator_step, fold_step, quantifier_step
from dray.cel._frame import Frame
from dray.cel._library.conversions import convert, is_conversion
from dray.cel._library.go_types import go_type
from dray.cel._library.table import Implementation
from dray.cel._literals import (
    LIST_COST,
    MAP_COST,
    MESSAGE_COST,
    charged,
    guarded,
    list_step,
    map_step,
    message_step,
)
from dray.cel._macros import ACCUMULATOR
from dray.cel._names import RUNTIME_TYPES
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
from dray.cel._operators import (
    OPERATORS,
    member_set,
    membership_step,
    or_step,
    or_value_step,
    text_comparison_step,
)
from dray.cel._regex import PatternError, validate_pattern
from dray.cel._stack import HEIGHT_ON_ONE_STACK_MAX, heights, on_fresh_stack
from dray.cel._trampoline import Steps, done, run
from dray.cel._types import Kind
from dray.cel._values import UInt, Unhashable, Value, type_of

__all__ = ["Plan", "PlanError", "constant_list", "plan"]

_PATTERN_FUNCTIONS: Final = frozenset({"matches", "find", "findAll"})
"""Functions whose second operand, the target included, is a pattern."""

_INDICES: Final = frozenset({INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT})
_KEY_TYPES: Final = (str, int, UInt, float)


class PlanError(Exception):
    """The expression type-checks but can never be evaluated."""


class _Constant:
    """A part whose value is known before anything is evaluated."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def step(self) -> Step:
        value = self.value
        return lambda _: value


class _Computed:
    """A part that is a call, a literal or a loop."""

    __slots__ = ("_step",)

    def __init__(self, step: Step) -> None:
        self._step = step

    def step(self) -> Step:
        return self._step


_Part: TypeAlias = _Constant | _Computed | Attribute | Conditional
_Path: TypeAlias = Attribute | Conditional


class Plan:
    """The steps of an expression, and how many slots for local variables they need."""

    __slots__ = ("slot_count", "step")

    def __init__(self, step: Step, slot_count: int) -> None:
        self.step = step
        self.slot_count = slot_count


def plan(checked: CheckedExpression) -> Plan:
    """Raises PlanError if the expression could not be turned into a program."""
    planner = _Planner(checked)
    part: _Part = run(planner.plan(checked.root))
    step = part.step()
    if planner.height > HEIGHT_ON_ONE_STACK_MAX:
        step = on_fresh_stack(step)
    return Plan(step, planner.slot_count)


def constant_list(checked: CheckedExpression, node: Node) -> list[Value] | None:
    """The list a node stands for, if that is known before anything is evaluated."""
    if not isinstance(node, ListLiteral):
        return None
    part: _Part = run(_Planner(checked).plan(node))
    return part.value if isinstance(part, _Constant) else None


class _Planner:
    def __init__(self, checked: CheckedExpression) -> None:
        self._checked = checked
        self._locals: list[tuple[str, Step]] = []
        self._heights: dict[int, int] = {}
        if len(checked.types) > HEIGHT_ON_ONE_STACK_MAX:
            self._heights = heights(checked.root)
        self.height = self._heights.get(checked.root.id, 0)
        self.slot_count = 0

    def plan(self, node: Node) -> Steps[_Part]:
        planned = self._plan(node)
        height = self._heights.get(node.id, 0)
        if height and height % HEIGHT_ON_ONE_STACK_MAX == 0:
            return self._on_fresh_stack(planned)
        return planned

    def _on_fresh_stack(self, planned: Steps[_Part]) -> Steps[_Part]:
        part: _Part = yield planned
        return _Computed(on_fresh_stack(part.step())) if isinstance(part, _Computed) else part

    def _plan(self, node: Node) -> Steps[_Part]:
        match node:
            case Literal():
                return done(_Constant(node.value))
            case Identifier():
                return done(self._identifier(node))
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case MessageLiteral():
                return self._message(node)
            case Comprehension():
                return self._comprehension(node)
        raise AssertionError("a checked tree has no broken nodes")

    # Names and paths

    def _identifier(self, node: Identifier) -> _Part:
        if node.id in self._checked.constants:
            return _Constant(self._checked.constants[node.id])
        if self._checked.type(node).kind is Kind.TYPE:
            found = RUNTIME_TYPES.get(node.name)
            if found is None:
                raise PlanError(f"reference to undefined type: {node.name}")
            return _Constant(found)
        for name, read in reversed(self._locals):
            if name == node.name:
                return Attribute(read)
        name = node.name.removeprefix(".")
        return Attribute(_read_variable(name), variable=name)

    def _select(self, node: Select) -> Steps[_Part]:
        attribute = _path((yield self.plan(node.operand)))
        if node.test_only:
            attribute.add_presence(node.field)
            return _Computed(presence_test(attribute))
        attribute.add(Qualifier(node.field, optional=False))
        return attribute

    def _index(self, node: Call, operand: _Part, key: _Part) -> _Part:
        attribute = _path(operand)
        optional = node.function != INDEX
        if isinstance(key, _Constant):
            _check_key(key.value)
            qualifier = Qualifier(key.value, optional=optional)
        elif isinstance(key, _Computed):
            qualifier = Qualifier(None, key.step(), optional=optional)
        else:
            qualifier = Qualifier(None, key.resolver(), optional=optional)
        attribute.add(qualifier)
        return attribute

    # Calls

    def _call(self, node: Call) -> Steps[_Part]:
        operands = node.arguments if node.target is None else (node.target, *node.arguments)
        parts: list[_Part] = []
        for operand in operands:
            if isinstance(operand, Literal):
                parts.append(_Constant(operand.value))
            else:
                parts.append((yield self.plan(operand)))
        function = node.function
        if function in _INDICES:
            return self._index(node, *parts)
        if function == "_?_:_":
            condition, truthy, falsy = parts
            return Conditional(condition.step(), _path(truthy), _path(falsy))
        special = OPERATORS.get(function)
        if special is not None:
            if function in ("_==_", "_!=_") and isinstance(parts[1], _Constant):
                text = parts[1].value
                if type(text) is str:
                    return _Computed(text_comparison_step(function, parts[0].step(), text))
            return _Computed(special([part.step() for part in parts]))
        return self._function_call(node, parts)

    def _function_call(self, node: Call, parts: list[_Part]) -> _Part:
        function = node.function
        overloads = self._checked.overloads[node.id]
        overload = overloads[0] if len(overloads) == 1 else ""
        if is_conversion(function) and isinstance(parts[0], _Constant):
            return _Constant(_converted(function, parts[0].value))
        if function == "@in" and overload == "in_list" and isinstance(parts[1], _Constant):
            if not parts[1].value:
                return _Constant(False)
            members = member_set(parts[1].value)
            if members is not None:
                return _Computed(membership_step(parts[0].step(), members))
        constant_pattern = False
        if function in _PATTERN_FUNCTIONS:
            pattern = parts[1]
            if isinstance(pattern, _Constant) and type(pattern.value) is str:
                _check_pattern(pattern.value)
                constant_pattern = True
        if function == "or" and overload in ("", "optional_or_optional"):
            return _Computed(or_step(parts[0].step(), parts[1].step()))
        if function == "orValue" and overload in ("", "optional_orValue_value"):
            return _Computed(or_value_step(parts[0].step(), parts[1].step()))
        if function in CONSTRUCTORS:
            constants = [part.value for part in parts if isinstance(part, _Constant)]
            made = None
            if len(constants) == len(parts):
                made = constant_call_step(function, overload, constants)
            if made is not None:
                return _Computed(made)
        steps = [part.step() for part in parts]
        if not constant_pattern:
            return _Computed(call_step(function, overload, steps))
        matched = _of_text(dispatched(function, overload))
        return _Computed(call_step(function, overload, steps, matched, in_order=True))

    # Literals

    def _list(self, node: ListLiteral) -> Steps[_Part]:
        parts: list[_Part] = []
        for element in node.elements:
            parts.append((yield self.plan(element)))  # noqa: PERF401 (a yield cannot be comprehended)
        step = list_step([part.step() for part in parts], node.optional)
        if all(isinstance(part, _Constant) for part in parts):
            return _Constant(_folded(step))
        return _Computed(charged(step, LIST_COST))

    def _map(self, node: MapLiteral) -> Steps[_Part]:
        parts: list[tuple[_Part, _Part, bool]] = []
        for entry in node.entries:
            key: _Part = yield self.plan(entry.key)
            value: _Part = yield self.plan(entry.value)
            parts.append((key, value, entry.optional))
        step = map_step([(key.step(), value.step(), optional) for key, value, optional in parts])
        if all(isinstance(part, _Constant) for pair in parts for part in pair[:2]):
            return _Constant(_folded(step))
        return _Computed(charged(guarded(step), MAP_COST))

    def _message(self, node: MessageLiteral) -> Steps[_Part]:
        fields: list[tuple[str, Step, bool]] = []
        for field in node.fields:
            part: _Part = yield self.plan(field.value)
            fields.append((field.name, part.step(), field.optional))
        return _Computed(charged(message_step(node.name, fields), MESSAGE_COST))

    # Folds

    def _comprehension(self, node: Comprehension) -> Steps[_Part]:
        quantified = _quantified(node)
        return self._fold(node) if quantified is None else self._quantifier(node, *quantified)

    def _quantifier(self, node: Comprehension, predicate: Node, dominant: bool) -> Steps[_Part]:
        over: _Part = yield self.plan(node.range)
        first, second = self.slot_count, self.slot_count + 1
        self.slot_count += 2
        outside = len(self._locals)
        self._locals.append((node.variable, _read_slot(first)))
        if node.second_variable is not None:
            self._locals.append((node.second_variable, _read_slot(second)))
        asked: _Part = yield self.plan(predicate)
        del self._locals[outside:]
        slots = first, second if node.second_variable is not None else None
        return _Computed(quantifier_step(over.step(), slots, asked.step(), dominant=dominant))

    def _fold(self, node: Comprehension) -> Steps[_Part]:
        initial: _Part = yield self.plan(node.initial)
        over: _Part = yield self.plan(node.range)
        first, second, accumulator = self.slot_count, self.slot_count + 1, self.slot_count + 2
        self.slot_count += 3
        outside = len(self._locals)
        read = accumulator_step(accumulator, initial.step(), tall=bool(self._heights))
        self._locals.append((node.accumulator, read))
        self._locals.append((node.variable, _read_slot(first)))
        if node.second_variable is not None:
            self._locals.append((node.second_variable, _read_slot(second)))
        condition: _Part = yield self.plan(node.condition)
        step: _Part = yield self.plan(node.step)
        del self._locals[outside + 1 :]
        result: _Part = yield self.plan(node.result)
        del self._locals[outside:]
        return _Computed(
            fold_step(
                over.step(),
                (first, second if node.second_variable is not None else None, accumulator),
                condition.step(),
                step.step(),
                result.step(),
            )
        )


def _quantified(node: Comprehension) -> tuple[Node, bool] | None:
    """The predicate, and which answer to it decides, if the fold is an `all` or an `exists`."""
    match node.initial, node.step, node.result:
        case (
            Literal(value=bool() as start),
            Call(function=("_&&_" | "_||_") as operator, arguments=(Identifier(name=read), asked)),
            Identifier(name=result),
        ) if node.accumulator == read == result == ACCUMULATOR and start == (operator == "_&&_"):
            return asked, operator == "_||_"
    return None


# Parts


def _path(part: _Part) -> _Path:
    """The part as something qualifiers can be added to."""
    return part if isinstance(part, Attribute | Conditional) else Attribute(part.step())


def _read_variable(name: str) -> Step:
    def read(frame: Frame) -> Value:
        try:
            return frame.variables[name]
        except KeyError:
            raise Failure(f"no such attribute(s): {name}") from None

    return read


def _read_slot(slot: int) -> Step:
    return lambda frame: frame.slots[slot]


def _folded(step: Step) -> Value:
    """The value of a literal that is made of constants."""
    try:
        return step(Frame({}, 0, 0, None))
    except Failure as error:
        raise PlanError(str(error)) from None
    except Unhashable as error:
        # Upstream does not survive this: its map cannot hold such a key.
        raise PlanError(f"{type_of(error.value).name} cannot be a key of a map") from None


# Checks of constants


def _converted(function: str, value: Value) -> Value:
    try:
        return convert(function, value)
    except Failure as error:
        raise PlanError(str(error)) from None


def _of_text(called: Implementation) -> Implementation:
    """A function whose pattern was looked at in advance: it says less when it gets no text."""

    def call(text: Value, *arguments: Value) -> Value:
        if type(text) is not str:
            raise Failure("no such overload")
        return called(text, *arguments)

    return call


def _check_key(key: Value) -> None:
    if not isinstance(key, _KEY_TYPES):
        raise PlanError(f"invalid qualifier type: {go_type(key)}")


def _check_pattern(pattern: str) -> None:
    try:
        validate_pattern(pattern)
    except PatternError as error:
        raise PlanError(str(error)) from None
