"""What is said to help does help: changes are made anew, and judged by the plain allocator."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dray.allocator.explain.changes import EVERYTHING
from dray.allocator.explain.relaxations import Change, ChangeKind, Relaxation, relaxations
from dray.api.codec import to_builtins
from dray.testing.allocation import allocator_of
from tests.conformance.allocator.reference import allocate_case
from tests.oracle.allocator.generate import case

# The plain allocator tries everything; cases that take it longer than this are let go.
STEPS_MAX = 20_000

Object = dict[str, Any]
T = TypeVar("T")


@pytest.mark.slow
@settings(max_examples=50)
@given(st.integers(min_value=0, max_value=2**31))
def test_every_checked_relaxation_makes_the_claims_fit(seed: int) -> None:
    asked = case(seed)
    found = relaxations(*allocator_of(asked))
    assume(found)
    assert not allocate_case(asked, steps_max=STEPS_MAX)["fits"]
    for relaxation in found:
        if relaxation.checked:
            answer = allocate_case(changed(asked, relaxation), steps_max=STEPS_MAX)
            assert answer["fits"] or answer.get("aborted"), (relaxation.text, answer)


@pytest.mark.slow
@settings(max_examples=50)
@given(st.integers(min_value=0, max_value=2**31))
def test_nothing_of_a_relaxation_can_be_spared(seed: int) -> None:
    asked = case(seed)
    found = relaxations(*allocator_of(asked))
    assume(any(one.checked for one in found))
    for relaxation in found:
        for less in smaller(relaxation):
            answer = allocate_case(changed(asked, less), steps_max=STEPS_MAX)
            assert not answer["fits"], (relaxation.text, less)


def smaller(relaxation: Relaxation) -> Iterator[Relaxation]:
    """With any one change, request, toleration or device fewer."""
    for at, change in enumerate(relaxation.changes):
        others = (*relaxation.changes[:at], *relaxation.changes[at + 1 :])
        if others:
            yield Relaxation(others)
        for less in (
            *(replace(change, places=rest) for rest in one_fewer(change.places)),
            *(replace(change, tolerations=rest) for rest in one_fewer(change.tolerations)),
            *(replace(change, units=rest) for rest in one_fewer(change.units)),
        ):
            yield Relaxation((*others, less))


def one_fewer(members: tuple[T, ...]) -> list[tuple[T, ...]]:
    """All but one of several."""
    if len(members) < 2:
        return []
    return [(*members[:at], *members[at + 1 :]) for at in range(len(members))]


def changed(asked: Object, relaxation: Relaxation) -> Object:
    """The case after the changes, as somebody would make them who reads only the data."""
    new = copy.deepcopy(asked)
    for change in sorted(
        relaxation.changes, key=lambda change: (-change.constraint, -change.selector)
    ):
        apply(new, change)
    return new


def apply(new: Object, change: Change) -> None:
    if change.kind is ChangeKind.FREE:
        free(new, change)
        return
    if change.kind is ChangeKind.CLASS_SELECTOR:
        (spec,) = [
            one["spec"] for one in new["classes"] if one["metadata"]["name"] == change.device_class
        ]
        select(spec, change)
        return
    for place in change.places:
        devices = new["claims"][place.claim]["spec"]["devices"]
        if change.kind is ChangeKind.CONSTRAINT:
            del devices["constraints"][change.constraint]
            continue
        request = devices["requests"][place.request]
        if change.kind is ChangeKind.ALTERNATIVE:
            preferred = request.pop("exactly")
            fewer = {**preferred, "allocationMode": "ExactCount", "count": change.count}
            request["firstAvailable"] = [{**preferred, "name": "a"}, {**fewer, "name": "b"}]
        elif place.alternative is None:
            edit(request["exactly"], change)
        else:
            edit(request["firstAvailable"][place.alternative], change)


def edit(wanted: Object, change: Change) -> None:
    if change.kind is ChangeKind.TOLERATE:
        added = [to_builtins(one) for one in change.tolerations]
        wanted["tolerations"] = [*wanted.get("tolerations", ()), *added]
    elif change.kind is ChangeKind.SELECTOR:
        select(wanted, change)
    elif change.kind is ChangeKind.COUNT:
        wanted.update(allocationMode="ExactCount", count=change.count)
    elif change.kind is ChangeKind.CAPACITY and change.amount is None:
        del wanted["capacity"]["requests"][change.capacity]
    else:
        assert change.kind is ChangeKind.CAPACITY
        wanted["capacity"]["requests"][change.capacity] = str(change.amount)


def select(holder: Object, change: Change) -> None:
    if change.expression == EVERYTHING:
        del holder["selectors"][change.selector]
    else:
        holder["selectors"][change.selector]["cel"]["expression"] = change.expression


def free(new: Object, change: Change) -> None:
    """Devices of the cases are held by nobody knows whom, so they are given back one by one."""
    gone = {device for unit in change.units for device in unit.devices}
    for member in ("allocated", "shared", "consumed"):
        held = [
            one
            for one in new.get(member) or ()
            if (one["driver"], one["pool"], one["device"]) not in gone
        ]
        if member in new:
            new[member] = held
