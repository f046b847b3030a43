from __future__ import annotations

import pytest

from dray.cel import Environment, compile_selector

D = 'device.attributes["d.com"]'


def messages(text: str) -> list[str]:
    return [issue.message for issue in compile_selector(text, Environment()).issues]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('duration("1x") == duration("1s")', ["invalid duration argument"]),
        ('timestamp("x") == timestamp(0)', ["invalid timestamp argument"]),
        ('"x".matches("[")', ["invalid matches argument"]),
        ('matches("[", "x")', ["invalid matches argument"]),
        ('[1, "x"] == [1]', ["expected type 'int' but found 'string'"]),
        (f"[1, {D}.x] == [1]", ["expected type 'int' but found 'any'"]),
        ('{1: 1, "x": 2} == {1: 1}', ["expected type 'int' but found 'string'"]),
    ],
)
def test_a_literal_that_cannot_be_is_refused(text: str, expected: list[str]) -> None:
    assert messages(text) == expected


def test_what_upstream_does_not_survive_is_refused() -> None:
    compilation = compile_selector(f"[?{D}.x] == [1]", Environment())
    assert compilation.error is not None
    assert compilation.error.kind == "internal"
