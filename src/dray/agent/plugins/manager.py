"""The drivers of a node: found in a directory, registered, connected, and let go.

One task reads the directory; each socket has a task while it is being registered, and each instance
one that keeps it connected. A registration ends when its socket is removed or replaced and for no
other reason: a driver that merely crashed stays registered, as not connected. Drivers in this
process are attached instead, and are the same to everybody else. Upstream counterparts: kubelet
pluginmanager/reconciler and cm/dra/plugin/dra_plugin_manager.go.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, NoReturn

from dray.agent.plugins.connection import CALL_TIMEOUT_SECONDS, Connection
from dray.agent.plugins.instance import CallObserver, Instance
from dray.agent.plugins.plugin import Change, PluginChange, PluginService
from dray.agent.plugins.registration import Registration
from dray.agent.plugins.roster import Roster
from dray.agent.plugins.services import Services, check_driver_name
from dray.agent.plugins.sockets import RegistrationSocket, SocketDirectory, is_abandoned
from dray.clock import Clock
from dray.entropy import Entropy

__all__ = ["PluginManager"]

# Often enough that nobody waits for it, at a cost that does not show.
READ_INTERVAL_SECONDS: Final = 0.25

_log = logging.getLogger(__name__)


class PluginManager:
    """Satisfies `Plugins`; `run` does the work."""

    def __init__(
        self,
        registry_directory: str | os.PathLike[str] | None,
        *,
        clock: Clock,
        entropy: Entropy,
        call_timeout_seconds: float = CALL_TIMEOUT_SECONDS,
        read_interval_seconds: float = READ_INTERVAL_SECONDS,
        observer: CallObserver | None = None,
    ) -> None:
        """Without a directory there are no drivers but those that are attached."""
        self._directory = (
            None if registry_directory is None else SocketDirectory(registry_directory)
        )
        self._clock = clock
        self._entropy = entropy
        self._call_timeout_seconds = call_timeout_seconds
        self._read_interval_seconds = read_interval_seconds
        self._observer = observer
        self._roster = Roster()
        self._numbers = count(1)
        self._sources: dict[RegistrationSocket, _Source] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._running: dict[Instance, asyncio.Task[None]] = {}
        self._attached: list[Instance] = []
        self._roster.listen(_log_change)

    def find(self, driver: str) -> Instance | None:
        return self._roster.find(driver)

    def instances(self, driver: str) -> Sequence[Instance]:
        return self._roster.instances(driver)

    def drivers(self) -> Sequence[str]:
        return self._roster.drivers()

    def listen(self, listener: Callable[[PluginChange], None]) -> None:
        self._roster.listen(listener)

    def attach(
        self, driver: str, service: PluginService, *, offers_health: bool = True
    ) -> Callable[[], None]:
        """Register a driver in this process; returns what deregisters it.

        Works whether or not `run` does; only then is a hung one noticed.
        """
        check_driver_name(driver)
        health = "v1.DRAResourceHealth" if offers_health else ""
        services = Services("v1.DRAPlugin", health)
        created_ns = int(self._clock.now().timestamp() * 1e9)
        instance = self._instance(driver, "", service, services, created_ns)
        self._roster.add(instance)
        self._attached.append(instance)
        self._start(instance)
        instance.set_connected(True)

        def detach() -> None:
            if instance in self._attached:
                self._attached.remove(instance)
                self._remove(instance)

        return detach

    async def run(self) -> None:
        """Follow the directory until cancelled; then close every connection.

        Stopping is not news about drivers, so nobody hears of it. What was registered then is
        registered anew when this runs again.
        """
        for source in self._sources.values():
            if source.instance is not None:
                self._remove(source.instance)
        self._sources.clear()
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                for instance in self._attached:
                    self._start(instance)
                if self._directory is None:
                    await asyncio.get_running_loop().create_future()
                else:
                    await self._read(self._directory, tasks)
        finally:
            self._tasks = None
            self._running.clear()

    def register(
        self, source: RegistrationSocket, driver: str, endpoint: str, services: Services
    ) -> Instance:
        """Take on the driver behind a socket. Called by its Registration."""
        known = self._sources.get(source)
        assert known is not None, "a registration is cancelled before its socket is forgotten"
        link = Connection(
            driver, endpoint, services, call_timeout_seconds=self._call_timeout_seconds
        )
        instance = self._instance(driver, endpoint, link, services, source.changed_ns)
        self._make_room(instance)
        self._roster.add(instance)
        known.instance = instance
        self._start(instance)
        return instance

    def deregister(self, instance: Instance) -> None:
        """Let an instance go whose registration failed in the end."""
        for source in self._sources.values():
            if source.instance is instance:
                source.instance = None
        self._remove(instance)

    async def _read(self, directory: SocketDirectory, tasks: asyncio.TaskGroup) -> NoReturn:
        while True:
            self._follow(tasks, directory.read())
            await self._clock.sleep(self._read_interval_seconds)

    def _follow(self, tasks: asyncio.TaskGroup, found: frozenset[RegistrationSocket]) -> None:
        for socket in sorted(self._sources.keys() - found):
            source = self._sources.pop(socket)
            source.task.cancel()
            if source.instance is not None:
                self._remove(source.instance)
                self._hurry()
        for socket in sorted(found - self._sources.keys()):
            registration = Registration(socket, self, clock=self._clock, entropy=self._entropy)
            task = tasks.create_task(_run(registration))
            self._sources[socket] = _Source(registration, task)

    def _make_room(self, newcomer: Instance) -> None:
        """A killed process cannot give up its endpoint: whoever registers it now is its heir.

        Upstream refuses the heir until somebody removes the socket of the dead.
        """
        for socket, source in self._sources.items():
            holder = source.instance
            if (
                holder is not None
                and (holder.driver, holder.endpoint) == (newcomer.driver, newcomer.endpoint)
                and is_abandoned(socket.path)
            ):
                self.deregister(holder)

    def _remove(self, instance: Instance) -> None:
        """Out of the roster at once; its task hangs up behind that."""
        self._stop(instance)
        instance.retire()
        self._roster.remove(instance)

    def _hurry(self) -> None:
        """Somebody left: others may have waited for the endpoint."""
        for source in self._sources.values():
            if source.instance is None:
                source.registration.hurry()

    def _start(self, instance: Instance) -> None:
        if self._tasks is not None:
            self._running[instance] = self._tasks.create_task(instance.run())

    def _stop(self, instance: Instance) -> None:
        task = self._running.pop(instance, None)
        if task is not None:
            task.cancel()

    def _instance(
        self, driver: str, endpoint: str, link: PluginService, services: Services, created_ns: int
    ) -> Instance:
        number = next(self._numbers)
        return Instance(
            driver,
            endpoint or f"in-process-{number}",
            link,
            services,
            self._roster.announce,
            number=number,
            created_ns=created_ns,
            clock=self._clock,
            call_timeout_seconds=self._call_timeout_seconds,
            observer=self._observer,
        )


@dataclass(slots=True)
class _Source:
    registration: Registration
    task: asyncio.Task[None]
    instance: Instance | None = None


_LEVELS: Final = {Change.DISCONNECTED: logging.WARNING, Change.HUNG: logging.WARNING}


def _log_change(change: PluginChange) -> None:
    plugin = change.plugin
    level = _LEVELS.get(change.change, logging.INFO)
    _log.log(level, "driver %s at %s: %s", plugin.driver, plugin.instance, change.change.value)


async def _run(registration: Registration) -> None:
    await registration.run()
