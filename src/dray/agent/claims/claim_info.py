"""What the agent knows of a claim on its node.

Values are immutable: the cache replaces an entry, and whoever read the old one keeps it. Upstream
counterpart: pkg/kubelet/cm/dra/claiminfo.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = ["PREPARE", "UNPREPARE", "ClaimInfo", "ClaimKey", "ClaimName", "PreparedDevice"]

# What a slice may tell a node to leave out.
PREPARE: Final = "NodePrepareResources"
UNPREPARE: Final = "NodeUnprepareResources"
_EVERYTHING: Final = "*"


class ClaimKey(NamedTuple):
    """A claim as pods name it. Another claim may have had the same name before."""

    namespace: str
    name: str


class ClaimName(NamedTuple):
    """A claim as a request to a driver names it."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> ClaimKey:
        return ClaimKey(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """A device as its driver prepared it."""

    pool: str
    device: str
    requests: tuple[str, ...] = ()  # without subrequests; empty means all
    cdi_devices: tuple[str, ...] = ()
    share_id: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimInfo:
    """A claim that pods on this node use, or used and did not give back yet."""

    claim: ClaimName
    pods: frozenset[str] = frozenset()  # UIDs
    # Every driver of the allocation has its entry, even if it prepared no devices. While a claim is
    # given back, drivers that are done with it lose theirs.
    drivers: Mapping[str, tuple[PreparedDevice, ...]] = field(default_factory=dict)
    # Not kept over restarts of the agent: whether everything is still there is for drivers to say.
    prepared: bool = False
    unpreparing: bool = False
    # Operations that the slice told the node to leave out, by driver.
    skipped_operations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Devices are those of the allocation, read from the API after the checkpoint was lost: what
    # containers need in order to use them is unknown until the drivers say so.
    adopted: bool = False
    # It was in use before this agent started: containers may be running on its devices.
    restored: bool = False

    @property
    def key(self) -> ClaimKey:
        return self.claim.key

    def skips(self, driver: str, operation: str) -> bool:
        """Whether this driver is not to be called for this."""
        skipped = self.skipped_operations.get(driver, ())
        return operation in skipped or _EVERYTHING in skipped

    @property
    def answered(self) -> bool:
        """Whether what drivers prepared is known: they said so now, or before a restart."""
        if self.prepared:
            return True
        called = [driver for driver in self.drivers if not self.skips(driver, PREPARE)]
        return not self.adopted and (not called or any(self.drivers[name] for name in called))
