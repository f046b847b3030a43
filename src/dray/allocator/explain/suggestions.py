"""Changes that may help: one for every kind of thing that keeps a request from a device.

Guesses, in no way checked. They are made from what is wrong with the devices of the node, so that
there are few, and none that could not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

from dray.allocator.answers import Cause
from dray.allocator.devices import PlacedDevice
from dray.allocator.explain.changes import Change, ChangeKind, Place, Unit
from dray.allocator.explain.obstacles import Inspector, amount_of, selectors_of, source_of
from dray.allocator.explain.wording import attribute_of, listed, position_of
from dray.allocator.requests import Want, claim_key
from dray.allocator.rules.taints import untolerated
from dray.allocator.selection import Selectors
from dray.allocator.solver.problem import WantView
from dray.api.quantity import Quantity
from dray.api.resource import (
    TOLERATION_OPERATOR_EQUAL,
    TOLERATION_OPERATOR_EXISTS,
    DeviceID,
    DeviceTaint,
    DeviceToleration,
)
from dray.cel import Conjunct, DeviceView, Selector, conjuncts, explain
from dray.errors import shorten

__all__ = ["Suggestions", "change_of", "free", "name_of"]

CONDITIONS_MAX: Final = 2
"""Conditions of one selector to drop at once: a guard and what it guards. Who would have to drop
more wants something else."""

SUGGESTIONS_MAX: Final = 6
"""Of one kind for one request; those that open the most devices are kept."""

AMOUNTS_MAX: Final = 4
"""Amounts to try for one capacity, the largest first."""

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
        """Changes to one want, the smallest first; how many devices to want is not among them."""
        yield from self._tolerations(view)
        yield from self._drops(view, own=True)
        yield from self._amounts(view)
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
            named = [str(DeviceTaint(key=k, value=v, effect=e)) for k, v, e in taints]
            word = "taint" if len(named) == 1 else "taints"
            text = f"tolerate {word} {', '.join(named)} in {name_of(want)}"
            yield replace(
                change_of(want, ChangeKind.TOLERATE, text),
                weight=len(taints),
                tolerations=tuple(_toleration(*taint) for taint in taints),
            )

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

    def _drop(self, want: Want, drop: _Drop, devices: int) -> Change | None:
        selector = selectors_of(want, self._selectors)[drop.position].selector
        assert selector is not None
        parts = [conjuncts(selector)[number] for number in drop.numbers]
        expression = _without(selector, parts)
        if expression is None:
            return None
        source, index = source_of(want, drop.position)
        word = "condition" if len(parts) == 1 else "conditions"
        conditions = tuple(part.text for part in parts)
        shown = " and ".join(
            shorten(" ".join(text.split()), characters_max=_SHOWN_MAX) for text in conditions
        )
        fails = f"{devices} device{' fails' if devices == 1 else 's fail'} it"
        own = source == "claim"
        of = f"selector {index} of {name_of(want) if own else f'{source}, for all that use it'}"
        kind = ChangeKind.SELECTOR if own else ChangeKind.CLASS_SELECTOR
        return replace(
            change_of(want, kind, f"drop the {word} {shown} of {of} ({fails})"),
            weight=len(parts),
            device_class="" if own else want.device_class.metadata.name,
            selector=index,
            conditions=conditions,
            expression=expression,
        )

    # Amounts -----------------------------------------------------------------------------------

    def _amounts(self, view: WantView) -> Iterator[Change]:
        want = view.want
        for name, wanted in sorted(want.capacity.items()):
            there: set[int] = set()
            lacking = False
            for index, placed in enumerate(self._devices):
                cause = self._inspector.cause(view, index)
                held = placed.device.capacity.get(name)
                if held is not None and (self._hidden or cause is not Cause.SELECTOR):
                    used = dict(self._inspector.problem.seats[index].consumed).get(name, 0)
                    there |= self._shares(held.value.nano - used, wanted)
                lacking |= held is None and self._attainable(view, index, Cause.CAPACITY)
            for nano in sorted(there, reverse=True)[:AMOUNTS_MAX]:
                amount = amount_of(nano, wanted.format)
                text = f"ask for {amount} {name} instead of {wanted} in {name_of(want)}"
                yield replace(
                    change_of(want, ChangeKind.CAPACITY, text),
                    capacity=name,
                    amount=amount,
                )
            if lacking:
                text = f"do not ask for {name} in {name_of(want)}"
                yield replace(change_of(want, ChangeKind.CAPACITY, text), weight=2, capacity=name)

    def _shares(self, left: int, wanted: Quantity) -> set[int]:
        """What is left, and as much of it as is left for each if all requests want some."""
        wants = len(self._inspector.problem.preparation.stages)
        whole = 10**9
        amounts = {left, left // wants // whole * whole}
        return {amount for amount in amounts if 0 < amount < wanted.nano}

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
        count = sum(len(unit.devices) for unit in units if unit.holder)
        parts.append(f"{word} {listed(holders)} ({count} device{'' if count == 1 else 's'})")
    if devices:
        parts.append(f"device{'' if len(devices) == 1 else 's'} {listed(devices)}")
    return Change(
        kind=ChangeKind.FREE,
        text=f"free {' and '.join(parts)}",
        weight=len(units),
        units=tuple(units),
    )


def change_of(want: Want, kind: ChangeKind, text: str) -> Change:
    """A change to one want, to be completed."""
    place = Place(want.claim_index, want.request_index, want.alternative)
    key = claim_key(want.claim)
    return Change(kind=kind, text=text, places=(place,), claim=key, request=want.full_name)


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


def _without(selector: Selector, parts: Sequence[Conjunct]) -> str | None:
    """The expression with `true` in place of some conjuncts; None if their place is not known."""
    expression = selector.expression
    for part in sorted(parts, key=lambda part: -part.offset):
        end = part.offset + len(part.text)
        if expression[part.offset : end] != part.text:
            return None
        expression = f"{expression[: part.offset]}true{expression[end:]}"
    return expression
