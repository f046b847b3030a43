"""Amounts of resources in whole thousandths."""

from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.resource_lists import rounded_up


@pytest.mark.parametrize(
    ("text", "kept"), [("1", "1"), ("0.0005", "1m"), ("-0.0005", "-1m"), ("1100u", "2m")]
)
def test_amounts_are_cut_upwards(text: str, kept: str) -> None:
    assert str(rounded_up({"cpu": Quantity.parse(text)})["cpu"]) == kept


def test_whole_amounts_stay_the_same_list() -> None:
    amounts = {"cpu": Quantity.parse("2"), "memory": Quantity.parse("1Gi")}
    assert rounded_up(amounts) is amounts
