"""Lists, maps and messages that an expression writes out.

Upstream counterparts: evalList, evalMap and evalObj in cel-go interpreter/interpretable.go.
"""

from __future__ import annotations

from typing import Final

from dray.cel._attributes import Step, unhashable
from dray.cel._failures import Abort, Failure
from dray.cel._frame import Frame
from dray.cel._library.go_text import shown
from dray.cel._library.go_types import go_type
from dray.cel._library.messages import make_message
from dray.cel._values import NONE, Key, Optional, Unhashable, Value, encode_key

__all__ = [
    "LIST_COST",
    "MAP_COST",
    "MESSAGE_COST",
    "charged",
    "guarded",
    "list_step",
    "map_step",
    "message_step",
]

LIST_COST: Final = 10
MAP_COST: Final = 30
MESSAGE_COST: Final = 40
"""What making one costs, besides its parts; upstream's numbers."""


def charged(step: Step, cost: int) -> Step:
    """The step, at a cost of its own."""

    def make(frame: Frame) -> Value:
        frame.cost += cost
        return step(frame)

    return make


def list_step(elements: list[Step], optional: frozenset[int]) -> Step:
    def make(frame: Frame) -> Value:
        if not optional:
            return [element(frame) for element in elements]
        values = []
        for index, element in enumerate(elements):
            value = element(frame)
            if index in optional:
                if type(value) is not Optional:
                    raise Failure(
                        "cannot initialize optional list element from non-optional value"
                        f" {shown(value)}"
                    )
                if value is NONE:
                    continue
                value = value.value
            values.append(value)
        return values

    return make


def map_step(entries: list[tuple[Step, Step, bool]]) -> Step:
    def make(frame: Frame) -> Value:
        made: dict[Key, Value] = {}
        for read_key, read_value, optional in entries:
            raw = read_key(frame)
            value = read_value(frame)
            if optional:
                if type(value) is not Optional:
                    raise _not_optional(raw, value)
                if value is NONE:
                    _leave_out(made, raw)
                    continue
                value = value.value
            made[encode_key(raw)] = value
        return made

    return make


def _leave_out(made: dict[Key, Value], key: Value) -> None:
    try:
        made.pop(encode_key(key), None)
    except Unhashable as error:
        if made:
            raise
        # Go does not hash a key to delete it from a map without entries, and words it differently.
        raise Abort(f"internal error: hash of unhashable type: {go_type(error.value)}") from None


def guarded(step: Step) -> Step:
    """The step of a map, ending as upstream does if it meets a key that no map can hold."""

    def make(frame: Frame) -> Value:
        try:
            return step(frame)
        except Unhashable as error:
            raise unhashable(error) from None

    return make


def message_step(name: str, fields: list[tuple[str, Step, bool]]) -> Step:
    def make(frame: Frame) -> Value:
        values: dict[str, Value] = {}
        for field, read, optional in fields:
            value = read(frame)
            if optional:
                if type(value) is not Optional:
                    raise _not_optional(field, value)
                if value is NONE:
                    values.pop(field, None)
                    continue
                value = value.value
            values[field] = value
        frame.look_into(values.values())
        return make_message(name, values)

    return make


def _not_optional(key: Value, value: Value) -> Failure:
    return Failure(
        f"cannot initialize optional entry '{shown(key)}' from non-optional value {shown(value)}"
    )
