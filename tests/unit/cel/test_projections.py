from __future__ import annotations

from typing import Any

import pytest

from dray.cel import Reference
from dray.cel._projections import project
from tests.unit.cel.devices import DRIVER, version, view

MODEL = Reference("attributes", DRIVER, "x")


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), ("1", 1), ("", None), ([1], [True]), (version("1.0.0"), "1.0.0"), ([], None)],
)
def test_values_that_expressions_tell_apart_project_apart(one: Any, other: Any) -> None:
    first = view({} if one is None else {"x": one})
    second = view({} if other is None else {"x": other})
    assert project(first, [MODEL]) != project(second, [MODEL])


def test_equal_quantities_that_are_whole_or_not_project_apart() -> None:
    amount = Reference("capacity", DRIVER, "m")
    assert project(view(capacity={"m": "1"}), [amount]) != project(
        view(capacity={"m": "1000m"}), [amount]
    )
    assert project(view(capacity={"m": "1"}), [amount]) == project(
        view(capacity={"m": "1"}), [amount]
    )


def test_only_what_is_referred_to_counts() -> None:
    assert project(view({"x": 1, "y": 1}), [MODEL]) == project(view({"x": 1, "y": 2}), [MODEL])


def test_a_missing_domain_and_an_empty_one_project_apart() -> None:
    domain = Reference("attributes", "other.example.com")
    assert project(view({"other.example.com/x": 1}), [domain]) != project(view(), [domain])


def test_a_device_that_cannot_be_read_projects_on_why() -> None:
    assert project(view({"v": version("x")}), [MODEL]) == view({"v": version("x")}).failure


def test_every_projection_is_hashable() -> None:
    device = view({"x": [1, 2], "v": version("1.2.3")}, {"m": "1Gi"}, shared=True)
    everything = [Reference(field) for field in ("attributes", "capacity", "driver")]
    hash(project(device, [*everything, Reference("allowMultipleAllocations"), MODEL]))
