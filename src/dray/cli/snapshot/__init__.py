"""A dump of a cluster, and what is asked about it, up to the point where devices are allocated.

`Snapshot.load` reads files, `Snapshot.subject` finds a pod or a claim in them with all that a
scheduler would have to know. May live here: reading dumps, finding claims, judging nodes apart from
devices. May not: allocation (dray.allocator), showing answers.
"""

from __future__ import annotations

from dray.cli.snapshot.extended import ExtendedResources
from dray.cli.snapshot.fleet import ANY_NODE
from dray.cli.snapshot.names import ObjectName, SubjectKind
from dray.cli.snapshot.origin import Origin
from dray.cli.snapshot.placement import Against, NodeTerms, Place, PodPlacement
from dray.cli.snapshot.subject import (
    AllocatedClaim,
    Problem,
    ProblemKind,
    Subject,
    WantedClaim,
)
from dray.cli.snapshot.view import Consumer, Holder, Snapshot

__all__ = [
    "ANY_NODE",
    "Against",
    "AllocatedClaim",
    "Consumer",
    "ExtendedResources",
    "Holder",
    "NodeTerms",
    "ObjectName",
    "Origin",
    "Place",
    "PodPlacement",
    "Problem",
    "ProblemKind",
    "Snapshot",
    "Subject",
    "SubjectKind",
    "WantedClaim",
]
