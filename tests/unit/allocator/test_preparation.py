"""Claims made ready."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dray.allocator.features import Features
from dray.allocator.preparation import RESULTS_MAX, Preparation, prepare
from dray.allocator.requests import Want
from dray.api.resource import (
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceSelector,
    ResourceClaim,
)
from dray.api.wire import replace
from dray.errors import AllocationError
from tests.unit.allocator.builders import (
    CLASS,
    alternative,
    claim,
    device_class,
    first_available,
    request,
)

EVERYTHING = Features.everything()
DERIVED = (DeviceDerivedAttribute(name="x/y", expression="1"),)


def ready(*claims: ResourceClaim, features: Features = EVERYTHING) -> Preparation:
    return prepare(claims, {CLASS: device_class()}, features)


def count(want: Want) -> int:
    return want.count


def complaint(*claims: ResourceClaim, needed: Callable[[Want], int] = count) -> str:
    with pytest.raises(AllocationError) as raised:
        ready(*claims).check(needed)
    return str(raised.value)


# Order -------------------------------------------------------------------------------------------


def test_wants_are_numbered_through_claims_requests_and_alternatives() -> None:
    prepared = ready(
        claim(request("a"), first_available("b", alternative("x"), alternative("y")), name="one"),
        claim(request("c"), name="two"),
    )
    assert [(want.index, want.claim_index, want.full_name) for want in prepared.wants] == [
        (0, 0, "a"),
        (1, 0, "b/x"),
        (2, 0, "b/y"),
        (3, 1, "c"),
    ]


def test_alternatives_are_one_stage() -> None:
    prepared = ready(claim(first_available("r", alternative("x"), alternative("y"))))
    (stage,) = prepared.stages
    assert stage.prioritized
    assert [(want.name, want.alternative) for want in stage.wants] == [("x", 0), ("y", 1)]


def test_a_list_of_one_alternative_is_still_a_list() -> None:
    (stage,) = ready(claim(first_available("r", alternative("x")))).stages
    assert stage.prioritized
    assert not ready(claim(request("r"))).stages[0].prioritized


def test_constraints_know_their_claim() -> None:
    constraints = (
        DeviceConstraint(match_attribute="a/b"),
        DeviceConstraint(distinct_attribute="c"),
    )
    prepared = ready(claim(name="one"), claim(name="two", constraints=constraints))
    assert prepared.constraints == ((1, constraints[0]), (1, constraints[1]))


def test_a_want_for_all_devices_has_no_number_yet() -> None:
    (want,) = ready(claim(request(mode="All", count=7))).wants
    assert want.all_devices
    assert want.count == 0


def test_no_claims_are_ready_at_once() -> None:
    ready().check(count)


# What is wrong with claims -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "features", "said"),
    [
        pytest.param(
            first_available("r", alternative("x")),
            Features(),
            "claim default/claim, request r: has subrequests, but the DRAPrioritizedList feature "
            "is disabled",
            id="alternatives",
        ),
        pytest.param(
            request("r", capacity={"memory": "1"}),
            Features(),
            "claim default/claim, request r: has capacity requests, but the "
            "DRAConsumableCapacity feature is disabled",
            id="capacity",
        ),
        pytest.param(
            first_available("r", alternative("x", capacity={"memory": "1"})),
            Features(prioritized_list=True),
            "claim default/claim, subrequest x: has capacity requests, but the "
            "DRAConsumableCapacity feature is disabled",
            id="capacity-of-an-alternative",
        ),
        pytest.param(
            request("r", admin_access=False),
            Features(),
            "claim default/claim, request r: admin access is requested, but the feature is "
            "disabled",
            id="admin-access-even-if-not-wanted",
        ),
        pytest.param(
            request("r", derived_attributes=DERIVED),
            Features(),
            "claim default/claim, request r: cannot handle request with derived attributes, the "
            "feature is disabled",
            id="derived-attributes",
        ),
        pytest.param(
            first_available("r", alternative("x", derived_attributes=DERIVED)),
            Features(prioritized_list=True),
            "claim default/claim, request x: cannot handle request with derived attributes, the "
            "feature is disabled",
            id="an-alternative-goes-by-its-own-name",
        ),
    ],
)
def test_what_is_switched_off_cannot_be_asked_for(
    asked: DeviceRequest, features: Features, said: str
) -> None:
    assert ready(claim(asked), features=features).failure == said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param(
            request("r", device_class=""),
            "claim default/claim, request r: missing device class name (unsupported request type?)",
            id="no-class",
        ),
        pytest.param(
            DeviceRequest(name="r"),
            "claim default/claim, request r: missing device class name (unsupported request type?)",
            id="a-kind-of-request-nobody-knows",
        ),
        pytest.param(
            request("r", device_class="nope"),
            "claim default/claim, request r: could not retrieve device class nope: "
            'deviceclass.resource.k8s.io "nope" not found',
            id="an-unknown-class",
        ),
        pytest.param(
            request("r", mode="Some"),
            "claim default/claim, request r: unsupported count mode Some",
            id="an-unknown-mode",
        ),
        pytest.param(
            first_available("r", alternative("x"), alternative("y", mode="")),
            "claim default/claim, request y: unsupported count mode ",
            id="in-an-alternative",
        ),
    ],
)
def test_what_cannot_be_understood_is_said(asked: DeviceRequest, said: str) -> None:
    assert ready(claim(asked)).failure == said


def test_a_selector_that_is_no_expression_is_counted_from_zero() -> None:
    odd = alternative("x", select=["true"])
    odd = replace(odd, selectors=(*odd.selectors, DeviceSelector()))
    asked = first_available("r", odd)
    assert ready(claim(asked)).failure == (
        "claim default/claim, request x, selector #1: CEL expression empty (unsupported selector "
        "type?)"
    )


def test_an_empty_constraint_is_counted_from_zero() -> None:
    constraints = (DeviceConstraint(match_attribute="a/b"), DeviceConstraint())
    assert ready(claim(constraints=constraints)).failure == (
        "claim default/claim, constraint #1: empty constraint (unsupported constraint type?)"
    )


def test_requests_are_looked_at_before_constraints_and_claims_in_order() -> None:
    bad_request = claim(request("r", mode="Some"), constraints=(DeviceConstraint(),), name="one")
    bad_class = claim(request("r", device_class="nope"), name="two")
    assert "unsupported count mode" in ready(bad_request, bad_class).failure
    assert "nope" in ready(bad_class, bad_request).failure


def test_what_comes_before_a_mistake_is_ready() -> None:
    prepared = ready(
        claim(request("a"), name="one"),
        claim(first_available("b", alternative("x"), alternative("y", mode="")), name="two"),
    )
    assert [stage.claim_index for stage in prepared.stages] == [0]
    assert [want.full_name for want in prepared.wants] == ["a", "b/x"]


# How many devices --------------------------------------------------------------------------------


def test_a_claim_may_have_as_many_devices_as_its_status_has_room_for() -> None:
    ready(claim(request(count=RESULTS_MAX))).check(count)
    assert complaint(claim(request("r", count=RESULTS_MAX + 1))) == (
        "claim default/claim, request r: adding 33 devices exceeds the claim limit of 32, with 0 "
        "already accounted for"
    )


def test_the_requests_of_a_claim_are_added_up() -> None:
    asked = claim(request("a", count=20), request("b", count=12), request("c"))
    assert complaint(asked) == (
        "claim default/claim, request c: adding 1 devices exceeds the claim limit of 32, with 32 "
        "already accounted for"
    )


def test_claims_are_counted_apart() -> None:
    ready(claim(request(count=32), name="one"), claim(request(count=32), name="two")).check(count)


def test_the_smallest_alternative_counts() -> None:
    few = first_available("r", alternative("x", count=40), alternative("y", count=2))
    ready(claim(request("a", count=30), few)).check(count)
    assert "adding 2 devices" in complaint(claim(request("a", count=31), few))


def test_the_limit_is_looked_at_before_later_mistakes() -> None:
    too_many = claim(request("r", count=33), name="one")
    mistaken = claim(request("r", mode="Some"), name="two")
    assert "adding 33 devices" in complaint(too_many, mistaken)
    assert "unsupported count mode" in complaint(mistaken, too_many)


def test_wants_before_a_mistake_are_asked_how_many_they_need() -> None:
    asked: list[str] = []

    def needed(want: Want) -> int:
        asked.append(want.full_name)
        return 1

    mistaken = first_available("b", alternative("x"), alternative("y", mode=""))
    assert "unsupported count mode" in complaint(claim(request("a"), mistaken), needed=needed)
    assert asked == ["a", "b/x"]
