"""From chosen devices to the AllocationResult that a claim's status gets.

Three parts: an entry per device, the setup that classes and the claim have for them, and the nodes
on which all of them can be used. Nothing is decided here, and nothing is checked again.

Upstream counterpart: the end of Allocate, and createNodeSelector, of the structured allocator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from dray.allocator.devices import Choice
from dray.allocator.features import Features
from dray.allocator.requests import Want
from dray.api.core import (
    NODE_SELECTOR_OPERATOR_IN,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from dray.api.resource import (
    CONFIG_FROM_CLAIM,
    CONFIG_FROM_CLASS,
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceClass,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from dray.api.wire import replace
from dray.errors import AllocationError

__all__ = ["assemble"]


def assemble(
    claim: ResourceClaim,
    stages: Sequence[Want],
    choices: Sequence[Choice],
    node_name: str,
    features: Features,
    share_id: Callable[[], str],
) -> AllocationResult:
    """What the claim gets on the node.

    `stages` has the want that was met for each of the claim's requests, in the order of the spec;
    `choices` are the claim's devices in the order chosen. `share_id` names one share of a device,
    and is called once for each.
    """
    configs = [*_class_configs(stages), *_claim_configs(claim, stages)]
    return AllocationResult(
        devices=DeviceAllocationResult(
            results=tuple(_entry(choice, features, share_id) for choice in choices),
            config=tuple(_generalized(config, stages) for config in configs),
        ),
        node_selector=_node_selector(claim, choices, node_name),
    )


def _entry(
    choice: Choice, features: Features, share_id: Callable[[], str]
) -> DeviceRequestAllocationResult:
    want, placed = choice.want, choice.placed
    bound = features.binding_conditions
    return DeviceRequestAllocationResult(
        request=want.full_name,
        driver=placed.id.driver,
        pool=placed.id.pool,
        device=placed.id.device,
        admin_access=True if want.admin_access else None,
        tolerations=want.tolerations,
        binding_conditions=placed.device.binding_conditions if bound else (),
        binding_failure_conditions=placed.device.binding_failure_conditions if bound else (),
        share_id=None if choice.consumed is None else share_id(),
        consumed_capacity=choice.consumed or {},
        skip_node_operations=placed.slice.spec.skip_node_operations,
    )


# Setup -----------------------------------------------------------------------------------------


def _class_configs(stages: Sequence[Want]) -> Iterator[DeviceAllocationConfiguration]:
    """The setup of each class once, for all the requests that use the class."""
    users: dict[str, tuple[DeviceClass, list[str]]] = {}
    for want in stages:
        name = want.device_class.metadata.name
        users.setdefault(name, (want.device_class, []))[1].append(want.full_name)
    for device_class, requests in users.values():
        for config in device_class.spec.config:
            yield DeviceAllocationConfiguration(
                source=CONFIG_FROM_CLASS, requests=tuple(requests), opaque=config.opaque
            )


def _claim_configs(
    claim: ResourceClaim, stages: Sequence[Want]
) -> Iterator[DeviceAllocationConfiguration]:
    """The claim's setup, without what is only for alternatives that were not chosen."""
    for config in claim.spec.devices.config:
        if not config.requests or any(want.named_by(config.requests) for want in stages):
            yield DeviceAllocationConfiguration(
                source=CONFIG_FROM_CLAIM, requests=config.requests, opaque=config.opaque
            )


def _generalized(
    config: DeviceAllocationConfiguration, stages: Sequence[Want]
) -> DeviceAllocationConfiguration:
    """The same setup; if it is for every request there is, then for all without naming them."""
    if config.requests and all(want.named_by(config.requests) for want in stages):
        return replace(config, requests=())
    return config


# Nodes -----------------------------------------------------------------------------------------


def _node_selector(
    claim: ResourceClaim, choices: Iterable[Choice], node_name: str
) -> NodeSelector | None:
    """The nodes on which every device can be used; None if that is everywhere."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for choice in choices:
        device, spec = choice.placed.device, choice.placed.slice.spec
        place = device if spec.per_device_node_selection else spec
        # A name that is there but empty still ties the device to a node, as upstream has it.
        if place.node_name is not None or device.binds_to_node:
            return _only(node_name)
        terms = place.node_selector.node_selector_terms if place.node_selector else None
        if not terms:
            continue
        if len(terms) > 1:
            raise AllocationError(
                f"create NodeSelector for claim {claim.metadata.name}: "
                f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            )
        _add_new(fields, terms[0].match_fields)
        _add_new(expressions, terms[0].match_expressions)
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields))
    return NodeSelector(node_selector_terms=(term,))


def _only(node_name: str) -> NodeSelector:
    name = NodeSelectorRequirement(
        key="metadata.name", operator=NODE_SELECTOR_OPERATOR_IN, values=(node_name,)
    )
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(name,)),))


def _add_new(known: list[NodeSelectorRequirement], more: Iterable[NodeSelectorRequirement]) -> None:
    """Add the requirements that say something new; the order of values says nothing."""
    for requirement in more:
        if not any(_same(requirement, each) for each in known):
            known.append(requirement)


def _same(one: NodeSelectorRequirement, other: NodeSelectorRequirement) -> bool:
    return (
        one.key == other.key
        and one.operator == other.operator
        and set(one.values) == set(other.values)
    )
