"""What nodes call, in every version they may speak: one implementation, thin faces over it.

`DriverService` takes and returns messages of the newest version and needs no socket: an agent in
the same process calls it as it is. The gRPC services translate. v1beta1 is v1 without share IDs;
both versions of health are alike. A driver that does not watch its devices declines with
UNIMPLEMENTED, upon which newer kubelets stop asking.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Final, TypeVar

import grpc
import grpc.aio

from dray.clock import Clock
from dray.errors import PermanentError
from dray.proto import (
    dra_v1_pb2,
    dra_v1_pb2_grpc,
    dra_v1beta1_pb2,
    dra_v1beta1_pb2_grpc,
    health_v1_pb2,
    health_v1_pb2_grpc,
    health_v1alpha1_pb2,
    health_v1alpha1_pb2_grpc,
)
from dray.sdk._claims import ClaimName
from dray.sdk._failures import ClaimFailure
from dray.sdk._health import as_v1alpha1, responses
from dray.sdk._journal import JournalDevice
from dray.sdk._monitor import HealthMonitor
from dray.sdk._preparation import Preparation

__all__ = ["DriverService", "add_services"]

T = TypeVar("T")

V1: Final = "v1.DRAPlugin"
V1BETA1: Final = "v1beta1.DRAPlugin"
HEALTH_V1: Final = "v1.DRAResourceHealth"
HEALTH_V1ALPHA1: Final = "v1alpha1.DRAResourceHealth"


class DriverService:
    """What a driver does for a node."""

    def __init__(
        self, preparation: Preparation, monitor: HealthMonitor, *, driver: str, clock: Clock
    ) -> None:
        self._preparation = preparation
        self._monitor = monitor
        self._clock = clock
        self._closing = asyncio.Event()
        self.driver: Final = driver

    @property
    def offers_health(self) -> bool:
        """Whether `watch_health` has anything to say."""
        return self._monitor.offers_health

    async def prepare(
        self, request: dra_v1_pb2.NodePrepareResourcesRequest
    ) -> dra_v1_pb2.NodePrepareResourcesResponse:
        """Make the devices of these claims ready."""
        outcomes = await self._preparation.prepare(_names(request.claims))
        response = dra_v1_pb2.NodePrepareResourcesResponse()
        for uid, outcome in outcomes.items():
            if isinstance(outcome, ClaimFailure):
                response.claims[uid].CopyFrom(outcome.as_prepare_response())
            else:
                devices = [_as_message(device) for device in outcome]
                made = dra_v1_pb2.NodePrepareResourceResponse(devices=devices)
                response.claims[uid].CopyFrom(made)
        return response

    async def unprepare(
        self, request: dra_v1_pb2.NodeUnprepareResourcesRequest
    ) -> dra_v1_pb2.NodeUnprepareResourcesResponse:
        """Undo it."""
        outcomes = await self._preparation.unprepare(_names(request.claims))
        response = dra_v1_pb2.NodeUnprepareResourcesResponse()
        for uid, failure in outcomes.items():
            made = dra_v1_pb2.NodeUnprepareResourceResponse()
            if failure is not None:
                made = failure.as_unprepare_response()
            response.claims[uid].CopyFrom(made)
        return response

    async def watch_health(self) -> AsyncIterator[health_v1_pb2.NodeWatchResourcesResponse]:
        """How devices are, at once and then whenever there is news. Raises PermanentError."""
        if not self.offers_health:
            raise PermanentError("it does not watch its devices", driver=self.driver)
        async with aclosing(self._monitor.reports()) as reports:
            async for report in _until(self._closing, reports):
                for response in responses(report, now=self._clock.now()):
                    yield response

    def end_streams(self) -> None:
        """Let everybody who watches health know that there will be no more."""
        self._closing.set()


async def _until(closing: asyncio.Event, reports: AsyncIterator[T]) -> AsyncIterator[T]:
    """The reports, as long as nobody closes."""
    closed = asyncio.ensure_future(closing.wait())
    try:
        while True:
            following = asyncio.ensure_future(_next(reports))
            try:
                await asyncio.wait((closed, following), return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not following.done():
                    following.cancel()
                    await asyncio.wait((following,))
            if closed.done() or following.cancelled():
                return
            try:
                report = following.result()
            except StopAsyncIteration:
                return
            yield report
    finally:
        closed.cancel()


async def _next(reports: AsyncIterator[T]) -> T:
    return await anext(reports)


def _names(claims: Any) -> list[ClaimName]:
    return [ClaimName(claim.namespace, claim.name, claim.uid) for claim in claims]


def _as_message(device: JournalDevice) -> dra_v1_pb2.Device:
    return dra_v1_pb2.Device(
        request_names=device.requests,
        pool_name=device.pool,
        device_name=device.device,
        cdi_device_ids=device.cdi_devices,
        share_id=device.share_id,
    )


# The faces -------------------------------------------------------------------------------------


def add_services(
    server: grpc.aio.Server,
    service: DriverService,
    *,
    v1: bool = True,
    v1beta1: bool = True,
    health: bool = True,
) -> tuple[str, ...]:
    """Serve what is wanted and offered; returns the services' names, the newest first."""
    names = []
    if v1:
        dra_v1_pb2_grpc.add_DRAPluginServicer_to_server(_V1(service), server)
        names.append(V1)
    if v1beta1:
        dra_v1beta1_pb2_grpc.add_DRAPluginServicer_to_server(_V1Beta1(service), server)
        names.append(V1BETA1)
    # Kubelets up to 1.36 ask for health whether it is offered or not: served, it can be declined.
    health_v1_pb2_grpc.add_DRAResourceHealthServicer_to_server(
        _HealthV1(service, offered=health), server
    )
    health_v1alpha1_pb2_grpc.add_DRAResourceHealthServicer_to_server(
        _HealthV1Alpha1(service, offered=health), server
    )
    if health and service.offers_health:
        names += [HEALTH_V1, HEALTH_V1ALPHA1]
    return tuple(names)


class _V1(dra_v1_pb2_grpc.DRAPluginServicer):
    def __init__(self, service: DriverService) -> None:
        self._service = service

    async def NodePrepareResources(  # noqa: N802 - the wire's name
        self, request: dra_v1_pb2.NodePrepareResourcesRequest, context: Any
    ) -> dra_v1_pb2.NodePrepareResourcesResponse:
        del context
        return await self._service.prepare(request)

    async def NodeUnprepareResources(  # noqa: N802 - the wire's name
        self, request: dra_v1_pb2.NodeUnprepareResourcesRequest, context: Any
    ) -> dra_v1_pb2.NodeUnprepareResourcesResponse:
        del context
        return await self._service.unprepare(request)


class _V1Beta1(dra_v1beta1_pb2_grpc.DRAPluginServicer):
    """Numbers of fields are the same, so bytes of the one version are read as the other."""

    def __init__(self, service: DriverService) -> None:
        self._service = service

    async def NodePrepareResources(  # noqa: N802 - the wire's name
        self, request: dra_v1beta1_pb2.NodePrepareResourcesRequest, context: Any
    ) -> dra_v1beta1_pb2.NodePrepareResourcesResponse:
        del context
        asked = dra_v1_pb2.NodePrepareResourcesRequest.FromString(request.SerializeToString())
        answer = (await self._service.prepare(asked)).SerializeToString()
        response = dra_v1beta1_pb2.NodePrepareResourcesResponse.FromString(answer)
        # Share IDs, which this version does not have.
        response.DiscardUnknownFields()
        return response

    async def NodeUnprepareResources(  # noqa: N802 - the wire's name
        self, request: dra_v1beta1_pb2.NodeUnprepareResourcesRequest, context: Any
    ) -> dra_v1beta1_pb2.NodeUnprepareResourcesResponse:
        del context
        asked = dra_v1_pb2.NodeUnprepareResourcesRequest.FromString(request.SerializeToString())
        answer = (await self._service.unprepare(asked)).SerializeToString()
        return dra_v1beta1_pb2.NodeUnprepareResourcesResponse.FromString(answer)


class _HealthV1(health_v1_pb2_grpc.DRAResourceHealthServicer):
    def __init__(self, service: DriverService, *, offered: bool) -> None:
        self._service = service
        self._offered = offered

    async def NodeWatchResources(  # noqa: N802 - the wire's name
        self, request: health_v1_pb2.NodeWatchResourcesRequest, context: Any
    ) -> AsyncIterator[health_v1_pb2.NodeWatchResourcesResponse]:
        del request
        await _decline_unless(self._offered and self._service.offers_health, context)
        async with aclosing(_stream(self._service)) as reports:
            async for report in reports:
                yield report


class _HealthV1Alpha1(health_v1alpha1_pb2_grpc.DRAResourceHealthServicer):
    def __init__(self, service: DriverService, *, offered: bool) -> None:
        self._service = service
        self._offered = offered

    async def NodeWatchResources(  # noqa: N802 - the wire's name
        self, request: health_v1alpha1_pb2.NodeWatchResourcesRequest, context: Any
    ) -> AsyncIterator[health_v1alpha1_pb2.NodeWatchResourcesResponse]:
        del request
        await _decline_unless(self._offered and self._service.offers_health, context)
        async with aclosing(_stream(self._service)) as reports:
            async for report in reports:
                yield as_v1alpha1(report)


def _stream(service: DriverService) -> Any:
    # An async generator, which the annotation of a protocol's method need not say.
    return service.watch_health()


async def _decline_unless(offered: bool, context: Any) -> None:
    if not offered:
        await context.abort(
            grpc.StatusCode.UNIMPLEMENTED, "this driver does not report the health of its devices"
        )
