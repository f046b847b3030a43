"""Changes taken apart, put together and compared."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dray.allocator.explain.bundles import covers, fewest, joined, merged, parts_of, worse
from dray.allocator.explain.changes import Change, ChangeKind, Place, Unit
from dray.allocator.explain.suggestions import free, place_of, tolerate
from dray.allocator.requests import Want
from tests.unit.allocator.builders import amount, claim, request, slice_, toleration
from tests.unit.allocator.reporting import allocator, gpu, inspector

TAINTS = [toleration(key, effect="NoSchedule") for key in "ab"]


def wants(*names: str) -> dict[Place, Want]:
    stages = inspector(allocator(slice_()), claim(*map(request, names))).problem.preparation.stages
    return {place_of(want): want for stage in stages for want in stage.wants}


def lowered(place: Place, text: str | None) -> Change:
    return Change(
        kind=ChangeKind.CAPACITY,
        text="",
        places=(place,),
        capacity="memory",
        amount=amount(text) if text else None,
    )


@pytest.mark.parametrize("needed", [{0}, {7}, {2, 5}, {0, 1, 2}, set(range(8))], ids=str)
def test_what_is_not_needed_is_spared(needed: set[int]) -> None:
    asked: list[Sequence[int]] = []

    def fits(some: Sequence[int]) -> bool:
        asked.append(some)
        return needed <= {*some}

    assert fewest(range(8), fits) == sorted(needed)
    assert all(asked)


def test_a_few_of_many_are_found_in_few_trials() -> None:
    trials = 0

    def fits(some: Sequence[int]) -> bool:
        nonlocal trials
        trials += 1
        return {3, 700} <= {*some}

    assert fewest(range(1000), fits) == [3, 700]
    assert trials < 60


def test_parts_put_together_are_the_change_again() -> None:
    by_place = wants("x", "y")
    (change,) = merged(tolerate(want, TAINTS) for want in by_place.values())
    parts = list(parts_of(change, by_place))
    assert [(part.request, part.tolerations[0].key) for part in parts] == [
        ("x", "a"),
        ("x", "b"),
        ("y", "a"),
        ("y", "b"),
    ]
    assert joined(parts, by_place) == (change,)


def test_what_is_left_is_told_for_each_request() -> None:
    by_place = wants("x", "y")
    (change,) = merged(tolerate(want, TAINTS) for want in by_place.values())
    _, second, third, _ = parts_of(change, by_place)
    assert [one.text for one in joined([second, third], by_place)] == [
        "tolerate taint b:NoSchedule in request x of claim default/claim",
        "tolerate taint a:NoSchedule in request y of claim default/claim",
    ]


def test_claims_that_hold_much_are_spared_first() -> None:
    units = [Unit("ml/a", (gpu("gpu-0"),)), Unit("ml/b", (gpu("gpu-1"), gpu("gpu-2")))]
    parts = list(parts_of(free(units), {}))
    assert [part.units[0].holder for part in parts] == ["ml/b", "ml/a"]
    assert joined(parts, {}) == (free(units),)


def test_less_of_the_same_covers_more_of_it() -> None:
    here, there = Place(0, 0), Place(0, 1)
    more, less = lowered(here, "8Gi"), lowered(here, "4Gi")
    assert covers(more, less)
    assert covers(less, lowered(here, None))
    assert not covers(less, more)
    assert not covers(more, lowered(there, "4Gi"))


def test_changes_are_worse_if_others_are_enough() -> None:
    here, there = Place(0, 0), Place(0, 1)
    some = (lowered(here, "8Gi"), lowered(there, "8Gi"))
    assert worse((lowered(here, "8Gi"), lowered(there, "4Gi")), some)
    assert worse(some, some[:1])
    assert not worse(some[:1], some)
    assert not worse((lowered(here, "16Gi"), lowered(there, "4Gi")), some)


def test_a_class_is_changed_for_all_that_use_it() -> None:
    def dropped(name: str, *conditions: str) -> Change:
        kind = ChangeKind.CLASS_SELECTOR
        return Change(kind=kind, text="", device_class=name, conditions=conditions)

    assert covers(dropped("fast", "a"), dropped("fast", "a", "b"))
    assert not covers(dropped("fast", "a"), dropped("slow", "a"))
