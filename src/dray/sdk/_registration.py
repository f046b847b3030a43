"""How a driver makes itself known to the node: who it is, where it serves, and how that went.

The driver serves, the kubelet calls: as soon as it sees the socket, again after each of its
restarts, and the driver need not do anything. Upstream counterpart: kubeletplugin's
registrationserver.go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import grpc

from dray.clock import Clock
from dray.proto import registration_v1_pb2, registration_v1_pb2_grpc
from dray.texts import shorten

__all__ = ["Registration", "RegistrationStatus"]

_log = logging.getLogger(__name__)

PLUGIN_TYPE: Final = "DRAPlugin"


@dataclass(frozen=True, slots=True)
class RegistrationStatus:
    """What the node said last."""

    registered: bool
    error: str
    at: datetime


class Registration(registration_v1_pb2_grpc.RegistrationServicer):
    """Answers the node, and keeps what it says."""

    def __init__(
        self,
        *,
        driver: str,
        endpoint: Path,
        services: tuple[str, ...],
        clock: Clock,
        on_status: Callable[[RegistrationStatus], None] = lambda _: None,
    ) -> None:
        self._info = registration_v1_pb2.PluginInfo(
            type=PLUGIN_TYPE, name=driver, endpoint=str(endpoint), supported_versions=services
        )
        self._driver = driver
        self._clock = clock
        self._on_status = on_status
        self._registered = asyncio.Event()
        # When the node last asked who this is: its restarts show here.
        self.asked_at: datetime | None = None
        self.status: RegistrationStatus | None = None

    async def registered(self) -> None:
        """Wait until the node has accepted the driver."""
        await self._registered.wait()

    async def GetInfo(  # noqa: N802 - the wire's name
        self, request: registration_v1_pb2.InfoRequest, context: Any
    ) -> registration_v1_pb2.PluginInfo:
        del request, context
        self.asked_at = self._clock.now()
        return self._info

    async def NotifyRegistrationStatus(  # noqa: N802 - the wire's name
        self, request: registration_v1_pb2.RegistrationStatus, context: Any
    ) -> registration_v1_pb2.RegistrationStatusResponse:
        registered, error = request.plugin_registered, shorten(request.error)
        self.status = RegistrationStatus(registered, error, self._clock.now())
        if registered:
            _log.info("the node has registered driver %s", self._driver)
            self._registered.set()
        else:
            _log.error("the node has refused driver %s: %s", self._driver, error)
            self._registered.clear()
        self._on_status(self.status)
        if not registered:
            # Upstream's helper answers so, too: the node logs that it was understood.
            await context.abort(grpc.StatusCode.UNKNOWN, f"failed registration process: {error}")
        return registration_v1_pb2.RegistrationStatusResponse()
