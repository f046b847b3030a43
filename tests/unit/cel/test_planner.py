from __future__ import annotations

import pytest

from dray.cel import Environment, compile_selector

PREFIX = "program instantiation failed: "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('int("abc") == 1', "type conversion error from 'string' to 'int'"),
        ("uint(-1) == 1u", "unsigned integer overflow"),
        ("int(dyn([1])) == 1", "no such overload: int(list)"),
        ('"x".find("[") == "x"', "error parsing regexp: missing closing ]: `[`"),
        ('matches("x", "[")', "error parsing regexp: missing closing ]: `[`"),
        ("dyn({})[null] == 1", "invalid qualifier type: types.Null"),
        ("{[1]: 1}[[1]] == 1", "invalid qualifier type: *types.baseList"),
        ("type(1) == duration", "reference to undefined type: duration"),
        ("cel.bind(t, type(1), t == int)", "reference to undefined type: t"),
        ('{b"x": 1} == {b"x": 1}', "bytes cannot be a key of a map"),
    ],
)
def test_a_constant_that_cannot_be_used_is_refused(text: str, expected: str) -> None:
    error = compile_selector(text, Environment()).error
    assert error is not None
    assert (error.kind, error.detail) == ("internal", PREFIX + expected)


@pytest.mark.parametrize(
    "text",
    ['int("1" + "x") == 1', "int(device.driver) == 1", "{1.5: 1}[1.5] == 1", '"x" in []'],
)
def test_what_is_only_known_when_evaluated_is_left_alone(text: str) -> None:
    assert compile_selector(text, Environment()).error is None
