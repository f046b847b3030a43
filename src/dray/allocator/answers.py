"""What the allocator answers: devices, or why not."""

from __future__ import annotations

from dataclasses import dataclass

from dray.api.resource import AllocationResult

__all__ = ["Allocation", "Unsatisfiable"]


@dataclass(frozen=True, slots=True)
class Allocation:
    """One result per claim, in the order of the claims."""

    results: tuple[AllocationResult, ...]
    steps: int


@dataclass(frozen=True, slots=True)
class Unsatisfiable:
    """The claims do not fit on the node."""

    node: str
    steps: int
    undecided: bool = False  # the search was given up; a solution may exist
    message: str = ""  # what upstream would report for the node
