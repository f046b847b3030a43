"""One registered instance of a driver, as the rest of the agent calls it.

Around the way a driver is reached (a connection, or an object in this process) it adds what all
calls need: a deadline by the clock, the count of what became of them, and what they tell of the
driver's liveness.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Protocol, TypeVar

from dray.agent.plugins.connection import CALL_TIMEOUT_SECONDS, Connection
from dray.agent.plugins.failures import code_of
from dray.agent.plugins.liveness import Liveness, Verdict
from dray.agent.plugins.plugin import Change, HealthUnsupported, PluginService
from dray.agent.plugins.services import Services
from dray.clock import Clock, within
from dray.errors import DriverError, TransportError
from dray.proto.dra_v1_pb2 import (
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from dray.proto.health_v1_pb2 import NodeWatchResourcesResponse

__all__ = ["CallObserver", "Instance"]

_CHANGE_OF: Final = {Verdict.HUNG: Change.HUNG, Verdict.RESPONSIVE: Change.RESPONSIVE}

_Answer = TypeVar("_Answer")


class CallObserver(Protocol):
    """Who counts calls; the metric dra_grpc_operations_duration_seconds has these labels."""

    def observe_call(
        self, driver_name: str, method_name: str, grpc_status_code: str, seconds: float
    ) -> None: ...


class Instance:
    """A Plugin, and its own PluginService."""

    def __init__(
        self,
        driver: str,
        endpoint: str,
        link: PluginService,
        services: Services,
        report: Callable[[Instance, Change], None],
        *,
        number: int,
        created_ns: int = 0,
        clock: Clock,
        call_timeout_seconds: float = CALL_TIMEOUT_SECONDS,
        observer: CallObserver | None = None,
    ) -> None:
        self._driver = driver
        self._number = number
        self._link = link
        self._services = services
        self._report = report
        self._clock = clock
        self._call_timeout_seconds = call_timeout_seconds
        self._observer = observer
        self._connected = False
        self._liveness = Liveness(
            lambda: link.prepare(NodePrepareResourcesRequest()),
            lambda verdict: report(self, _CHANGE_OF[verdict]),
            clock=clock,
        )
        self.endpoint: Final = endpoint
        # What makes an instance newer than another.
        self.age_order: Final = (created_ns, number)

    def __repr__(self) -> str:
        return f"<Instance {self._driver} {self.instance}>"

    @property
    def driver(self) -> str:
        return self._driver

    @property
    def instance(self) -> str:
        return f"{self.endpoint}#{self._number}"

    @property
    def connected(self) -> bool:
        return self._connected

    @property
    def responsive(self) -> bool:
        """Whether there is no doubt that it answers calls."""
        return self._liveness.verdict is Verdict.RESPONSIVE

    @property
    def hung(self) -> bool:
        return self._liveness.verdict is Verdict.HUNG

    @property
    def offers_health(self) -> bool:
        return bool(self._services.health)

    @property
    def service(self) -> PluginService:
        return self

    def set_connected(self, connected: bool) -> None:
        """Somebody came, or left. Reported when it is news."""
        if connected == self._connected:
            return
        self._connected = connected
        self._liveness.forget()
        self._report(self, Change.CONNECTED if connected else Change.DISCONNECTED)

    def retire(self) -> None:
        """It is let go, of which others tell: whoever still holds it finds nobody there."""
        self._connected = False
        self._liveness.forget()

    async def prepare(self, request: NodePrepareResourcesRequest) -> NodePrepareResourcesResponse:
        return await self._call(self._services.prepare_method, self._link.prepare(request))

    async def unprepare(
        self, request: NodeUnprepareResourcesRequest
    ) -> NodeUnprepareResourcesResponse:
        return await self._call(self._services.unprepare_method, self._link.unprepare(request))

    def watch_health(self) -> AsyncIterator[NodeWatchResourcesResponse]:
        return self._link.watch_health() if self.offers_health else self._watch_nothing()

    async def run(self) -> None:
        """Stay connected and watch over it, until cancelled; then hang up."""
        link = self._link
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._liveness.run())
                if isinstance(link, Connection):
                    tasks.create_task(link.watch(self.set_connected))
        finally:
            if isinstance(link, Connection):
                self.retire()
                await link.close()

    async def _watch_nothing(self) -> AsyncIterator[NodeWatchResourcesResponse]:
        raise HealthUnsupported("no health service was offered", driver=self._driver)
        yield  # what makes this a stream, if one without end or beginning

    async def _call(self, method: str, call: Awaitable[_Answer]) -> _Answer:
        started = self._clock.monotonic()
        failure: BaseException | None = asyncio.CancelledError()
        try:
            answer = await within(self._clock, self._call_timeout_seconds, call)
        except TimeoutError as error:
            failure = error
            self._liveness.timed_out()
            raise TimeoutError(
                f"driver {self._driver}: no answer within {self._call_timeout_seconds:g} s"
            ) from error
        except TransportError as error:
            failure = error
            raise
        except DriverError as error:
            failure = error
            self._liveness.answered()
            raise
        else:
            failure = None
            self._liveness.answered()
            return answer
        finally:
            if self._observer is not None:
                seconds = self._clock.monotonic() - started
                self._observer.observe_call(self._driver, method, code_of(failure), seconds)
