"""Which devices a node can see: slices gathered into pools, in the order they are tried.

Upstream counterpart: pools_experimental.go of the experimental allocator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dray.api.resource import CounterSet, Device
from tests.conformance.allocator.reference_model import (
    Case,
    Features,
    Offer,
    PoolKey,
    Refusal,
    Slice,
)
from tests.conformance.allocator.reference_nodes import SelectorError, node_matches

__all__ = ["Pool", "device_matches_node", "gather_pools"]


@dataclass
class Pool:
    key: PoolKey
    is_incomplete: bool = False
    is_invalid: bool = False
    slices: tuple[Slice, ...] = ()
    # Slices of the same pool for other nodes: their devices draw from the same counters.
    slices_elsewhere: tuple[Slice, ...] = ()
    counter_sets: Mapping[str, CounterSet] | None = None

    @property
    def offers(self) -> tuple[Offer, ...]:
        return tuple(offer for each in self.slices for offer in each.offers)

    @property
    def offers_anywhere(self) -> tuple[Offer, ...]:
        elsewhere = (offer for each in self.slices_elsewhere for offer in each.offers)
        return self.offers + tuple(elsewhere)

    @property
    def is_usable(self) -> bool:
        return not self.is_incomplete and not self.is_invalid


def gather_pools(case: Case) -> list[Pool]:
    node_name = case.node.metadata.name
    local = [each for each in case.slices if each.api.spec.node_name == node_name != ""]
    unnamed = [each for each in case.slices if not each.api.spec.node_name]

    by_pool: dict[PoolKey, list[Slice]] = {}
    for each in local + unnamed:
        if _is_relevant(each, case):
            _add(by_pool, each)

    pools = [pool for kept in by_pool.values() if (pool := _pool(kept, case)) is not None]
    pools.sort(key=lambda pool: pool.key)
    binding = [pool for pool in pools if _lists_binding_conditions(pool)]
    return [pool for pool in pools if pool not in binding] + binding


def device_matches_node(device: Device, case: Case) -> bool:
    """The device's own choice of nodes, in slices that leave it to their devices."""
    return node_matches(
        case.node, device.node_name or "", bool(device.all_nodes), device.node_selector
    )


def _is_relevant(each: Slice, case: Case) -> bool:
    spec, features = each.api.spec, case.features
    if not features.partitionable_devices and (
        spec.per_device_node_selection is not None or spec.shared_counters
    ):
        return False
    if not features.compatibility_groups and _has_compatibility_groups(each):
        return False
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        try:
            return node_matches(
                case.node, spec.node_name or "", bool(spec.all_nodes), spec.node_selector
            )
        except SelectorError as error:
            raise Refusal(
                "gather pool information: failed to perform node selection for slice"
                f" {each.name}: {error}"
            ) from None
    if spec.per_device_node_selection:
        return any(_is_relevant_device(offer, case) for offer in each.offers)
    return False


def _is_relevant_device(offer: Offer, case: Case) -> bool:
    try:
        return device_matches_node(offer.device, case)
    except SelectorError as error:
        # Upstream prints the whole device here, with addresses in memory; its name has to do.
        raise Refusal(
            "gather pool information: failed to perform node selection for device"
            f" {offer.device.name} in slice {offer.slice.name}: {error}"
        ) from None


def _add(by_pool: dict[PoolKey, list[Slice]], each: Slice) -> None:
    """Only the newest generation of a pool counts."""
    kept = by_pool.get(each.pool)
    if kept is None or each.generation > kept[0].generation:
        by_pool[each.pool] = [each]
    elif each.generation == kept[0].generation:
        kept.append(each)


def _pool(kept: list[Slice], case: Case) -> Pool | None:
    """The pool of these slices; None if the cluster has newer ones, for other nodes."""
    key, generation = kept[0].pool, kept[0].generation
    wanted = kept[0].api.spec.pool.resource_slice_count
    if len(kept) == wanted:
        return _build(key, kept, (), case.features)
    everywhere = [each for each in case.slices if each.pool == key]
    if any(each.generation > generation for each in everywhere):
        return None
    everywhere = [each for each in everywhere if each.generation == generation]
    if not case.features.compatibility_groups:
        everywhere = [each for each in everywhere if not _has_compatibility_groups(each)]
    if len(everywhere) != wanted:
        return Pool(key, is_incomplete=True)
    return _build(key, kept, everywhere, case.features)


def _build(
    key: PoolKey, kept: list[Slice], everywhere: Iterable[Slice], features: Features
) -> Pool:
    kept = sorted(kept, key=lambda each: each.name)
    names = {each.name for each in kept}
    elsewhere = [each for each in everywhere if each.name not in names]
    if not features.partitionable_devices:
        if _has_duplicates(offer.key.device for each in kept for offer in each.offers):
            return Pool(key, is_invalid=True)
        return Pool(key, slices=tuple(kept))

    counters = [each for each in (*kept, *elsewhere) if each.api.spec.shared_counters]
    pool = Pool(
        key,
        slices=tuple(each for each in kept if not each.api.spec.shared_counters),
        slices_elsewhere=tuple(each for each in elsewhere if not each.api.spec.shared_counters),
    )
    sets = [found for each in counters for found in each.api.spec.shared_counters or ()]
    pool.counter_sets = {found.name: found for found in sets}
    if (
        _has_duplicates(offer.key.device for offer in pool.offers)
        or _has_duplicates(found.name for found in sets)
        or any(_consumes_unknown(offer.device, pool.counter_sets) for offer in pool.offers_anywhere)
    ):
        return Pool(key, is_invalid=True)
    return pool


def _consumes_unknown(device: Device, counter_sets: Mapping[str, CounterSet]) -> bool:
    return any(
        consumption.counter_set not in counter_sets
        or not consumption.counters.keys() <= counter_sets[consumption.counter_set].counters.keys()
        for consumption in device.consumes_counters
    )


def _has_duplicates(names: Iterable[str]) -> bool:
    listed = list(names)
    return len(set(listed)) != len(listed)


def _has_compatibility_groups(each: Slice) -> bool:
    return any(
        consumption.compatibility_groups
        for offer in each.offers
        for consumption in offer.device.consumes_counters
    )


def _lists_binding_conditions(pool: Pool) -> bool:
    return any(offer.lists_binding_conditions for offer in pool.offers)
