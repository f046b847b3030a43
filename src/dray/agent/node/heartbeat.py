"""The Lease by which a node says that it is alive: renewed every ten seconds, good for forty.

The last lease that was written is written again with another time, without reading it first: nobody
else writes it. If somebody did, or it is gone, it is read or created anew. Upstream counterpart:
component-helpers/apimachinery/lease.
"""

from __future__ import annotations

import logging
from typing import Final

from dray.agent.node.calls import FAILURES, Backoff, call, jittered
from dray.api.coordination import Lease, LeaseSpec
from dray.api.core import Node
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.wire import MicroTime, replace
from dray.client import Client
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import APIError, NotFound

__all__ = ["Heartbeat"]

log = logging.getLogger(__name__)

NAMESPACE: Final = "kube-node-lease"
DURATION_SECONDS: Final = 40
RENEW_SECONDS: Final = 10.0


class Heartbeat:
    """Renews a node's lease."""

    def __init__(self, client: Client, node: str, *, clock: Clock, entropy: Entropy) -> None:
        self._client = client
        self._node = node
        self._clock = clock
        self._entropy = entropy
        self._owner: OwnerReference | None = None
        self._lease: Lease | None = None

    def belong_to(self, node: Node) -> None:
        """Let the lease go with this Node. Without a Node it belongs to nobody, and stays."""
        self._owner = OwnerReference(
            api_version="v1", kind="Node", name=self._node, uid=node.metadata.uid
        )

    async def run(self) -> None:
        """Renew until cancelled. The lease stays: it lapses by itself if nobody comes back."""
        backoff = Backoff(self._clock, self._entropy)
        while True:
            try:
                await self.renew()
            except FAILURES as error:
                log.warning("node %s: the lease is not renewed: %s", self._node, error)
                await backoff.pause()
            else:
                backoff.reset()
                await self._clock.sleep(jittered(self._entropy, RENEW_SECONDS))

    async def renew(self) -> None:
        """Write the lease once, with the time it is."""
        if self._lease is not None:
            base, self._lease = self._lease, None
            try:
                # Whatever this ends with but a new lease, the old one is not to be trusted.
                self._lease = await call(self._clock, self._client.update(self._renewed(base)))
            except APIError as error:
                # Changed by somebody, or gone.
                log.info("node %s: the lease is not as it was: %s", self._node, error)
            else:
                return
        self._lease = await self._read_and_write()

    async def _read_and_write(self) -> Lease:
        reading = self._client.get(Lease, self._node, namespace=NAMESPACE)
        try:
            found = await call(self._clock, reading)
        except NotFound:
            metadata = ObjectMeta(name=self._node, namespace=NAMESPACE)
            new = self._renewed(Lease(metadata=metadata))
            return await call(self._clock, self._client.create(new))
        return await call(self._clock, self._client.update(self._renewed(found)))

    def _renewed(self, lease: Lease) -> Lease:
        metadata = lease.metadata
        if self._owner is not None and metadata.owner_references != (self._owner,):
            metadata = replace(metadata, owner_references=(self._owner,))
        # What others may have put there, a strategy or a preferred holder, is theirs.
        spec: LeaseSpec = replace(
            lease.spec,
            holder_identity=self._node,
            lease_duration_seconds=DURATION_SECONDS,
            renew_time=MicroTime(self._clock.now()),
        )
        return replace(lease, metadata=metadata, spec=spec)
