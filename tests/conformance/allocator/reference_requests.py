"""Requests made ready for the search: their class, and how many devices they need.

Upstream counterpart: the first part of Allocate, and validateDeviceRequest, in
allocator_experimental.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dray.api.resource import (
    DeviceClass,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
)
from tests.conformance.allocator.reference_capacity import Amount, CapacityError, fits
from tests.conformance.allocator.reference_model import Case, Offer, Refusal, display_name
from tests.conformance.allocator.reference_pools import Pool
from tests.conformance.allocator.reference_selectors import Selectors

__all__ = ["RESULTS_MAX", "Request", "prepare"]

RESULTS_MAX = 32


@dataclass(eq=False)
class Request:
    """A request, or one alternative of it."""

    claim_index: int
    name: str
    parent: str | None
    want: ExactDeviceRequest | DeviceSubRequest
    amounts: Mapping[str, Amount]
    device_class: DeviceClass
    count: int = 0
    # The devices to take, for a request that wants all there are.
    all_offers: list[Offer] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        return self.name if self.parent is None else f"{self.parent}/{self.name}"

    @property
    def wants_all(self) -> bool:
        return self.want.allocation_mode == "All"

    @property
    def admin_access(self) -> bool:
        return isinstance(self.want, ExactDeviceRequest) and self.want.admin_access is True

    @property
    def derived_attributes(self) -> dict[str, str]:
        return {each.name: each.expression for each in self.want.derived_attributes}


def prepare(case: Case, pools: Sequence[Pool], selectors: Selectors) -> list[list[list[Request]]]:
    """Per claim and request: the request itself, or its alternatives."""
    return [_prepare_claim(case, pools, selectors, index) for index in range(len(case.claims))]


def _prepare_claim(
    case: Case, pools: Sequence[Pool], selectors: Selectors, claim_index: int
) -> list[list[Request]]:
    claim = case.claims[claim_index]
    title = f"claim {display_name(claim.metadata)}"
    prepared: list[list[Request]] = []
    needed = 0
    for request_index, request in enumerate(claim.spec.devices.requests or ()):
        _check_features(request, case, title)
        wants: list[tuple[int | None, ExactDeviceRequest | DeviceSubRequest]]
        if request.first_available:
            wants = list(enumerate(request.first_available))
        elif request.exactly is not None:
            wants = [(None, request.exactly)]
        else:
            # Upstream would crash; validation requires one or the other.
            raise Refusal(f"{title}, request {request.name}: asks for nothing")
        alternatives = []
        for number, want in wants:
            named = isinstance(want, DeviceSubRequest)
            alternatives.append(
                _prepare_request(
                    case,
                    pools,
                    selectors,
                    claim_index,
                    want.name if isinstance(want, DeviceSubRequest) else request.name,
                    request.name if named else None,
                    want,
                    case.amounts[claim_index, request_index, number],
                )
            )
        fewest = min(alternative.count for alternative in alternatives)
        if fewest > RESULTS_MAX - needed:
            raise Refusal(
                f"{title}, request {request.name}: adding {fewest} devices exceeds the claim"
                f" limit of {RESULTS_MAX}, with {needed} already accounted for"
            )
        needed += fewest
        prepared.append(alternatives)
    for number, constraint in enumerate(claim.spec.devices.constraints):
        if constraint.match_attribute is None and constraint.distinct_attribute is None:
            raise Refusal(
                f"{title}, constraint #{number}: empty constraint (unsupported constraint type?)"
            )
    return prepared


def _check_features(request: DeviceRequest, case: Case, title: str) -> None:
    if request.first_available and not case.features.prioritized_list:
        raise Refusal(
            f"{title}, request {request.name}: has subrequests, but the DRAPrioritizedList"
            " feature is disabled"
        )
    if case.features.consumable_capacity:
        return
    disabled = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
    if request.exactly is not None and request.exactly.capacity is not None:
        raise Refusal(f"{title}, request {request.name}: {disabled}")
    for each in request.first_available:
        if each.capacity is not None:
            raise Refusal(f"{title}, subrequest {each.name}: {disabled}")


def _prepare_request(
    case: Case,
    pools: Sequence[Pool],
    selectors: Selectors,
    claim_index: int,
    name: str,
    parent: str | None,
    want: ExactDeviceRequest | DeviceSubRequest,
    amounts: Mapping[str, Amount],
) -> Request:
    title = f"claim {display_name(case.claims[claim_index].metadata)}, request {name}"
    if want.derived_attributes and not case.features.derived_attributes:
        raise Refusal(
            f"{title}: cannot handle request with derived attributes, the feature is disabled"
        )
    for number, selector in enumerate(want.selectors):
        if selector.cel is None:
            raise Refusal(
                f"{title}, selector #{number}: CEL expression empty (unsupported selector type?)"
            )
    has_admin_access = isinstance(want, ExactDeviceRequest) and want.admin_access is not None
    if has_admin_access and not case.features.admin_access:
        raise Refusal(f"{title}: admin access is requested, but the feature is disabled")
    if not want.device_class_name:
        raise Refusal(f"{title}: missing device class name (unsupported request type?)")
    device_class = case.classes.get(want.device_class_name)
    if device_class is None:
        wanted = want.device_class_name
        raise Refusal(
            f"{title}: could not retrieve device class {wanted}:"
            f' deviceclass.resource.k8s.io "{wanted}" not found'
        )
    request = Request(claim_index, name, parent, want, amounts, device_class)
    if want.allocation_mode == "ExactCount":
        request.count = want.count
    elif want.allocation_mode == "All":
        request.all_offers = _all_offers(case, pools, selectors, request, title)
        request.count = len(request.all_offers)
    else:
        raise Refusal(f"{title}: unsupported count mode {want.allocation_mode}")
    return request


def _all_offers(
    case: Case, pools: Sequence[Pool], selectors: Selectors, request: Request, title: str
) -> list[Offer]:
    """Every device that could ever be meant, in use or not."""
    found = []
    for pool in pools:
        for wrong, state in ((pool.is_incomplete, "being updated"), (pool.is_invalid, "invalid")):
            if wrong:
                raise Refusal(
                    f"{title}: asks for all devices, but resource pool {pool.key} is"
                    f" currently {state}"
                )
        for offer in pool.offers:
            if not selectors.select(
                offer, request.claim_index, request.device_class, request.want.selectors
            ):
                continue
            if case.features.consumable_capacity:
                fractional = case.features.fractional_capacity_range
                try:
                    if not fits(request.amounts, offer.capacity, {}, {}, fractional=fractional):
                        continue
                except CapacityError as error:
                    raise Refusal(
                        f"{title}: checking capacity for device {offer.device.name}: {error}"
                    ) from None
            found.append(offer)
    return found
