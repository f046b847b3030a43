"""The allocation result of each claim, from the devices the search chose.

Upstream counterpart: the last part of Allocate, and createNodeSelector, in
allocator_experimental.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dray.api.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from dray.api.wire import replace
from tests.conformance.allocator.reference_model import Case, Refusal
from tests.conformance.allocator.reference_requests import Request
from tests.conformance.allocator.reference_search import Chosen

__all__ = ["SHARE_ID", "assemble"]

# Upstream draws a random one for each share.
SHARE_ID: Final = "00000000-0000-0000-0000-000000000000"


def assemble(
    case: Case,
    requests: Sequence[Sequence[Sequence[Request]]],
    chosen: Sequence[Chosen],
    alternatives: Mapping[tuple[int, int], int],
) -> list[AllocationResult]:
    results = []
    for index, claim in enumerate(case.claims):
        granted = [
            options[alternatives.get((index, number), 0)]
            for number, options in enumerate(requests[index])
        ]
        devices = [each for each in chosen if each.request.claim_index == index]
        config = _class_config(granted) + _claim_config(claim, granted)
        results.append(
            AllocationResult(
                devices=DeviceAllocationResult(
                    results=tuple(_device(each, case) for each in devices),
                    config=tuple(_for_all(each, granted) for each in config),
                ),
                node_selector=_node_selector(devices, case.node.metadata.name, claim),
            )
        )
    return results


def _device(chosen: Chosen, case: Case) -> DeviceRequestAllocationResult:
    offer, request = chosen.offer, chosen.request
    binding = case.features.binding_conditions
    return DeviceRequestAllocationResult(
        request=request.full_name,
        driver=offer.key.driver,
        pool=offer.key.pool,
        device=offer.key.device,
        admin_access=True if request.admin_access else None,
        tolerations=request.want.tolerations,
        binding_conditions=offer.device.binding_conditions if binding else (),
        binding_failure_conditions=offer.device.binding_failure_conditions if binding else (),
        share_id=SHARE_ID if chosen.is_share else None,
        consumed_capacity={name: amount.quantity for name, amount in chosen.amounts.items()},
        skip_node_operations=offer.slice.api.spec.skip_node_operations,
    )


# Configuration ----------------------------------------------------------------------------------


def _class_config(granted: Sequence[Request]) -> list[DeviceAllocationConfiguration]:
    """The configuration of each class once, for all requests of that class."""
    by_class: dict[str, list[Request]] = {}
    for request in granted:
        by_class.setdefault(request.device_class.metadata.name, []).append(request)
    return [
        DeviceAllocationConfiguration(
            source="FromClass",
            requests=tuple(request.full_name for request in users),
            opaque=config.opaque,
        )
        for users in by_class.values()
        for config in users[0].device_class.spec.config
    ]


def _claim_config(
    claim: ResourceClaim, granted: Sequence[Request]
) -> list[DeviceAllocationConfiguration]:
    return [
        DeviceAllocationConfiguration(
            source="FromClaim", requests=config.requests, opaque=config.opaque
        )
        for config in claim.spec.devices.config
        if not config.requests or any(_names(config.requests, request) for request in granted)
    ]


def _for_all(
    config: DeviceAllocationConfiguration, granted: Sequence[Request]
) -> DeviceAllocationConfiguration:
    """Naming every request is the same as naming none."""
    if all(_names(config.requests, request) for request in granted):
        return replace(config, requests=())
    return config


def _names(names: Sequence[str], request: Request) -> bool:
    return request.full_name in names or request.parent in names


# Nodes ------------------------------------------------------------------------------------------


def _node_selector(
    devices: Sequence[Chosen], node_name: str, claim: ResourceClaim
) -> NodeSelector | None:
    """Where the devices can be used together; None means everywhere."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for each in devices:
        device, spec = each.offer.device, each.offer.slice.api.spec
        place = device if spec.per_device_node_selection else spec
        if place.node_name is not None or device.binds_to_node:
            only = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(only,)),))
        terms = () if place.node_selector is None else place.node_selector.node_selector_terms or ()
        if len(terms) > 1:
            raise Refusal(
                f"create NodeSelector for claim {claim.metadata.name}: unsupported"
                f" ResourceSlice.NodeSelector with {len(terms)} terms"
            )
        for term in terms:
            _add_new(term.match_fields, fields)
            _add_new(term.match_expressions, expressions)
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(match_fields=tuple(fields), match_expressions=tuple(expressions))
    return NodeSelector(node_selector_terms=(term,))


def _add_new(
    requirements: Sequence[NodeSelectorRequirement], known: list[NodeSelectorRequirement]
) -> None:
    for each in requirements:
        if not any(
            (other.key, other.operator, set(other.values))
            == (each.key, each.operator, set(each.values))
            for other in known
        ):
            known.append(each)
