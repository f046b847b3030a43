"""Which plugins listen to which events, and whether an event is worth another try.

Only the plugins that rejected a pod are asked. One that nobody knows here is taken to listen to
everything, so that no pod waits for ever for want of a hint. Upstream counterpart:
QueueingHintMap in pkg/scheduler/backend/queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dray.api.core import Pod
from dray.scheduler.cluster_events import Action, ClusterEvent, Hint, Interest

__all__ = ["Interests", "Listener"]

# Kinds of events, by resource and what was done: a cluster sees some dozens.
REMEMBERED_KINDS_MAX: Final = 1024

_ANYTHING: Final = Action.ADD | Action.DELETE | Action.UPDATE


@dataclass(frozen=True, slots=True, eq=False)
class Listener:
    """One plugin's interest in one resource."""

    plugin: str
    resource: str
    interest: Interest


class Interests:
    """The hints of all plugins, by resource and by plugin."""

    def __init__(self, hints: Mapping[str, Mapping[str, Hint | None]]) -> None:
        self._by_resource: dict[str, tuple[Listener, ...]] = {}
        self._by_plugin: dict[str, tuple[Listener, ...]] = {}
        for plugin, resources in hints.items():
            own: tuple[Listener, ...] = ()
            for resource, hint in resources.items():
                interest = hint if isinstance(hint, Interest) else Interest(_ANYTHING, hint)
                listener = Listener(plugin, resource, interest)
                own += (listener,)
                self._by_resource[resource] = (*self._by_resource.get(resource, ()), listener)
            self._by_plugin[plugin] = own
        self._listening: dict[tuple[str, Action], tuple[Listener, ...]] = {}

    def knows(self, plugin: str) -> bool:
        return plugin in self._by_plugin

    def of_plugin(self, plugin: str) -> tuple[Listener, ...]:
        return self._by_plugin.get(plugin, ())

    def listening_to(self, event: ClusterEvent) -> tuple[Listener, ...]:
        """Whom an event concerns."""
        key = event.resource, event.action
        listeners = self._listening.get(key)
        if listeners is None:
            listeners = tuple(
                listener
                for listener in self._by_resource.get(event.resource, ())
                if event.action & listener.interest.actions
            )
            if len(self._listening) >= REMEMBERED_KINDS_MAX:
                self._listening.clear()
            self._listening[key] = listeners
        return listeners

    def worth(self, pod: Pod, rejectors: frozenset[str], event: ClusterEvent) -> bool:
        """Whether a pod that these plugins rejected should be tried again."""
        return any(
            listener.plugin in rejectors and listener.interest(pod, event)
            for listener in self.listening_to(event)
        ) or any(plugin not in self._by_plugin for plugin in rejectors)
