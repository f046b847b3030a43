"""What a group's devices capture."""

from __future__ import annotations

from dray.drivers.host.config import Group


def test_of_several_globs_what_all_capture_is_known() -> None:
    group = Group(match=("/dev/a{n}", "/dev/b{n}c*"))
    assert group.captures == frozenset({"n", "path", "base", "target"})


def test_an_expression_adds_its_named_groups() -> None:
    group = Group(match="/dev/*", pattern=r"(?P<kind>\w+)(\d)$")
    assert group.captures == frozenset({"0", "kind", "path", "base", "target"})
