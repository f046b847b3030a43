"""The devices of the cluster, and which of them are taken, kept up to date by watches.

Upstream counterparts: the resource slice tracker, and the shared DRA manager.
"""

from __future__ import annotations

from dray.allocator import Allocator, Features, Fleet, Inventory, Occupancy, Survey
from dray.api.core import Node
from dray.api.features import FeatureGates
from dray.api.resource import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from dray.client import Informer, Informers
from dray.entropy import Entropy

__all__ = ["Devices"]


class Devices:
    """What can be allocated, to whoever asks."""

    def __init__(
        self, informers: Informers, gates: FeatureGates, entropy: Entropy, *, steps_max: int
    ) -> None:
        self.features = Features.of(gates)
        self.classes: dict[str, DeviceClass] = {}
        allocator = Allocator(
            Inventory(self.features),
            Occupancy(),
            self.classes,
            share_id=entropy.uid,
            steps_max=steps_max,
        )
        self._fleet = Fleet(allocator)
        informers.of(ResourceSlice).listen(self._hear_slice)
        self.class_informer: Informer[DeviceClass] = informers.of(DeviceClass)
        self.class_informer.listen(self._hear_class)
        if self.features.device_taint_rules:
            informers.of(DeviceTaintRule).listen(self._hear_rule)

    @property
    def version(self) -> int:
        """Counts changes of what could be allocated."""
        return self._fleet.version

    def survey(self, claims: tuple[ResourceClaim, ...]) -> Survey:
        """Where claims without devices could get some; good until anything changes."""
        return self._fleet.survey(claims)

    def add_claim(self, claim: ResourceClaim) -> None:
        """Count the claim's devices as taken."""
        self._fleet.add_claim(claim)

    def remove_claim(self, claim: ResourceClaim) -> None:
        """Count them as free."""
        self._fleet.remove_claim(claim)

    def hear_node(self, old: Node | None, new: Node | None) -> None:
        """A node came, changed or went. Most changes say nothing about its devices."""
        if new is None:
            if old is not None:
                self._fleet.remove_node(old.metadata.name)
        elif old is None or _reach(old) != _reach(new):
            self._fleet.apply_node(new)

    # Private -----------------------------------------------------------------------------------

    def _hear_slice(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        if new is None:
            assert old is not None, "something changed"
            self._fleet.remove_slice(old.metadata.name)
        elif old is None or old.spec != new.spec:
            self._fleet.apply_slice(new)

    def _hear_class(self, old: DeviceClass | None, new: DeviceClass | None) -> None:
        if new is not None:
            if old is None or old.spec != new.spec:
                self.classes[new.metadata.name] = new
        elif old is not None:
            self.classes.pop(old.metadata.name, None)

    def _hear_rule(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> None:
        if new is None:
            assert old is not None, "something changed"
            self._fleet.remove_rule(old.metadata.name)
        elif old is None or old.spec != new.spec:
            self._fleet.apply_rule(new)


def _reach(node: Node) -> tuple[object, ...]:
    """All of a node that decides which devices it can have."""
    return node.metadata.labels, node.status.declared_features
