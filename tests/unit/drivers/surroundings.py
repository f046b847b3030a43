"""What tests of drivers share: what the SDK gives a driver, and devices of claims."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from dray.api.meta import ObjectMeta
from dray.api.resource import ResourceClaim
from dray.clock import Clock
from dray.entropy import SeededEntropy
from dray.sdk import ClaimedDevice, Context, Driver, OpaqueConfig, PreparedDevice, Taints
from dray.testing import FakeClock

NODE = "n1"


def context(
    *,
    clock: Clock | None = None,
    refresh: Callable[[], Awaitable[Any]] | None = None,
    directory: Path | None = None,
) -> Context:
    """Surroundings without an API server: none of the bundled drivers talks to one."""
    used = clock or FakeClock()

    async def ask_again() -> None:
        if refresh is not None:
            await refresh()

    return Context(
        node_name=NODE,
        directory=directory,
        client=cast("Any", None),
        clock=used,
        entropy=SeededEntropy(0),
        taints=Taints(clock=used, on_change=lambda: None),
        refresh=ask_again,
        prepared=lambda: (),
    )


def placed(driver: Driver, *, clock: Clock | None = None) -> Any:
    """The driver, as it is when `started` is called."""
    driver.context = context(clock=clock, refresh=driver.discover)
    return driver


def opaque(parameters: Any) -> OpaqueConfig:
    return OpaqueConfig("FromClaim", (), msgspec.Raw(msgspec.json.encode(parameters)))


class Memory:
    """What a driver has remembered of a device, in order."""

    def __init__(self) -> None:
        self.states: list[Any] = []

    async def keep(self, state: Any) -> None:
        self.states.append(msgspec.json.decode(msgspec.json.encode(state)))


def claimed(device: str, *, memory: Memory | None = None, **more: Any) -> ClaimedDevice:
    members: dict[str, Any] = {
        "driver": "test.example.com",
        "pool": NODE,
        "device": device,
        "request": "one",
        "requests": ("one",),
        "claim": ResourceClaim(metadata=ObjectMeta(name="claim", namespace="default", uid="uid-1")),
    }
    if memory is not None:
        members["_remember"] = memory.keep
    return ClaimedDevice(**(members | more))


def prepared(device: str, *, state: Any = None) -> PreparedDevice:
    return PreparedDevice(
        driver="test.example.com", pool=NODE, device=device, claim_uid="uid-1", state=state
    )
