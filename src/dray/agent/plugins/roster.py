"""All registered instances of all drivers, the oldest first, and who listens.

The age is that of the socket, not of the registration: an agent that restarts finds all sockets at
once, and still knows which of two instances is the newer. Upstream goes by registration.
Changes are in effect before anybody hears of them, and heard in the order they happened.
Upstream counterpart: the store in kubelet cm/dra/plugin/dra_plugin_manager.go.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence

from dray.agent.plugins.instance import Instance
from dray.agent.plugins.plugin import Change, PluginChange
from dray.errors import DriverError

__all__ = ["EndpointTaken", "Roster"]


class EndpointTaken(DriverError):
    """Another registration of the same driver has this endpoint."""


class Roster:
    """Who is registered."""

    def __init__(self) -> None:
        self._drivers: dict[str, list[Instance]] = {}
        self._listeners: list[Callable[[PluginChange], None]] = []

    def find(self, driver: str) -> Instance | None:
        """The newest that is connected and answers, else the newest connected, else the newest."""
        best = None
        for instance in self._drivers.get(driver, ()):
            if best is None or _worth(instance) >= _worth(best):
                best = instance
        return best

    def instances(self, driver: str) -> Sequence[Instance]:
        return tuple(self._drivers.get(driver, ()))

    def drivers(self) -> Sequence[str]:
        return tuple(sorted(self._drivers))

    def listen(self, listener: Callable[[PluginChange], None]) -> None:
        self._listeners.append(listener)

    def add(self, instance: Instance) -> None:
        """Register it; a driver may not have the same endpoint twice."""
        driver = instance.driver
        known = self._drivers.get(driver, [])
        if any(other.endpoint == instance.endpoint for other in known):
            raise EndpointTaken(
                f"endpoint {instance.endpoint} already registered for DRA driver plugin {driver}",
                driver=driver,
            )
        insort(self._drivers.setdefault(driver, []), instance, key=lambda each: each.age_order)
        self.announce(instance, Change.REGISTERED)

    def remove(self, instance: Instance) -> None:
        """Deregister it; nothing happens to one that is not registered."""
        known = self._drivers.get(instance.driver, [])
        if instance not in known:
            return
        known.remove(instance)
        if not known:
            del self._drivers[instance.driver]
        self._tell(PluginChange(instance, Change.DEREGISTERED))

    def announce(self, instance: Instance, change: Change) -> None:
        """Tell the listeners, unless the instance is not registered any more, or not yet."""
        if instance in self._drivers.get(instance.driver, ()):
            self._tell(PluginChange(instance, change))

    def _tell(self, change: PluginChange) -> None:
        for listener in tuple(self._listeners):
            listener(change)


def _worth(instance: Instance) -> tuple[bool, bool]:
    return instance.connected, instance.responsive
