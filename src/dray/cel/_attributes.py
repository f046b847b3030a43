"""Reading a value by a path: `device.attributes["d.com"].model`, `x[?i].?name`, `has(a.b)`.

An Attribute is a root (a variable, or whatever an expression gives) and the qualifiers after it:
fields, indices, keys. Qualifying is where missing keys become errors, or become `optional.none()`
once an optional qualifier was met. Attributes grow while an expression is planned and are turned
into a step, a function of the frame, when they are complete.

Reading costs one for the root and one per qualifier. A branch of `?:` is resolved without the
root's cost, which is upstream's quirk and kept.

Upstream counterpart: cel-go interpreter/attributes.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from dray.cel._failures import Abort, Failure
from dray.cel._frame import Frame
from dray.cel._library.equality import find
from dray.cel._library.go_text import shown
from dray.cel._library.go_types import go_type
from dray.cel._values import (
    INT_MAX,
    INT_MIN,
    LISTS,
    MAPS,
    NONE,
    Optional,
    TextMap,
    UInt,
    Unhashable,
    Value,
    type_of,
)

__all__ = [
    "Attribute",
    "Conditional",
    "Qualifier",
    "Step",
    "look_up",
    "presence_test",
    "unhashable",
]

Step: TypeAlias = Callable[[Frame], Value]
"""One part of a program: what it gives for the state of an evaluation. May raise a Failure."""

_KEY_TYPES: Final = frozenset({str, bool, int, UInt, float})
_LIST_TYPES: Final = frozenset(LISTS)
_MAP_TYPES: Final = frozenset(MAPS)


class Qualifier:
    """One `.field`, `[key]`, `.?field` or `[?key]`; `key` is a value, or a step that gives one."""

    __slots__ = ("_key", "_step", "optional", "text")

    def __init__(self, key: Value | None, step: Step | None = None, *, optional: bool) -> None:
        self._key = key
        self._step = step
        self.optional = optional
        self.text: str | None = key if step is None and type(key) is str else None

    def qualify(self, frame: Frame, value: Value) -> Value:
        """What `value` has under the key; a Failure if it has nothing."""
        frame.cost += 1
        key = self._resolve(frame)
        found, present = look_up(value, key)
        if not present:
            raise _missing(value, key)
        return found

    def qualify_if_present(self, frame: Frame, value: Value) -> tuple[Value, bool]:
        found, present = look_up(value, self._resolve(frame), tolerant=True)
        if present:
            frame.cost += 1
        return found, present

    def _resolve(self, frame: Frame) -> Value:
        if self._step is None:
            return self._key
        key = self._step(frame)
        if type(key) not in _KEY_TYPES:
            raise Failure(f"invalid qualifier type: {go_type(key)}")
        return key


class _Presence(Qualifier):
    """The last part of `has(a.b)`: whether it is there."""

    __slots__ = ()

    def qualify(self, frame: Frame, value: Value) -> Value:
        frame.cost += 1
        return look_up(value, self._key, tolerant=True)[1]


class Attribute:
    """A root and its qualifiers, while a program is planned."""

    __slots__ = ("_qualifiers", "_root", "_variable")

    def __init__(self, root: Step, *, variable: str | None = None) -> None:
        """`variable` names a variable of the caller's, if that is what the root reads."""
        self._root = root
        self._qualifiers: list[Qualifier] = []
        self._variable = variable

    def add(self, qualifier: Qualifier) -> None:
        self._qualifiers.append(qualifier)

    def add_presence(self, field: str) -> None:
        self._qualifiers.append(_Presence(field, optional=False))

    def resolver(self) -> Step:
        """The step that reads the value, without the cost of the root."""
        return self._step(0)

    def step(self) -> Step:
        """The step that reads the value."""
        return self._step(1)

    def _step(self, root_cost: int) -> Step:
        root, qualifiers = self._root, tuple(self._qualifiers)
        if not qualifiers:
            return root if root_cost == 0 else _charged(root)
        careful = _qualified(root, qualifiers, root_cost)
        path = [qualifier.text for qualifier in qualifiers]
        if self._variable is not None and all(
            qualifier.text is not None and type(qualifier) is Qualifier and not qualifier.optional
            for qualifier in qualifiers
        ):
            names = [text for text in path if text is not None]
            return _read(self._variable, names, root_cost, careful)
        return careful


class Conditional:
    """`condition ? a : b`, which passes qualifiers on to both branches."""

    __slots__ = ("_condition", "_falsy", "_truthy")

    def __init__(
        self, condition: Step, truthy: Attribute | Conditional, falsy: Attribute | Conditional
    ) -> None:
        self._condition = condition
        self._truthy = truthy
        self._falsy = falsy

    def add(self, qualifier: Qualifier) -> None:
        self._truthy.add(qualifier)
        self._falsy.add(qualifier)

    def add_presence(self, field: str) -> None:
        self._truthy.add_presence(field)
        self._falsy.add_presence(field)

    def resolver(self) -> Step:
        condition = self._condition
        truthy, falsy = self._truthy.resolver(), self._falsy.resolver()

        def choose(frame: Frame) -> Value:
            chosen = condition(frame)
            if chosen is True:
                return truthy(frame)
            if chosen is False:
                return falsy(frame)
            raise Failure("no such overload")

        return choose

    step = resolver


def presence_test(attribute: Attribute | Conditional) -> Step:
    """The step that says whether an attribute ending in `add_presence` is there, at no own cost."""
    resolve = attribute.resolver()
    refund = 1 if isinstance(attribute, Conditional) else 0

    def test(frame: Frame) -> Value:
        frame.cost -= refund
        found = resolve(frame)
        return found is not NONE if type(found) is Optional else found

    return test


def _charged(root: Step) -> Step:
    def read(frame: Frame) -> Value:
        frame.cost += 1
        return root(frame)

    return read


def _qualified(root: Step, qualifiers: tuple[Qualifier, ...], root_cost: int) -> Step:
    def read(frame: Frame) -> Value:
        frame.cost += root_cost
        value = root(frame)
        optional = False
        if type(value) is Optional:
            if value is NONE:
                return value
            value = value.value
            optional = True
        for qualifier in qualifiers:
            optional = optional or qualifier.optional
            if optional:
                value, present = qualifier.qualify_if_present(frame, value)
                if not present:
                    return NONE
            else:
                value = qualifier.qualify(frame, value)
        return Optional(value) if optional else value

    return read


def _read(variable: str, path: list[str], root_cost: int, careful: Step) -> Step:
    """The step for a variable and plain names; whatever is not as usual, `careful` decides."""
    cost = root_cost + len(path)
    if len(path) == 1:
        (only,) = path

        def read_one(frame: Frame) -> Value:
            try:
                value = frame.variables[variable][only]
            except (KeyError, TypeError):
                pass
            else:
                frame.cost += cost
                return value
            # Out of the handler: what fails here is not a consequence of the lookup above.
            return careful(frame)

        return read_one
    if len(path) == 3:
        first, second, third = path
        missing = f"no such key: {third}"

        def read_three(frame: Frame) -> Value:
            try:
                value = frame.variables[variable][first][second][third]
            except (KeyError, TypeError):
                pass
            else:
                frame.cost += cost
                return value
            try:
                inner = frame.variables[variable][first][second]
            except (KeyError, TypeError):
                return careful(frame)
            if type(inner) is not TextMap:
                return careful(frame)
            # The commonest failure by far, and whole fleets may meet it.
            frame.cost += cost
            raise Failure(missing)

        return read_three
    return careful


def look_up(value: Value, key: Value, *, tolerant: bool = False) -> tuple[Value, bool]:
    """What a map or list has under a key; others have nothing, and fail unless tolerant."""
    kind = type(value)
    if kind in _MAP_TYPES:
        try:
            return find(value, key)
        except Unhashable as error:
            raise unhashable(error) from None
    if kind in _LIST_TYPES:
        index = _index(key)
        return (value[index], True) if 0 <= index < len(value) else (None, False)
    if tolerant:
        return None, False
    raise Failure(f"no such key: {shown(key)}")


def _missing(value: Value, key: Value) -> Failure:
    if type(value) in _LIST_TYPES:
        return Failure(f"index out of bounds: {shown(key)}")
    return Failure(f"no such key: {shown(key)}")


def _index(key: Value) -> int:
    kind = type(key)
    if kind is int:
        whole: int = key
        return whole
    if kind is UInt and key <= INT_MAX:
        return int(key)
    if kind is float and key.is_integer() and INT_MIN <= key <= INT_MAX:
        return int(key)
    if kind is UInt or kind is float:
        raise Failure(f"unsupported index value {shown(key)} in list")
    raise Failure(f"unsupported index type '{type_of(key).name}' in list")


def unhashable(error: Unhashable) -> Abort:
    """Upstream's maps are Go's, which crash when asked for such a key."""
    return Abort(f"internal error: runtime error: hash of unhashable type {go_type(error.value)}")
