from __future__ import annotations

import pytest

from dray.cel import Environment, compile_selector


def messages(text: str) -> list[str]:
    return [issue.message for issue in compile_selector(text, Environment()).issues]


DECIMAL = "decimal clause can only be used on integers, was given string"
PARSING = "could not parse formatting clause: "
PRECISION = (
    "error while parsing precision: error while converting precision to integer:"
    ' strconv.Atoi: parsing "": invalid syntax'
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"%d".format(["x"])', f"error during formatting: {DECIMAL}"),
        ('"%s".format([])', "index 0 out of range"),
        ('"%".format([1])', "unexpected end of string"),
        ('"x".format([1])', "too many arguments supplied to string.format (expected 0, got 1)"),
        ('"%z".format([1])', f'{PARSING}unrecognized formatting clause "z"'),
        ('"%.f".format([1.5])', f"{PARSING}{PRECISION}"),
    ],
)
def test_a_format_that_does_not_fit_is_refused(text: str, expected: str) -> None:
    assert messages(f'{text} == ""') == [expected]


def test_what_cannot_be_printed_is_found_inside_a_list() -> None:
    [message] = messages('"%s".format([[quantity("1")]]) == ""')
    assert message.endswith("was given kubernetes.Quantity")


def test_arguments_of_different_types_are_fine() -> None:
    assert messages('"%s %d %.2f %x %% %s".format(["a", 1, 1.5, b"x", dyn(1)]) == ""') == []
