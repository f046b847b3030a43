from __future__ import annotations

import pytest

from dray.cel import Compilation, Environment, compile_selector
from dray.cel._nodes import Call, Identifier

NEW = Environment()
LISTS = Environment(list_type_attributes=True)
NOT_A_RANGE = (
    "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"
)
D = 'device.attributes["d.com"]'


def compiled(text: str, environment: Environment = NEW) -> Compilation:
    return compile_selector(text, environment)


def messages(text: str, environment: Environment = NEW) -> list[str]:
    return [issue.message for issue in compiled(text, environment).issues]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", ["undeclared reference to 'x' (in container '')"]),
        ("f(1)", ["undeclared reference to 'f' (in container '')"]),
        ("device.nope", ["undefined field 'nope'"]),
        ("1 == 1.0", ["found no matching overload for '_==_' applied to '(int, double)'"]),
        (
            "'a'.startsWith(1)",
            ["found no matching overload for 'startsWith' applied to 'string.(int)'"],
        ),
        ("device.driver && true", ["expected type 'bool' but found 'string'"]),
        ("device.driver.x", ["type 'string' does not support field selection"]),
        (
            "1.all(x, true)",
            [NOT_A_RANGE],
        ),
        ("quantity('1').x", ["unexpected failed resolution of 'kubernetes.Quantity'"]),
        ("bool{}", ["'bool' is not a message type"]),
        (
            "google.protobuf.Int32Value{value: 'x'} == 1",
            ["expected type of field 'value' is 'int' but provided type is 'string'"],
        ),
        ("[?1] == [1]", ["expected type 'optional_type(int)' but found 'int'"]),
    ],
)
def test_a_type_error_is_named(text: str, expected: list[str]) -> None:
    assert messages(text) == expected


def test_one_mistake_is_reported_once() -> None:
    assert messages("x.y.size() + 2 == 3") == ["undeclared reference to 'x' (in container '')"]


@pytest.mark.parametrize(
    "text",
    [
        "1 < 1.5",
        f"{D}.str == null",
        f"{D}.version.isGreaterThan(semver('1.0.0'))",
        "sets.contains([1], [2])",
        "type(1) == int",
        "google.protobuf.NullValue.NULL_VALUE == 0",
        "[1].exists(device, device == 1)",
        "[1].exists(device, .device.driver == 'x')",
        "cel.bind(d, device, d.capacity['a'].b.isInteger())",
    ],
)
def test_an_expression_checks(text: str) -> None:
    assert compiled(text).error is None


def test_any_cannot_be_iterated_but_dyn_can() -> None:
    text = f"{D}.ints.exists(x, x == 2)"
    assert messages(text)
    assert compiled(text, LISTS).error is None


def test_a_namespaced_function_has_no_target_once_checked() -> None:
    checked = compiled("sets.contains([1], [2])").checked
    assert checked is not None
    assert isinstance(checked.root, Call)
    assert (checked.root.function, checked.root.target) == ("sets.contains", None)
    assert checked.overloads[checked.root.id] == ("list_sets_contains_list",)


def test_a_dotted_name_is_one_identifier_once_checked() -> None:
    checked = compiled("type(1) == net.IP").checked
    assert checked is not None
    assert isinstance(checked.root, Call)
    named = checked.root.arguments[1]
    assert isinstance(named, Identifier)
    assert named.name == "net.IP"


def test_a_call_on_an_unknown_value_keeps_every_overload_that_fits() -> None:
    checked = compiled(f"{D}.x.size() == 1").checked
    assert checked is not None
    assert isinstance(checked.root, Call)
    size = checked.root.arguments[0]
    assert set(checked.overloads[size.id]) == {
        "bytes_size",
        "list_size",
        "map_size",
        "string_size",
    }


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        ("[1][0] == 1 || []", "_var7"),
        ("{1: 2}[1] == 1 || []", "_var7"),
        ('"a" in {"a": 1} || []', "_var3"),
        ("[1] + [2] == [1] || []", "_var2"),
        (f"{D}.i == 1 || []", "_var7"),
    ],
)
def test_type_variables_are_numbered_as_upstream_does_every_time(text: str, variable: str) -> None:
    # What is remembered from one environment must not show in the texts of another.
    for environment in (
        NEW,
        LISTS,
        Environment(stored=True),
        Environment(consumable_capacity=False),
    ):
        assert messages(text, environment) == [f"expected type 'bool' but found 'list({variable})'"]
