from __future__ import annotations

import pytest

from dray.cel import Environment
from dray.cel._compiler import compile_any
from dray.cel._failures import Abort
from dray.cel._frame import Frame
from dray.cel._literals import charged, guarded, map_step
from dray.cel._values import Value

STORED = Environment(stored=True)


def value_of(text: str) -> Value:
    compilation = compile_any(text, STORED)
    assert compilation.program is not None, compilation.error
    return compilation.program.run({"device": {"driver": "d"}})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[device.driver]", ["d"]),
        ("[?optional.of(1), ?optional.none(), 2]", [1, 2]),
        ("{device.driver: 1}", {"d": 1}),
        ("{?'a': optional.none(), ?'b': optional.of(2)}", {"b": 2}),
        ("{dyn(1): 'x', dyn(true): 'y'}.size() == 2", True),
        ("google.protobuf.Int32Value{value: 7}", 7),
        ("google.protobuf.StringValue{?value: optional.none()}", ""),
    ],
)
def test_what_is_written_out_is_made(text: str, value: Value) -> None:
    assert value_of(text) == value


def test_a_key_that_upstream_crashes_on_ends_the_evaluation() -> None:
    step = guarded(map_step([(lambda _: b"x", lambda _: 1, False)]))
    with pytest.raises(Abort, match="hash of unhashable type"):
        step(Frame({}, 0, 100, None))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{?b"x": optional.none()}', "hash of unhashable type: types.Bytes"),
        ("{?dyn(format.uri()): optional.none()}", "hash of unhashable type: cel.Format"),
        (
            '{dyn(1): 1, ?dyn(b"x"): optional.none()}',
            "runtime error: hash of unhashable type types.Bytes",
        ),
        ('{?b"x": optional.of(1)}', "runtime error: hash of unhashable type types.Bytes"),
    ],
)
def test_such_a_key_is_named_as_upstream_does_where_nothing_is_to_be_held(
    text: str, message: str
) -> None:
    with pytest.raises(Abort, match=f"^internal error: {message}$"):
        value_of(text)


def test_making_something_costs_even_if_a_part_fails() -> None:
    frame = Frame({}, 0, 100, None)
    charged(lambda _: 1, 30)(frame)
    assert frame.cost == 30
