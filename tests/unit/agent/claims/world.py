"""A node without sockets: drivers that remember, an API that holds claims, and builders."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from dray.agent.claims.manager import ClaimManager
from dray.agent.plugins.plugin import Plugin, PluginChange
from dray.api.core import (
    Container,
    Pod,
    PodExtendedResourceClaimStatus,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodSchedulingGroup,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from dray.api.core import ResourceClaim as ContainerClaim
from dray.api.meta import Object, ObjectMeta, OwnerReference
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from dray.client import PatchType
from dray.entropy import SeededEntropy
from dray.errors import NotFound
from dray.proto.dra_v1_pb2 import (
    Device,
    DeviceError,
    NodePrepareResourceErrorType,
    NodePrepareResourceResponse,
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourceResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from dray.proto.health_v1_pb2 import NodeWatchResourcesResponse
from dray.testing import FakeClock

GPU = "gpu.example.com"
NIC = "nic.example.com"
NODE = "node-1"
NAMESPACE = "ml"

T = TypeVar("T", bound=Object)


# Objects ---------------------------------------------------------------------------------------


def result(
    driver: str = GPU,
    device: str = "gpu-0",
    *,
    pool: str = NODE,
    request: str = "gpu",
    share_id: str | None = None,
    skip: Sequence[str] = (),
) -> DeviceRequestAllocationResult:
    return DeviceRequestAllocationResult(
        request=request,
        driver=driver,
        pool=pool,
        device=device,
        share_id=share_id,
        skip_node_operations=tuple(skip),
    )


def claim(
    name: str = "gpu",
    *,
    uid: str = "",
    results: Sequence[DeviceRequestAllocationResult] | None = (result(),),
    pods: Sequence[str] = ("pod-1",),
    owner: str = "",
    groups: Sequence[str] = (),
) -> ResourceClaim:
    """A claim with the UID `uid-NAME`, reserved for pods by UID. No results: not allocated."""
    owners = (
        (OwnerReference(api_version="v1", kind="Pod", name="p", uid=owner, controller=True),)
        if owner
        else ()
    )
    allocation = (
        AllocationResult(devices=DeviceAllocationResult(results=tuple(results)))
        if results is not None
        else None
    )
    return ResourceClaim(
        metadata=ObjectMeta(
            name=name, namespace=NAMESPACE, uid=uid or f"uid-{name}", owner_references=owners
        ),
        status=ResourceClaimStatus(
            allocation=allocation,
            reserved_for=(
                *(ResourceClaimConsumerReference(resource="pods", name=u, uid=u) for u in pods),
                *(
                    ResourceClaimConsumerReference(
                        api_group="scheduling.k8s.io", resource="podgroups", name=name, uid="group"
                    )
                    for name in groups
                ),
            ),
        ),
    )


def pod(
    uid: str = "pod-1",
    *claims: str,
    templates: Mapping[str, str | None] | None = None,
    missing_templates: Sequence[str] = (),
    containers: Sequence[Container] = (),
    init_containers: Sequence[Container] = (),
    extended: PodExtendedResourceClaimStatus | None = None,
    group: str = "",
) -> Pod:
    """A pod that names claims directly, or through templates: name → the claim made, or None."""
    made = templates or {}
    return Pod(
        metadata=ObjectMeta(name=uid, namespace=NAMESPACE, uid=uid),
        spec=PodSpec(
            node_name=NODE,
            containers=tuple(containers),
            init_containers=tuple(init_containers),
            resource_claims=(
                *(PodResourceClaim(name=name, resource_claim_name=name) for name in claims),
                *(
                    PodResourceClaim(name=name, resource_claim_template_name="template")
                    for name in (*made, *missing_templates)
                ),
            ),
            scheduling_group=PodSchedulingGroup(pod_group_name=group) if group else None,
        ),
        status=PodStatus(
            resource_claim_statuses=tuple(
                PodResourceClaimStatus(name=name, resource_claim_name=found)
                for name, found in made.items()
            ),
            extended_resource_claim_status=extended,
        ),
    )


def container(name: str, *uses: str, **requests: Any) -> Container:
    """A container that uses claims, as `claim` or `claim/request`."""
    return Container(
        name=name,
        resources=ResourceRequirements(
            claims=tuple(
                ContainerClaim(name=use.partition("/")[0], request=use.partition("/")[2])
                for use in uses
            ),
            **requests,
        ),
    )


# The API ---------------------------------------------------------------------------------------


class FakeAPI:
    """Claims by name. It has exactly what the handling of claims calls."""

    def __init__(self, claims: Iterable[ResourceClaim] = ()) -> None:
        self.claims = {found.metadata.name: found for found in claims}
        self.error: Exception | None = None
        self.reads: list[str] = []
        self.patches: list[tuple[str, Any, dict[str, Any]]] = []
        self.patch_error: Exception | None = None
        self.patched = asyncio.Event()

    def add(self, *claims: ResourceClaim) -> None:
        self.claims.update({found.metadata.name: found for found in claims})

    async def get(self, kind: type[T], name: str, *, namespace: str = "") -> T:
        assert kind is ResourceClaim
        self.reads.append(name)
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        if name not in self.claims:
            raise NotFound(f'resourceclaims.resource.k8s.io "{name}" not found')
        return cast("T", self.claims[name])

    async def patch(
        self,
        kind: type[T],
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        type: PatchType = PatchType.MERGE,  # noqa: A002 - the client's name for it
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
    ) -> T:
        options = {
            "namespace": namespace,
            "type": type,
            "subresource": subresource,
            "field_manager": field_manager,
            "force": force,
        }
        self.patches.append((name, patch, options))
        self.patched.set()
        if self.patch_error is not None:
            raise self.patch_error
        return cast("T", self.claims[name])


# Drivers ---------------------------------------------------------------------------------------


@dataclass
class FakeDriver:
    """A driver in this process: one plugin that is also its own service.

    It remembers what it prepared. `errors` are by claim UID: what it answers instead.
    """

    driver: str = GPU
    instance: str = "one"
    connected: bool = True
    offers_health: bool = False
    errors: dict[str, NodePrepareResourceResponse] = field(default_factory=dict)
    unprepare_errors: dict[str, str] = field(default_factory=dict)
    devices: Callable[[str], list[Device]] | None = None
    fault: Callable[[str], None] = lambda _operation: None
    gate: asyncio.Event | None = None
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    prepared: set[str] = field(default_factory=set)
    calls: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    alter: Callable[[NodePrepareResourcesResponse], None] = lambda _response: None
    alter_unprepared: Callable[[NodeUnprepareResourcesResponse], None] = lambda _response: None

    @property
    def service(self) -> FakeDriver:
        return self

    async def prepare(self, request: NodePrepareResourcesRequest) -> NodePrepareResourcesResponse:
        uids = tuple(asked.uid for asked in request.claims)
        await self._enter("prepare", uids)
        response = NodePrepareResourcesResponse()
        for uid in uids:
            if uid in self.errors:
                response.claims[uid].CopyFrom(self.errors[uid])
                continue
            self.prepared.add(uid)
            devices = self.devices(uid) if self.devices else [device(f"dev-{uid}")]
            response.claims[uid].devices.extend(devices)
        self.alter(response)
        self.fault("prepared")
        return response

    async def unprepare(
        self, request: NodeUnprepareResourcesRequest
    ) -> NodeUnprepareResourcesResponse:
        uids = tuple(asked.uid for asked in request.claims)
        await self._enter("unprepare", uids)
        response = NodeUnprepareResourcesResponse()
        for uid in uids:
            error = self.unprepare_errors.get(uid, "")
            response.claims[uid].CopyFrom(NodeUnprepareResourceResponse(error=error))
            if not error:
                self.prepared.discard(uid)
        self.alter_unprepared(response)
        self.fault("unprepared")
        return response

    async def _enter(self, operation: str, uids: tuple[str, ...]) -> None:
        self.calls.append((operation, uids))
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        self.fault(operation)

    async def watch_health(self) -> AsyncIterator[NodeWatchResourcesResponse]:
        return
        yield

    @property
    def operations(self) -> list[str]:
        return [operation for operation, _ in self.calls]


class FakePlugins:
    def __init__(self, *drivers: FakeDriver) -> None:
        self.registered = {driver.driver: driver for driver in drivers}

    def find(self, driver: str) -> Plugin | None:
        return self.registered.get(driver)

    def instances(self, driver: str) -> Sequence[Plugin]:
        found = self.registered.get(driver)
        return () if found is None else (found,)

    def drivers(self) -> Sequence[str]:
        return sorted(self.registered)

    def listen(self, listener: Callable[[PluginChange], None]) -> None:
        raise AssertionError("claims do not listen to plugins")


def device(name: str, *cdi: str, requests: Sequence[str] = (), pool: str = NODE) -> Device:
    return Device(
        pool_name=pool,
        device_name=name,
        request_names=requests,
        cdi_device_ids=cdi or (f"example.com/gpu={name}",),
    )


def failing(
    error: str = "boom",
    error_type: NodePrepareResourceErrorType.ValueType = NodePrepareResourceErrorType.UNKNOWN,
    devices: Sequence[DeviceError] = (),
) -> NodePrepareResourceResponse:
    return NodePrepareResourceResponse(error=error, error_type=error_type, device_errors=devices)


# The node --------------------------------------------------------------------------------------


class Observed:
    def __init__(self) -> None:
        self.operations: list[tuple[str, float, bool]] = []
        self.skips: list[tuple[str, str]] = []

    def operation(self, name: str, seconds: float, *, is_error: bool) -> None:
        self.operations.append((name, seconds, is_error))

    def skipped(self, operation: str, driver: str) -> None:
        self.skips.append((operation, driver))


class World:
    """One node, whose agent can be started over."""

    def __init__(
        self, directory: Path, *claims: ResourceClaim, drivers: Sequence[FakeDriver] = ()
    ) -> None:
        self.path = directory / "dra_manager_state"
        self.api = FakeAPI(claims)
        self.gpu, self.nic = FakeDriver(GPU), FakeDriver(NIC)
        self.plugins = FakePlugins(*(drivers or (self.gpu, self.nic)))
        self.clock = FakeClock()
        self.observed = Observed()
        self.events: list[tuple[str, str]] = []
        self.manager = self.start()

    def start(self) -> ClaimManager:
        """A new agent over the same files."""
        self.manager = ClaimManager(
            self.api,
            self.plugins,
            path=self.path,
            node_name=NODE,
            clock=self.clock,
            entropy=SeededEntropy(1),
            observer=self.observed,
            on_event=lambda reason, message: self.events.append((reason, message)),
        )
        return self.manager
