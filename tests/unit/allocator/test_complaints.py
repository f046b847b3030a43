"""What is said when claims cannot be judged."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.resource import (
    DeviceConstraint,
    DeviceDerivedAttribute,
    ResourceClaim,
    ResourceSlice,
)
from dray.errors import AllocationError
from tests.unit.allocator.builders import (
    DRIVER,
    NODE,
    POOL,
    alternative,
    capacity,
    claim,
    device,
    device_class,
    first_available,
    node,
    node_selector,
    request,
    requirement,
    slice_,
    term,
)
from tests.unit.allocator.reporting import allocator, gpus

OWN = f'device.attributes["{DRIVER}"]'
GPU = f"{DRIVER}/{POOL}/gpu-0"
HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with "
    "has() for optional fields"
)
ALL = request("r", mode="All")
WHERE = "claim default/claim, request r"


def said(asked: ResourceClaim, *slices: ResourceSlice, **options: Any) -> str:
    with pytest.raises(AllocationError) as raised:
        allocator(*slices or (slice_(*gpus(1)),), **options).allocate(node(), [asked])
    return str(raised.value)


def test_a_selector_of_a_request_is_named_by_its_claim_and_number() -> None:
    asked = claim(request("r", select=["true", f"{OWN}.missing"]))
    assert said(asked) == (
        f"claim default/claim: selector #1 on device {GPU}: CEL runtime error: no such key: "
        f"missing{HINT}"
    )


def test_a_selector_of_a_class_is_named_by_its_class() -> None:
    classes = [device_class("odd", select=["true", f"{OWN}.missing"])]
    assert said(claim(request("r", device_class="odd")), classes=classes).startswith(
        f"class odd: selector #1 on device {GPU}: CEL runtime error: no such key: missing"
    )


def test_numbers_of_a_request_start_after_those_of_its_class() -> None:
    classes = [device_class("two", select=["true", "true"])]
    asked = claim(request("r", device_class="two", select=[f"{OWN}.missing"]))
    assert said(asked, classes=classes).startswith("claim default/claim: selector #0 on device ")


def test_a_selector_that_does_not_compile_has_nothing_to_do_with_a_device() -> None:
    assert said(claim(request("r", select=["device.nope"]))).startswith(
        "claim default/claim: selector #0: CEL compile error: "
    )


def test_a_capacity_that_cannot_be_worked_out_names_the_device() -> None:
    published = slice_(
        device("gpu-0", capacity={"memory": capacity("9", default="1", lowest="1", step="1")})
    )
    amounts = {"memory": str(2**63)}
    exact, every = (request("r", mode=mode, capacity=amounts) for mode in ("ExactCount", "All"))
    assert said(claim(exact), published).startswith(
        f'{WHERE}: checking capacity for device {GPU}: capacity "memory": '
    )
    # Upstream has only the bare name at hand there.
    assert said(claim(every), published).startswith(
        f'{WHERE}: checking capacity for device gpu-0: capacity "memory": '
    )


@pytest.mark.parametrize(
    ("published", "state"),
    [
        pytest.param(slice_(*gpus(1), slice_count=2), "currently being updated", id="incomplete"),
        pytest.param(slice_(*gpus(1), *gpus(1)), "currently invalid", id="invalid"),
    ],
)
def test_all_devices_of_a_pool_in_flux_cannot_be_counted(
    published: ResourceSlice, state: str
) -> None:
    assert said(claim(ALL), published) == (
        f"{WHERE}: asks for all devices, but resource pool {DRIVER}/{POOL} is {state}"
    )


def test_the_first_pool_in_flux_is_named() -> None:
    slices = [slice_(*gpus(1), name=name, pool=name, slice_count=2) for name in ("b", "a")]
    assert f"resource pool {DRIVER}/a is" in said(claim(ALL), *slices)


def test_a_contradiction_names_the_device_that_was_ruled_out() -> None:
    constraint = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
    assert said(claim(ALL, constraints=(constraint,))) == (
        f"{WHERE}: cannot add device {GPU} because a claim constraint would not be satisfied"
    )


def test_an_alternative_goes_by_its_own_name() -> None:
    asked = claim(first_available("r", alternative("sub", mode="All")))
    assert said(asked, slice_(*gpus(1), slice_count=2)).startswith(
        "claim default/claim, request sub: asks for all devices"
    )


@pytest.mark.parametrize("kind", ["match_attribute", "distinct_attribute"])
def test_a_derived_attribute_is_named_with_its_device(kind: str) -> None:
    derived = (DeviceDerivedAttribute(name="x/y", expression=f"{OWN}.missing"),)
    constraint = DeviceConstraint(**{kind: "x/y"})  # type: ignore[arg-type]  # one of two names
    asked = claim(request("r", derived_attributes=derived), constraints=(constraint,))
    assert said(asked) == (
        f"evaluate derived attribute x/y on device {GPU} failed: no such key: missing"
    )


def test_a_node_selector_that_cannot_be_parsed_speaks_for_itself() -> None:
    unreadable = node_selector(term(requirement("zone", "In")))
    devices = [
        device("gpu-0", node_name=NODE, attributes={"no": True}),
        device("gpu-1", node_selector=unreadable),
    ]
    published = slice_(*devices, per_device_node_selection=True)
    asked = claim(request("r", select=[f"!{OWN}.?no.orValue(false)"]))
    assert said(asked, published).startswith("failed to parse node selector ")
