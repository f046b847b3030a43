"""What a question is about: a pod or a claim, and what a scheduler would have to allocate for it.

Nothing here allocates. What is missing or in the way before devices even matter comes out as
problems, each with a text that says what to do about it. Those that only might matter are notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from dray.api.core import Node, Pod
from dray.api.resource import ResourceClaim
from dray.cli.snapshot.extended import ExtendedResources
from dray.cli.snapshot.names import ObjectName, SubjectKind
from dray.cli.snapshot.placement import Place

__all__ = ["AllocatedClaim", "Problem", "ProblemKind", "Subject", "WantedClaim"]


class ProblemKind(Enum):
    """What is in the way of allocating anything; the enum's values are for programs."""

    CLAIM_MISSING = "ClaimMissing"
    CLAIM_BEING_DELETED = "ClaimBeingDeleted"
    CLAIM_OF_ANOTHER_POD = "ClaimOfAnotherPod"
    CLAIM_NOT_NAMED = "ClaimNotNamed"
    CLAIM_FULLY_RESERVED = "ClaimFullyReserved"
    TEMPLATE_MISSING = "TemplateMissing"
    CLASS_MISSING = "ClassMissing"
    CLASS_NOT_NAMED = "ClassNotNamed"
    REQUEST_EMPTY = "RequestEmpty"
    SCHEDULING_GATED = "SchedulingGated"
    SELECTOR_UNREADABLE = "SelectorUnreadable"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the way, and what might help."""

    kind: ProblemKind
    text: str
    hint: str = ""
    entry: str = ""  # of the pod's spec.resourceClaims
    claim: ObjectName | None = None
    request: str = ""  # `request`, or `request/alternative`
    missing: str = ""  # the name that is not in the dump

    def __str__(self) -> str:
        return f"{self.text}; {self.hint}" if self.hint else self.text


@dataclass(frozen=True, slots=True)
class WantedClaim:
    """A claim that has yet to be allocated."""

    claim: ResourceClaim
    entry: str = ""  # of the pod's spec.resourceClaims
    template: str = ""  # what it was made from, or would be
    made_up: bool = False  # it is not in the dump: it was made from the template here

    @property
    def name(self) -> ObjectName:
        return ObjectName(self.claim.metadata.namespace, self.claim.metadata.name)


@dataclass(frozen=True, slots=True)
class AllocatedClaim:
    """A claim that has its devices, and the nodes of the dump they can be used on."""

    claim: ResourceClaim
    nodes: tuple[str, ...]
    entry: str = ""
    template: str = ""

    @property
    def name(self) -> ObjectName:
        return ObjectName(self.claim.metadata.namespace, self.claim.metadata.name)


@dataclass(frozen=True, slots=True)
class Subject:
    """A pod with its claims, or a claim alone.

    `claims` are those to allocate and `allocated` those that are, each in the pod's order. `places`
    has every node of the dump, devices not looked at; to a claim alone all nodes are the same.
    `extended` is there if the pod asks for devices by resource names: `claims_on` has that claim.
    """

    kind: SubjectKind
    name: ObjectName
    pod: Pod | None
    claims: tuple[WantedClaim, ...]
    allocated: tuple[AllocatedClaim, ...]
    places: Mapping[str, Place]
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    extended: ExtendedResources | None = None

    @property
    def title(self) -> str:
        return f"{self.kind.value} {self.name}"

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes with nothing against them so far."""
        return tuple(place.node for place in self.places.values() if place.ok)

    def claims_on(self, node: Node) -> tuple[ResourceClaim, ...]:
        """All claims to allocate on this node, in a scheduler's order."""
        claims = tuple(wanted.claim for wanted in self.claims)
        special = self.extended.claim_for(node) if self.extended else None
        return claims if special is None else (*claims, special)
