"""How fast nodes of a zone may be emptied, judged by how many of them fail at once.

A single node that fails is most likely broken; a whole zone that fails is more likely cut off, and
if all zones seem to fail, it is probably us. So evictions slow down, or stop, the more of a zone is
in trouble, and stop everywhere if nothing is well anywhere. What is limited is the marking of
nodes: pods leave a marked node by themselves. Upstream counterpart: handleDisruption and the rate
limited queues of the node lifecycle controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from dray.api.core import Node
from dray.clock import Clock

__all__ = ["ZoneState", "Zones", "zone_of"]

LABEL_REGION: Final = "topology.kubernetes.io/region"
LABEL_ZONE: Final = "topology.kubernetes.io/zone"
_OLD_REGION: Final = "failure-domain.beta.kubernetes.io/region"
_OLD_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"

# Upstream's: a node every ten seconds, while all is well.
EVICTIONS_PER_SECOND: Final = 0.1
# And a tenth of that in a large zone of which much fails; a small one is left alone.
SECONDARY_EVICTIONS_PER_SECOND: Final = 0.01
LARGE_ZONE_NODES: Final = 50
UNHEALTHY_SHARE: Final = 0.55
# Two nodes that fail are no sign of anything, however small the zone.
_FAILED_MIN: Final = 3


class ZoneState(Enum):
    """How much of a zone fails."""

    INITIAL = "Initial"
    NORMAL = "Normal"
    PARTIAL_DISRUPTION = "PartialDisruption"
    FULL_DISRUPTION = "FullDisruption"


def zone_of(node: Node) -> str:
    """What nodes that fail together have in common; empty if a node does not say where it is."""
    labels = node.metadata.labels
    region = labels.get(LABEL_REGION) or labels.get(_OLD_REGION, "")
    zone = labels.get(LABEL_ZONE) or labels.get(_OLD_ZONE, "")
    return f"{region}:\0:{zone}" if region or zone else ""


@dataclass(slots=True)
class _Zone:
    state: ZoneState = ZoneState.INITIAL
    per_second: float = EVICTIONS_PER_SECOND
    next_at: float = 0.0  # when the next node may be marked, by the monotonic clock
    granted: set[str] = field(default_factory=set)


class Zones:
    """The state of all zones, and the permissions they give."""

    def __init__(
        self,
        clock: Clock,
        *,
        evictions_per_second: float = EVICTIONS_PER_SECOND,
        secondary_evictions_per_second: float = SECONDARY_EVICTIONS_PER_SECOND,
        large_zone_nodes: int = LARGE_ZONE_NODES,
        unhealthy_share: float = UNHEALTHY_SHARE,
    ) -> None:
        self._clock = clock
        self._evictions_per_second = evictions_per_second
        self._secondary_evictions_per_second = secondary_evictions_per_second
        self._large_zone_nodes = large_zone_nodes
        self._unhealthy_share = unhealthy_share
        self._zones: dict[str, _Zone] = {}
        self.all_disrupted = False  # nothing is well anywhere: nobody is evicted

    def judge(self, ready: Mapping[str, Iterable[bool]]) -> bool:
        """Take in which nodes of each zone are ready; true if something is well again at last.

        A zone that is named without nodes has some, but they do not count.
        """
        states: dict[str, ZoneState] = {}
        sizes: dict[str, int] = {}
        for name, verdicts in ready.items():
            listed = list(verdicts)
            sizes[name] = len(listed)
            states[name] = self._state_of(listed)
            self._zones.setdefault(name, _Zone(per_second=self._evictions_per_second))
        for name in self._zones.keys() - states.keys():
            del self._zones[name]
        was = self.all_disrupted
        self.all_disrupted = any(sizes.values()) and all(
            state is ZoneState.FULL_DISRUPTION for name, state in states.items() if sizes[name]
        )
        for name, zone in self._zones.items():
            zone.state = states[name]
            zone.per_second = self._rate(zone.state, sizes[name])
        return was and not self.all_disrupted

    def state(self, zone: str) -> ZoneState:
        """How much of a zone fails, as of the last judgement."""
        found = self._zones.get(zone)
        return found.state if found is not None else ZoneState.INITIAL

    def ask(self, zone: str, node: str) -> float | None:
        """Whether a node may be marked: 0 if so, else in how many seconds to ask again.

        None if there is no telling. A permission holds until it is used or given back.
        """
        found = self._zones.get(zone)
        if found is None or not found.per_second or self.all_disrupted:
            return None
        if node in found.granted:
            return 0.0
        now = self._clock.monotonic()
        if now < found.next_at:
            return found.next_at - now
        found.next_at = now + 1 / found.per_second
        found.granted.add(node)
        return 0.0

    def give_back(self, node: str) -> None:
        """The node is marked, or need not be."""
        for zone in self._zones.values():
            zone.granted.discard(node)

    def _state_of(self, verdicts: list[bool]) -> ZoneState:
        failed = verdicts.count(False)
        if failed and failed == len(verdicts):
            return ZoneState.FULL_DISRUPTION
        if failed >= _FAILED_MIN and failed / len(verdicts) >= self._unhealthy_share:
            return ZoneState.PARTIAL_DISRUPTION
        return ZoneState.NORMAL

    def _rate(self, state: ZoneState, size: int) -> float:
        if self.all_disrupted:
            return 0.0
        if state is not ZoneState.PARTIAL_DISRUPTION:
            return self._evictions_per_second
        return self._secondary_evictions_per_second if size > self._large_zone_nodes else 0.0
