"""What the scheduler has said of a pod that has no node, beside what `dray explain` finds.

The scheduler looks at more than devices. Where explain finds a node and the scheduler found none,
either something else is in the way, or it has not looked again since.
"""

from __future__ import annotations

import re
from typing import Final

from dray.api.core import CONDITION_FALSE, POD_CONDITION_SCHEDULED, Pod

__all__ = ["LOOKED_AT", "is_outdated", "scheduler_message"]

LOOKED_AT: Final = (
    "explain has looked at devices and at nodes' names, cordons, taints, selectors and required "
    "affinity only"
)

# What a scheduler says of nodes for things that are looked at here, too; brackets left out.
_JUDGED_HERE: Final = (
    "cannot allocate all claims",
    "resourceclaim not available on the node",
    "node didn't match Pod's node affinity/selector",
    "node didn't match the requested node name",
    "node had untolerated taint",
    "node were unschedulable",
)

# Devices may fit and be kept from a pod: who else waits for them is not looked at.
_KEPT: Final = "kept for pods of higher priority"

_FRAME: Final = re.compile(r"0/\d+ nodes are available: (.*?)\.(?: |$)", re.DOTALL)
_BRACKETS: Final = re.compile(r"\s*\([^()]*\)|\s*\{[^{}]*\}")
_COUNTED: Final = re.compile(r"\d+ (.*)")


def scheduler_message(pod: Pod) -> str:
    """Why the scheduler found no node, on one line; "" if it found one or has not said."""
    if pod.spec.node_name:
        return ""
    for one in pod.status.conditions:
        if one.type == POD_CONDITION_SCHEDULED and one.status == CONDITION_FALSE:
            return " ".join((one.message or one.reason).split())
    return ""


def is_outdated(message: str) -> bool:
    """Whether all that is said against nodes is looked at here, so that it was so and is no more.

    What cannot be taken apart is taken for something that is not.
    """
    if _KEPT in message:
        return False
    bare, changed = message, 1
    while changed:
        bare, changed = _BRACKETS.subn("", bare)
    frame = _FRAME.match(bare)
    if frame is None:
        return False
    reasons = [_COUNTED.fullmatch(one) for one in frame[1].split(", ")]
    return all(one is not None and one[1].startswith(_JUDGED_HERE) for one in reasons)
