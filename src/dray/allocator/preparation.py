"""Claims made ready for allocation: wants in their order, or the reason they cannot be judged.

Everything is prepared before anything is searched, so a mistake in the last alternative of the
last claim is reported even if the first claim could never fit. Only two things wait until a node
is known: how many devices "all" are there, and whether that stays within the limit of a claim.

Upstream counterpart: the first half of Allocate and validateDeviceRequest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dray.allocator.features import Features
from dray.allocator.requests import Stage, Want, claim_key
from dray.api.resource import (
    ALLOCATION_MODE_ALL,
    ALLOCATION_MODE_EXACT_COUNT,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from dray.errors import AllocationError

__all__ = ["RESULTS_MAX", "Preparation", "prepare"]

# The API has room for so many devices in the status of a claim.
RESULTS_MAX: Final = 32


@dataclass(frozen=True, eq=False, slots=True)
class Preparation:
    """Claims in the order given, taken apart.

    Where something is wrong with a claim, stages and wants end there and `failure` says what: on
    nodes where nothing before it fails, that is the outcome.
    """

    claims: tuple[ResourceClaim, ...]
    stages: tuple[Stage, ...]
    wants: tuple[Want, ...]
    constraints: tuple[tuple[int, DeviceConstraint], ...]  # claim index, and one of its constraints
    failure: str

    def check(self, needed: Callable[[Want], int]) -> None:
        """Raise what is wrong, on a node where wants need so many devices.

        `needed` is asked in order, and may itself raise.
        """
        total = 0
        claim_index = -1
        for stage in self.stages:
            if stage.claim_index != claim_index:
                claim_index, total = stage.claim_index, 0
            least = min(map(needed, stage.wants))
            if least > RESULTS_MAX - total:
                want = stage.wants[0]
                raise AllocationError(
                    f"claim {claim_key(want.claim)}, request {want.parent_name}: adding {least} "
                    f"devices exceeds the claim limit of {RESULTS_MAX}, with {total} already "
                    f"accounted for"
                )
            total += least
        for want in self.wants[sum(len(stage.wants) for stage in self.stages) :]:
            needed(want)
        if self.failure:
            raise AllocationError(self.failure)


def prepare(
    claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass], features: Features
) -> Preparation:
    """The wants of the claims; never raises, see `Preparation.failure`."""
    stages: list[Stage] = []
    wants: list[Want] = []
    constraints: list[tuple[int, DeviceConstraint]] = []
    failure = ""
    try:
        for claim_index, claim in enumerate(claims):
            if claim.status.allocation is not None:
                raise AllocationError(f"claim {claim_key(claim)}: has devices already")
            for request_index, request in enumerate(claim.spec.devices.requests or ()):
                first = len(wants)
                _check_request(claim, request, features)
                for alternative, asked in _alternatives(request):
                    wants.append(
                        _want(
                            claim,
                            request,
                            asked,
                            classes=classes,
                            features=features,
                            place=(len(wants), claim_index, request_index, alternative),
                        )
                    )
                stages.append(
                    Stage(
                        claim_index,
                        request_index,
                        tuple(wants[first:]),
                        prioritized=bool(request.first_available),
                    )
                )
            for index, constraint in enumerate(claim.spec.devices.constraints):
                if constraint.match_attribute is None and constraint.distinct_attribute is None:
                    raise AllocationError(
                        f"claim {claim_key(claim)}, constraint #{index}: empty constraint "
                        f"(unsupported constraint type?)"
                    )
                constraints.append((claim_index, constraint))
    except AllocationError as error:
        failure = str(error)
    return Preparation(
        tuple(claims), tuple(stages), tuple(wants), tuple(constraints), failure=failure
    )


def _check_request(claim: ResourceClaim, request: DeviceRequest, features: Features) -> None:
    where = f"claim {claim_key(claim)}"
    if request.first_available and not features.prioritized_list:
        raise AllocationError(
            f"{where}, request {request.name}: has subrequests, but the DRAPrioritizedList "
            f"feature is disabled"
        )
    if features.consumable_capacity:
        return
    without = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
    if request.exactly is not None and request.exactly.capacity is not None:
        raise AllocationError(f"{where}, request {request.name}: {without}")
    for alternative in request.first_available:
        if alternative.capacity is not None:
            raise AllocationError(f"{where}, subrequest {alternative.name}: {without}")


def _alternatives(
    request: DeviceRequest,
) -> Sequence[tuple[int | None, ExactDeviceRequest | DeviceSubRequest]]:
    if request.first_available:
        return tuple(enumerate(request.first_available))
    # A kind of request that is yet to be invented has no class, and that is what is said of it.
    return ((None, request.exactly or ExactDeviceRequest()),)


def _want(
    claim: ResourceClaim,
    request: DeviceRequest,
    asked: ExactDeviceRequest | DeviceSubRequest,
    *,
    classes: Mapping[str, DeviceClass],
    features: Features,
    place: tuple[int, int, int, int | None],
) -> Want:
    name = asked.name if isinstance(asked, DeviceSubRequest) else request.name
    admin_access = asked.admin_access if isinstance(asked, ExactDeviceRequest) else None
    where = f"claim {claim_key(claim)}, request {name}"
    if asked.derived_attributes and not features.derived_attributes:
        raise AllocationError(
            f"{where}: cannot handle request with derived attributes, the feature is disabled"
        )
    for index, selector in enumerate(asked.selectors):
        if selector.cel is None:
            raise AllocationError(
                f"{where}, selector #{index}: CEL expression empty (unsupported selector type?)"
            )
    if admin_access is not None and not features.admin_access:
        raise AllocationError(f"{where}: admin access is requested, but the feature is disabled")
    if not asked.device_class_name:
        raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
    device_class = classes.get(asked.device_class_name)
    if device_class is None:
        raise AllocationError(
            f"{where}: could not retrieve device class {asked.device_class_name}: "
            f'deviceclass.resource.k8s.io "{asked.device_class_name}" not found'
        )
    if asked.allocation_mode not in _MODES:
        raise AllocationError(f"{where}: unsupported count mode {asked.allocation_mode}")
    all_devices = asked.allocation_mode == ALLOCATION_MODE_ALL
    index, claim_index, request_index, alternative = place
    return Want(
        index=index,
        claim=claim,
        claim_index=claim_index,
        request_index=request_index,
        alternative=alternative,
        name=name,
        full_name=request.name if alternative is None else f"{request.name}/{name}",
        parent_name=request.name,
        device_class=device_class,
        selectors=asked.selectors,
        tolerations=asked.tolerations,
        capacity=asked.capacity.requests if asked.capacity is not None else {},
        derived_attributes={
            derived.name: derived.expression for derived in asked.derived_attributes
        },
        admin_access=bool(admin_access),
        all_devices=all_devices,
        count=0 if all_devices else asked.count,
    )


_MODES: Final = (ALLOCATION_MODE_ALL, ALLOCATION_MODE_EXACT_COUNT)
