from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.resource import DeviceAttribute
from dray.api.semver import Semver
from dray.cel import _types as types
from dray.cel._failures import Failure
from dray.cel._results import as_attribute, as_bool
from dray.cel._values import NONE, Optional, UInt, Value


@pytest.mark.parametrize("value", [True, Optional(True), Optional(Optional(True))])
def test_a_selectors_answer_may_be_wrapped(value: Value) -> None:
    assert as_bool(value) is True


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (1, "int could not be converted to bool: unsupported type conversion from 'int' to bool"),
        (1.5, "double could not be converted to bool: type conversion error from Double to 'bool'"),
        ("a", "string could not be converted to bool: unsupported native conversion from string"),
        ([True], "list could not be converted to bool: type conversion error from list to 'bool'"),
        (
            Semver.parse("1.0.0"),
            "kubernetes.Semver could not .*: type conversion error",
        ),
        (NONE, "optional_type could not be converted to bool: optional.none"),
        (
            types.INT,
            "type could not be converted to bool: type conversion not supported",
        ),
    ],
)
def test_anything_else_is_no_answer(value: Value, why: str) -> None:
    with pytest.raises(Failure, match=f"^CEL result of type {why}"):
        as_bool(value)


@pytest.mark.parametrize(
    ("value", "attribute"),
    [
        (True, DeviceAttribute(bool_value=True)),
        (1, DeviceAttribute(int_value=1)),
        ("a", DeviceAttribute(string_value="a")),
        (Semver.parse("1.2.3+b"), DeviceAttribute(version_value="1.2.3+b")),
        ([1, 2], DeviceAttribute(int_values=(1, 2))),
        ([], DeviceAttribute(string_values=())),
        ([Semver.parse("1.0.0")], DeviceAttribute(version_values=("1.0.0",))),
        (Optional("a"), DeviceAttribute(string_value="a")),
        (types.INT, DeviceAttribute(string_value="int")),
    ],
)
def test_an_attribute_is_a_scalar_or_a_list_of_one_kind(
    value: Value, attribute: DeviceAttribute
) -> None:
    assert as_attribute(value) == attribute


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (UInt(1), "unsupported CEL return type: uint64"),
        (Quantity.parse("1"), r"unsupported CEL return type: \*resource.Quantity"),
        (NONE, "unsupported CEL return type: <nil>"),
        ([1.5], "unsupported list element type: float64"),
        ([1, "a"], "expected list element at index 1 to be int, got string"),
    ],
)
def test_no_other_value_is_an_attribute(value: Value, why: str) -> None:
    with pytest.raises(Failure, match=f"^{why}$"):
        as_attribute(value)
