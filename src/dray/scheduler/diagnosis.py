"""Why a pod goes nowhere, in one message: how many nodes said no, and for which reasons.

The frame is upstream's, which people and programs know how to read. What upstream says of devices,
that claims cannot be allocated, is followed by why: how many devices a request looked at and what
was wrong with them, once for all nodes of which the same can be said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from dray.allocator import NodeReport, Survey, Unsatisfiable
from dray.errors import AllocationError
from dray.scheduler.filters.filter import Rejection
from dray.texts import shorten

__all__ = ["DYNAMIC_RESOURCES", "TIMED_OUT", "DeviceReasons", "tell", "tell_nodes"]

DYNAMIC_RESOURCES: Final = "DynamicResources"

CANNOT_ALLOCATE: Final = "cannot allocate all claims"
TIMED_OUT: Final = "timed out trying to allocate devices"

# To say why is dearer than to say no. Beyond so many kinds of nodes a person looks at the most
# frequent reasons only, which `dray explain` has in full.
EXPLAINED_KINDS_MAX: Final = 8

# What a list of events shows is cut off much earlier.
REASON_CHARACTERS_MAX: Final = 400

NO_NODES: Final = "no nodes available to schedule pods"


class DeviceReasons:
    """Why claims do not fit on nodes, told once for nodes that are alike."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._groups: dict[int, Rejection] = {}
        self._told: dict[object, str] = {}

    def on(self, name: str) -> Rejection | None:
        """What is said of a node; None if the claims do fit there."""
        try:
            group = self._survey.group_of(name)
        except AllocationError as error:
            return _rejection(str(error))
        known = self._groups.get(id(group))
        if known is None:
            known = self._reason(name)
            if known is None:
                return None
            self._groups[id(group)] = known
        return known

    def _reason(self, name: str) -> Rejection | None:
        try:
            answer = self._survey.on(name)
        except AllocationError as error:
            return _rejection(str(error))
        if not isinstance(answer, Unsatisfiable):
            return None
        if answer.undecided:
            return _rejection(TIMED_OUT)
        if len(self._groups) >= EXPLAINED_KINDS_MAX:
            return _rejection(CANNOT_ALLOCATE)
        # Nodes that differ in names only share the words of the first.
        return _rejection(self._told.setdefault(answer.report.key, _why(answer.report)))


def _why(report: NodeReport) -> str:
    return f"{CANNOT_ALLOCATE} ({shorten(report.summary, characters_max=REASON_CHARACTERS_MAX)})"


def _rejection(reason: str) -> Rejection:
    return Rejection(DYNAMIC_RESOURCES, (reason,), resolvable=False)


def tell(nodes_count: int, why: str) -> str:
    """What is in the way on all nodes alike."""
    return f"0/{nodes_count} nodes are available: {why}." if nodes_count else f"{NO_NODES}"


def tell_nodes(nodes_count: int, rejections: Mapping[str, Rejection]) -> str:
    """What is in the way on each node, counted."""
    if not nodes_count:
        return NO_NODES
    counted = Counter(_reasons(rejections.values()))
    # Sorted as upstream sorts them: as texts, numbers included.
    lines = sorted(f"{count} {reason}" for reason, count in counted.items())
    return f"0/{nodes_count} nodes are available: {', '.join(lines)}."


def _reasons(rejections: Iterable[Rejection]) -> Iterable[str]:
    for rejection in rejections:
        yield from rejection.reasons
