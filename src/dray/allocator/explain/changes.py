"""Changes to what is asked for, or to what is in use, and what claims look like afterwards.

A Change says in data what to do, so that a program can do it, and in words what that means.
Applying one gives new claims, new classes and a new occupancy; the old ones stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from dray.allocator.occupancy import Occupancy
from dray.allocator.pools import Pool
from dray.api.quantity import Quantity
from dray.api.resource import (
    ALLOCATION_MODE_EXACT_COUNT,
    CapacityRequirements,
    CELDeviceSelector,
    DeviceClass,
    DeviceID,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from dray.api.wire import replace as replace_field

__all__ = ["EVERYTHING", "Change", "ChangeKind", "Place", "Relaxation", "Situation", "Unit"]


EVERYTHING: Final = "true"
"""A selector that selects everything. There is no need to have one."""


class ChangeKind(Enum):
    """What is changed, the smallest changes first."""

    TOLERATE = "Tolerate"
    CONSTRAINT = "Constraint"  # drop it
    SELECTOR = "Selector"  # drop conditions of a selector of a request
    CAPACITY = "Capacity"  # ask for less, or not at all
    COUNT = "Count"  # ask for fewer devices
    ALTERNATIVE = "Alternative"  # accept fewer devices where there are not enough
    FREE = "Free"  # have other claims give back their devices
    CLASS_SELECTOR = "ClassSelector"  # drop conditions of a selector of a class, for everybody
    POOL = "Pool"  # wait for the driver


_ORDER: Final = {kind: order for order, kind in enumerate(ChangeKind)}


class Place(NamedTuple):
    """A request in the claims: which claim, which of its requests, which alternative of that."""

    claim: int
    request: int
    alternative: int | None = None


class Unit(NamedTuple):
    """What is given back at once: all that one claim holds, or one device held by nobody knows."""

    holder: str
    devices: tuple[DeviceID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change. Which members are set depends on the kind."""

    kind: ChangeKind
    text: str
    weight: int = 1  # how many things change: taints, conditions, claims that have to go
    places: tuple[Place, ...] = ()  # the requests that are changed
    claim: str = ""  # of the first of them: namespace/name
    request: str = ""  # of the first of them: its full name
    tolerations: tuple[DeviceToleration, ...] = ()  # to add
    device_class: str = ""  # whose selector is changed
    selector: int = -1  # which selector of the request or of the class
    conditions: tuple[str, ...] = ()  # those that are dropped
    expression: str = ""  # the selector without them; EVERYTHING: the selector goes as a whole
    count: int = 0  # of devices
    capacity: str = ""
    amount: Quantity | None = None  # of the capacity; None: not to be asked for
    constraint: int = -1  # which one of the claim
    units: tuple[Unit, ...] = ()  # what is given back
    pool: str = ""
    parts: tuple[Change, ...] = field(default=(), repr=False, compare=False)
    """The changes to single requests that it consists of; none if it is one itself."""


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Changes that together make claims fit on a node.

    `checked` ones have been tried: the search finds devices when they are made. The others are up
    to somebody else, and what comes of them cannot be known.

    A checked one has nothing to spare: without any of its changes, or with one toleration, one
    request or one claim fewer in them, the claims do not fit, as far as trials were left to see.

    Those of several nodes are put in order by `rank`: checked ones first, then few changes before
    many (`size`), then kinds in the order of ChangeKind, then by how much is changed (`weight`).
    """

    changes: tuple[Change, ...]
    checked: bool = True

    @property
    def kind(self) -> ChangeKind:
        return self.changes[0].kind

    @property
    def request(self) -> str:
        return self.changes[0].request

    @property
    def size(self) -> int:
        """How many changes have to be made."""
        return len(self.changes)

    @property
    def weight(self) -> int:
        """How many things they change altogether."""
        return sum(change.weight for change in self.changes)

    @property
    def rank(self) -> tuple[bool, int, int, int]:
        """The smaller, the sooner to be told; comparable over nodes."""
        kinds = sum(_ORDER[change.kind] for change in self.changes)
        return (not self.checked, self.size, kinds, self.weight)

    @property
    def text(self) -> str:
        return ", and ".join(change.text for change in self.changes)


Asked: TypeAlias = ExactDeviceRequest | DeviceSubRequest


@dataclass(frozen=True, slots=True)
class Situation:
    """What an allocator is asked about, as far as changes touch it."""

    claims: tuple[ResourceClaim, ...]
    classes: Mapping[str, DeviceClass]
    gone: frozenset[Unit] = field(default_factory=frozenset)

    def changed(self, changes: Iterable[Change]) -> Situation:
        situation = self
        # Constraints and selectors are named by their place, so the last of them goes first.
        for change in sorted(changes, key=lambda change: (-change.constraint, -change.selector)):
            situation = _APPLY[change.kind](situation, change)
        return situation

    def occupancy(self, before: Occupancy, pools: Iterable[Pool]) -> Occupancy:
        """What is in use in these pools when what is gone is."""
        holders = {unit.holder for unit in self.gone if unit.holder}
        devices = {device for unit in self.gone if not unit.holder for device in unit.devices}
        return before.without(holders, devices, {pool.id for pool in pools})


# Applying --------------------------------------------------------------------------------------


def _tolerate(situation: Situation, change: Change) -> Situation:
    return _edited(
        situation,
        change,
        lambda asked: replace_field(asked, tolerations=asked.tolerations + change.tolerations),
    )


def _selector(situation: Situation, change: Change) -> Situation:
    return _edited(
        situation,
        change,
        lambda asked: replace_field(
            asked, selectors=_replaced(asked.selectors, change.selector, change.expression)
        ),
    )


def _class_selector(situation: Situation, change: Change) -> Situation:
    old = situation.classes[change.device_class]
    selectors = _replaced(old.spec.selectors, change.selector, change.expression)
    new = replace_field(old, spec=replace_field(old.spec, selectors=selectors))
    return replace(situation, classes={**situation.classes, change.device_class: new})


def _replaced(
    selectors: tuple[DeviceSelector, ...], index: int, expression: str
) -> tuple[DeviceSelector, ...]:
    if expression == EVERYTHING:
        return selectors[:index] + selectors[index + 1 :]
    new = DeviceSelector(cel=CELDeviceSelector(expression=expression))
    return (*selectors[:index], new, *selectors[index + 1 :])


def _capacity(situation: Situation, change: Change) -> Situation:
    def less(asked: Asked) -> Asked:
        requests = dict(asked.capacity.requests) if asked.capacity is not None else {}
        if change.amount is None:
            requests.pop(change.capacity, None)
        else:
            requests[change.capacity] = change.amount
        return replace_field(asked, capacity=CapacityRequirements(requests=requests))

    return _edited(situation, change, less)


def _count(situation: Situation, change: Change) -> Situation:
    return _edited(situation, change, lambda asked: _counted(asked, change.count))


def _counted(asked: Asked, count: int) -> Asked:
    return replace_field(asked, allocation_mode=ALLOCATION_MODE_EXACT_COUNT, count=count)


def _alternative(situation: Situation, change: Change) -> Situation:
    """The request as a list of itself and the same with fewer devices."""

    def listed(request: DeviceRequest) -> DeviceRequest:
        exactly = request.exactly or ExactDeviceRequest()
        preferred = DeviceSubRequest(
            name="preferred",
            device_class_name=exactly.device_class_name,
            selectors=exactly.selectors,
            allocation_mode=exactly.allocation_mode,
            count=exactly.count,
            tolerations=exactly.tolerations,
            capacity=exactly.capacity,
            derived_attributes=exactly.derived_attributes,
        )
        fewer = replace_field(_counted(preferred, change.count), name="fewer")
        return replace_field(request, exactly=None, first_available=(preferred, fewer))

    return _with_requests(situation, change.places, lambda request, _: listed(request))


def _constraint(situation: Situation, change: Change) -> Situation:
    claims = list(situation.claims)
    for place in change.places:
        claim = claims[place.claim]
        devices = claim.spec.devices
        kept = tuple(
            one for index, one in enumerate(devices.constraints) if index != change.constraint
        )
        claims[place.claim] = replace_field(
            claim,
            spec=replace_field(claim.spec, devices=replace_field(devices, constraints=kept)),
        )
    return replace(situation, claims=tuple(claims))


def _free(situation: Situation, change: Change) -> Situation:
    return replace(situation, gone=situation.gone | frozenset(change.units))


def _wait(situation: Situation, _change: Change) -> Situation:
    return situation


_APPLY: Mapping[ChangeKind, Callable[[Situation, Change], Situation]] = {
    ChangeKind.TOLERATE: _tolerate,
    ChangeKind.CONSTRAINT: _constraint,
    ChangeKind.SELECTOR: _selector,
    ChangeKind.CAPACITY: _capacity,
    ChangeKind.COUNT: _count,
    ChangeKind.ALTERNATIVE: _alternative,
    ChangeKind.FREE: _free,
    ChangeKind.CLASS_SELECTOR: _class_selector,
    ChangeKind.POOL: _wait,
}


def _edited(situation: Situation, change: Change, edit: Callable[[Asked], Asked]) -> Situation:
    """The situation with requests, or single alternatives of them, changed."""

    def edited(request: DeviceRequest, place: Place) -> DeviceRequest:
        if place.alternative is None:
            return replace_field(request, exactly=edit(request.exactly or ExactDeviceRequest()))
        alternatives = list(request.first_available)
        alternative = edit(alternatives[place.alternative])
        assert isinstance(alternative, DeviceSubRequest)
        alternatives[place.alternative] = alternative
        return replace_field(request, first_available=tuple(alternatives))

    return _with_requests(situation, change.places, edited)


def _with_requests(
    situation: Situation,
    places: Iterable[Place],
    edit: Callable[[DeviceRequest, Place], DeviceRequest],
) -> Situation:
    claims = list(situation.claims)
    for place in places:
        claim = claims[place.claim]
        devices = claim.spec.devices
        requests = list(devices.requests or ())
        requests[place.request] = edit(requests[place.request], place)
        changed = replace_field(devices, requests=tuple(requests))
        claims[place.claim] = replace_field(claim, spec=replace_field(claim.spec, devices=changed))
    return replace(situation, claims=tuple(claims))
