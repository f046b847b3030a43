"""What claims, classes and devices in use look like after a change."""

from __future__ import annotations

from typing import Any

import pytest

from dray.allocator import Occupancy
from dray.allocator.explain.changes import Change, ChangeKind, Place, Relaxation, Situation, Unit
from dray.allocator.features import Features
from dray.allocator.inventory import Inventory
from dray.allocator.pools import Pool
from dray.api.resource import DeviceConstraint, ResourceClaim
from tests.unit.allocator.builders import (
    alternative,
    amount,
    claim,
    device_class,
    first_available,
    node,
    request,
    selectors,
    slice_,
    toleration,
)
from tests.unit.allocator.reporting import gpu, gpus

HERE = Place(0, 0)
MATCH = DeviceConstraint(match_attribute="d/a")
DIFFER = DeviceConstraint(distinct_attribute="d/b")


def change(kind: ChangeKind, **fields: Any) -> Change:
    return Change(**{"kind": kind, "text": kind.value, "places": (HERE,), **fields})


def after(before: ResourceClaim, *changes: Change) -> ResourceClaim:
    (claimed,) = Situation((before,), {}).changed(changes).claims
    return claimed


@pytest.mark.parametrize(
    ("before", "made", "expected"),
    [
        pytest.param(
            request(tolerations=(toleration("a"),)),
            change(ChangeKind.TOLERATE, tolerations=(toleration("b"),)),
            request(tolerations=(toleration("a"), toleration("b"))),
            id="tolerate",
        ),
        pytest.param(
            request(select=["one", "two"]),
            change(ChangeKind.SELECTOR, selector=1, expression="half"),
            request(select=["one", "half"]),
            id="selector",
        ),
        pytest.param(
            request(select=["one", "two"]),
            change(ChangeKind.SELECTOR, selector=0, expression="true"),
            request(select=["two"]),
            id="selector-that-goes",
        ),
        pytest.param(
            request(capacity={"memory": "8Gi", "cores": "2"}),
            change(ChangeKind.CAPACITY, capacity="memory", amount=amount("4Gi")),
            request(capacity={"memory": "4Gi", "cores": "2"}),
            id="less-capacity",
        ),
        pytest.param(
            request(capacity={"memory": "8Gi", "cores": "2"}),
            change(ChangeKind.CAPACITY, capacity="memory"),
            request(capacity={"cores": "2"}),
            id="no-capacity",
        ),
        pytest.param(
            request(mode="All"),
            change(ChangeKind.COUNT, count=3),
            request(count=3),
            id="count",
        ),
        pytest.param(
            request("gpu", count=4, select=["one"]),
            change(ChangeKind.ALTERNATIVE, count=2),
            first_available(
                "gpu",
                alternative("preferred", count=4, select=["one"]),
                alternative("fewer", count=2, select=["one"]),
            ),
            id="alternative",
        ),
        pytest.param(
            first_available("gpu", alternative("a"), alternative("b", count=4)),
            change(ChangeKind.COUNT, count=2, places=(Place(0, 0, 1),)),
            first_available("gpu", alternative("a"), alternative("b", count=2)),
            id="count-of-an-alternative",
        ),
        pytest.param(request(), change(ChangeKind.POOL), request(), id="pool"),
    ],
)
def test_a_request_is_changed(before: Any, made: Change, expected: Any) -> None:
    other = request("other")
    assert after(claim(before, other), made) == claim(expected, other)


def test_several_requests_are_changed_at_once() -> None:
    made = change(ChangeKind.COUNT, count=2, places=(Place(0, 0), Place(1, 1)))
    claims = (claim(request("a")), claim(request("b"), request("c"), name="other"))
    changed = Situation(claims, {}).changed([made]).claims
    assert changed == (
        claim(request("a", count=2)),
        claim(request("b"), request("c", count=2), name="other"),
    )


def test_constraints_are_dropped_by_the_places_they_had() -> None:
    before = claim(request(), constraints=(MATCH, DIFFER, MATCH))
    made = [change(ChangeKind.CONSTRAINT, constraint=number) for number in (0, 2)]
    assert after(before, *made) == claim(request(), constraints=(DIFFER,))


def test_selectors_go_by_the_places_they_had() -> None:
    made = [
        change(ChangeKind.SELECTOR, selector=number, expression=expression)
        for number, expression in ((0, "true"), (1, "half"), (2, "true"))
    ]
    before = claim(request(select=["one", "two", "three"]))
    assert after(before, *made) == claim(request(select=["half"]))


def test_a_class_is_changed_for_the_trial_only() -> None:
    classes = {"gpu": device_class(select=["one"])}
    made = change(ChangeKind.CLASS_SELECTOR, device_class="gpu", selector=0, expression="true")
    situation = Situation((), classes).changed([made])
    assert situation.classes["gpu"].spec.selectors == ()
    assert classes["gpu"].spec.selectors == selectors("one")


# Devices in use --------------------------------------------------------------------------------


def pools() -> tuple[Pool, ...]:
    return Inventory(Features.everything(), [slice_(*gpus(3))]).gather(node())


def left(before: Occupancy, *units: Unit) -> Occupancy:
    made = Change(kind=ChangeKind.FREE, text="", units=units)
    return Situation((), {}).changed([made]).occupancy(before, pools())


def test_what_a_claim_holds_is_free_when_it_is_gone() -> None:
    before = Occupancy()
    for name, holder in (("gpu-0", "ml/a"), ("gpu-1", "ml/b"), ("gpu-2", "ml/a")):
        before.hold(gpu(name), holder)
    now = left(before, Unit("ml/a", (gpu("gpu-0"), gpu("gpu-2"))))
    assert [now.usage(gpu(f"gpu-{n}")).allocated for n in range(3)] == [False, True, False]
    assert len(before) == 3


def test_a_device_without_a_known_holder_is_given_back_alone() -> None:
    before = Occupancy()
    before.hold(gpu("gpu-0"))
    before.hold(gpu("gpu-1"))
    now = left(before, Unit("", (gpu("gpu-0"),)))
    assert [now.usage(gpu(f"gpu-{n}")).allocated for n in range(2)] == [False, True]


def test_shares_of_unknown_amounts_are_taken_until_all_are_gone() -> None:
    before = Occupancy()
    for holder in ("ml/a", "ml/b"):
        before.hold_share(gpu("gpu-0"), holder)
    before.consume(gpu("gpu-0"), {"memory": 5})
    units = [Unit(holder, (gpu("gpu-0"),)) for holder in ("ml/a", "ml/b")]
    one = left(before, units[0]).usage(gpu("gpu-0"))
    assert (one.shared, one.allocated, one.consumed) == (True, False, {"memory": 5})
    assert not left(before, *units).usage(gpu("gpu-0")).charged


def test_capacity_that_nobody_named_holds_stays_taken() -> None:
    before = Occupancy()
    before.consume(gpu("gpu-0"), {"memory": 5})
    now = left(before, Unit("ml/a", ()))
    assert now.usage(gpu("gpu-0")).key() == before.usage(gpu("gpu-0")).key()


def test_a_relaxation_is_called_by_its_changes() -> None:
    made = [
        change(ChangeKind.COUNT, text="do this", request="a"),
        change(ChangeKind.FREE, text="x"),
    ]
    relaxation = Relaxation(tuple(made))
    assert (relaxation.kind, relaxation.request) == (ChangeKind.COUNT, "a")
    assert relaxation.text == "do this, and x"
