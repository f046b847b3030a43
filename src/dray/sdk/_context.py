"""What the SDK gives a running driver to work with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from dray.client import Client
from dray.clock import Clock
from dray.entropy import Entropy
from dray.sdk._devices import PreparedDevice
from dray.sdk._taints import Taints

__all__ = ["Context"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The surroundings of one driver on one node."""

    node_name: str
    # Where the driver may keep files of its own; None where nothing is kept on disk.
    directory: Path | None
    client: Client
    clock: Clock
    entropy: Entropy
    # Marks on devices, on top of those that `discover` returns them with.
    taints: Taints
    # What claims have of the driver's devices, with what was remembered of each.
    prepared: Callable[[], tuple[PreparedDevice, ...]]
    # Ask `discover` again, and publish what it finds.
    refresh: Callable[[], Awaitable[None]]
