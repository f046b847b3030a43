"""A driver in bare gRPC that is right in everything, but for the defects it is given.

It runs in the process of the test: what the kit starts, kills and stops is a pair of gRPC servers.
What outlives a killed process is on its `Disk`, in the API and in the directory of CDI files.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import grpc
import grpc.aio

from dray.api.core import Node
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.resource import (
    Device,
    ResourceClaim,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.wire import replace
from dray.client import Client, EventType
from dray.clock import Clock
from dray.conform.check import Violation
from dray.conform.subject import Process, Subject
from dray.errors import AlreadyExists, NotFound
from dray.proto import dra_v1_pb2 as v1
from dray.proto import health_v1_pb2 as health
from dray.proto import registration_v1_pb2 as registration
from dray.proto import registration_v1_pb2_grpc as registration_grpc

DRIVER = "bare.example.com"
KIND = f"{DRIVER}/claim"
DEVICES = 3
HEALTH_TIMEOUT_SECONDS = 10
REPORT_SECONDS = 0.5


class Refused(Exception):
    """Why a claim is not prepared."""


@dataclass(slots=True)
class Disk:
    """What a killed process leaves."""

    prepared: dict[str, list[tuple[str, str, str, bool]]] = field(default_factory=dict)
    starts: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything is."""

    registry: Path
    plugins: Path
    cdi: Path
    node: str


class Bare:
    """One process of the driver."""

    def __init__(
        self,
        defects: frozenset[str],
        disk: Disk,
        places: Places,
        client: Client,
        clock: Clock,
        *,
        name: str = DRIVER,
        pod_uid: str = "",
    ) -> None:
        self._defects = defects
        self._disk = disk
        self._places = places
        self._client = client
        self._clock = clock
        self._name = name
        suffix = f"-{pod_uid}" if pod_uid and "shares-endpoint" not in defects else ""
        self.registration = places.registry / f"{name}{f'-{pod_uid}' if pod_uid else ''}-reg.sock"
        self.endpoint = places.plugins / name / f"dra{suffix}.sock"
        self._servers: list[grpc.aio.Server] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._lock = asyncio.Lock()
        self._infos = 0
        self._streams = 0
        self.running = False
        self.output = ""
        self.ending: asyncio.Task[None] | None = None

    def has(self, defect: str) -> bool:
        return defect in self._defects

    # The life of a process --------------------------------------------------------------------

    async def start(self) -> None:
        self.running = True
        stale = self.registration.exists()
        if (self.has("stumbles") and stale) or (self.has("fears-long-names") and self._long()):
            self.running, self.output = False, "address already in use"
            return
        if not self.has("publishes-nothing") and not self._long():
            self._tasks.append(await self._publish())
        for path, add in (
            (self.endpoint, self._add_services),
            (self.registration, self._add_registration),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            server = grpc.aio.server()
            add(server)
            server.add_insecure_port(f"unix:{path}")
            await server.start()
            self._servers.append(server)

    def _long(self) -> bool:
        return self._name != DRIVER

    async def read_out(self) -> None:
        """There is nothing in a pipe."""

    async def kill(self) -> None:
        """End without cleaning up: what is on disk stays, sockets too."""
        await self._stop()
        for path in (self.registration, self.endpoint):
            _leave_socket(path)
        if self.has("forgets"):
            self._disk.prepared.clear()

    async def terminate(self, seconds: float = 15.0) -> int:
        if self.has("ignores-sigterm"):
            await self.kill()
            raise Violation(f"still running {seconds:g} s after SIGTERM")
        await self._stop()
        if self.has("leaves-sockets"):
            _leave_socket(self.registration)
        if self.has("takes-others-along"):
            for path in self._places.plugins.rglob("*.sock"):
                path.unlink()
        return 0

    async def _stop(self) -> None:
        self.running = False
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for server in self._servers:
            await server.stop(None)
        self._servers, self._tasks = [], []

    # Registration -----------------------------------------------------------------------------

    def _add_registration(self, server: grpc.aio.Server) -> None:
        registration_grpc.add_RegistrationServicer_to_server(_Registration(self), server)

    def info(self) -> registration.PluginInfo:
        self._infos += 1
        versions = ["v1.DRAPlugin", "v1beta1.DRAPlugin"]
        if self.has("oldest-first"):
            versions.reverse()
        if self.has("unknown-version"):
            versions = ["v9.DRAPlugin"]
        if self.has("only-v1"):
            versions.remove("v1beta1.DRAPlugin")
        if not self._defects & {"no-health", "unlisted-health", "hanging-health"}:
            versions += ["v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"]
        endpoint = str(self.endpoint)
        if self.has("relative-endpoint"):
            endpoint = os.path.relpath(endpoint)
        if self.has("changes-its-mind") and self._infos > 1:
            versions.append(f"v{self._infos}.Whim")
        kind = "DevicePlugin" if self.has("wrong-type") else "DRAPlugin"
        name = "other.example.com" if self.has("wrong-name") else self._name
        return registration.PluginInfo(
            type=kind, name=name, endpoint=endpoint, supported_versions=versions
        )

    def hear(self, status: registration.RegistrationStatus) -> None:
        if not status.plugin_registered and self.has("dies-of-refusal"):
            self.running, self.output = False, "registration failed"
            self.ending = asyncio.ensure_future(self._stop())

    # Slices -----------------------------------------------------------------------------------

    def _slice(self, node: Node) -> ResourceSlice:
        renamed = self.has("renames-devices") and self._disk.starts > 1
        stem = f"new{self._disk.starts}" if renamed else "dev"
        owner = OwnerReference(
            api_version="v1", kind="Node", name=node.metadata.name, uid=node.metadata.uid
        )
        return ResourceSlice(
            metadata=ObjectMeta(
                name=f"{self._places.node}-{DRIVER}",
                owner_references=() if self.has("no-owner") else (owner,),
            ),
            spec=ResourceSliceSpec(
                driver=DRIVER,
                node_name=self._places.node,
                pool=ResourcePool(
                    name=self._places.node,
                    generation=self._disk.starts,
                    resource_slice_count=2 if self.has("incomplete-pool") else 1,
                ),
                devices=tuple(
                    Device(
                        name=f"{stem}-{n}",
                        allow_multiple_allocations=True if self.has("shared") else None,
                    )
                    for n in range(1 if self.has("one-device") else DEVICES)
                ),
            ),
        )

    async def _publish(self) -> asyncio.Task[None]:
        self._disk.starts += 1
        node = await self._client.get(Node, self._places.node)
        made = self._slice(node)
        try:
            written = await self._client.create(made)
        except AlreadyExists:
            known = await self._client.get(ResourceSlice, made.metadata.name)
            metadata = replace(made.metadata, resource_version=known.metadata.resource_version)
            written = await self._client.update(replace(made, metadata=metadata))
        return asyncio.ensure_future(self._republish(made, written.metadata.resource_version))

    async def _republish(self, made: ResourceSlice, version: str) -> None:
        if self.has("publishes-once"):
            return
        async for event in self._client.watch(ResourceSlice, resource_version=version):
            if event.type is EventType.DELETED:
                with suppress(AlreadyExists):
                    await self._client.create(made)

    # Claims -----------------------------------------------------------------------------------

    def _add_services(self, server: grpc.aio.Server) -> None:
        for version in ("v1", "v1beta1"):

            async def prepare(request: Any, context: Any, version: str = version) -> Any:
                return await self._prepare_all(request, context, version)

            server.add_generic_rpc_handlers(
                [
                    grpc.method_handlers_generic_handler(
                        f"k8s.io.kubelet.pkg.apis.dra.{version}.DRAPlugin",
                        {
                            "NodePrepareResources": grpc.unary_unary_rpc_method_handler(
                                prepare,
                                v1.NodePrepareResourcesRequest.FromString,
                                v1.NodePrepareResourcesResponse.SerializeToString,
                            ),
                            "NodeUnprepareResources": grpc.unary_unary_rpc_method_handler(
                                self._unprepare_all,
                                v1.NodeUnprepareResourcesRequest.FromString,
                                v1.NodeUnprepareResourcesResponse.SerializeToString,
                            ),
                        },
                    )
                ]
            )
        if self.has("no-health"):
            return
        for version in ("v1", "v1alpha1"):
            server.add_generic_rpc_handlers(
                [
                    grpc.method_handlers_generic_handler(
                        f"{version}.DRAResourceHealth",
                        {
                            "NodeWatchResources": grpc.unary_stream_rpc_method_handler(
                                self._watch,
                                health.NodeWatchResourcesRequest.FromString,
                                health.NodeWatchResourcesResponse.SerializeToString,
                            )
                        },
                    )
                ]
            )

    async def _prepare_all(
        self, request: v1.NodePrepareResourcesRequest, context: Any, version: str
    ) -> v1.NodePrepareResourcesResponse:
        if self.has("refuses-nothing") and not request.claims:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no claims")
        response = v1.NodePrepareResourcesResponse()
        if self.has("answers-unasked"):
            response.claims["unasked"].error = "?"
        if self.has("one-at-a-time") and self._lock.locked():
            await context.abort(grpc.StatusCode.ABORTED, "busy")
        async with self._lock:
            if self.has("one-at-a-time"):
                await self._clock.sleep(0.2)
            for claim in request.claims:
                try:
                    devices = await self._prepare(claim)
                except Refused as refused:
                    if self.has("all-or-nothing"):
                        await context.abort(grpc.StatusCode.INTERNAL, str(refused))
                    response.claims[claim.uid].error = str(refused)
                    continue
                if self.has("versions-differ") and version == "v1beta1":
                    devices = [*devices, v1.Device(pool_name="p", device_name="extra")]
                response.claims[claim.uid].devices.extend(devices)
        if self.has("forgets-claims") and len(request.claims) > 1:
            del response.claims[request.claims[-1].uid]
        return response

    async def _prepare(self, claim: v1.Claim) -> list[v1.Device]:
        known = self._disk.prepared.get(claim.uid)
        if known is None:
            known = await self._allocated(claim)
            self._expect_free(claim.uid, known)
            self._write_file(claim.uid, known)
            self._disk.prepared[claim.uid] = known
        elif not self.has("keeps-no-files"):
            self._write_file(claim.uid, known)
        return [self._answer(claim.uid, one) for one in known]

    async def _allocated(self, claim: v1.Claim) -> list[tuple[str, str, str, bool]]:
        try:
            found = await self._client.get(ResourceClaim, claim.name, namespace=claim.namespace)
        except NotFound as error:
            if self.has("prepares-missing"):
                return []
            raise Refused(str(error)) from error
        if found.metadata.uid != claim.uid and not self.has("prepares-stale"):
            raise Refused(f"the claim has the UID {found.metadata.uid}")
        if found.status.allocation is None:
            if self.has("prepares-unallocated"):
                return []
            raise Refused("not allocated")
        results = [
            (one.pool, one.device, one.request, bool(one.admin_access))
            for one in found.status.allocation.devices.results
            if one.driver == DRIVER or self.has("takes-foreign-devices")
        ]
        return results[:1] if self.has("prepares-one") else results

    def _expect_free(self, uid: str, wanted: list[tuple[str, str, str, bool]]) -> None:
        if self.has("double-use") or self.has("shared"):
            return
        taken = {
            one[:2]
            for other, devices in self._disk.prepared.items()
            for one in devices
            if other != uid and not one[3]
        }
        for pool, device, _request, admin in wanted:
            if (pool, device) in taken and (not admin or self.has("refuses-admin")):
                raise Refused(f"{device} is in use")

    def _answer(self, uid: str, one: tuple[str, str, str, bool]) -> v1.Device:
        pool, device, request, _admin = one
        return v1.Device(
            pool_name=pool,
            device_name="other" if self.has("wrong-device") else device,
            request_names=["other" if self.has("wrong-request") else request],
            cdi_device_ids=[self._id(uid, device)],
        )

    def _id(self, uid: str, device: str) -> str:
        if self.has("malformed-ids"):
            return device
        if self.has("unwritten-ids"):
            return f"{KIND}=nowhere"
        again = f"-{self._count()}" if self.has("answers-differ") else ""
        return f"{KIND}={uid}-{device}{again}"

    def _count(self) -> int:
        self._disk.answers += 1
        return self._disk.answers

    def _write_file(self, uid: str, devices: list[tuple[str, str, str, bool]]) -> None:
        names = [f"{uid}-{device}" for _pool, device, *_ in devices]
        if self.has("answers-differ"):
            names = [f"{name}-{n}" for name in names for n in range(1000)]
        spec: dict[str, Any] = {
            "cdiVersion": "0.6.0",
            "kind": KIND,
            "devices": [{"name": n, "containerEdits": {"env": ["A=b"]}} for n in names],
        }
        if self.has("invalid-files"):
            spec["containerEdits"] = {"env": ["no equals sign"]}
        text = "{" if self.has("broken-files") else json.dumps(spec)
        path = self._file(uid)
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").rename(path)

    def _file(self, uid: str) -> Path:
        return self._places.cdi / f"{DRIVER}-{uid}.json"

    async def _unprepare_all(
        self, request: v1.NodeUnprepareResourcesRequest, context: Any
    ) -> v1.NodeUnprepareResourcesResponse:
        del context
        response = v1.NodeUnprepareResourcesResponse()
        async with self._lock:
            for claim in request.claims:
                response.claims[claim.uid].error = await self._unprepare(claim)
        return response

    async def _unprepare(self, claim: v1.Claim) -> str:
        if claim.uid not in self._disk.prepared and self.has("unprepare-unknown-fails"):
            return "never heard of it"
        if self.has("unprepare-asks-the-api"):
            try:
                await self._client.get(ResourceClaim, claim.name, namespace=claim.namespace)
            except NotFound as error:
                return str(error)
        known = self._disk.prepared.get(claim.uid)
        if not self.has("keeps-devices"):
            self._disk.prepared.pop(claim.uid, None)
        # What it does not remember it does not clean up.
        if known is not None and not self.has("leaves-files"):
            self._file(claim.uid).unlink(missing_ok=True)
        return ""

    # Health -----------------------------------------------------------------------------------

    async def _watch(
        self, request: Any, context: Any
    ) -> AsyncIterator[health.NodeWatchResourcesResponse]:
        del request
        if self.has("one-stream") and self._streams:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "one is enough")
        if self.has("no-health-after-crash") and self._disk.starts > 1:
            await context.abort(grpc.StatusCode.INTERNAL, "no state")
        self._streams += 1
        try:
            if self._defects & {"no-first-report", "hanging-health"}:
                await asyncio.get_running_loop().create_future()
            yield self._report()
            while True:
                await self._clock.sleep(REPORT_SECONDS)
                if not self.has("silent"):
                    yield self._report()
        finally:
            self._streams -= 1

    def _report(self) -> health.NodeWatchResourcesResponse:
        device = "unheard-of" if self.has("reports-unpublished") else "dev-0"
        word = health.DeviceHealth(
            device=health.DeviceIdentifier(pool_name=self._places.node, device_name=device),
            health=health.HEALTHY,
            health_check_timeout_seconds=HEALTH_TIMEOUT_SECONDS,
            message="x" * 2000 if self.has("long-message") else "",
        )
        if self.has("negative-timeout"):
            word.health_check_timeout_seconds = -1
        devices = [] if self.has("reports-nothing") else [word]
        return health.NodeWatchResourcesResponse(devices=devices)


class _Registration(registration_grpc.RegistrationServicer):
    def __init__(self, driver: Bare) -> None:
        self._driver = driver

    async def GetInfo(  # noqa: N802 - the wire's name
        self, request: registration.InfoRequest, context: Any
    ) -> registration.PluginInfo:
        del request, context
        return self._driver.info()

    async def NotifyRegistrationStatus(  # noqa: N802 - the wire's name
        self, request: registration.RegistrationStatus, context: Any
    ) -> registration.RegistrationStatusResponse:
        del context
        self._driver.hear(request)
        return registration.RegistrationStatusResponse()


def _leave_socket(path: Path) -> None:
    """What a killed process leaves: a socket that nobody listens at."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))


class FakeSubject(Subject):
    """Stands for a driver's command: `start` makes another process of the bare driver."""

    def __init__(
        self,
        make: Callable[[Mapping[str, str]], Bare],
        clock: Clock,
        *,
        takes: frozenset[str] = frozenset({"pod_uid", "driver"}),
    ) -> None:
        super().__init__(("bare",), {}, clock)
        self._make = make
        self._takes = takes
        self._made: list[Bare] = []

    def takes(self, place: str) -> bool:
        return place in self._takes

    async def start(self, **places: str) -> Process:
        # A process is gone at once; servers of ours take a moment.
        for earlier in self._made:
            if earlier.ending is not None:
                await earlier.ending
        made = self._make(places)
        self._made.append(made)
        await made.start()
        return cast("Process", made)

    async def end(self) -> None:
        for made in self._made:
            if made.ending is not None:
                await made.ending
            if made.running:
                await made.terminate() if not made.has("ignores-sigterm") else await made.kill()
