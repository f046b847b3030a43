"""What a filter is, and what it says of a node it refuses.

Upstream counterparts: PreFilterPlugin, FilterPlugin and Status of the scheduler's framework.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Protocol

from dray.scheduler.counted import Counting
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.snapshot import Snapshot

__all__ = ["Attempt", "CountingTest", "Filter", "NamingFilter", "Rejection", "Test"]


class Rejection(NamedTuple):
    """Why a pod cannot be on a node; the reasons are counted one by one over all nodes."""

    plugin: str
    reasons: tuple[str, ...]
    resolvable: bool  # whether the node may be worth another look with fewer pods on it


class Attempt(NamedTuple):
    """What is asked: a pod, and the cluster it is to be placed in."""

    pod: PodInfo
    snapshot: Snapshot
    # Extended resources that devices stand for on nodes that have none of them to offer.
    ignored_resources: frozenset[str] = frozenset()


# Asked about a node of the snapshot, or about a copy of one with other pods on it.
Test = Callable[[NodeInfo], Rejection | None]


class CountingTest(Counting):
    """A test that looks at more nodes than the one it is asked about: it has counted pods.

    What it counted may be shared; what might be is played with on a copy.
    """

    __slots__ = ()

    @abstractmethod
    def __call__(self, node: NodeInfo, /) -> Rejection | None: ...

    @abstractmethod
    def copy(self) -> CountingTest: ...


class Filter(Protocol):
    """One reason why pods do not fit.

    A filter that is `static` looks at nothing but the pod's placement key and the labels, taints
    and willingness of the node, so that what it says holds until one of them changes.
    """

    @property
    def name(self) -> str: ...

    @property
    def static(self) -> bool: ...

    def prepare(self, attempt: Attempt) -> Test | None:
        """What to ask of each node; None if the pod gives nothing to ask."""


class NamingFilter(ABC):
    """A filter to which a pod may name the only nodes it can be on."""

    @abstractmethod
    def only(self, pod: PodInfo) -> frozenset[str] | None:
        """The names; None if the pod names none, empty if it names what contradicts itself."""
