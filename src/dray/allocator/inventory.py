"""Every device that drivers publish, kept up to date slice by slice.

Applying one slice costs what that slice holds, however large the fleet: it touches its own pool,
and the pools of a node are put together from those that name the node and those that may be
reached from several. Taints of DeviceTaintRules are merged into the slices on the way in.

Upstream counterparts: the resource slice tracker and GatherPools.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from dray.allocator.features import Features
from dray.allocator.models import Models
from dray.allocator.occupancy import PoolID
from dray.allocator.pools import Pool, PoolRecord, SliceRecord, UnreadableSelection
from dray.allocator.rules.taints import TaintRules
from dray.api.core import Node
from dray.api.resource import DeviceTaintRule, ResourceSlice

__all__ = ["Inventory", "Reach"]


class Reach(NamedTuple):
    """From where a pool can be reached."""

    nodes: frozenset[str] = frozenset()  # that slices name
    shared: bool = False  # other nodes may reach it too
    special: bool = False  # and not all in the same way


class Inventory:
    """The pools of a cluster."""

    def __init__(
        self,
        features: Features,
        slices: Iterable[ResourceSlice] = (),
        rules: Iterable[DeviceTaintRule] = (),
    ) -> None:
        self.features = features
        self.models = Models()
        self._rules = TaintRules()
        self._published: dict[str, SliceRecord] = {}  # as drivers wrote them, by slice name
        self._pools: dict[PoolID, PoolRecord] = {}
        self._on_node: dict[str, set[PoolID]] = {}
        self._shared: set[PoolID] = set()
        self._sequence = 0
        self._serials = count()
        for rule in rules:
            self.apply_rule(rule)
        for slice_ in slices:
            self.apply(slice_)

    # Changing ----------------------------------------------------------------------------------

    def apply(self, slice_: ResourceSlice) -> frozenset[PoolID]:
        """Take in a new or changed slice; returns the pools that are different now."""
        name = slice_.metadata.name
        old = self._published.get(name)
        pool = _pool_of(slice_)
        touched = {pool}
        if old is None:
            self._sequence += 1
            sequence = self._sequence
        else:
            sequence = old.sequence
            touched |= self._withdraw(old)
        self._published[name] = SliceRecord(slice_, sequence)
        self._publish(slice_, sequence)
        return frozenset(touched)

    def remove(self, name: str) -> frozenset[PoolID]:
        """Forget a slice, known or not; returns the pools that are different now."""
        old = self._published.pop(name, None)
        if old is None:
            return frozenset()
        self.models.forget(old.sequence)
        return frozenset(self._withdraw(old))

    def apply_rule(self, rule: DeviceTaintRule) -> frozenset[PoolID]:
        """Take in a new or changed taint rule; returns the pools whose devices it may mark."""
        if not self.features.device_taint_rules:
            return frozenset()
        before = self._rules.apply(rule)
        return self._repatch([rule] if before is None else [before, rule])

    def remove_rule(self, name: str) -> frozenset[PoolID]:
        before = self._rules.remove(name)
        return self._repatch([before]) if before is not None else frozenset()

    def _publish(self, slice_: ResourceSlice, sequence: int) -> None:
        pool = _pool_of(slice_)
        record = self._pools.get(pool)
        if record is None:
            record = self._pools[pool] = PoolRecord(pool, self.features, self._serials)
        patched = SliceRecord(self._rules.patched(slice_), sequence)
        record.apply(patched)
        self.models.of(patched)
        node_name = slice_.spec.node_name
        if node_name:
            self._on_node.setdefault(node_name, set()).add(pool)
        else:
            self._shared.add(pool)

    def _withdraw(self, old: SliceRecord) -> set[PoolID]:
        pool = _pool_of(old.slice)
        record = self._pools[pool]
        record.remove(old.name)
        node_name = old.slice.spec.node_name
        if node_name and node_name not in record.node_names:
            self._on_node[node_name].discard(pool)
            if not self._on_node[node_name]:
                del self._on_node[node_name]
        if not node_name and not record.shared:
            self._shared.discard(pool)
        if not len(record):
            del self._pools[pool]
        return {pool}

    def _repatch(self, rules: list[DeviceTaintRule]) -> frozenset[PoolID]:
        touched = set()
        for published in self._published.values():
            if any(self._rules.selects(rule, published.slice) for rule in rules):
                self._withdraw(published)
                self._publish(published.slice, published.sequence)
                touched.add(_pool_of(published.slice))
        return frozenset(touched)

    # Reading -----------------------------------------------------------------------------------

    def gather(self, node: Node) -> tuple[Pool, ...]:
        """The pools a node reaches, in the order in which their devices are tried."""
        pools = []
        unreadable: UnreadableSelection | None = None
        for pool_id in self._shared | self._on_node.get(node.metadata.name, _NONE):
            try:
                pool = self._pools[pool_id].seen_from(node)
            except UnreadableSelection as error:
                # The slice that came first is the one to complain about.
                if unreadable is None or error.sequence < unreadable.sequence:
                    unreadable = error
                continue
            if pool is not None:
                pools.append(pool)
        if unreadable is not None:
            raise unreadable
        pools.sort(key=lambda pool: pool.order)
        return tuple(pools)

    def reach(self, pool: PoolID) -> Reach:
        """The nodes that may get devices of a pool."""
        record = self._pools.get(pool)
        if record is None:
            return Reach()
        return Reach(frozenset(record.node_names), record.shared, record.special)

    def pool_of(self, name: str) -> PoolID | None:
        """The pool that a slice belongs to; None if there is no such slice."""
        record = self._published.get(name)
        return _pool_of(record.slice) if record is not None else None

    def sequence_of(self, name: str) -> int | None:
        """The number under which a slice is known."""
        record = self._published.get(name)
        return record.sequence if record is not None else None

    def slices(self) -> Iterable[ResourceSlice]:
        """All slices as drivers published them."""
        return (record.slice for record in self._published.values())

    def __len__(self) -> int:
        """How many slices there are."""
        return len(self._published)


_NONE: frozenset[PoolID] = frozenset()


def _pool_of(slice_: ResourceSlice) -> PoolID:
    return PoolID(slice_.spec.driver, slice_.spec.pool.name)
