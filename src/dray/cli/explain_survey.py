"""What the allocator says of the nodes of a dump, asked once per kind of node.

Most pods ask for the same on every node. Where extended resources make a difference, because some
nodes have a device plugin for them, nodes are asked in batches with equal claims.

Not here: what speaks against a node apart from devices (dray.cli.snapshot), and what is said about
the answers (explain_answer).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from dray.allocator import Allocation, Allocator, Features, Inventory, Occupancy
from dray.allocator.answers import NodeReport
from dray.allocator.fleet import Fleet, Survey
from dray.api.codec import encode
from dray.api.core import Node
from dray.api.resource import ResourceClaim
from dray.cli.snapshot import Snapshot, Subject
from dray.errors import AllocationError

__all__ = ["DeviceSurvey", "Finding", "allocator_for"]

# A report takes about a millisecond. Fleets of more kinds of nodes than this are rare, and those
# beyond it are counted without telling them apart.
REPORTS_MAX: Final = 2_000

# Shares are not created here, only looked at.
_SHARE_ID: Final = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class Finding:
    """Nodes of which the allocator says the same, in the order of the dump."""

    nodes: tuple[str, ...]
    fits: bool = False
    report: NodeReport | None = None  # of the first node; None where there are too many to tell
    error: str = ""  # the claims cannot be judged there


def allocator_for(snapshot: Snapshot) -> Allocator:
    """The devices of a dump, and what its claims hold of them."""
    features = Features.of(snapshot.gates)
    return Allocator(
        Inventory(features, snapshot.slices, snapshot.taint_rules),
        Occupancy.of(snapshot.claims.values()),
        snapshot.classes,
        share_id=lambda: _SHARE_ID,
    )


@dataclass(frozen=True, slots=True)
class _Batch:
    """Nodes that are asked the same."""

    nodes: tuple[str, ...]
    claims: tuple[ResourceClaim, ...]
    survey: Survey | None  # None where there is nothing to allocate


class DeviceSurvey:
    """The answers of some nodes."""

    def __init__(self, allocator: Allocator, subject: Subject, nodes: Iterable[Node]) -> None:
        self._places: dict[str, int] = {}
        batches: dict[bytes, tuple[tuple[ResourceClaim, ...], list[Node]]] = {}
        for place, node in enumerate(nodes):
            self._places[node.metadata.name] = place
            claims = subject.claims_on(node)
            key = encode(claims) if subject.extended else b""
            batches.setdefault(key, (claims, []))[1].append(node)
        self._batches = tuple(_batch(allocator, *batch) for batch in batches.values())
        self._batch_of = {name: batch for batch in self._batches for name in batch.nodes}

    def claims_on(self, name: str) -> tuple[ResourceClaim, ...]:
        """What is to be allocated on a node, in order."""
        return self._batch_of[name].claims

    def on(self, name: str) -> Finding:
        """The answer for one node, with its own names in it."""
        survey = self._batch_of[name].survey
        if survey is None:
            return Finding((name,), fits=True)
        try:
            answer = survey.on(name)
        except AllocationError as error:
            return Finding((name,), error=str(error))
        if isinstance(answer, Allocation):
            return Finding((name,), fits=True)
        return Finding((name,), report=answer.report)

    def allocation(self, name: str) -> Allocation | None:
        """What the claims would get on a node where they fit."""
        survey = self._batch_of[name].survey
        answer = survey.on(name) if survey is not None else None
        return answer if isinstance(answer, Allocation) else None

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All nodes, those with one answer together; each node is in one of them."""
        return tuple(finding for batch in self._batches for finding in self._of(batch))

    @cached_property
    def fitting(self) -> tuple[str, ...]:
        """The nodes where all claims fit, in the order of the dump."""
        names = [name for one in self.findings if one.fits for name in one.nodes]
        return self._ordered(names)

    def _of(self, batch: _Batch) -> Iterator[Finding]:
        if batch.survey is None:
            yield Finding(batch.nodes, fits=True)
            return
        left = REPORTS_MAX
        grouped: set[str] = set()
        for answer in batch.survey.groups:
            nodes = self._ordered(answer.group.nodes)
            grouped.update(nodes)
            if answer.fits:
                yield Finding(nodes, fits=True)
            elif left > 0:
                left -= 1
                first = self.on(nodes[0])
                yield Finding(nodes, report=first.report, error=first.error)
            else:
                yield Finding(nodes)
        for name in batch.nodes:
            if name not in grouped:
                yield self.on(name)

    def _ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=self._places.__getitem__))


def _batch(
    allocator: Allocator, claims: tuple[ResourceClaim, ...], nodes: Sequence[Node]
) -> _Batch:
    names = tuple(node.metadata.name for node in nodes)
    survey = Fleet(allocator, nodes).survey(claims) if claims else None
    return _Batch(names, claims, survey)
