"""A node as it would be if some of its pods were not there, and nobody had their devices.

Devices are really counted as free meanwhile, so nothing may wait, and `close` puts everything back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self

from dray.api.resource import ResourceClaim
from dray.scheduler.cycle import Try
from dray.scheduler.devices import Devices
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo

__all__ = ["WhatIf"]

ClaimsOf = Callable[[PodInfo], Iterable[ResourceClaim]]
"""The claims of a pod that have devices."""


class WhatIf:
    """One pod that is to fit, on a copy of one node. Each change costs what one pod has."""

    def __init__(
        self, tries: Sequence[Try], node: NodeInfo, devices: Devices, claims_of: ClaimsOf
    ) -> None:
        self._tries = [(one, one.check.copy()) for one in tries]
        self._node = node.copy()
        self._devices = devices
        self._claims_of = claims_of
        self._gone: set[str] = set()
        self._released: dict[str, ResourceClaim] = {}  # by uid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for claim in self._released.values():
            self._devices.add_claim(claim)

    def remove(self, *pods: PodInfo) -> None:
        """Think pods away, and with them the devices that nobody else uses then."""
        self._gone.update(pod.uid for pod in pods)
        for pod in pods:
            for _, check in self._tries:
                check.remove_pod(pod, self._node)
            self._node.remove_pod(pod)
        for pod in pods:
            for claim in self._claims_of(pod):
                uid = claim.metadata.uid
                if uid not in self._released and self._is_idle(claim):
                    self._released[uid] = claim
                    self._devices.remove_claim(claim)

    def put_back(self, pod: PodInfo) -> None:
        """Have a pod be there again, with its devices."""
        self._gone.discard(pod.uid)
        for _, check in self._tries:
            check.add_pod(pod, self._node)
        self._node.add_pod(pod)
        for claim in self._claims_of(pod):
            released = self._released.pop(claim.metadata.uid, None)
            if released is not None:
                self._devices.add_claim(released)

    def fits(self) -> bool:
        """Whether the pod would fit now."""
        for one, check in self._tries:
            one.renew()
            if one.fits(self._node, check):
                return True
        return False

    @property
    def released(self) -> tuple[ResourceClaim, ...]:
        """The claims whose devices nobody has."""
        return tuple(self._released.values())

    def _is_idle(self, claim: ResourceClaim) -> bool:
        return all(user.uid in self._gone for user in claim.status.reserved_for)
