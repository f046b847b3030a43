"""Which devices a pod's claims get on a node, and why not when they get none.

Snapshot in, plan out: ResourceSlices and what is allocated already go in, AllocationResults or an
Unsatisfiable come out. The answer is always the one that Kubernetes' own allocator would find by
trying every combination in its fixed order; the way to it is shorter.

Allocators and fleets remember what they worked out, so each has one owner at a time: they are not
for several threads at once.

What may live here: the rules of allocation and the search. No I/O, no clock, no chance: share IDs
are drawn by a function the caller gives. Upstream counterpart:
k8s.io/dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from dray.allocator.allocator import Allocator, Plan
from dray.allocator.answers import (
    Allocation,
    Cause,
    Conflict,
    ConflictKind,
    Exclusion,
    NodeReport,
    PoolTrouble,
    RequestReport,
    Unsatisfiable,
)
from dray.allocator.explain.changes import Change, ChangeKind
from dray.allocator.explain.relaxations import Relaxation, relaxations
from dray.allocator.features import Features
from dray.allocator.fleet import Fleet, GroupAnswer, Survey
from dray.allocator.inventory import Inventory
from dray.allocator.occupancy import Occupancy, PoolID
from dray.allocator.waste import Waste

__all__ = [
    "Allocation",
    "Allocator",
    "Cause",
    "Change",
    "ChangeKind",
    "Conflict",
    "ConflictKind",
    "Exclusion",
    "Features",
    "Fleet",
    "GroupAnswer",
    "Inventory",
    "NodeReport",
    "Occupancy",
    "Plan",
    "PoolID",
    "PoolTrouble",
    "Relaxation",
    "RequestReport",
    "Survey",
    "Unsatisfiable",
    "Waste",
    "relaxations",
]
