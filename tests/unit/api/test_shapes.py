"""How the exact decoder reads each type."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.shapes import NOTES_MAX, JSONNumber, JSONObject, Notes, shape_of
from dray.api.wire import Carried, Int32, Struct
from dray.errors import InternalError


class Widget(Struct):
    """One field of each kind of shape that needs no other type."""

    size: Int32 = 0
    ratio: float = 0.0
    limit: int | str = 0
    maybe: int | str | None = None
    tags: tuple[str, ...] = ()
    extra: Carried = None


def read(value: Any, notes: Notes | None = None) -> Widget:
    widget: Widget = shape_of(Widget).read(value, notes or Notes())
    return widget


def problems(value: Any) -> list[str]:
    notes = Notes()
    read(value, notes)
    return [str(problem) for problem in notes.problems]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param({"limit": 3}, Widget(limit=3), id="int-or-string-as-int"),
        pytest.param({"limit": "50%"}, Widget(limit="50%"), id="int-or-string-as-string"),
        pytest.param({"limit": None}, Widget(limit=0), id="int-or-string-as-null"),
        pytest.param({"maybe": None}, Widget(maybe=None), id="optional-stays-absent"),
        pytest.param({"ratio": JSONNumber("1.5")}, Widget(ratio=1.5), id="fraction"),
        pytest.param({"ratio": 2}, Widget(ratio=2.0), id="whole-number-for-fraction"),
    ],
)
def test_values_are_read_by_their_type(document: Any, expected: Widget) -> None:
    assert read(document) == expected


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"size": 2**31}, "size: expected an integer between -2147483648 and 2147483647"),
        ({"size": True}, "size: expected an integer, got true"),
        ({"ratio": "x"}, 'ratio: expected a number, got the string "x"'),
        ({"limit": []}, "limit: expected an integer, got a list"),
        ({"tags": ["a", {}]}, "tags[1]: expected a string, got an object"),
        ({"tags": {1: 2}}, "tags: expected a list, got an object"),
    ],
)
def test_a_misfit_is_named_with_its_path(document: Any, message: str) -> None:
    (problem,) = problems(document)
    assert problem.startswith(message)


def test_one_reading_finds_every_misfit_and_keeps_the_rest() -> None:
    notes = Notes()
    widget = read({"size": "x", "tags": ["a", 1, "b", 2], "limit": 3}, notes)
    assert widget == Widget(tags=("a", "b"), limit=3)
    assert [problem.path for problem in notes.problems] == ["size", "tags[1]", "tags[3]"]


def test_carried_json_keeps_null_and_digits() -> None:
    assert bytes(read({"extra": None}).extra or b"") == b"null"
    assert bytes(read({"extra": {"n": JSONNumber("1.50")}}).extra or b"") == b'{"n":1.50}'


def test_an_object_remembers_what_it_was_told_twice() -> None:
    pairs = [("a", 1), ("b", 2), ("a", 3), ("a", 4)]
    value = JSONObject(pairs)
    assert value == {"a": 4, "b": 2}
    assert value.duplicates == ("a",)


def test_notes_are_bounded() -> None:
    notes = Notes()
    read({f"x{number}": 1 for number in range(NOTES_MAX * 3)}, notes)
    assert len(notes.unknown) == NOTES_MAX
    read({"tags": list(range(NOTES_MAX * 3))}, notes)
    assert len(notes.problems) == NOTES_MAX


def test_a_type_nobody_can_read_is_a_bug_of_ours() -> None:
    class Odd(Struct):
        when: complex = 0j

    with pytest.raises(InternalError, match="complex"):
        shape_of(Odd).read({"when": 1}, Notes())
