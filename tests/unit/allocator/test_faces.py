"""What claims see of devices."""

from __future__ import annotations

from typing import Any

import pytest

from dray.allocator.faces import FAILED, FITS, Draw, Face, FaceMaker, Fit, Refusal
from dray.allocator.features import Features
from dray.allocator.models import VALUES_MAX, Models
from dray.allocator.pools import SliceRecord
from dray.allocator.preparation import prepare
from dray.allocator.selection import Selectors
from dray.api.resource import (
    Counter,
    Device,
    DeviceAttribute,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceDerivedAttribute,
    DeviceRequest,
    ResourceClaim,
)
from dray.cel import Environment
from tests.unit.allocator.builders import (
    CLASS,
    DRIVER,
    amount,
    capacity,
    claim,
    device,
    device_class,
    placed,
    request,
    slice_,
    taint,
    toleration,
)

OWN = f'device.attributes["{DRIVER}"]'
EVERYTHING = Features.everything()
CLASS_SELECTOR = f"{OWN}.?ok.orValue(true)"
DRAW = DeviceCounterConsumption(counter_set="set", counters={"memory": Counter(value=amount("1"))})
RANGE = capacity("10Gi", default="1Gi", lowest="1Gi", step="1Gi")
MATCH = (DeviceConstraint(match_attribute=f"{DRIVER}/numa"),)


def maker(
    *claims: ResourceClaim, features: Features = EVERYTHING, models: Models | None = None
) -> FaceMaker:
    classes = {CLASS: device_class(select=[CLASS_SELECTOR])}
    prepared = prepare(claims, classes, features)
    assert not prepared.failure
    return FaceMaker(prepared, Selectors(Environment(stored=True)), features, models)


def face(one: Device, *claims: ResourceClaim, **options: Any) -> Face:
    return maker(*claims or (claim(),), **options).of(DRIVER, one)


def fit(one: Device, asked: DeviceRequest | None = None, **options: Any) -> Fit:
    return face(one, claim(asked or request()), **options).fits[0]


# Fits --------------------------------------------------------------------------------------------


def test_a_device_that_nothing_speaks_against_fits() -> None:
    assert fit(device()) is FITS


@pytest.mark.parametrize(
    ("one", "asked", "features", "expected"),
    [
        pytest.param(
            device(attributes={"ok": False}),
            request(select=["false"]),
            EVERYTHING,
            Fit(Refusal.SELECTOR, 0),
            id="the-class-comes-first",
        ),
        pytest.param(
            device(),
            request(select=["true", "false"]),
            EVERYTHING,
            Fit(Refusal.SELECTOR, 2),
            id="selectors-are-counted-through",
        ),
        pytest.param(
            device(),
            request(select=[f"{OWN}.missing", "false"]),
            EVERYTHING,
            Fit(Refusal.SELECTOR_FAILS, 1),
            id="the-first-that-matters",
        ),
        pytest.param(
            device(attributes={"odd": DeviceAttribute()}),
            request(),
            EVERYTHING,
            Fit(Refusal.SELECTOR_FAILS, 0),
            id="a-value-that-cannot-be-read",
        ),
        pytest.param(
            device(capacity={"memory": "1Gi"}),
            request(capacity={"memory": "2Gi"}),
            EVERYTHING,
            None,
            id="more-than-there-is-is-told-by-amounts",
        ),
        pytest.param(
            device(),
            request(capacity={"memory": "2Gi"}),
            EVERYTHING,
            Fit(Refusal.CAPACITY),
            id="capacity-it-has-not",
        ),
        pytest.param(
            device(capacity={"memory": RANGE}),
            request(capacity={"memory": str(2**63)}),
            EVERYTHING,
            Fit(Refusal.CAPACITY_FAILS),
            id="an-amount-that-cannot-be-rounded",
        ),
        pytest.param(
            device(taints=(taint("k", value="v"),)),
            request(tolerations=(toleration("other"),)),
            EVERYTHING,
            Fit(Refusal.TAINT, "k=v:NoSchedule"),
            id="a-taint",
        ),
        pytest.param(
            device(taints=(taint(),)),
            request(tolerations=(toleration(),)),
            EVERYTHING,
            None,
            id="a-tolerated-taint",
        ),
        pytest.param(
            device(taints=(taint(),)), request(), Features(), None, id="taints-switched-off"
        ),
        pytest.param(
            device(binding_conditions=("ready",), attributes={"ok": False}),
            request(),
            Features(),
            Fit(Refusal.BINDING_CONDITIONS),
            id="binding-conditions-switched-off",
        ),
        pytest.param(
            device(binding_conditions=("ready",)), request(), EVERYTHING, None, id="and-on"
        ),
        pytest.param(
            device(consumes_counters=(DRAW,)),
            request(),
            Features(),
            Fit(Refusal.COUNTERS),
            id="counters-switched-off",
        ),
    ],
)
def test_what_speaks_against_a_device(
    one: Device, asked: DeviceRequest, features: Features, expected: Fit | None
) -> None:
    assert fit(one, asked, features=features) == (expected or FITS)


def test_a_selector_is_looked_at_before_a_taint() -> None:
    one = device(attributes={"ok": False}, taints=(taint(),))
    assert fit(one).refusal is Refusal.SELECTOR


def test_every_want_has_a_view_of_its_own() -> None:
    seen = face(device(), claim(request("a"), request("b", select=["false"])))
    assert [one.refusal for one in seen.fits] == [None, Refusal.SELECTOR]


# Amounts and values ------------------------------------------------------------------------------


def test_a_want_draws_what_the_policy_makes_of_its_request() -> None:
    seen = face(device(capacity={"memory": RANGE}), claim(request(capacity={"memory": "1500Mi"})))
    assert seen.draws == ((Draw("memory", amount("2Gi").nano, amount("10Gi").nano),),)


def test_without_consumable_capacity_nothing_is_drawn() -> None:
    one = device(capacity={"memory": "1Gi"}, allow_multiple_allocations=True)
    seen = face(one, features=Features())
    assert seen.draws == ((),)
    assert not seen.shareable


def test_constraints_compare_what_is_published() -> None:
    seen = face(device(attributes={"numa": 1}), claim(constraints=MATCH))
    assert seen.values == ((frozenset({("int", 1)}),),)


def test_a_derived_attribute_stands_for_what_is_published_in_its_own_request() -> None:
    derived = DeviceDerivedAttribute(name=f"{DRIVER}/numa", expression=f"{OWN}.numa + 1")
    asked = claim(request("a", derived_attributes=(derived,)), request("b"), constraints=MATCH)
    seen = face(device(attributes={"numa": 1}), asked)
    assert seen.values == ((frozenset({("int", 2)}), frozenset({("int", 1)})),)


def test_a_derived_attribute_means_nothing_to_constraints_of_other_claims() -> None:
    derived = DeviceDerivedAttribute(name=f"{DRIVER}/numa", expression=f"{OWN}.numa + 1")
    one = claim(request(derived_attributes=(derived,)), name="one")
    other = claim(name="other", constraints=MATCH)
    seen = face(device(attributes={"numa": 1}), one, other)
    assert seen.values == ((frozenset({("int", 1)}), frozenset({("int", 1)})),)


def test_a_derived_attribute_that_fails_is_known_to_fail_and_raises_nothing() -> None:
    derived = DeviceDerivedAttribute(name=f"{DRIVER}/numa", expression=f"{OWN}.missing")
    asked = claim(request(derived_attributes=(derived,)), constraints=MATCH)
    assert face(device(), asked).values == ((FAILED,),)


# Texts -------------------------------------------------------------------------------------------


def test_what_fails_can_say_why() -> None:
    asked = claim(
        request("a", select=[f"{OWN}.missing"]), request("b", capacity={"memory": str(2**63)})
    )
    one = device(capacity={"memory": RANGE})
    faces = maker(asked)
    first, second = prepare([asked], {CLASS: device_class(select=["true"])}, EVERYTHING).wants
    selector, amounts = faces.of(DRIVER, one).fits
    assert "no such key: missing" in faces.failure(first, DRIVER, one, selector)
    assert faces.failure(second, DRIVER, one, amounts).startswith('capacity "memory": ')
    assert not faces.broken(first, 1)


def test_a_derived_attribute_can_say_why() -> None:
    broken = DeviceDerivedAttribute(name="x/broken", expression="device.nope")
    missing = DeviceDerivedAttribute(name="x/missing", expression=f"{OWN}.missing")
    asked = claim(request(derived_attributes=(broken, missing)))
    (want,) = prepare([asked], {CLASS: device_class()}, EVERYTHING).wants
    one = device("gpu")
    there = placed(one, slice_(one))
    faces = maker(asked)
    assert faces.derived_failure(want, "x/broken", there).startswith(
        "compile derived attribute x/broken failed: "
    )
    assert faces.derived_failure(want, "x/missing", there) == (
        f"evaluate derived attribute x/missing on device {DRIVER}/pool-1/gpu failed: no such key: "
        f"missing"
    )


# One face for many devices -----------------------------------------------------------------------


def test_devices_that_differ_in_what_nobody_asks_for_have_one_face() -> None:
    faces = maker(claim(request(select=[f'{OWN}.model == "a"'])))
    one = device("gpu-0", attributes={"model": "a", "serial": 1})
    other = device("gpu-1", attributes={"model": "a", "serial": 2})
    assert faces.of(DRIVER, one) is faces.of(DRIVER, other)


def test_devices_on_which_selectors_say_the_same_have_one_face_too() -> None:
    faces = maker(claim(request(select=[f"{OWN}.size > 1"])))
    one, other = device(attributes={"size": 2}), device(attributes={"size": 3})
    assert faces.of(DRIVER, one) is faces.of(DRIVER, other)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(device(attributes={"numa": 2}), id="what-a-constraint-compares"),
        pytest.param(device(attributes={"numa": 1}, taints=(taint(),)), id="a-taint"),
        pytest.param(device(attributes={"numa": 1}, capacity={"memory": "1"}), id="a-capacity"),
        pytest.param(device(attributes={"numa": 1}, consumes_counters=(DRAW,)), id="counters"),
        pytest.param(
            device(attributes={"numa": 1}, allow_multiple_allocations=True), id="being-shared"
        ),
    ],
)
def test_devices_that_differ_in_what_matters_have_two(other: Device) -> None:
    faces = maker(claim(constraints=MATCH))
    assert faces.of(DRIVER, device(attributes={"numa": 1})) is not faces.of(DRIVER, other)


def serials(first: int, count: int) -> SliceRecord:
    """A slice with serial numbers, so many that models know them for what they are."""
    devices = [
        device(f"gpu-{i}", attributes={"model": "a", "serial": i})
        for i in range(first, first + count)
    ]
    return SliceRecord(slice_(*devices, name=f"from-{first}"), first)


@pytest.mark.parametrize(
    ("expression", "individuals"),
    [
        pytest.param(f'{OWN}.model == "a"', False, id="a-model"),
        pytest.param(f"{OWN}.serial == 3", True, id="a-serial-number"),
        pytest.param(f"{OWN}.size() == 2", True, id="everything-at-once"),
    ],
)
def test_serial_numbers_are_looked_at_only_if_somebody_asks(
    expression: str, individuals: bool
) -> None:
    models = Models()
    record = serials(0, VALUES_MAX + 2)
    models.of(record)
    faces = maker(claim(request(select=[expression])), models=models)
    one_by_one = maker(claim(request(select=[expression])))
    assert faces.reads_individuals is individuals
    assert [one.fits for one in faces.of_slice(record).faces] == [
        one.fits for one in one_by_one.of_slice(record).faces
    ]


def test_slices_with_the_same_devices_have_the_same_faces() -> None:
    models = Models()
    faces = maker(claim(), models=models)
    one = SliceRecord(slice_(device("a"), device("b"), name="one"), 1)
    other = SliceRecord(slice_(device("c"), device("d"), name="other"), 2)
    assert faces.of_slice(one) is faces.of_slice(other)


def test_a_changed_slice_has_new_faces() -> None:
    faces = maker(claim(request(select=[f"{OWN}.numa == 1"])))
    before = faces.of_slice(SliceRecord(slice_(device(attributes={"numa": 1})), 1))
    after = faces.of_slice(SliceRecord(slice_(device(attributes={"numa": 2})), 1))
    assert [before.faces[0].fits[0].refusal, after.faces[0].fits[0].refusal] == [
        None,
        Refusal.SELECTOR,
    ]


def test_a_forgotten_slice_has_the_faces_it_had() -> None:
    faces = maker(claim())
    record = SliceRecord(slice_(device()), 1)
    before = faces.of_slice(record)
    faces.forget(1)
    faces.forget(1)
    assert faces.of_slice(record) is before
