"""What the allocator answers: devices, or why not.

A "no" carries a report that is worked out when somebody reads it and not before: how many devices
every request looked at and what was wrong with each, what is wrong between requests where nothing
is wrong with any of them alone, and the pools that could not be used.

Reports are data with texts. Texts name devices, claims and values; `key` leaves out the names that
differ from node to node, so that equal keys count alike over a fleet.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import groupby
from typing import Final, Literal, TypeAlias

from dray.allocator.occupancy import PoolID
from dray.api.resource import AllocationResult, DeviceID

__all__ = [
    "EXAMPLES_MAX",
    "Allocation",
    "AmountFacts",
    "AttributeFacts",
    "Cause",
    "Conflict",
    "ConflictKind",
    "Exclusion",
    "Facts",
    "HolderFacts",
    "NodeReport",
    "PoolTrouble",
    "RequestReport",
    "SelectorFacts",
    "TaintFacts",
    "Unsatisfiable",
]

EXAMPLES_MAX: Final = 3
"""Devices named for one cause; the others are counted."""

ALTERNATIVES_MAX: Final = 2
"""Alternatives of one request that a line has room for."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """One result per claim, in the order of the claims."""

    results: tuple[AllocationResult, ...]
    steps: int


@dataclass(frozen=True)
class Unsatisfiable:
    """The claims do not fit on the node."""

    node: str
    steps: int
    undecided: bool = False  # the search was given up; a solution may exist
    message: str = ""  # what upstream would report for the node
    explain: Callable[[], NodeReport] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def report(self) -> NodeReport:
        """Why, worked out when it is first asked for."""
        if self.explain is None:
            return NodeReport(self.node, undecided=self.undecided)
        return self.explain()


# One device and one request --------------------------------------------------------------------


class Cause(Enum):
    """Why a request does not take a device, in the order in which the allocator looks."""

    IN_USE = "InUse"
    BINDING_CONDITIONS = "BindingConditions"  # it has some, and the feature is off
    SELECTOR = "Selector"
    NODE = "Node"  # the device is for other nodes
    CAPACITY = "Capacity"
    NODE_OPERATIONS = "NodeOperations"  # the node does not declare that it can do without them
    PARTITIONS = "Partitions"  # it draws from counters, and the feature is off
    COUNTERS = "Counters"
    COMPATIBILITY = "Compatibility"
    TAINT = "Taint"
    CONSTRAINT_ATTRIBUTE = "ConstraintAttribute"  # it lacks what a constraint compares


@dataclass(frozen=True, slots=True)
class HolderFacts:
    """Who has the devices, and how many of them each; a holder nobody named is ""."""

    holders: tuple[tuple[str, int], ...]

    @property
    def key(self) -> Hashable:
        return len(self.holders)


@dataclass(frozen=True, slots=True)
class SelectorFacts:
    """The condition that decided, and what devices have there."""

    source: str  # "class NAME" or "claim"
    index: int  # of the selector in its source
    conjunct: str  # as its author wrote it; empty if the selector as a whole is to blame
    conjunct_index: int  # -1 if the selector as a whole is to blame
    found: tuple[tuple[str, int], ...]  # what was found there, and on how many devices
    error: str = ""  # what it says where it has no answer

    @property
    def key(self) -> Hashable:
        return (self.source, self.index, self.conjunct_index, self.found, bool(self.error))


@dataclass(frozen=True, slots=True)
class TaintFacts:
    """The first taint that is not tolerated."""

    taint_key: str
    value: str
    effect: str

    @property
    def key(self) -> Hashable:
        return (self.taint_key, self.value, self.effect)


@dataclass(frozen=True, slots=True)
class AmountFacts:
    """Too little of something, in the amounts that API objects write."""

    name: str  # the capacity, or the counter; empty where it is no single one
    wanted: str
    left: str  # the most that any of the devices has left
    total: str = ""  # of which that is left
    counter_set: str = ""  # of a counter
    pool: PoolID | None = None  # of a counter
    error: str = ""  # what it says where nobody can tell the amount

    @property
    def key(self) -> Hashable:
        return (self.name, self.wanted, self.left, self.total, self.counter_set, bool(self.error))


@dataclass(frozen=True, slots=True)
class AttributeFacts:
    """The attribute that a constraint compares."""

    attribute: str
    constraint: int  # its position in the claim

    @property
    def key(self) -> Hashable:
        return (self.attribute, self.constraint)


Facts: TypeAlias = HolderFacts | SelectorFacts | TaintFacts | AmountFacts | AttributeFacts


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Devices that a request cannot have for one and the same reason."""

    cause: Cause
    count: int
    examples: tuple[DeviceID, ...]
    text: str  # begins with the count: `6 in use by ml/train-0, ml/train-1`
    facts: Facts | None = None

    @property
    def key(self) -> Hashable:
        return (self.cause, self.count, self.facts.key if self.facts is not None else None)


@dataclass(frozen=True, slots=True)
class RequestReport:
    """One request, or one alternative of a prioritized list, and the devices of a node.

    `devices` is `free` and the counts of all exclusions together.
    """

    claim: str
    request: str  # in full: `request` or `request/alternative`
    alternative: int | None
    wanted: int | Literal["all"]
    needed: int  # the same as a number: so many are all
    devices: int  # looked at
    candidates: int  # would do if they were free
    free: int  # would do, and are
    exclusions: tuple[Exclusion, ...]
    place: tuple[int, int] = (0, 0)  # of the claim, and of the request in it

    @property
    def short(self) -> bool:
        """Whether there are too few devices, whatever else is asked for."""
        return self.free < max(self.needed, 1 if self.wanted == "all" else 0)

    @property
    def summary(self) -> str:
        """In short: `2 free, 4 wanted`."""
        return f"{self.free or 'none'} free, {self._wanted}"

    @property
    def line(self) -> str:
        """In one line: `8 devices: 2 free, 6 in use by ml/train-0; 4 wanted`."""
        devices = f"{self.devices} device{'' if self.devices == 1 else 's'}"
        if not self.devices:
            return f"no devices; {self._wanted}"
        parts = [f"{self.free} free"] if self.free else []
        parts += [exclusion.text for exclusion in self.exclusions]
        return f"{devices}: {', '.join(parts)}; {self._wanted}"

    @property
    def _wanted(self) -> str:
        if self.wanted != "all":
            return f"{self.wanted} wanted"
        return f"all {self.needed} wanted" if self.needed else "all wanted, and there are none"

    @property
    def key(self) -> Hashable:
        return (
            self.place,
            self.request,
            self.wanted,
            self.needed,
            self.devices,
            self.candidates,
            self.free,
            tuple(exclusion.key for exclusion in self.exclusions),
        )


# What is wrong between requests, and with pools ------------------------------------------------


class ConflictKind(Enum):
    """What keeps requests from being served together."""

    DEVICES = "Devices"  # together they need more devices than there are
    MATCH_ATTRIBUTE = "MatchAttribute"
    DISTINCT_ATTRIBUTE = "DistinctAttribute"
    COUNTERS = "Counters"
    COMPATIBILITY = "Compatibility"  # their devices may not draw from one counter set together
    CAPACITY = "Capacity"
    LIMIT = "Limit"  # more devices than a claim may have
    COMBINATION = "Combination"  # nothing simpler was found


@dataclass(frozen=True, slots=True)
class Conflict:
    """Requests that cannot be served together, though each has devices enough.

    `requests` is as small as it can be, as far as steps allow to find out: without any one of them
    there is a way. A single request can be in conflict with itself, if it wants several devices.
    """

    kind: ConflictKind
    requests: tuple[tuple[str, str], ...]  # claim and request
    text: str
    needed: int = 0  # devices, or values
    available: int = 0
    name: str = ""  # of the attribute, the counter or the capacity
    value: str = ""  # of the attribute, that the most devices share
    wanted: str = ""  # amount of the counter or the capacity, at least
    left: str = ""
    counter_set: str = ""
    pool: PoolID | None = None

    @property
    def key(self) -> Hashable:
        return (
            self.kind,
            tuple(request for _, request in self.requests),
            self.needed,
            self.available,
            self.name,
            self.wanted,
            self.left,
            self.counter_set,
        )


@dataclass(frozen=True, slots=True)
class PoolTrouble:
    """A pool of the node that nothing may be taken from."""

    pool: PoolID
    text: str
    invalid: str = ""  # why, or nothing: the pool is incomplete
    slices_seen: int = 0  # of an incomplete pool
    slices_expected: int = 0

    @property
    def key(self) -> Hashable:
        # Pools have the names of nodes, and what is wrong with one names devices.
        return (self.pool.driver, bool(self.invalid), self.slices_seen, self.slices_expected)


# All of a node ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class NodeReport:
    """Why claims do not fit on a node."""

    node: str
    requests: tuple[RequestReport, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    pools: tuple[PoolTrouble, ...] = ()
    undecided: bool = False  # the search was given up

    @property
    def stages(self) -> Iterator[tuple[RequestReport, ...]]:
        """The alternatives of each request; a request without is one alone."""
        for _, alternatives in groupby(self.requests, key=lambda one: one.place):
            yield tuple(alternatives)

    @cached_property
    def summary(self) -> str:
        """The first reason that mattered, in one line."""
        for alternatives in self.stages:
            if all(report.short for report in alternatives):
                return self._short(alternatives)
        if self.conflicts:
            return self.conflicts[0].text
        if self.undecided:
            return "the search was given up; the claims may fit or not"
        if self.pools:
            return self.pools[0].text
        return "no combination of devices serves all requests"

    def _short(self, alternatives: tuple[RequestReport, ...]) -> str:
        several = len({report.claim for report in self.requests}) > 1
        claim = f"claim {alternatives[0].claim}, " if several else ""
        shown = alternatives if len(alternatives) <= ALTERNATIVES_MAX else alternatives[:1]
        lines = "; or ".join(f"{report.request}: {report.line}" for report in shown)
        if len(shown) < len(alternatives):
            lines += f"; nor does any of {len(alternatives) - 1} other alternatives fit"
        pools = "".join(f"; {trouble.text}" for trouble in self.pools)
        return f"{claim}request {lines}{pools}"

    @cached_property
    def key(self) -> Hashable:
        """Equal for nodes of which the same can be said, apart from names of nodes and devices."""
        return (
            _keys(self.requests),
            _keys(self.conflicts),
            tuple(sorted(_keys(self.pools), key=repr)),
            self.undecided,
        )


def _keys(
    reports: Iterable[RequestReport] | Iterable[Conflict] | Iterable[PoolTrouble],
) -> tuple[Hashable, ...]:
    return tuple(report.key for report in reports)
