"""Claims as a driver needs them: read from the API, checked, and reduced to its own devices.

A node names claims only; what was allocated is in the API. Texts of refusals are upstream's, but
a claim that cannot be read fails alone: upstream's helper fails its siblings with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from dray.api.cdi import is_device_name
from dray.api.resource import (
    SKIP_ALL_NODE_OPERATIONS,
    SKIP_NODE_PREPARE_RESOURCES,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from dray.errors import (
    APIError,
    DrayError,
    TooManyRequests,
    TransportError,
    Unavailable,
    quote,
    shorten,
)
from dray.errors import Timeout as APITimeout
from dray.sdk._journal import DeviceKey

__all__ = ["ClaimName", "ClaimReader", "Results", "RetrievalFailed", "results_of", "retrieve"]

# Longer ones are not the API's, and would not fit into names of files.
UID_CHARACTERS_MAX: Final = 128


class ClaimName(NamedTuple):
    """A claim as a node names it."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{shorten(self.namespace)}/{shorten(self.name)}"


class ClaimReader(Protocol):
    """Where claims come from: the client, or something that stands for it."""

    async def get(
        self, kind: type[ResourceClaim], name: str, *, namespace: str = ""
    ) -> ResourceClaim: ...


class RetrievalFailed(DrayError):
    """The claim cannot be read, or is not the one that was meant."""

    def __init__(self, message: str, *, unreachable: bool = False) -> None:
        super().__init__(message)
        # Nobody answered: about the claim this says nothing.
        self.unreachable = unreachable


class Results(NamedTuple):
    """What was allocated to a claim of one device: more than once if for several requests."""

    key: DeviceKey
    results: tuple[DeviceRequestAllocationResult, ...]

    @property
    def admin_access(self) -> bool:
        """Whether all of it is for administration, so that it takes the device from nobody."""
        return all(result.admin_access for result in self.results)

    @property
    def requests(self) -> tuple[str, ...]:
        """The requests it is for, without subrequests."""
        names = (result.request.partition("/")[0] for result in self.results)
        return tuple(dict.fromkeys(names))


async def retrieve(reader: ClaimReader, claim: ClaimName) -> ResourceClaim:
    """The claim, allocated. Raises RetrievalFailed."""
    if not is_device_name(claim.uid) or len(claim.uid) > UID_CHARACTERS_MAX:
        raise RetrievalFailed(f"claim {claim}: {quote(shorten(claim.uid))} cannot be its UID")
    try:
        found = await reader.get(ResourceClaim, claim.name, namespace=claim.namespace)
    except (TransportError, Unavailable, APITimeout, TooManyRequests) as error:
        raise RetrievalFailed(f"retrieve claim {claim}: {error}", unreachable=True) from error
    except APIError as error:
        raise RetrievalFailed(f"retrieve claim {claim}: {error}") from error
    if found.metadata.uid != claim.uid:
        raise RetrievalFailed(f"claim {claim} got replaced")
    if found.status.allocation is None:
        raise RetrievalFailed(f"claim {claim} not allocated")
    return found


def results_of(claim: ResourceClaim, *, driver: str) -> tuple[Results, ...]:
    """What the claim was allocated of this driver's devices, in the order of the allocation."""
    allocation = claim.status.allocation
    found: dict[DeviceKey, list[DeviceRequestAllocationResult]] = {}
    for result in allocation.devices.results if allocation is not None else ():
        if result.driver == driver and not _skips_preparation(result.skip_node_operations):
            key = DeviceKey(result.pool, result.device, result.share_id)
            found.setdefault(key, []).append(result)
    return tuple(Results(key, tuple(results)) for key, results in found.items())


def _skips_preparation(operations: Iterable[str]) -> bool:
    return bool({SKIP_ALL_NODE_OPERATIONS, SKIP_NODE_PREPARE_RESOURCES} & set(operations))
