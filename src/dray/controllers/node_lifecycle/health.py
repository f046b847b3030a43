"""When each node was last heard of.

A node says that it lives in two ways: it renews its lease, and it writes its status. Only that
something changed counts, not what time the node wrote into it: clocks of nodes may be wrong. What
is measured is therefore how long it is since we saw a change. Upstream counterpart: nodeHealthData
of the node lifecycle controller.
"""

from __future__ import annotations

from dataclasses import dataclass

from dray.api.coordination import Lease
from dray.api.core import NODE_CONDITION_READY, Node, NodeCondition
from dray.api.wire import MicroTime, Time
from dray.clock import Clock

__all__ = ["HealthBook", "node_condition"]


def node_condition(node: Node, kind: str) -> NodeCondition | None:
    """A condition of a node, if it has it."""
    return next((each for each in node.status.conditions if each.type == kind), None)


@dataclass(slots=True)
class _Word:
    """The last word of a node, and when it was heard by the monotonic clock."""

    heard_at: float
    heartbeat: Time | None = None
    has_ready: bool = False
    renewed: MicroTime | None = None


class HealthBook:
    """What was last heard of each node."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._words: dict[str, _Word] = {}

    def note(self, node: Node, lease: Lease | None) -> None:
        """Look at a node and its lease once more."""
        name, ready = node.metadata.name, node_condition(node, NODE_CONDITION_READY)
        word = self._words.get(name)
        if word is None:
            word = self._words[name] = _Word(self._first_heard(node, ready))
        elif (ready is not None) != word.has_ready or (
            ready is not None and ready.last_heartbeat_time != word.heartbeat
        ):
            word.heard_at = self._clock.monotonic()
        word.has_ready = ready is not None
        word.heartbeat = ready.last_heartbeat_time if ready is not None else None
        if lease is not None and self.is_news(name, lease):
            word.renewed = lease.spec.renew_time
            word.heard_at = self._clock.monotonic()

    def silent_seconds(self, name: str) -> float:
        """For how long nothing was heard of a node."""
        return self._clock.monotonic() - self._words[name].heard_at

    def is_news(self, name: str, lease: Lease) -> bool:
        """Whether a lease was renewed after the last time that we know of."""
        known, renewed = self._words[name].renewed, lease.spec.renew_time
        return renewed is not None and (known is None or known < renewed)

    def refresh(self) -> None:
        """Give every node another chance, as if all had been heard of just now."""
        now = self._clock.monotonic()
        for word in self._words.values():
            word.heard_at = now

    def forget(self, name: str) -> None:
        """The node is gone."""
        self._words.pop(name, None)

    def _first_heard(self, node: Node, ready: NodeCondition | None) -> float:
        """A node that never said anything has been silent since it was created."""
        now, created = self._clock.monotonic(), node.metadata.creation_timestamp
        if ready is not None or created is None:
            return now
        return now - max((self._clock.now() - created.instant).total_seconds(), 0.0)
