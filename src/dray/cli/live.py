"""What a running cluster has that a dump of it would: for commands that work on either.

Upstream counterpart: kubectl get.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from dray.api.codec import encode
from dray.api.core import Node, Pod
from dray.api.meta import Object
from dray.api.resource import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from dray.client import Client
from dray.errors import NotFound

__all__ = ["dump"]

# All that decides which devices a pod can have. Rules are not served by every cluster.
KINDS: Final[tuple[type[Object], ...]] = (
    Node,
    ResourceSlice,
    DeviceClass,
    ResourceClaim,
    ResourceClaimTemplate,
    Pod,
)
OPTIONAL_KINDS: Final[tuple[type[Object], ...]] = (DeviceTaintRule,)


async def dump(client: Client) -> bytes:
    """All of it as one list, as kubectl prints it. Raises APIError, TransportError."""
    items = [item for kind in KINDS for item in await _items(client, kind)]
    for kind in OPTIONAL_KINDS:
        with suppress(NotFound):
            items += await _items(client, kind)
    return b'{"apiVersion":"v1","kind":"List","items":[' + b",".join(items) + b"]}"


async def _items(client: Client, kind: type[Object]) -> list[bytes]:
    return [encode(item) for item in (await client.list(kind)).items]
