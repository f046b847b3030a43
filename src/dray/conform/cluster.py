"""The cluster a driver under test believes in: an API server, a node, and allocated claims.

The server is dray's own, in this process, on a loopback socket; drivers read claims from it and
publish slices to it. Scheduling is done by hand: a check says which devices a claim gets.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from dray.api.core import Namespace, Node
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceID,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceSlice,
)
from dray.api.wire import replace
from dray.client import Client, connect, in_process, load_kubeconfig
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import AlreadyExists, Conflict, NotFound
from dray.server.pki import write_kubeconfig
from dray.server.server import Server, Settings
from dray.server.user import SYSTEM_MASTERS
from dray.store.memory import MemoryStore

__all__ = ["Cluster", "uid_of"]

NAMESPACE: Final = "dray-conform"
ADMIN_NAMESPACE: Final = "dray-conform-admin"
CLASS: Final = "conform.dray.dev"
ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"


class Cluster:
    """An API server of its own, or the one a kubeconfig names, with a node and namespaces."""

    def __init__(
        self, directory: Path, node: str, clock: Clock, entropy: Entropy, *, kubeconfig: Path | None
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._entropy = entropy
        self._given = kubeconfig
        self._server: Server | None = None
        self._client: Client | None = None
        self._numbers = 0
        self.node: Final = node
        self.kubeconfig: Final = kubeconfig or directory / "kubeconfig"

    @property
    def client(self) -> Client:
        assert self._client is not None, "the cluster is up"
        return self._client

    async def __aenter__(self) -> Self:
        if self._given is None:
            await self._start()
        else:
            self._client = connect(load_kubeconfig(self._given), clock=self._clock)
        for namespace, labels in ((NAMESPACE, {}), (ADMIN_NAMESPACE, {ADMIN_LABEL: "true"})):
            metadata = ObjectMeta(name=namespace, labels=labels)
            await self._ensure(Namespace(metadata=metadata))
        await self._ensure(Node(metadata=ObjectMeta(name=self.node)))
        return self

    async def _start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        # Drivers are also shown one device in two claims, as a mistaken scheduler would have it.
        settings = Settings(secrets=self._directory / "pki", allocation_check=False)
        self._server = Server(MemoryStore(), settings, self._clock, self._entropy)
        await self._server.start()
        pair = self._server.authority.client_certificate("dray-conform", [SYSTEM_MASTERS])
        write_kubeconfig(
            self.kubeconfig,
            server=self._server.url,
            authority=self._server.authority.certificate,
            credentials=pair,
        )
        certificate = ssl.PEM_cert_to_DER_cert(pair.certificate.decode())
        transport = in_process(self._server.application, certificate=certificate)
        self._client = Client(transport, clock=self._clock)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._client is not None:
            await self._client.close()
        if self._server is not None:
            await self._server.stop(0.0)

    async def _ensure(self, thing: Namespace | Node) -> None:
        with suppress(AlreadyExists):
            await self.client.create(thing)

    async def slices(self, driver: str) -> Sequence[ResourceSlice]:
        """What the driver published for the node."""
        listing = await self.client.list(ResourceSlice, field_selector=f"spec.driver={driver}")
        return [
            found
            for found in listing.items
            if found.spec.node_name == self.node or found.spec.node_name is None
        ]

    async def devices(self, driver: str) -> Sequence[DeviceID]:
        """Devices of the driver that pods of this node may get, in the order of slices."""
        found = sorted(await self.slices(driver), key=lambda one: one.metadata.name)
        newest: dict[str, int] = {}
        for one in found:
            pool = one.spec.pool
            newest[pool.name] = max(newest.get(pool.name, 0), pool.generation)
        return [
            DeviceID(driver, one.spec.pool.name, device.name)
            for one in found
            if one.spec.pool.generation == newest[one.spec.pool.name]
            for device in one.spec.devices or ()
        ]

    async def claim(
        self,
        devices: Sequence[DeviceID],
        *,
        name: str = "",
        config: Sequence[DeviceAllocationConfiguration] = (),
        allocated: bool = True,
        admin: bool = False,
    ) -> ResourceClaim:
        """A claim with one request per device, allocated and reserved for some pod.

        Raises Conflict, and leaves nothing, if the server knows of another claim with the devices.
        """
        self._numbers += 1
        namespace = ADMIN_NAMESPACE if admin else NAMESPACE
        requests = tuple(
            DeviceRequest(
                name=f"request-{index}",
                exactly=ExactDeviceRequest(
                    device_class_name=CLASS, admin_access=True if admin else None
                ),
            )
            for index in range(max(len(devices), 1))
        )
        made = await self.client.create(
            ResourceClaim(
                metadata=ObjectMeta(name=name or f"claim-{self._numbers}", namespace=namespace),
                spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)),
            )
        )
        if not allocated:
            return made
        results = tuple(
            DeviceRequestAllocationResult(
                request=f"request-{index}",
                driver=device.driver,
                pool=device.pool,
                device=device.device,
                admin_access=True if admin else None,
            )
            for index, device in enumerate(devices)
        )
        consumer = ResourceClaimConsumerReference(
            resource="pods", name=f"pod-{self._numbers}", uid=self._entropy.uid()
        )
        status = ResourceClaimStatus(
            allocation=AllocationResult(
                devices=DeviceAllocationResult(results=results, config=tuple(config))
            ),
            reserved_for=(consumer,),
        )
        try:
            return await self.client.update_status(replace(made, status=status))
        except Conflict:
            await self.delete(made)
            raise

    async def delete(self, claim: ResourceClaim) -> None:
        """Remove a claim for good, as if its pod were long gone."""
        name, namespace = claim.metadata.name, claim.metadata.namespace
        with suppress(NotFound):
            current = await self.client.get(ResourceClaim, name, namespace=namespace)
            status = replace(current.status, reserved_for=(), allocation=None, devices=())
            await self.client.update_status(replace(current, status=status))
            await self.client.delete(ResourceClaim, name, namespace=namespace)


def uid_of(claim: ResourceClaim) -> tuple[str, str, str]:
    """A claim as a kubelet names it to a driver."""
    return claim.metadata.namespace, claim.metadata.name, claim.metadata.uid
