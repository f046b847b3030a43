"""Changes that may help: one for every kind of thing that keeps a request from a device.

Guesses, in no way checked. They are made from what is wrong with the devices of the node, so that
there are few, and none that could not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

from dray.allocator.answers import Cause
from dray.allocator.devices import PlacedDevice
from dray.allocator.explain.changes import Change, ChangeKind, Place, Unit
from dray.allocator.explain.expressions import without
from dray.allocator.explain.obstacles import Inspector, amount_of, selectors_of, source_of
from dray.allocator.explain.policies import valid_amount
from dray.allocator.explain.wording import attribute_of, listed, position_of
from dray.allocator.requests import Want, claim_key
from dray.allocator.rules.taints import untolerated
from dray.allocator.selection import Selectors
from dray.allocator.solver.problem import WantView
from dray.api.quantity import Quantity
from dray.api.resource import (
    TOLERATION_OPERATOR_EQUAL,
    TOLERATION_OPERATOR_EXISTS,
    DeviceCapacity,
    DeviceID,
    DeviceTaint,
    DeviceToleration,
)
from dray.cel import Conjunct, DeviceView, conjuncts, explain
from dray.errors import shorten

__all__ = ["Suggestions", "change_of", "free", "name_of", "place_of", "tolerate"]

CONDITIONS_MAX: Final = 2
"""Conditions of one selector to drop at once: a guard and what it guards. Who would have to drop
more wants something else."""

SUGGESTIONS_MAX: Final = 6
"""Of one kind for one request; those that open the most devices are kept."""

AMOUNTS_MAX: Final = 64
"""Amounts of one capacity to choose from, the largest first; six trials find the best of them."""

SHARES_MAX: Final = 4
"""Amounts of one capacity to try together with another change."""

_WHOLE: Final = 10**9

_SHOWN_MAX: Final = 100


class _Drop(NamedTuple):
    """Conditions of one selector."""

    position: int
    numbers: tuple[int, ...]


class Suggestions:
    """What might be changed about some wants, given the devices of one node.

    With `hidden`, also what would have to be changed about devices with which more than one thing
    is wrong: of use only together with another change.
    """

    def __init__(self, inspector: Inspector, selectors: Selectors, *, hidden: bool = False) -> None:
        self._inspector = inspector
        self._selectors = selectors
        self._hidden = hidden
        self._devices = inspector.layout.devices

    def of(self, view: WantView) -> Iterator[Change]:
        """Changes to one want, the smallest first; how many and how much to want is apart."""
        yield from self._tolerations(view)
        yield from self._drops(view, own=True)
        yield from self._unasked(view)
        yield from self._drops(view, own=False)

    def constraints(self) -> Iterator[Change]:
        preparation = self._inspector.problem.preparation
        for number, (claim_index, constraint) in enumerate(preparation.constraints):
            key = claim_key(preparation.claims[claim_index])
            position = position_of(self._inspector, number)
            matching = constraint.match_attribute is not None
            kind = "matchAttribute" if matching else "distinctAttribute"
            yield Change(
                kind=ChangeKind.CONSTRAINT,
                text=(
                    f"drop constraint {position} of claim {key} ({kind} {attribute_of(constraint)})"
                ),
                places=(Place(claim_index, 0),),
                claim=key,
                constraint=position,
            )

    def pools(self) -> Iterator[Change]:
        """What only drivers can do."""
        for pool in self._inspector.layout.pools:
            if pool.incomplete:
                text = f"wait until pool {pool.id} is complete"
            elif pool.invalid:
                text = f"have the driver mend pool {pool.id}: {pool.invalid}"
            else:
                continue
            yield Change(kind=ChangeKind.POOL, text=text, pool=str(pool.id))

    # Taints ------------------------------------------------------------------------------------

    def _tolerations(self, view: WantView) -> Iterator[Change]:
        want = view.want
        found: Counter[tuple[tuple[str, str, str], ...]] = Counter()
        for index, placed in enumerate(self._devices):
            if self._attainable(view, index, Cause.TAINT):
                found[_untolerated(placed, want)] += 1
        del found[()]
        sets = [taints for taints, _ in found.most_common(SUGGESTIONS_MAX)]
        everything = tuple(sorted({taint for taints in sets for taint in taints}))
        if everything and everything not in sets:
            sets.append(everything)
        for taints in sorted(sets, key=len):
            yield tolerate(want, [_toleration(*taint) for taint in taints])

    def _attainable(self, view: WantView, index: int, cause: Cause) -> bool:
        """Whether the cause is what is wrong with a device, or one of the things that are."""
        first = self._inspector.cause(view, index)
        if not self._hidden or first is cause:
            return first is cause
        return first is not Cause.SELECTOR or (
            self._failing(view.want, self._devices[index]) is not None
        )

    # Selectors ---------------------------------------------------------------------------------

    def _drops(self, view: WantView, *, own: bool) -> Iterator[Change]:
        """Conditions of the request's own selectors, or of the class'."""
        found: Counter[_Drop] = Counter()
        for index, placed in enumerate(self._devices):
            if self._inspector.cause(view, index) is Cause.SELECTOR:
                drop = self._failing(view.want, placed)
                if drop is not None and (source_of(view.want, drop.position)[0] == "claim") is own:
                    found[drop] += 1
        most = found.most_common(SUGGESTIONS_MAX)
        for drop, devices in sorted(most, key=lambda one: len(one[0].numbers)):
            change = self._drop(view.want, drop, devices)
            if change is not None:
                yield change

    def _failing(self, want: Want, placed: PlacedDevice) -> _Drop | None:
        """The conditions a device fails, if they are of one selector and not too many."""
        failing: _Drop | None = None
        view = DeviceView.of(placed.id.driver, placed.device)
        for position, verdicts in enumerate(selectors_of(want, self._selectors)):
            if verdicts.selector is None:
                return None
            explanation = explain(verdicts.selector, view)
            if explanation.verdict == "true":
                continue
            numbers = tuple(
                number
                for number, decision in enumerate(explanation.decisions)
                if decision.verdict != "true"
            )
            if failing is not None or not 0 < len(numbers) <= CONDITIONS_MAX:
                return None
            parts = [conjuncts(verdicts.selector)[number] for number in numbers]
            if any(_about_driver(part) for part in parts):
                # A device of another driver is no lesser device; it is another thing.
                return None
            failing = _Drop(position, numbers)
        return failing

    def narrower(self, want: Want, change: Change) -> Iterator[Change]:
        """The same with only one of its conditions dropped, if it has several."""
        if len(change.conditions) < 2:
            return
        own = change.kind is ChangeKind.SELECTOR
        position = change.selector + (len(want.device_class.spec.selectors) if own else 0)
        selector = selectors_of(want, self._selectors)[position].selector
        assert selector is not None
        for number, part in enumerate(conjuncts(selector)):
            if part.text in change.conditions:
                narrow = self._drop(want, _Drop(position, (number,)), 0)
                if narrow is not None:
                    yield narrow

    def _drop(self, want: Want, drop: _Drop, devices: int) -> Change | None:
        selector = selectors_of(want, self._selectors)[drop.position].selector
        assert selector is not None
        parts = [conjuncts(selector)[number] for number in drop.numbers]
        expression = without(selector, parts, lambda text: self._selectors.selector(text).selector)
        if expression is None:
            return None
        source, index = source_of(want, drop.position)
        word = "condition" if len(parts) == 1 else "conditions"
        conditions = tuple(part.text for part in parts)
        shown = " and ".join(
            shorten(" ".join(text.split()), characters_max=_SHOWN_MAX) for text in conditions
        )
        fails = f" ({devices} device{' fails' if devices == 1 else 's fail'} it)" if devices else ""
        own = source == "claim"
        of = f"selector {index} of {name_of(want) if own else f'{source}, for all that use it'}"
        kind = ChangeKind.SELECTOR if own else ChangeKind.CLASS_SELECTOR
        return replace(
            change_of(want, kind, f"drop the {word} {shown} of {of}{fails}"),
            weight=len(parts),
            device_class="" if own else want.device_class.metadata.name,
            selector=index,
            conditions=conditions,
            expression=expression,
        )

    # Amounts -----------------------------------------------------------------------------------

    def amounts(self, view: WantView) -> dict[str, list[Change]]:
        """For each capacity smaller amounts to ask for, the largest first.

        They are what is left of devices, all of it, or when other requests keep their part.
        """
        found = {}
        for name, wanted in sorted(view.want.capacity.items()):
            there: set[int] = set()
            for index, held in self._holding(view, name):
                taken = self._taken_by_others(view, index, name)
                left = self._left(index, held, name)
                shares = {left, self._share(left)}
                # Fewer or more of the others may have to stay on this device.
                for order in (taken, taken[::-1]):
                    shares.update(left - amount for amount in accumulate(order))
                there |= {valid_amount(held.request_policy, amount) for amount in shares}
            found[name] = self._lowered(view, name, wanted, there, AMOUNTS_MAX)
        return found

    def shares(self, view: WantView) -> Iterator[Change]:
        """A few amounts to ask for when others ask for less too."""
        for name, wanted in sorted(view.want.capacity.items()):
            there: set[int] = set()
            for index, held in self._holding(view, name):
                left = self._left(index, held, name)
                amounts = (left, self._share(left))
                there |= {valid_amount(held.request_policy, amount) for amount in amounts}
            yield from self._lowered(view, name, wanted, there, SHARES_MAX)

    def _unasked(self, view: WantView) -> Iterator[Change]:
        """Capacities that devices lack, not to be asked for."""
        want = view.want
        for name in sorted(want.capacity):
            if any(
                name not in placed.device.capacity and self._attainable(view, index, Cause.CAPACITY)
                for index, placed in enumerate(self._devices)
            ):
                text = f"do not ask for {name} in {name_of(want)}"
                yield replace(change_of(want, ChangeKind.CAPACITY, text), weight=2, capacity=name)

    def _holding(self, view: WantView, name: str) -> Iterator[tuple[int, DeviceCapacity]]:
        for index, placed in enumerate(self._devices):
            held = placed.device.capacity.get(name)
            if held is not None and (
                self._hidden or self._inspector.cause(view, index) is not Cause.SELECTOR
            ):
                yield index, held

    def _left(self, index: int, held: DeviceCapacity, name: str) -> int:
        return held.value.nano - dict(self._inspector.problem.seats[index].consumed).get(name, 0)

    def _share(self, left: int) -> int:
        """As much as is left for each if all requests want some."""
        wants = len(self._inspector.problem.preparation.stages)
        return left // wants // _WHOLE * _WHOLE

    def _taken_by_others(self, view: WantView, index: int, name: str) -> list[int]:
        """What each of the other requests would take of a shared device, the least first."""
        problem = self._inspector.problem
        if not problem.shareable >> index & 1:
            return []
        taken = []
        for stage in problem.preparation.stages:
            if view.want in stage.wants:
                continue
            amounts = [
                draw.amount
                for want in stage.wants
                if self._inspector.cause(problem.views[want.index], index) is None
                for draw in problem.seats[index].face.draws[want.index]
                if draw.name == name
            ]
            if amounts:
                taken.append(min(amounts))
        return sorted(taken)

    @staticmethod
    def _lowered(
        view: WantView, name: str, wanted: Quantity, amounts: set[int], most: int
    ) -> list[Change]:
        lower = sorted((nano for nano in amounts if 0 < nano < wanted.nano), reverse=True)
        changes = []
        for nano in lower[:most]:
            amount = amount_of(nano, wanted.format)
            text = f"ask for {amount} {name} instead of {wanted} in {name_of(view.want)}"
            change = change_of(view.want, ChangeKind.CAPACITY, text)
            changes.append(replace(change, capacity=name, amount=amount))
        return changes

    # Devices in use ----------------------------------------------------------------------------

    def units(self) -> tuple[Unit, ...]:
        """What others could give back that might be of use, the smallest first."""
        held: dict[str, list[DeviceID]] = {}
        units = []
        for pool in self._inspector.layout.pools:
            if not pool.usable:
                continue
            for name, usage in sorted(self._inspector.layout.occupancy.pool(pool.id).items()):
                device = DeviceID(*pool.id, name)
                if not (self._hidden or pool.counter_sets or device in self._useful):
                    continue
                for holder in {*usage.holders} - {""}:
                    held.setdefault(holder, []).append(device)
                if not any(usage.holders):
                    units.append(Unit("", (device,)))
        units += [Unit(holder, tuple(devices)) for holder, devices in held.items()]
        return tuple(sorted(units, key=lambda unit: (len(unit.devices), unit)))

    @cached_property
    def _useful(self) -> frozenset[DeviceID]:
        """The devices that would do for some want, or of which more would be left."""
        problem = self._inspector.problem
        return frozenset(
            placed.id
            for index, placed in enumerate(self._devices)
            if problem.shareable >> index & 1
            or any(self._inspector.cause(view, index) is None for view in problem.views)
        )


def free(units: Sequence[Unit]) -> Change:
    """That others give back what they have."""
    holders = [unit.holder for unit in units if unit.holder]
    devices = [str(device) for unit in units if not unit.holder for device in unit.devices]
    parts = []
    if holders:
        word = "claim" if len(holders) == 1 else "claims"
        # Of a device that is shared each of them holds a part.
        count = len({device for unit in units if unit.holder for device in unit.devices})
        parts.append(f"{word} {listed(holders)} ({count} device{'' if count == 1 else 's'})")
    if devices:
        parts.append(f"device{'' if len(devices) == 1 else 's'} {listed(devices)}")
    return Change(
        kind=ChangeKind.FREE,
        text=f"free {' and '.join(parts)}",
        weight=len(units),
        units=tuple(units),
    )


def tolerate(want: Want, tolerations: Sequence[DeviceToleration]) -> Change:
    """That one want tolerates taints."""
    named = [
        str(DeviceTaint(key=one.key, value=one.value, effect=one.effect)) for one in tolerations
    ]
    word = "taint" if len(named) == 1 else "taints"
    return replace(
        change_of(
            want, ChangeKind.TOLERATE, f"tolerate {word} {', '.join(named)} in {name_of(want)}"
        ),
        weight=len(tolerations),
        tolerations=tuple(tolerations),
    )


def change_of(want: Want, kind: ChangeKind, text: str) -> Change:
    """A change to one want, to be completed."""
    key = claim_key(want.claim)
    return Change(kind=kind, text=text, places=(place_of(want),), claim=key, request=want.full_name)


def place_of(want: Want) -> Place:
    return Place(want.claim_index, want.request_index, want.alternative)


def name_of(want: Want) -> str:
    return f"request {want.full_name} of claim {claim_key(want.claim)}"


def _untolerated(placed: PlacedDevice, want: Want) -> tuple[tuple[str, str, str], ...]:
    """All taints of a device that keep the want off."""
    return tuple(
        sorted(
            {
                (taint.key, taint.value, taint.effect)
                for taint in placed.device.taints
                if untolerated((taint,), want.tolerations) is not None
            }
        )
    )


def _toleration(key: str, value: str, effect: str) -> DeviceToleration:
    if not value:
        return DeviceToleration(key=key, operator=TOLERATION_OPERATOR_EXISTS, effect=effect)
    return DeviceToleration(key=key, operator=TOLERATION_OPERATOR_EQUAL, value=value, effect=effect)


def _about_driver(conjunct: Conjunct) -> bool:
    return any(reference.field == "driver" for reference in conjunct.references)
