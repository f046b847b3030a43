"""Why one request does not take one device.

The search asks a device's face, its seat and a fresh Attempt whether it will do; so does this, in
the same order, and says which of them refused. Devices that are refused by the same thing share an
Obstacle, whose parts are what to count by.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from dray.allocator.answers import Cause
from dray.allocator.devices import PlacedDevice
from dray.allocator.explain.policies import rule_of
from dray.allocator.faces import FAILED, FaceMaker, Refusal
from dray.allocator.features import Features
from dray.allocator.layout import Layout
from dray.allocator.pools import Pool
from dray.allocator.preparation import Preparation
from dray.allocator.requests import Want
from dray.allocator.rules.capacity import consume
from dray.allocator.rules.compatibility import Compatibility
from dray.allocator.rules.constraints import ABSENT
from dray.allocator.rules.taints import untolerated
from dray.allocator.selection import Selectors, SelectorVerdicts
from dray.allocator.solver.attempt import Attempt
from dray.allocator.solver.problem import BadPool, WantView
from dray.api.quantity import Format, Quantity
from dray.api.resource import Device, DeviceTaint
from dray.cel import Conjunct, DeviceView, conjuncts, describe, explain

__all__ = [
    "Decisions",
    "Inspector",
    "Obstacle",
    "Sight",
    "amount_of",
    "selectors_of",
    "source_of",
]

_NANO: Final = 10**9


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What refuses devices. Which members are set depends on the cause."""

    cause: Cause
    position: int = -1  # of the selector among the class' and then the request's; of a constraint
    conjunct: int = -1
    name: str = ""  # capacity or counter
    counter_set: str = ""
    pool: int = -1  # of the counter
    wanted: Quantity | None = None  # of the capacity; None where it has none such, or of any amount
    taint: tuple[str, str, str] = ("", "", "")
    error: str = ""


class Sight(NamedTuple):
    """What of one device is worth telling besides its obstacle."""

    shown: str = ""  # what a selector found
    description: str = ""  # the same, with what it wanted; the rule for amounts of a capacity
    left: Quantity | None = None
    total: Quantity | None = None
    drawn: Quantity | None = None  # from the counter


Decisions: TypeAlias = dict[Hashable, tuple[int, Sight]]
"""By selector and what it reads of a device: the conjunct that decides, and what it sees."""

DECISIONS_MAX: Final = 16_384
"""Kinds of devices to remember; a fleet has few."""


class Inspector:
    """Looks at the devices of one layout as the search does before it has chosen any."""

    def __init__(
        self,
        layout: Layout,
        preparation: Preparation,
        faces: FaceMaker,
        selectors: Selectors,
        features: Features,
        decisions: Decisions | None = None,
    ) -> None:
        """`decisions` are those of other layouts, for the same claims; more are added."""
        self._decisions = {} if decisions is None else decisions
        self.layout = layout
        self.problem = problem = layout.problem(preparation)
        for view in problem.views:
            everything = problem.everything(view.want) if view.want.all_devices else ()
            if everything and not isinstance(everything, (BadPool, int)):
                view.everything = everything
                view.needed = len(everything)
        self.attempt = Attempt(problem, lists=features.list_type_attributes)
        self._faces = faces
        self._selectors = selectors
        self._features = features

    def in_use(self, view: WantView, index: int) -> bool:
        """Whether somebody has the device, as far as that matters to the want."""
        return bool(self.attempt.blocked(view) >> index & 1)

    def cause(self, view: WantView, index: int) -> Cause | None:
        """What is wrong with the device, and would be if it were not in use; None if nothing is."""
        seat = self.problem.seats[index]
        refusal = seat.face.fits[view.want.index].refusal
        if refusal in _SELECTION:
            return _SELECTION[refusal]
        if seat.unreadable or not seat.reachable:
            return Cause.NODE
        if refusal in (Refusal.CAPACITY, Refusal.CAPACITY_FAILS):
            return Cause.CAPACITY
        # Whoever gives the device back gives back what it takes of counters and capacity.
        held = self.in_use(view, index)
        if not (self.large_enough(view, index) if held else self.problem.affords(view.want, index)):
            return Cause.CAPACITY
        if not seat.operable:
            return Cause.NODE_OPERATIONS
        if refusal is Refusal.COUNTERS:
            return Cause.PARTITIONS
        if not held and self.attempt.counted(index):
            if self.attempt.overdraws(index):
                return Cause.COUNTERS
            if not self._compatible(index):
                return Cause.COMPATIBILITY
        if refusal is Refusal.TAINT:
            return Cause.TAINT
        for number in view.scope:
            if self.problem.value(number, view.want, index) in (ABSENT, FAILED):
                return Cause.CONSTRAINT_ATTRIBUTE
        return None

    def large_enough(self, view: WantView, index: int) -> bool:
        """Whether the device would have the capacity if nobody had any of it."""
        draws = self.problem.seats[index].face.draws[view.want.index]
        return all(draw.amount <= draw.value for draw in draws)

    def _compatible(self, index: int) -> bool:
        seat = self.problem.seats[index]
        counters = self.problem.counters[seat.pool]
        now = dict(counters.compatibility) if counters is not None else {}
        for draw in seat.face.counters:
            before = now.get(draw.counter_set, Compatibility())
            if not before.admits(draw.groups):
                return False
            now[draw.counter_set] = before.joined(draw.groups)
        return True

    def look(self, view: WantView, index: int, cause: Cause) -> tuple[Obstacle, Sight]:
        """The obstacle behind a cause, and what the device has there."""
        want, placed = view.want, self.layout.devices[index]
        if cause is Cause.SELECTOR:
            return self._selector(want, index, placed)
        if cause is Cause.CAPACITY:
            return self._capacity(want, index, placed)
        if cause is Cause.COUNTERS:
            return self._counter(index)
        if cause is Cause.TAINT:
            taint = untolerated(placed.device.taints, want.tolerations) or DeviceTaint()
            return Obstacle(cause, taint=(taint.key, taint.value, taint.effect)), Sight()
        if cause is Cause.CONSTRAINT_ATTRIBUTE:
            number = next(
                number
                for number in view.scope
                if self.problem.value(number, want, index) in (ABSENT, FAILED)
            )
            return Obstacle(cause, position=number), Sight()
        return Obstacle(cause), Sight()

    # Selectors ---------------------------------------------------------------------------------

    def _selector(self, want: Want, index: int, placed: PlacedDevice) -> tuple[Obstacle, Sight]:
        fit = self.problem.seats[index].face.fits[want.index]
        assert isinstance(fit.detail, int)
        position = fit.detail
        driver = placed.id.driver
        error = ""
        if fit.refusal is Refusal.SELECTOR_FAILS:
            error = self._faces.failure(want, driver, placed.device, fit)
        verdicts = selectors_of(want, self._selectors)[position]
        if error:
            number, sight = _decided(verdicts, driver, placed.device)
        else:
            reads = [read(driver, placed.device) for read in verdicts.readers]
            key = (verdicts.expression, driver, *reads)
            if key not in self._decisions:
                if len(self._decisions) >= DECISIONS_MAX:
                    self._decisions.clear()
                self._decisions[key] = _decided(verdicts, driver, placed.device)
            number, sight = self._decisions[key]
        return Obstacle(Cause.SELECTOR, position, number, error=error), sight

    def conjunct(self, want: Want, obstacle: Obstacle) -> Conjunct | None:
        """The condition that an obstacle is about."""
        selector = selectors_of(want, self._selectors)[obstacle.position].selector
        if selector is None or obstacle.conjunct < 0:
            return None
        return conjuncts(selector)[obstacle.conjunct]

    # Amounts -----------------------------------------------------------------------------------

    def _capacity(self, want: Want, index: int, placed: PlacedDevice) -> tuple[Obstacle, Sight]:
        capacity = placed.device.capacity
        for name in sorted(want.capacity):
            if name not in capacity:
                return Obstacle(Cause.CAPACITY, name=name), Sight()
        fit = self.problem.seats[index].face.fits[want.index]
        if fit.refusal is Refusal.CAPACITY_FAILS:
            error = self._faces.failure(want, placed.id.driver, placed.device, fit)
            return Obstacle(Cause.CAPACITY, error=error), Sight()
        used: Mapping[str, int] = dict(self.problem.seats[index].consumed)
        for draw in self.problem.seats[index].face.draws[want.index]:
            left = draw.value - used.get(draw.name, 0)
            if draw.amount > left:
                total = capacity[draw.name].value
                form = (want.capacity.get(draw.name) or total).format
                return (
                    Obstacle(Cause.CAPACITY, name=draw.name, wanted=amount_of(draw.amount, form)),
                    Sight(left=amount_of(left, total.format), total=total),
                )
        # What is left is that the device does not hand out such an amount.
        fractional = self._features.fractional_capacity_range
        for name in sorted(capacity):
            wanted = want.capacity.get(name)
            asked = {name: wanted} if wanted is not None else {}
            if consume(asked, {name: capacity[name]}, fractional=fractional) is None:
                rule = rule_of(capacity[name].request_policy, wanted)
                return (
                    Obstacle(Cause.CAPACITY, name=name, wanted=wanted, error=_UNEVEN),
                    Sight(description=rule, total=capacity[name].value),
                )
        return Obstacle(Cause.CAPACITY, error=_UNEVEN), Sight()

    def _counter(self, index: int) -> tuple[Obstacle, Sight]:
        seat = self.problem.seats[index]
        counters = self.problem.counters[seat.pool]
        assert counters is not None
        draws = dict(self.attempt.draws[index])
        at, left = next(
            (at, left) for at, left in enumerate(counters.left) if left < draws.get(at, 0)
        )
        counter_set, name = counters.names[at]
        total = self.pool_of(index).counter_sets[counter_set].counters[name].value
        return (
            Obstacle(Cause.COUNTERS, name=name, counter_set=counter_set, pool=seat.pool),
            Sight(
                left=amount_of(left, total.format),
                total=total,
                drawn=amount_of(draws.get(at, 0), total.format),
            ),
        )

    def pool_of(self, index: int) -> Pool:
        """The pool of a device."""
        usable = [pool for pool in self.layout.pools if pool.usable]
        return usable[self.problem.seats[index].pool]


_UNEVEN: Final = "not handed out in such an amount"

_SELECTION: Final = {
    Refusal.BINDING_CONDITIONS: Cause.BINDING_CONDITIONS,
    Refusal.SELECTOR: Cause.SELECTOR,
    Refusal.SELECTOR_FAILS: Cause.SELECTOR,
}


def _decided(verdicts: SelectorVerdicts, driver: str, device: Device) -> tuple[int, Sight]:
    """Which conjunct refuses a device, and what it sees; -1 if it is no single one."""
    if verdicts.selector is None:
        return -1, Sight()
    view = DeviceView.of(driver, device)
    explanation = explain(verdicts.selector, view)
    for number, decision in enumerate(explanation.decisions):
        if decision is explanation.deciding:
            shown = ", ".join(reading.shown for reading in decision.readings)
            return number, Sight(shown, describe(decision, view))
    return -1, Sight()


def selectors_of(want: Want, selectors: Selectors) -> tuple[SelectorVerdicts, ...]:
    """The selectors of the class, then those of the request."""
    return tuple(
        selectors.selector(one.cel.expression if one.cel is not None else "")
        for one in (*want.device_class.spec.selectors, *want.selectors)
    )


def source_of(want: Want, position: int) -> tuple[str, int]:
    """Where a selector is from, and which one it is there."""
    of_class = len(want.device_class.spec.selectors)
    if position < of_class:
        return f"class {want.device_class.metadata.name}", position
    return "claim", position - of_class


def amount_of(nano: int, form: Format) -> Quantity:
    """A number of 10^-9 as a quantity that prints like others of its kind."""
    if not nano % _NANO:
        return Quantity.from_int(nano // _NANO, form)
    return Quantity.parse(f"{nano}n")
