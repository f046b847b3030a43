"""What the life of a pod needs of others: claims, health, events, and where pods come from.

Each protocol holds only what is called here. The runtime's is beside the runtimes, because they all
share it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from dray.agent.claims.claim_info import ClaimInfo
from dray.agent.plugins.plugin import PluginChange
from dray.api.core import Pod, ResourceStatus
from dray.api.meta import Object
from dray.api.wire import Struct
from dray.client import PatchType

__all__ = [
    "API",
    "NORMAL",
    "WARNING",
    "Claims",
    "Events",
    "Health",
    "ImageUsers",
    "PluginChanges",
    "PodListener",
    "PodSource",
]

# The two types of events.
NORMAL = "Normal"
WARNING = "Warning"

T = TypeVar("T", bound=Object)
R = TypeVar("R", bound=Struct)

PodListener = Callable[[Pod | None, Pod | None], None]


class Claims(Protocol):
    """Devices for pods."""

    async def prepare(self, pod: Pod) -> None:
        """Make all of a pod's claims ready; raises PrepareFailed. What is ready stays so."""
        ...

    async def unprepare(self, pod: Pod) -> None:
        """Give them back; raises UnprepareFailed. A pod that has none left is no error."""
        ...

    async def refresh(self, pod: Pod) -> None:
        """Ask drivers again for what they prepared: it got lost; raises PrepareFailed."""
        ...

    def cdi_devices(self, pod: Pod, container_name: str) -> tuple[str, ...]:
        """The devices of one container, by their names in CDI."""
        ...

    def claims_of(self, pod_uid: str) -> Sequence[ClaimInfo]:
        """What a pod still holds."""
        ...


class Health(Protocol):
    """How the devices of pods are."""

    def statuses(self, pod: Pod, container_name: str) -> tuple[ResourceStatus, ...]:
        """What a container's status shows."""
        ...

    def listen(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Call this with the UIDs of pods whose devices changed. Listeners must not wait."""
        ...

    def freeze(self, pod: Pod) -> None:
        """Keep what is known now: the pod's devices are about to be given back."""
        ...

    def forget(self, pod_uid: str) -> None:
        """The pod is gone."""
        ...

    def retain(self, pod_uids: Collection[str]) -> None:
        """All other pods are gone."""
        ...


class Events(Protocol):
    """Tells people what happened; never waits, never fails."""

    def record(
        self,
        regarding: Object,
        type: str,  # noqa: A002 - the field's name
        reason: str,
        message: str,
        *,
        field_path: str = "",
    ) -> None: ...


class PodSource(Protocol):
    """The pods of this node, and maybe of others: a fleet of nodes shares one watch."""

    def listen(self, listener: PodListener) -> None:
        """Call this with (before, now) on every change from now on. Listeners must not wait."""
        ...

    async def synced(self) -> None:
        """Return once all pods there are have been heard of."""
        ...

    def values(self) -> Sequence[Pod]: ...


@runtime_checkable
class ImageUsers(Protocol):
    """A runtime whose images say whom their containers run as; those of others run as the agent."""

    async def image_user(self, image: str) -> int | str:
        """A number, or a name that only the image explains; raises RuntimeFailed."""
        ...


class PluginChanges(Protocol):
    """Says when drivers come and go."""

    def listen(self, listener: Callable[[PluginChange], None]) -> None: ...


class API(Protocol):
    """The part of the client that is used here."""

    async def get(self, kind: type[T], name: str, *, namespace: str = "") -> T: ...

    async def patch(
        self,
        kind: type[T],
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        type: PatchType = ...,  # noqa: A002 - the client's name for it
        subresource: str = "",
    ) -> T: ...

    async def delete(
        self,
        kind: type[T],
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        grace_period_seconds: int | None = None,
    ) -> None: ...

    async def create_subresource(
        self,
        kind: type[T],
        name: str,
        subresource: str,
        body: Object,
        result: type[R],
        *,
        namespace: str = "",
    ) -> R: ...
