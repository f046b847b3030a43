"""Editing frozen values: what stays the same is the same object."""

from __future__ import annotations

from dray.api._edit import edit, edit_items, edit_values
from dray.api.meta import ObjectMeta


def test_an_edit_that_changes_nothing_returns_the_struct_itself() -> None:
    meta = ObjectMeta(name="a")
    assert edit(meta, name=meta.name, labels=meta.labels) is meta
    assert edit(meta, name="b") == ObjectMeta(name="b")


def test_items_and_values_come_back_themselves_unless_one_changed() -> None:
    items, values = ("a", "b"), {"x": "a"}
    assert edit_items(items, lambda item: item) is items
    assert edit_values(values, lambda value: value) is values
    assert edit_items(items, lambda item: item if item == "a" else "c") == ("a", "c")
    assert edit_values(values, str.upper) == {"x": "A"}
