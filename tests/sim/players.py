"""Drivers for scenarios that the simulated one has no part for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from dray.proto.dra_v1_pb2 import (
    Device as DeviceMessage,
)
from dray.proto.dra_v1_pb2 import (
    NodePrepareResourceResponse,
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourceResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from dray.proto.health_v1_pb2 import NodeWatchResourcesResponse
from dray.sdk import Device, DeviceHealth, Driver, Edits, Health, TaintPolicy, device

__all__ = ["OTHER", "Listener", "Prober", "Script", "prepared"]

OTHER = "nic.example.com"


class Prober(Driver):
    """Devices that are asked how they are, every five seconds."""

    def __init__(
        self,
        devices: Iterable[str] = ("nic-0", "nic-1"),
        *,
        name: str = OTHER,
        taint_policy: TaintPolicy | None = None,
    ) -> None:
        self.name = name
        self.devices = list(devices)
        self.health: dict[str, Health] = {}
        self.taint_policy = taint_policy
        self.prepared: list[str] = []
        self.unprepared: list[str] = []

    async def discover(self) -> list[Device]:
        return [device(name) for name in self.devices]

    async def probe(self, device: Device) -> Health:
        return self.health.get(device.name, Health.HEALTHY)

    async def prepare(self, device: object) -> Edits:
        name: str = getattr(device, "device")  # noqa: B009 - of either kind
        self.prepared.append(name)
        return Edits(env=(f"NIC={name}",))

    async def unprepare(self, device: object) -> None:
        self.unprepared.append(getattr(device, "device"))  # noqa: B009 - of either kind


class Listener(Driver):
    """Reports when there is news, and says nothing in between."""

    def __init__(
        self, devices: Iterable[str] = ("nic-0",), *, name: str = OTHER, heartbeat: bool = False
    ) -> None:
        self.name = name
        self.devices = list(devices)
        self.heartbeat = heartbeat

    async def discover(self) -> list[Device]:
        return [device(name) for name in self.devices]

    async def prepare(self, device: object) -> Edits:
        return Edits(env=(f"NIC={getattr(device, 'device')}",))  # noqa: B009 - of either kind

    async def watch_health(self) -> AsyncIterator[Sequence[DeviceHealth]]:
        yield [DeviceHealth(name, Health.HEALTHY) for name in self.devices]
        await asyncio.get_running_loop().create_future()


Answer = Callable[[NodePrepareResourcesRequest], NodePrepareResourcesResponse]


class Script:
    """Answers to a node as told. Satisfies PluginService."""

    def __init__(
        self,
        *answers: Answer,
        reports: Iterable[NodeWatchResourcesResponse] = (),
        health_error: Exception | None = None,
    ) -> None:
        """The last answer is given again and again."""
        self._answers = list(answers) or [prepared("nic-0")]
        self._reports = list(reports)
        self._health_error = health_error
        self.streams_count = 0

    async def prepare(self, request: NodePrepareResourcesRequest) -> NodePrepareResourcesResponse:
        answer = self._answers[0]
        if len(self._answers) > 1:
            self._answers.pop(0)
        return answer(request)

    async def unprepare(
        self, request: NodeUnprepareResourcesRequest
    ) -> NodeUnprepareResourcesResponse:
        return NodeUnprepareResourcesResponse(
            claims={claim.uid: NodeUnprepareResourceResponse() for claim in request.claims}
        )

    async def watch_health(self) -> AsyncIterator[NodeWatchResourcesResponse]:
        self.streams_count += 1
        if self._health_error is not None:
            raise self._health_error
        for report in self._reports:
            yield report
        await asyncio.get_running_loop().create_future()


def prepared(*devices: str, cdi: Callable[[str], str] = "example.com/nic={}".format) -> Answer:
    """An answer that all claims have these devices."""

    def answer(request: NodePrepareResourcesRequest) -> NodePrepareResourcesResponse:
        made = NodePrepareResourceResponse(
            devices=[
                DeviceMessage(
                    request_names=["r0"],
                    pool_name="n1",
                    device_name=name,
                    cdi_device_ids=[cdi(name)],
                )
                for name in devices
            ]
        )
        return NodePrepareResourcesResponse(claims={claim.uid: made for claim in request.claims})

    return answer
