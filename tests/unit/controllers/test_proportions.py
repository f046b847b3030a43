"""Shares of numbers."""

from __future__ import annotations

import pytest

from dray.controllers.proportions import share_of


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (3, 3, 3),
        ("25%", 3, 2),
        ("0%", 0, 0),
        ("100%", 10, 10),
        ("1%", 1, 0),
        (None, 0, 0),
        ("5", 0, 0),
        ("x%", 0, 0),
    ],
)
def test_shares_are_rounded_as_asked(value: int | str | None, up: int, down: int) -> None:
    assert share_of(value, 10, up=True) == up
    assert share_of(value, 10, up=False) == down
