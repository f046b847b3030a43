"""The PodResources service: which pods of the node have which devices, for monitoring agents.

Served on `pod-resources/kubelet.sock` below the node's root, as v1.PodResourcesLister. Texts,
codes, the rate limit and what is listed are upstream's, with two exceptions. Upstream's list of CDI
devices grows from device to device of a driver, so that the second device also has the names of the
first; here every device has its own. And a container that uses one request of a claim is listed
with the devices of that request, which are the ones it has; upstream lists all of the claim.

Processors and memory are not given to containers exclusively here, so those lists are empty.
Upstream counterpart: pkg/kubelet/apis/podresources.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol, TypeVar

import grpc

from dray.agent.claims.claim_info import ClaimInfo
from dray.api.core import Container, Pod
from dray.api.pod_claims import references
from dray.api.pod_resources import is_sidecar
from dray.clock import Clock
from dray.errors import ConfigurationError
from dray.proto.podresources_v1_pb2 import (
    AllocatableResourcesRequest,
    AllocatableResourcesResponse,
    CDIDevice,
    ClaimResource,
    ContainerResources,
    DynamicResource,
    GetPodResourcesRequest,
    GetPodResourcesResponse,
    ListPodResourcesRequest,
    ListPodResourcesResponse,
    PodResources,
)
from dray.proto.podresources_v1_pb2_grpc import (
    PodResourcesListerServicer,
    add_PodResourcesListerServicer_to_server,
)

__all__ = ["PodResourcesServer", "PreparedClaims", "describe_pod"]

log = logging.getLogger(__name__)

SOCKET: Final = "pod-resources/kubelet.sock"
# Of the same length as the final name: the kernel takes paths of 107 bytes and no longer ones.
_NASCENT_SOCKET: Final = "pod-resources/.kubelet.tmp"
_PATH_BYTES_MAX: Final = 107

_DIRECTORY_MODE: Final = 0o750
_SOCKET_MODE: Final = 0o600

# Upstream's: far more than monitors ask for, far less than hurts.
CALLS_PER_SECOND_MAX: Final = 100.0
BURST_MAX: Final = 10.0


_Q = TypeVar("_Q")
_R = TypeVar("_R")


class PreparedClaims(Protocol):
    """What is known of the node's claims."""

    def info(self, namespace: str, name: str) -> ClaimInfo | None:
        """A claim on this node."""
        ...


class PodResourcesServer:
    """Answers on the socket from `start` to `stop`."""

    def __init__(
        self,
        pods: Callable[[], Sequence[Pod]],
        claims: PreparedClaims,
        *,
        root: Path,
        clock: Clock,
    ) -> None:
        """`pods` are the active ones of the node; `root` is the directory of its files."""
        self._servicer = _Servicer(pods, claims, _Bucket(clock))
        self._path = root / SOCKET
        self._nascent = root / _NASCENT_SOCKET
        self._server: grpc.aio.Server | None = None
        self._inode = 0

    async def run(self) -> None:
        """Serve until cancelled."""
        await self.start()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await self.stop()

    async def start(self) -> None:
        """Listen. A socket that an earlier agent left is replaced, without a moment in between."""
        if len(os.fsencode(self._nascent)) > _PATH_BYTES_MAX:
            rule = f"a path to a socket must be no longer than {_PATH_BYTES_MAX} bytes"
            raise ConfigurationError(f"{self._path}: {rule}")
        server = grpc.aio.server()
        add_PodResourcesListerServicer_to_server(self._servicer, server)
        try:
            self._path.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
            server.add_insecure_port(f"unix:{self._nascent}")
            await server.start()
            # Nobody can connect under the final name before the mode is what it shall be.
            self._nascent.chmod(_SOCKET_MODE)
            self._nascent.replace(self._path)
            self._inode = self._path.stat().st_ino
        except (OSError, RuntimeError) as error:
            await server.stop(None)
            raise ConfigurationError(f"{self._path}: cannot be served: {error}") from error
        self._server = server
        log.info("PodResources are served on %s", self._path)

    async def stop(self) -> None:
        """End all calls, and take the socket away unless somebody else put theirs there."""
        server, self._server = self._server, None
        if server is None:
            return
        with suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()
        await server.stop(None)


class _Servicer(PodResourcesListerServicer):
    def __init__(
        self, pods: Callable[[], Sequence[Pod]], claims: PreparedClaims, bucket: _Bucket
    ) -> None:
        self._pods = pods
        self._claims = claims
        self._bucket = bucket

    async def List(  # noqa: N802 - the name on the wire
        self,
        request: ListPodResourcesRequest,  # noqa: ARG002 - says nothing
        context: grpc.aio.ServicerContext[ListPodResourcesRequest, ListPodResourcesResponse],
    ) -> ListPodResourcesResponse:
        await self._admit(context)
        listed = (describe_pod(pod, self._claims) for pod in self._pods())
        return ListPodResourcesResponse(pod_resources=listed)

    async def Get(  # noqa: N802 - the name on the wire
        self,
        request: GetPodResourcesRequest,
        context: grpc.aio.ServicerContext[GetPodResourcesRequest, GetPodResourcesResponse],
    ) -> GetPodResourcesResponse:
        await self._admit(context)
        name, namespace = request.pod_name, request.pod_namespace
        for pod in self._pods():
            if pod.metadata.name == name and pod.metadata.namespace == namespace:
                return GetPodResourcesResponse(pod_resources=describe_pod(pod, self._claims))
        text = f"pod {name} in namespace {namespace} not found"
        return await context.abort(grpc.StatusCode.UNKNOWN, text)

    async def GetAllocatableResources(  # noqa: N802 - the name on the wire
        self,
        request: AllocatableResourcesRequest,  # noqa: ARG002 - says nothing
        context: grpc.aio.ServicerContext[
            AllocatableResourcesRequest, AllocatableResourcesResponse
        ],
    ) -> AllocatableResourcesResponse:
        await self._admit(context)
        return AllocatableResourcesResponse()

    async def _admit(self, context: grpc.aio.ServicerContext[_Q, _R]) -> None:
        if not self._bucket.take():
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")


class _Bucket:
    """Tokens that come back with time; a call takes one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tokens = BURST_MAX
        self._filled_at = clock.monotonic()

    def take(self) -> bool:
        now = self._clock.monotonic()
        gained = (now - self._filled_at) * CALLS_PER_SECOND_MAX
        self._tokens = min(self._tokens + gained, BURST_MAX)
        self._filled_at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def describe_pod(pod: Pod, claims: PreparedClaims) -> PodResources:
    """The devices of a pod's containers: sidecars first. Other init containers are not listed."""
    containers = (
        *(container for container in pod.spec.init_containers if is_sidecar(container)),
        *(pod.spec.containers or ()),
    )
    return PodResources(
        name=pod.metadata.name,
        namespace=pod.metadata.namespace,
        containers=(
            ContainerResources(
                name=container.name, dynamic_resources=_dynamic_resources(pod, container, claims)
            )
            for container in containers
        ),
    )


def _dynamic_resources(
    pod: Pod, container: Container, claims: PreparedClaims
) -> list[DynamicResource]:
    """One per claim. If anything of one is not known, nothing is said of any, as upstream does."""
    resources = []
    for claim_name, requests in _uses(pod, container):
        info = claims.info(pod.metadata.namespace, claim_name) if claim_name else None
        if info is None or pod.metadata.uid not in info.pods:
            return []
        resources.append(
            DynamicResource(
                claim_name=info.claim.name,
                claim_namespace=info.claim.namespace,
                claim_resources=_claim_resources(info, requests),
            )
        )
    return resources


def _uses(pod: Pod, container: Container) -> Iterator[tuple[str, set[str]]]:
    """The claims of a container (no name: not made yet) with their requests (empty: all)."""
    for reference in references(pod):
        if not reference.name:
            continue
        picked = {use.request for use in container.resources.claims if use.name == reference.name}
        if picked and (reference.claim_name or reference.error):
            yield reference.claim_name, set() if "" in picked else picked
    extended = pod.status.extended_resource_claim_status
    if extended is not None:
        picked = {
            mapping.request_name
            for mapping in extended.request_mappings or ()
            if mapping.container_name == container.name
        }
        if picked:
            yield extended.resource_claim_name, picked


def _claim_resources(info: ClaimInfo, requests: set[str]) -> Iterator[ClaimResource]:
    for driver in sorted(info.drivers):
        for device in info.drivers[driver]:
            if requests and device.requests and not requests.intersection(device.requests):
                continue
            yield ClaimResource(
                cdi_devices=(CDIDevice(name=name) for name in device.cdi_devices),
                driver_name=driver,
                pool_name=device.pool,
                device_name=device.device,
                share_id=device.share_id,
            )
