"""What the SDK gives a running driver to work with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from dray.client import Client
from dray.clock import Clock
from dray.entropy import Entropy
from dray.sdk._taints import Taints

__all__ = ["Context"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The surroundings of one driver on one node."""

    node_name: str
    client: Client
    clock: Clock
    entropy: Entropy
    # Marks on devices, on top of those that `discover` returns them with.
    taints: Taints
    # Ask `discover` again, and publish what it finds.
    refresh: Callable[[], Awaitable[None]]
