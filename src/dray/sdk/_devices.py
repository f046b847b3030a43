"""The devices of claims, as a driver's author gets them: to prepare, and to undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dray.api.quantity import Quantity
from dray.api.resource import Device, ResourceClaim
from dray.sdk._configuration import OpaqueConfig

__all__ = ["ClaimedDevice", "PreparedDevice", "forget_state"]

T = TypeVar("T")


async def forget_state(_: Any) -> None:
    """Where state goes that nobody keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedDevice:
    """A device that a claim was given, to be made usable.

    `config` are the entries that apply, the most important last. `published` is the device as the
    driver last published it, if it still has it. `state` is what an earlier attempt remembered that
    did not come to its end: another boot, a crash.
    """

    driver: str
    pool: str
    device: str
    request: str
    requests: tuple[str, ...]
    claim: ResourceClaim
    share_id: str | None = None
    admin_access: bool = False
    consumed_capacity: Mapping[str, Quantity] = field(default_factory=dict)
    config: tuple[OpaqueConfig, ...] = ()
    published: Device | None = None
    state: Any = None
    # All devices of the claim that are this driver's, as (pool, device).
    siblings: tuple[tuple[str, str], ...] = ()
    _remember: Callable[[Any], Awaitable[None]] = forget_state

    @property
    def claim_uid(self) -> str:
        return self.claim.metadata.uid

    def configured(self, kind: type[T], default: T) -> T:
        """What applies to this device: the last entry, as this type, or the default without any.

        Raises InvalidConfig, which names the entry and what is wrong with it; letting it pass is
        the right thing to do.
        """
        return self.config[-1].decode(kind) if self.config else default

    async def remember(self, state: Any) -> None:
        """Have a JSON value kept for `unprepare`, on disk when this returns.

        Called before something that must be undone is done, it outlives a crash in the middle.
        """
        await self._remember(state)

    def __str__(self) -> str:
        return f"{self.pool}/{self.device}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDevice:
    """A device to be given back. The claim may no longer exist; its names do."""

    driver: str
    pool: str
    device: str
    claim_uid: str
    claim_namespace: str = ""
    claim_name: str = ""
    share_id: str | None = None
    requests: tuple[str, ...] = ()
    admin_access: bool = False
    # What `ClaimedDevice.remember` was given last.
    state: Any = None

    def __str__(self) -> str:
        return f"{self.pool}/{self.device}"
