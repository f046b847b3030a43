"""What the agent knows of a claim on its node.

Values are immutable: the cache replaces an entry, and whoever read the old one keeps it. Upstream
counterpart: pkg/kubelet/cm/dra/claiminfo.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["ClaimInfo", "ClaimName", "PreparedDevice"]


class ClaimName(NamedTuple):
    """A claim as a request to a driver names it."""

    namespace: str
    name: str
    uid: str


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
    # Every driver of the allocation has its entry, even if it prepared no devices.
    drivers: Mapping[str, tuple[PreparedDevice, ...]] = field(default_factory=dict)
    # Not kept over restarts of the agent: whether everything is still there is for drivers to say.
    prepared: bool = False
    unpreparing: bool = False
    # Operations that the slice told the node to leave out, by driver.
    skipped_operations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
