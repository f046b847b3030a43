from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.errors import ParseError
from dray.server.patching.field_sets import (
    ANY,
    DEPTH_MAX,
    FieldSet,
    contains,
    difference,
    excluding,
    field_set,
    including,
    intersection,
    ordered,
    parse,
    paths_in,
    recursive_difference,
    union,
)

Paths = set[tuple[str, ...]]

paths = st.sets(st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple), max_size=8)


def made(names: Paths) -> FieldSet:
    return field_set(*sorted(names))


def found(fields: FieldSet) -> Paths:
    return {tuple(step[2:] for step in path) for path in paths_in(fields)}


@given(paths, paths)
def test_sets_of_paths_behave_as_sets(left: Paths, right: Paths) -> None:
    assert found(made(left)) == left
    assert found(union(made(left), made(right))) == left | right
    assert found(intersection(made(left), made(right))) == left & right
    assert found(difference(made(left), made(right))) == left - right


@given(paths, paths)
def test_a_recursive_difference_takes_what_is_below_too(left: Paths, right: Paths) -> None:
    kept = {path for path in left if not any(path[: len(gone)] == gone for gone in right)}
    assert found(recursive_difference(made(left), made(right))) == kept


@given(paths, paths)
def test_equal_sets_are_equal_bytes(left: Paths, right: Paths) -> None:
    one, other = union(made(left), made(right)), union(made(right), made(left))
    assert str(ordered(one)) == str(ordered(other)) == str(ordered(made(left | right)))


@given(paths, paths)
def test_membership_is_that_of_the_paths(left: Paths, right: Paths) -> None:
    fields = made(left)
    for path in left | right:
        assert contains(fields, [f"f:{name}" for name in path]) == (path in left)


@given(paths)
def test_a_set_survives_being_written_and_read(names: Paths) -> None:
    assert parse(ordered(made(names))) == made(names)


def test_arguments_are_left_alone() -> None:
    left, right = made({("a",), ("a", "b")}), made({("a", "c"), ("b",)})
    before = str(left), str(right)
    for operation in (union, intersection, difference, recursive_difference):
        operation(left, right)
    assert (str(left), str(right)) == before


def test_a_written_set_is_made_canonical() -> None:
    written: Any = {"f:a": {".": {}}, 'k:{"n": "x"}': {}, 'k:{"n":"x"}': {"f:b": {}}, "z:new": {}}
    assert parse(written) == {"f:a": {}, 'k:{"n":"x"}': {".": {}, "f:b": {}}}


def test_of_a_level_all_fields_come_before_those_below() -> None:
    fields = made({("a", "x"), ("b",), ("a",)})
    assert list(paths_in(fields)) == [("f:a",), ("f:b",), ("f:a", "f:x")]


@pytest.mark.parametrize("written", [[], "x", {"bad": {}}, {"f:a": 1}])
def test_what_is_no_set_is_refused(written: Any) -> None:
    with pytest.raises(ParseError):
        parse(written)


def test_a_set_nests_only_so_deep() -> None:
    node: FieldSet = {}
    for _ in range(DEPTH_MAX + 1):
        node = {"f:a": node}
    with pytest.raises(ParseError):
        parse(node)


def test_a_filter_excludes_paths_and_all_below() -> None:
    keep = excluding(("status",), ("metadata", "name"))
    fields = made({("status",), ("status", "x"), ("metadata", "name"), ("metadata", "labels")})
    assert found(keep(fields)) == {("metadata", "labels")}


def test_a_filter_includes_only_what_leads_to_a_pattern_or_lies_below() -> None:
    keep = including(("spec", "containers", ANY, "resources"))
    fields = {
        "f:spec": {
            "f:containers": {
                'k:{"name":"a"}': {
                    ".": {},
                    "f:image": {},
                    "f:resources": {"f:limits": {"f:cpu": {}}},
                }
            },
            "f:nodeName": {},
        },
        "f:metadata": {"f:labels": {}},
    }
    assert keep(fields) == {
        "f:spec": {
            "f:containers": {
                'k:{"name":"a"}': {".": {}, "f:resources": {"f:limits": {"f:cpu": {}}}}
            }
        }
    }
