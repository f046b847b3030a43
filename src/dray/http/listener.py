"""A listening socket and its connections: started, counted, and stopped without losing answers."""

from __future__ import annotations

import asyncio
import errno
import ssl
from pathlib import Path
from typing import Final

from dray.clock import Clock
from dray.errors import ConfigurationError, InternalError
from dray.http.connection import Connection
from dray.http.limits import Limits
from dray.http.messages import Handler
from dray.http.service import Counters, Service

__all__ = ["Listener"]

# Connections that wait to be accepted, for when every client comes back at once.
BACKLOG: Final = 1024

# Whoever can open a unix socket is at the machine as the owner, or may not.
SOCKET_MODE: Final = 0o600


class Listener:
    """Serves a handler at an address, or at the path of a unix socket.

    `counters` holds what metrics show. Without an SSL context it speaks plain HTTP.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        clock: Clock,
        host: str = "127.0.0.1",
        port: int = 0,
        path: Path | None = None,
        ssl_context: ssl.SSLContext | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._handler = handler
        self._clock = clock
        self._host = host
        self._port = port
        self._path = path
        self._ssl_context = ssl_context
        self._limits = limits or Limits()
        self._service: Service | None = None
        self._server: asyncio.Server | None = None
        self._ticker: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """Where it listens: the one that was chosen, when it was told 0. A path has none."""
        return self._port

    @property
    def counters(self) -> Counters:
        """What is open, and what went through."""
        return self._running.counters

    async def start(self) -> None:
        """Listen. Raises ConfigurationError when the address cannot be had."""
        if self._service is not None:
            raise InternalError("a listener is started once")
        service = Service(self._handler, limits=self._limits, clock=self._clock)
        secure = self._ssl_context is not None
        try:
            if self._path is not None:
                self._server = await service.loop.create_unix_server(
                    lambda: Connection(service),
                    str(self._path),
                    ssl=self._ssl_context,
                    backlog=BACKLOG,
                    ssl_handshake_timeout=self._limits.handshake_seconds if secure else None,
                    ssl_shutdown_timeout=self._limits.write_seconds if secure else None,
                )
            else:
                self._server = await service.loop.create_server(
                    lambda: Connection(service),
                    self._host,
                    self._port,
                    ssl=self._ssl_context,
                    backlog=BACKLOG,
                    ssl_handshake_timeout=self._limits.handshake_seconds if secure else None,
                    ssl_shutdown_timeout=self._limits.write_seconds if secure else None,
                )
        except OSError as error:
            where = self._path or f"{self._host}:{self._port}"
            why = error.strerror or str(error)
            if error.errno == errno.EADDRINUSE:
                why = "address already in use; choose another port"
            raise ConfigurationError(f"cannot listen at {where}: {why}") from error
        if self._path is not None:
            self._path.chmod(SOCKET_MODE)
        else:
            self._port = self._server.sockets[0].getsockname()[1]
        self._service = service
        self._ticker = service.loop.create_task(service.deadlines.run())

    async def stop(self, grace_seconds: float) -> None:
        """Stop listening, let what is under way finish for so long, then drop what remains.

        Streams are told that they ended, and end properly.
        """
        service = self._running
        assert self._server is not None
        assert self._ticker is not None
        service.closing = True
        self._server.close()
        for connection in service.connections:
            # Each on its own: what one of them calls may fail, and the others must still end.
            service.loop.call_soon(connection.wind_down)
        await self._settle(grace_seconds)
        for connection in list(service.connections):
            connection.abort()
        await service.emptied()
        tasks = list(service.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, self._cancelled(self._ticker), return_exceptions=True)
        if self._path is not None and self._path.is_socket():
            self._path.unlink()

    @property
    def _running(self) -> Service:
        if self._service is None:
            raise InternalError("the listener was not started")
        return self._service

    async def _settle(self, grace_seconds: float) -> None:
        """Wait until all connections are closed and all handlers returned, or time is up."""
        waiting = asyncio.ensure_future(self._quiet())
        grace = asyncio.ensure_future(self._clock.sleep(grace_seconds))
        await asyncio.wait((waiting, grace), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.gather(
            self._cancelled(waiting), self._cancelled(grace), return_exceptions=True
        )

    async def _quiet(self) -> None:
        service = self._running
        await service.emptied()
        # Handlers of clients that went away: what they write must be written whole.
        if service.tasks:
            await asyncio.wait(list(service.tasks))

    @staticmethod
    def _cancelled(task: asyncio.Future[None]) -> asyncio.Future[None]:
        task.cancel()
        return task
