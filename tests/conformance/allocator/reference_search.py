"""The search: every choice of devices in order, until one is complete.

The devices chosen so far are a list. Whatever depends on them (is this one taken, what is left of
a counter, does a constraint still hold) is worked out from that list every time it is asked, so
turning back means to drop the last entry, and nothing else.

Upstream counterpart: allocateOne and allocateDevice in allocator_experimental.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from dray.api.quantity import Quantity
from dray.api.resource import DeviceAttribute, DeviceConstraint, DeviceTaint, DeviceToleration
from tests.conformance.allocator.reference_capacity import (
    Amount,
    CapacityError,
    consumed_amounts,
    fits,
)
from tests.conformance.allocator.reference_constraints import admits, applies, published_attribute
from tests.conformance.allocator.reference_model import (
    Case,
    DeviceKey,
    Offer,
    Refusal,
    display_name,
)
from tests.conformance.allocator.reference_pools import Pool
from tests.conformance.allocator.reference_requests import RESULTS_MAX, Request
from tests.conformance.allocator.reference_selectors import Selectors

__all__ = ["Chosen", "Outcome", "Search", "StepsExceeded"]


class Outcome(Enum):
    FOUND = "found"
    NOTHING = "nothing"
    LIMIT = "limit"  # nothing, because the claim would get too many devices


class StepsExceeded(Exception):
    """The search was not given enough steps to come to an end."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """A device chosen for a request. A share of one has the amounts it consumes."""

    request: Request
    offer: Offer
    is_share: bool
    amounts: Mapping[str, Amount]
    # Further shares of a device do not draw from counters again.
    draws_from_counters: bool


class Search:
    def __init__(
        self,
        case: Case,
        pools: Sequence[Pool],
        requests: Sequence[Sequence[Sequence[Request]]],
        selectors: Selectors,
        steps_max: int | None,
    ) -> None:
        self._case = case
        self._features = case.features
        self._pools = {pool.key: pool for pool in pools}
        self._offers = [offer for pool in pools if pool.is_usable for offer in pool.offers]
        self._requests = requests
        self._selectors = selectors
        self._steps_max = steps_max
        self.steps = 0
        self.chosen: list[Chosen] = []
        # Per claim and request, the alternative of the solution.
        self.alternatives: dict[tuple[int, int], int] = {}

    def run(self) -> Outcome:
        return self._step(0, 0, None, 0, 0)

    def _step(
        self, claim: int, request: int, alternative: int | None, ordinal: int, start: int
    ) -> Outcome:
        """Choose device number `ordinal` of a request, and then all that follow.

        `start` is the first device to look at, in the order of all devices.
        """
        self.steps += 1
        if self._steps_max is not None and self.steps > self._steps_max:
            raise StepsExceeded

        if claim == len(self._case.claims):
            return Outcome.FOUND
        if request == len(self._requests[claim]):
            outcome = self._step(claim + 1, 0, None, 0, 0)
            # How many devices the next claim takes is no reason to give up on this one.
            return Outcome.NOTHING if outcome is Outcome.LIMIT else outcome
        if alternative is None and self._requests[claim][request][0].parent is not None:
            return self._step_into_alternatives(claim, request)

        wanted = self._requests[claim][request][alternative or 0]
        if wanted.wants_all and not wanted.all_offers:
            return Outcome.NOTHING
        if ordinal >= wanted.count:
            return self._step(claim, request + 1, None, 0, 0)
        results = sum(each.request.claim_index == claim for each in self.chosen)
        if wanted.count - ordinal > RESULTS_MAX - results:
            return Outcome.LIMIT

        if wanted.wants_all:
            if not self._choose(wanted, wanted.all_offers[ordinal]):
                return Outcome.NOTHING
            outcome = self._step(claim, request, alternative, ordinal + 1, 0)
            if outcome is not Outcome.FOUND:
                self.chosen.pop()
            return outcome

        for position in range(start, len(self._offers)):
            offer = self._offers[position]
            if not self._is_candidate(wanted, offer) or not self._choose(wanted, offer):
                continue
            outcome = self._step(claim, request, alternative, ordinal + 1, position + 1)
            if outcome is Outcome.FOUND:
                return outcome
            self.chosen.pop()
            if outcome is Outcome.LIMIT:
                return outcome
        return Outcome.NOTHING

    def _step_into_alternatives(self, claim: int, request: int) -> Outcome:
        outcomes = set()
        for alternative in range(len(self._requests[claim][request])):
            outcome = self._step(claim, request, alternative, 0, 0)
            if outcome is Outcome.FOUND:
                self.alternatives[claim, request] = alternative
                return outcome
            outcomes.add(outcome)
        return Outcome.LIMIT if outcomes == {Outcome.LIMIT} else Outcome.NOTHING

    # One device ---------------------------------------------------------------------------------

    def _is_candidate(self, request: Request, offer: Offer) -> bool:
        return (
            not self._is_in_use(request, offer.key)
            and self._selectors.select(
                offer, request.claim_index, request.device_class, request.want.selectors
            )
            and self._has_capacity(request, offer, "checking capacity")
        )

    def _choose(self, request: Request, offer: Offer) -> bool:
        """Add the device to those chosen, if it can be had."""
        is_share = self._features.consumable_capacity and bool(
            offer.device.allow_multiple_allocations
        )
        draws = bool(offer.device.consumes_counters) and not (
            is_share and self._has_shares(offer.key)
        )
        if (
            self._is_in_use(request, offer.key)
            or not self._can_skip_node_operations(offer)
            or (offer.device.consumes_counters and not self._features.partitionable_devices)
            or (draws and not self._has_compatible_groups(offer))
            or (draws and not self._has_counters(offer))
            or (self._features.device_taints and _is_repelled(offer, request))
            or not self._meets_constraints(request, offer)
            or not self._has_capacity(request, offer, "rechecking capacity")
        ):
            return False
        amounts: Mapping[str, Amount] = {}
        if is_share:
            fractional = self._features.fractional_capacity_range
            amounts = consumed_amounts(request.amounts, offer.capacity, fractional=fractional)
        self.chosen.append(Chosen(request, offer, is_share, amounts, draws))
        return True

    def _is_in_use(self, request: Request, key: DeviceKey) -> bool:
        """Shares leave a device free for others; admin access ignores other claims."""
        taken_by = {
            each.request.claim_index
            for each in self.chosen
            if each.offer.key == key and not each.is_share
        }
        if request.admin_access:
            return request.claim_index in taken_by
        return key in self._case.allocated or bool(taken_by)

    def _has_shares(self, key: DeviceKey) -> bool:
        return (
            key in self._case.consumed
            or key in self._case.shared
            or any(each.is_share and each.offer.key == key for each in self.chosen)
        )

    def _can_skip_node_operations(self, offer: Offer) -> bool:
        if not offer.slice.api.spec.skip_node_operations:
            return True
        declared = self._case.node.status.declared_features
        return self._features.optional_node_operations and "DRAOptionalNodeOperations" in declared

    def _has_capacity(self, request: Request, offer: Offer, doing: str) -> bool:
        if not self._features.consumable_capacity:
            return True
        consuming: dict[str, Quantity] = {}
        for each in self.chosen:
            if each.offer.key == offer.key:
                for name, amount in each.amounts.items():
                    held = consuming.get(name, Quantity.from_int(0))
                    consuming[name] = held + amount.quantity
        try:
            return fits(
                request.amounts,
                offer.capacity,
                self._case.consumed.get(offer.key, {}),
                consuming,
                fractional=self._features.fractional_capacity_range,
            )
        except CapacityError as error:
            raise Refusal(
                f"{self._title(request)}: {doing} for device {offer.key}: {error}"
            ) from None

    # Counters -----------------------------------------------------------------------------------

    def _drawing(self, pool: Pool) -> list[Offer]:
        """The devices that draw from the pool's counters: allocated ones, then chosen ones."""
        allocated = [each for each in pool.offers_anywhere if self._case.is_allocated(each.key)]
        chosen = [each.offer for each in self.chosen if each.draws_from_counters]
        return allocated + [offer for offer in chosen if offer.pool == pool.key]

    def _has_counters(self, offer: Offer) -> bool:
        """Whether no counter of the pool would be below zero, be it one the device uses or not."""
        pool = self._pools[offer.pool]
        left = {
            (found.name, name): counter.value
            for found in (pool.counter_sets or {}).values()
            for name, counter in found.counters.items()
        }
        for each in (*self._drawing(pool), offer):
            for consumption in each.device.consumes_counters:
                for name, counter in consumption.counters.items():
                    left[consumption.counter_set, name] -= counter.value
        return all(amount.sign >= 0 for amount in left.values())

    def _has_compatible_groups(self, offer: Offer) -> bool:
        """Whether all devices that draw from a counter set share a group, or none has any."""
        if not self._features.compatibility_groups:
            return True
        # Per counter set that is drawn from: the groups all have, None if they have no groups.
        common: dict[str, frozenset[str] | None] = {}
        for each in (*self._drawing(self._pools[offer.pool]), offer):
            for consumption in each.device.consumes_counters:
                groups = frozenset(consumption.compatibility_groups)
                if consumption.counter_set not in common:
                    common[consumption.counter_set] = groups or None
                    continue
                held = common[consumption.counter_set]
                fits_in = not groups if held is None else bool(held & groups)
                if each is offer and not fits_in:
                    return False
                # Allocated devices stay even where they contradict each other.
                if held is not None and groups:
                    common[consumption.counter_set] = held & groups
        return True

    # Constraints --------------------------------------------------------------------------------

    def _meets_constraints(self, request: Request, offer: Offer) -> bool:
        claim = self._case.claims[request.claim_index]
        for constraint in claim.spec.devices.constraints:
            if not applies(constraint, request.name, request.parent):
                continue
            chosen = [
                attribute
                for each in self.chosen
                if each.request.claim_index == request.claim_index
                and applies(constraint, each.request.name, each.request.parent)
                and (attribute := self._attribute(constraint, each.request, each.offer))
            ]
            candidate = self._attribute(constraint, request, offer)
            if admits(constraint, chosen, candidate, lists=self._features.list_type_attributes):
                continue
            if request.wants_all:
                raise Refusal(
                    f"{self._title(request)}: cannot add device {offer.key} because a claim"
                    " constraint would not be satisfied"
                )
            return False
        return True

    def _attribute(
        self, constraint: DeviceConstraint, request: Request, offer: Offer
    ) -> DeviceAttribute | None:
        name = constraint.match_attribute
        if name is None:
            name = constraint.distinct_attribute
        assert name is not None
        if name in request.derived_attributes:
            return self._selectors.derive(offer, name, request.derived_attributes[name])
        return published_attribute(offer.key.driver, offer.device, name)

    def _title(self, request: Request) -> str:
        claim = self._case.claims[request.claim_index]
        return f"claim {display_name(claim.metadata)}, request {request.name}"


# Taints -----------------------------------------------------------------------------------------


def _is_repelled(offer: Offer, request: Request) -> bool:
    return any(
        taint.effect in ("NoSchedule", "NoExecute")
        and not any(_tolerates(toleration, taint) for toleration in request.want.tolerations)
        for taint in offer.device.taints
    )


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
