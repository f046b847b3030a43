"""Requests that ask for the same."""

from __future__ import annotations

import pytest

from dray.allocator import Features
from dray.allocator.preparation import prepare
from dray.allocator.solver.problem import Problem
from dray.allocator.solver.twins import twins
from dray.api.resource import DeviceConstraint, DeviceRequest, ResourceClaim
from tests.unit.allocator.builders import (
    CLASS,
    alternative,
    claim,
    device_class,
    first_available,
    request,
    toleration,
)


def twins_of(*claims: ResourceClaim) -> tuple[bool, ...]:
    preparation = prepare(claims, {CLASS: device_class()}, Features.everything())
    assert not preparation.failure
    return twins(Problem(preparation, (), ()), preparation.stages)


def test_requests_that_ask_for_the_same_are_twins() -> None:
    assert twins_of(claim(request("a"), request("b"), request("c"))) == (False, True, True)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(request("b", select=["true"]), id="another-selector"),
        pytest.param(request("b", count=2), id="more-devices"),
        pytest.param(request("b", mode="All"), id="all-devices"),
        pytest.param(request("b", admin_access=True), id="admin-access"),
        pytest.param(request("b", tolerations=(toleration(),)), id="a-toleration"),
        pytest.param(request("b", capacity={"memory": "1Gi"}), id="a-capacity"),
        pytest.param(first_available("b", alternative("c")), id="alternatives"),
    ],
)
def test_requests_that_differ_are_not(other: DeviceRequest) -> None:
    assert twins_of(claim(request("a"), other)) == (False, False)


def test_requests_that_one_constraint_treats_differently_are_not() -> None:
    constraint = DeviceConstraint(requests=("a",), match_attribute="gpu.example.com/numa")
    asked = claim(request("a"), request("b"), constraints=(constraint,))
    assert twins_of(asked) == (False, False)


def test_claims_of_one_request_each_are_twins() -> None:
    assert twins_of(claim(name="one"), claim(name="two")) == (False, True)


def test_claims_with_different_constraints_are_not() -> None:
    constraint = DeviceConstraint(match_attribute="gpu.example.com/numa")
    asked = [claim(name="one"), claim(name="two", constraints=(constraint,))]
    assert twins_of(*asked) == (False, False)


def test_requests_of_claims_with_several_are_not() -> None:
    two = claim(request("a"), request("b", count=2), name="two")
    assert twins_of(claim(request("a"), name="one"), two) == (False, False, False)
