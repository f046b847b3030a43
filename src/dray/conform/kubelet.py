"""A kubelet's half of a driver's sockets: plain calls, nothing remembered, nothing forgiven.

Unlike the agent it does not recover: whatever a driver answers is handed to the check that asked.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import grpc
import grpc.aio

from dray.clock import Clock
from dray.conform.check import Violation
from dray.proto.dra_v1_pb2 import (
    Claim,
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from dray.proto.health_v1_pb2 import NodeWatchResourcesRequest, NodeWatchResourcesResponse
from dray.proto.registration_v1_pb2 import InfoRequest, PluginInfo, RegistrationStatus
from dray.proto.registration_v1_pb2_grpc import RegistrationStub

__all__ = ["Device", "Instance", "Kubelet", "Prepared"]

DRA_V1: Final = "v1.DRAPlugin"
DRA_V1BETA1: Final = "v1beta1.DRAPlugin"
HEALTH_V1: Final = "v1.DRAResourceHealth"
HEALTH_V1ALPHA1: Final = "v1alpha1.DRAResourceHealth"

GET_INFO_SECONDS: Final = 1.0
NOTIFY_SECONDS: Final = 5.0
CALL_SECONDS: Final = 45.0
LOOK_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True, order=True)
class Device:
    """A prepared device, comparable."""

    pool: str
    name: str
    requests: tuple[str, ...] = ()
    cdi_ids: tuple[str, ...] = ()
    share_id: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What became of one claim."""

    devices: tuple[Device, ...] = ()
    error: str = ""
    error_type: int = 0


@dataclass(frozen=True, slots=True)
class Instance:
    """One registered process of a driver."""

    socket: Path  # the registration socket
    info: PluginInfo = field(compare=False)

    @property
    def endpoint(self) -> str:
        return self.info.endpoint or str(self.socket)

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(self.info.supported_versions)


class Kubelet:
    """Looks for registration sockets in a directory, and calls what it finds."""

    def __init__(self, registry: Path, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock

    def sockets(self) -> list[Path]:
        """Registration sockets that somebody listens at."""
        return [
            path
            for path in sorted(self._registry.rglob("*"))
            if not path.name.startswith(".") and _is_socket(path) and _answers(path)
        ]

    async def find(
        self,
        driver: str,
        *,
        seconds: float,
        besides: Sequence[Path] = (),
        ended: Callable[[], bool] = lambda: False,
    ) -> Instance:
        """The instance of a driver, once it is there: registered as a kubelet would do it.

        Once `ended` says that nobody is left to wait for, it is looked for a last time.
        """
        deadline = self._clock.monotonic() + seconds
        seen: dict[Path, str] = {}
        while True:
            last = ended()
            for path in self.sockets():
                if path in besides:
                    continue
                try:
                    info = await self.get_info(path)
                except grpc.aio.AioRpcError as error:
                    seen[path] = f"GetInfo: {_say(error)}"
                    continue
                if info.name == driver:
                    return Instance(path, info)
                seen[path] = f"a driver called {info.name!r}"
            if last or self._clock.monotonic() >= deadline:
                told = "; ".join(f"{path.name}: {what}" for path, what in seen.items())
                when = "when the driver ended" if last else f"after {seconds:g} s"
                raise Violation(
                    f"no registration socket of {driver} in {self._registry} {when}"
                    + (f" (there were: {told})" if told else "")
                )
            await self._clock.sleep(LOOK_SECONDS)

    async def get_info(self, path: Path) -> PluginInfo:
        async with _channel(str(path)) as channel:
            return await RegistrationStub(channel).GetInfo(InfoRequest(), timeout=GET_INFO_SECONDS)

    async def notify(self, path: Path, error: str = "") -> None:
        """Say how registration went."""
        async with _channel(str(path)) as channel:
            await RegistrationStub(channel).NotifyRegistrationStatus(
                RegistrationStatus(plugin_registered=not error, error=error),
                timeout=NOTIFY_SECONDS,
            )

    async def prepare(
        self,
        instance: Instance,
        claims: Sequence[tuple[str, str, str]],
        *,
        version: str = "",
    ) -> Mapping[str, Prepared]:
        """Prepare claims, given as namespace, name and UID; by UID."""
        async with _channel(instance.endpoint) as channel:
            call = channel.unary_unary(
                _path(version or _preferred(instance), "NodePrepareResources"),
                request_serializer=NodePrepareResourcesRequest.SerializeToString,
                response_deserializer=NodePrepareResourcesResponse.FromString,
            )
            answer: NodePrepareResourcesResponse = await call(
                NodePrepareResourcesRequest(claims=_claims(claims)), timeout=CALL_SECONDS
            )
        return {
            uid: Prepared(
                devices=tuple(
                    Device(
                        pool=device.pool_name,
                        name=device.device_name,
                        requests=tuple(sorted(device.request_names)),
                        cdi_ids=tuple(device.cdi_device_ids),
                        share_id=getattr(device, "share_id", ""),
                    )
                    for device in result.devices
                ),
                error=result.error,
                error_type=result.error_type,
            )
            for uid, result in answer.claims.items()
        }

    async def unprepare(
        self,
        instance: Instance,
        claims: Sequence[tuple[str, str, str]],
        *,
        version: str = "",
    ) -> Mapping[str, str]:
        """Unprepare claims; by UID the error, empty if there was none."""
        async with _channel(instance.endpoint) as channel:
            call = channel.unary_unary(
                _path(version or _preferred(instance), "NodeUnprepareResources"),
                request_serializer=NodeUnprepareResourcesRequest.SerializeToString,
                response_deserializer=NodeUnprepareResourcesResponse.FromString,
            )
            answer: NodeUnprepareResourcesResponse = await call(
                NodeUnprepareResourcesRequest(claims=_claims(claims)), timeout=CALL_SECONDS
            )
        return {uid: result.error for uid, result in answer.claims.items()}

    @asynccontextmanager
    async def health(
        self, instance: Instance, version: str = HEALTH_V1
    ) -> AsyncIterator[AsyncIterator[NodeWatchResourcesResponse]]:
        """An open stream of reports."""
        async with _channel(instance.endpoint) as channel:
            call = channel.unary_stream(
                f"/{version}/NodeWatchResources",
                request_serializer=NodeWatchResourcesRequest.SerializeToString,
                response_deserializer=NodeWatchResourcesResponse.FromString,
            )(NodeWatchResourcesRequest())
            try:
                yield aiter(call)
            finally:
                call.cancel()


def _preferred(instance: Instance) -> str:
    known = [version for version in instance.versions if version in (DRA_V1, DRA_V1BETA1)]
    if not known:
        raise Violation(f"no known DRAPlugin service among {list(instance.versions)}")
    return known[0]


# All versions of a service have the same messages on the wire, but for fields that the elder lack.
def _path(version: str, method: str) -> str:
    package = version.removesuffix(".DRAPlugin")
    return f"/k8s.io.kubelet.pkg.apis.dra.{package}.DRAPlugin/{method}"


def _claims(claims: Sequence[tuple[str, str, str]]) -> list[Claim]:
    return [Claim(namespace=namespace, name=name, uid=uid) for namespace, name, uid in claims]


def _channel(path: str) -> grpc.aio.Channel:
    return grpc.aio.insecure_channel(
        f"unix:{path}",
        options=(
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.default_authority", "localhost"),
        ),
    )


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _say(error: grpc.aio.AioRpcError) -> str:
    return f"{error.code().name}: {error.details()}"
