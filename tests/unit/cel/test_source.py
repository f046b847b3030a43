from __future__ import annotations

import pytest

from dray.cel._limits import ISSUES_MAX
from dray.cel._source import BEFORE_START, NOWHERE, Issue, Issues, Source, render


@pytest.mark.parametrize(
    ("offset", "location"),
    [
        (0, (1, 0)),
        (2, (1, 2)),
        (3, (2, 0)),
        (5, (2, 2)),
        (NOWHERE, (-1, -1)),
        (BEFORE_START, (1, -1)),
    ],
)
def test_an_offset_is_a_line_and_a_column(offset: int, location: tuple[int, int]) -> None:
    assert Source("ab\ncd").location(offset) == location


def test_an_issue_is_shown_under_its_line() -> None:
    shown = render(Issue("wrong", 2, 1), Source("ab\n\tcd"))
    assert shown == "ERROR: <input>:2:2: wrong\n |  cd\n | .^"


def test_wide_characters_get_wide_dots() -> None:
    shown = render(Issue("wrong", 1, 1), Source("é世"))
    assert shown == "ERROR: <input>:1:2: wrong\n | é世\n | \uff0e\uff3e"


def test_an_issue_without_a_place_has_no_line_to_show() -> None:
    assert render(Issue("wrong", -1, -1), Source("text")) == "ERROR: <input>:-1:0: wrong"


def test_issues_are_shown_in_order_of_place() -> None:
    issues = Issues(Source("abc"))
    issues.report(2, "last")
    issues.report(0, "first")
    assert [issue.message for issue in issues.sorted()] == ["first", "last"]


def test_issues_past_the_bound_are_counted() -> None:
    issues = Issues(Source("a"))
    for _ in range(ISSUES_MAX + 2):
        issues.report(0, "wrong")
    assert len(issues.sorted()) == ISSUES_MAX
    assert issues.render().endswith("\n2 more errors were truncated")


def test_issues_can_be_forgotten_back_to_a_count() -> None:
    issues = Issues(Source("a"))
    issues.report(0, "kept")
    issues.report(0, "forgotten")
    issues.forget_since(1)
    assert [issue.message for issue in issues.sorted()] == ["kept"]
