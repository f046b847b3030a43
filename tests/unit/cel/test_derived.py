from __future__ import annotations

import pytest

from dray.cel import DerivedAttribute, compile_derived_attribute
from dray.errors import CELError
from tests.unit.cel.devices import STORED, D, version, view


def derived(text: str) -> DerivedAttribute:
    return DerivedAttribute(compile_derived_attribute(text.replace("$D", D), STORED))


def test_an_attribute_is_computed_with_what_it_cost() -> None:
    attribute, cost = derived('$D.model + "-x"').evaluate(view({"model": "A100"}))
    assert attribute.string_value == "A100-x"
    assert cost == 5


def test_what_is_left_of_a_shared_budget_is_the_limit() -> None:
    with pytest.raises(CELError, match="cost limit exceeded"):
        derived('$D.model + "-x"').evaluate(view({"model": "A100"}), cost_limit=4)


@pytest.mark.parametrize(
    ("text", "attributes", "why"),
    [
        ("$D.nope", {}, "no such key: nope"),
        ("dyn(1.5)", {}, "unsupported CEL return type: float64"),
        ("1", {"v": version("1.2")}, "attribute v: parse semantic version"),
    ],
)
def test_no_attribute_is_explained(text: str, attributes: dict[str, object], why: str) -> None:
    with pytest.raises(CELError, match=why):
        derived(text).evaluate(view(attributes))


def test_what_does_not_compile_cannot_be_evaluated() -> None:
    with pytest.raises(CELError, match="compilation failed"):
        derived("1 +")
