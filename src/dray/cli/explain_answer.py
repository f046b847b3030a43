"""What `dray explain` answers, as data.

Every part is there for people and for programs alike: explain_report and explain_json only give
it a form. Lists are as long as the dump makes them; it is up to those two to cut them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from dray.allocator.answers import NodeReport
from dray.allocator.explain.relaxations import Change, Relaxation
from dray.api.core import Toleration
from dray.api.resource import DeviceID
from dray.cli.manifests import ManifestError
from dray.cli.snapshot import ObjectName, Place, Subject

__all__ = [
    "Answer",
    "AssignedDevice",
    "Hint",
    "NodeChange",
    "NodeChangeKind",
    "NodeLine",
    "Reason",
    "Step",
    "Suggestion",
    "Verdict",
]


class Verdict(Enum):
    """The answer in a word; the enum's values are for programs."""

    FITS = "Fits"
    ALLOCATED = "Allocated"  # all devices are allocated already
    DOES_NOT_FIT = "DoesNotFit"
    UNSCHEDULED = "Unscheduled"  # devices fit, but the scheduler found no node, for something else
    BLOCKED = "Blocked"  # a scheduler would not come to look at devices
    UNJUDGED = "Unjudged"  # a scheduler would give up with an error, or there is nothing to judge

    @property
    def good(self) -> bool:
        return self in (Verdict.FITS, Verdict.ALLOCATED)


@dataclass(frozen=True, slots=True)
class AssignedDevice:
    """A device that a request has, or would get."""

    claim: ObjectName
    request: str
    id: DeviceID
    traits: tuple[tuple[str, str], ...] = ()  # a few attributes and capacities
    consumed: tuple[tuple[str, str], ...] = ()  # of a device that is shared
    admin_access: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """Nodes that cannot be had for the same reason, in the order of the dump."""

    nodes: tuple[str, ...]
    text: str
    place: Place | None = None  # what speaks against the first of them, devices aside
    report: NodeReport | None = None  # of the first of them
    error: str = ""  # the claims cannot be judged there
    with_devices: tuple[str, ...] = ()  # those that are ruled out by `place` but have the devices


@dataclass(frozen=True, slots=True)
class NodeLine:
    """One node in one line."""

    node: str
    fits: bool
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: set or remove a field of an object, or run a command."""

    object: str = ""  # `ResourceClaimTemplate ml/four-h100`
    path: str = ""
    value: Any = None  # what the field becomes; None: it goes
    command: str = ""
    note: str = ""
    removed: tuple[str, ...] = ()  # paths that go along with it


class NodeChangeKind(Enum):
    """What is changed so that a pod may go to a node; the enum's values are for programs."""

    UNCORDON = "Uncordon"
    TOLERATE_NODE = "TolerateNode"  # a taint of the node, in the pod's tolerations
    NODE_SELECTOR = "NodeSelector"  # drop some of it
    NODE_AFFINITY = "NodeAffinity"  # drop what is required


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A change that lets a pod go to a node, whatever the node's devices are."""

    kind: NodeChangeKind
    text: str
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What would make a pod or a claim fit on a node, and how to go about it.

    All of it together: what has to change about the node, then about devices, if anything does.
    """

    node: str
    relaxation: Relaxation | None = None
    steps: tuple[Step, ...] = ()
    node_changes: tuple[NodeChange, ...] = ()

    @property
    def changes(self) -> tuple[NodeChange | Change, ...]:
        return (*self.node_changes, *(self.relaxation.changes if self.relaxation else ()))

    @property
    def text(self) -> str:
        return ", and ".join(change.text for change in self.changes)

    @property
    def checked(self) -> bool:
        return self.relaxation is None or self.relaxation.checked


@dataclass(frozen=True, slots=True)
class Hint:
    """What looks like a mistake in a selector."""

    where: str  # `request gpus of claim ml/train-gpus, selector 0`
    text: str
    expression: str | None = None  # to use instead


@dataclass(frozen=True, slots=True)
class Answer:
    """All there is to say about a pod or a claim."""

    verdict: Verdict
    headline: str
    subject: Subject | None = None  # None if not even that could be read
    nodes: int = 0  # of the dump, or the one that was asked for
    nodes_made_up: bool = False
    only: str | None = None  # the node that was asked for
    fitting: tuple[str, ...] = ()
    devices: tuple[AssignedDevice, ...] = ()  # on the first node that fits, or those allocated
    reasons: tuple[Reason, ...] = ()  # for the nodes that do not fit, the most common first
    closest: NodeReport | None = None
    suggestions: tuple[Suggestion, ...] = ()
    hints: tuple[Hint, ...] = ()
    holders: tuple[tuple[str, str], ...] = ()  # claims in the way on the closest node, and for whom
    lines: tuple[NodeLine, ...] | None = None  # all nodes, if they were asked for
    scheduler_message: str = ""  # why the pod has no node, as its condition says
    notes: tuple[str, ...] = ()
    unreadable: tuple[ManifestError, ...] = ()

    @property
    def first(self) -> str | None:
        return self.fitting[0] if self.fitting else None
