"""$(NAME) in texts."""

from __future__ import annotations

import pytest

from dray.agent.pods.expansion import expand


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("$(A)-$(B)", "1-two"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A", "$A"),
        ("$(A", "$(A"),
        ("cost: $", "cost: $"),
        ("$(NESTED)", "$(A)"),
    ],
)
def test_references_are_replaced_once(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "two", "NESTED": "$(A)"}) == expected
