"""A driver as the rest of the agent sees it: three calls, and whether anybody answers.

The calls take and return the messages of the wire. So a driver in another process, behind a socket,
and one in this process, for fleets and simulations, are the same to the agent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from dray.errors import DriverError
from dray.proto.dra_v1_pb2 import (
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from dray.proto.health_v1_pb2 import NodeWatchResourcesResponse

__all__ = ["Change", "HealthUnsupported", "Plugin", "PluginChange", "PluginService", "Plugins"]


class HealthUnsupported(DriverError):
    """The driver does not report health, whatever it said: asking again is of no use."""


class PluginService(Protocol):
    """What a driver does for a node, whichever way it is reached.

    Calls raise TransportError when nobody answers, TimeoutError when the answer takes too long, and
    DriverError when the driver refuses the call as a whole.
    """

    async def prepare(self, request: NodePrepareResourcesRequest) -> NodePrepareResourcesResponse:
        """Make the devices of these claims ready."""
        ...

    async def unprepare(
        self, request: NodeUnprepareResourcesRequest
    ) -> NodeUnprepareResourcesResponse:
        """Undo it."""
        ...

    def watch_health(self) -> AsyncIterator[NodeWatchResourcesResponse]:
        """Reports of health until the stream ends; what it raises ends it too.

        HealthUnsupported means that there will never be any from this instance.
        """
        ...


class Plugin(Protocol):
    """One registered instance of a driver. During a rolling update a driver has two."""

    @property
    def driver(self) -> str: ...

    @property
    def instance(self) -> str:
        """What tells instances of a driver apart: the endpoint, and which registration it was."""
        ...

    @property
    def connected(self) -> bool:
        """Whether somebody is at the other end, as far as is known."""
        ...

    @property
    def offers_health(self) -> bool:
        """Whether the driver said that it reports health."""
        ...

    @property
    def service(self) -> PluginService: ...


class Change(Enum):
    """What happened to a plugin."""

    REGISTERED = "registered"
    CONNECTED = "connected"
    # Also ends a hang: whoever connects next is another process, and starts with a clean slate.
    DISCONNECTED = "disconnected"
    # Connected, but calls time out.
    HUNG = "hung"
    RESPONSIVE = "responsive"
    DEREGISTERED = "deregistered"


@dataclass(frozen=True, slots=True)
class PluginChange:
    """Something happened to a plugin; it is already in effect when listeners hear of it."""

    plugin: Plugin
    change: Change


class Plugins(Protocol):
    """All plugins of a node."""

    def find(self, driver: str) -> Plugin | None:
        """The instance to call, None without any.

        The newest that is connected and answers, else the newest connected, else the newest.
        """
        ...

    def instances(self, driver: str) -> Sequence[Plugin]:
        """All instances of a driver, the oldest first."""
        ...

    def drivers(self) -> Sequence[str]:
        """The names of all registered drivers, sorted."""
        ...

    def listen(self, listener: Callable[[PluginChange], None]) -> None:
        """Call this on every change from now on. Listeners must not wait."""
        ...
