from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.cel._failures import Failure
from dray.cel._library.quantities import FUNCTIONS
from dray.cel._values import DerivedQuantity, UInt, Value


def call(function: str, *arguments: Value) -> Value:
    return FUNCTIONS[function][type(arguments[0])](*arguments)


def quantity(text: str) -> Quantity:
    return Quantity.parse(text)


def derived(text: str) -> DerivedQuantity:
    return DerivedQuantity(Quantity.parse(text))


def test_a_text_becomes_a_quantity() -> None:
    assert call("quantity", "1Gi") == quantity("1024Mi")
    assert call("isQuantity", "1Gi") is True
    assert call("isQuantity", "1 Gi") is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "quantities must match the regular expression"),
        ("abc", "quantities must match the regular expression"),
        ("1Kii", "unable to parse quantity's suffix"),
    ],
)
def test_what_is_no_quantity_fails_in_upstreams_words(text: str, message: str) -> None:
    with pytest.raises(Failure, match=f"^{message}"):
        call("quantity", text)


@pytest.mark.parametrize("left", [quantity("2"), derived("2")], ids=["plain", "derived"])
@pytest.mark.parametrize("right", [quantity("1"), derived("1")], ids=["plain", "derived"])
def test_quantities_compare_by_value_however_they_were_made(left: Value, right: Value) -> None:
    assert call("isGreaterThan", left, right) is True
    assert call("isLessThan", left, right) is False
    assert call("compareTo", right, left) == -1
    assert call("compareTo", left, left) == 0


@pytest.mark.parametrize(
    ("text", "whole"), [("1k", 1000), ("-3", -3), ("1000m", None), ("1.5", None)]
)
def test_only_some_representations_are_integers(text: str, whole: int | None) -> None:
    assert call("isInteger", quantity(text)) is (whole is not None)
    if whole is not None:
        assert call("asInteger", derived(text)) == whole
        return
    with pytest.raises(Failure, match=r"^cannot convert value to integer$"):
        call("asInteger", quantity(text))


def test_a_sum_is_a_derived_quantity() -> None:
    assert call("add", quantity("1Gi"), derived("1Gi")) == derived("2Gi")
    assert call("sub", derived("1k"), 1) == derived("999")
    assert str(call("add", quantity("0"), 1000).quantity) == "1e3"


def test_sign_and_float() -> None:
    assert call("sign", derived("-1n")) == -1
    assert call("asApproximateFloat", quantity("50m")) == pytest.approx(0.05)


@pytest.mark.parametrize("function", ["add", "sub", "compareTo", "isGreaterThan", "isLessThan"])
@pytest.mark.parametrize(
    ("other", "name"), [("1", "string"), (UInt(1), "uint"), (True, "bool"), (None, "null_type")]
)
def test_other_arguments_are_refused(function: str, other: Value, name: str) -> None:
    message = rf"^no such overload: {function}\(kubernetes.Quantity, {name}\)$"
    with pytest.raises(Failure, match=message):
        call(function, quantity("1"), other)
