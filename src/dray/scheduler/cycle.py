"""One attempt to find a place for one pod: from what is known, without waiting, without writing.

Nodes that would do are looked for in the order of what they are worth to the pod's claims (see
dray.allocator.waste), and among equals the node that is used least is taken. Devices are asked for
by kinds of nodes, everything else node by node, until there are enough to choose from; so a pod
that fits costs about the same in a small cluster and in a large one. Only a pod that fits nowhere
makes every node say why.

Upstream counterparts: schedulePod, and PreFilter, Filter and Score of the DynamicResources plugin.
A departure: a node on which claims cannot be judged (a selector fails there) does not end the
attempt as long as another node will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Final, Protocol

from dray.allocator import Allocation, Survey
from dray.api.core import NodeAffinity, PodAffinity, PodAntiAffinity
from dray.api.pod_claims import is_reserved
from dray.api.resource import AllocationResult, ResourceClaim
from dray.clock import Clock
from dray.errors import AllocationError, InternalError
from dray.scheduler.claims import Claims
from dray.scheduler.devices import Devices
from dray.scheduler.diagnosis import DYNAMIC_RESOURCES, TIMED_OUT, DeviceReasons, tell, tell_nodes
from dray.scheduler.feasibility import Feasibility, NodeCheck
from dray.scheduler.filters.filter import Rejection
from dray.scheduler.filters.node_name import NodeName
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.nominations import Nominations
from dray.scheduler.placement import ClaimPlacement, Demand, Placement, Refusal
from dray.scheduler.pod_claims import Unresolved, resolve
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.preferences import Preferences
from dray.scheduler.reach import Reach
from dray.scheduler.scoring import balanced_allocation, least_allocated
from dray.scheduler.settings import SchedulerSettings
from dray.scheduler.snapshot import Snapshot

__all__ = ["RESERVED_FOR_MAX", "Cycle", "Demands", "Try"]

# What the API allows.
RESERVED_FOR_MAX: Final = 256

_NOT_AVAILABLE: Final = Rejection(
    DYNAMIC_RESOURCES, ("resourceclaim not available on the node",), resolvable=False
)
_LEFT_TO_OTHERS: Final = Rejection(
    DYNAMIC_RESOURCES,
    ("cannot allocate all claims (devices are kept for pods of higher priority)",),
    resolvable=False,
)


class Demands(Protocol):
    """What the extended resources of a pod add to its claims."""

    def split(
        self, pod: PodInfo, claims: tuple[ResourceClaim, ...]
    ) -> Sequence[tuple[Demand, Callable[[NodeInfo], bool] | None]]:
        """What is wanted on which nodes; where there is no difference, on all (None)."""

    def leftovers(self, pod: PodInfo) -> tuple[ResourceClaim, ...]:
        """What an attempt that was not finished left of that."""


class Cycle:
    """Places pods, one after the other."""

    def __init__(
        self,
        snapshot: Snapshot,
        feasibility: Feasibility,
        claims: Claims,
        devices: Devices,
        demands: Demands,
        settings: SchedulerSettings,
        clock: Clock,
        nominations: Nominations | None = None,
    ) -> None:
        self.nominations = Nominations() if nominations is None else nominations
        self._snapshot = snapshot
        self._feasibility = feasibility
        self._claims = claims
        self._devices = devices
        self._demands = demands
        self._settings = settings
        self._clock = clock
        self._preferences = Preferences(snapshot)
        self._turn = 0  # where the search began last, for pods that any node may take

    def attempt(self, pod: PodInfo) -> Placement | Refusal:
        """Where the pod goes, or why nowhere."""
        try:
            tries = self.tries(pod)
            if isinstance(tries, Refusal):
                return tries
            best = self._choose(pod, tries)
            if best is None:
                return self._diagnose(tries)
        except AllocationError as error:
            return self._refuse(str(error), failed=True)
        node, chosen = best
        return self._place(pod, node, chosen)

    def tries(self, pod: PodInfo) -> Sequence[Try] | Refusal:
        """The pod, ready to be asked about nodes. Raises AllocationError."""
        claims = resolve(pod.pod, self._claims.get)
        if isinstance(claims, Unresolved):
            return self._refuse(claims.why)
        if why := self._problem(pod, claims):
            return self._refuse(why)
        if leftovers := self._demands.leftovers(pod):
            count = len(self._snapshot.nodes)
            refusal = self._refuse(f"{count} cannot schedule extended resource claim")
            return replace(refusal, leftovers=leftovers)
        wanted = tuple([claim for claim in claims if claim.status.allocation is None])
        demands = self._demands.split(pod, wanted)
        reach = self._reach(claims)
        return [
            Try(self, pod, claims, demand, reach, where if where is not None else _anywhere)
            for demand, where in demands
        ]

    # What holds for all nodes ------------------------------------------------------------------

    def _problem(self, pod: PodInfo, claims: tuple[ResourceClaim, ...]) -> str:
        for claim in claims:
            name = f"resource claim {claim.metadata.namespace}/{claim.metadata.name}"
            if claim.status.allocation is None:
                if self._claims.is_in_flight(claim):
                    return f"{name} is in the process of being allocated"
                if missing := self._missing_class(claim):
                    return missing
            reserved = claim.status.reserved_for
            if len(reserved) >= RESERVED_FOR_MAX and not is_reserved(pod.pod, claim):
                return f"{name} is reserved for {len(reserved)} pods already, which is the most"
        return ""

    def _missing_class(self, claim: ResourceClaim) -> str:
        for request in claim.spec.devices.requests or ():
            if request.exactly is not None:
                names = [(request.name, request.exactly.device_class_name)]
            else:
                names = [
                    (f"{request.name}/{each.name}", each.device_class_name)
                    for each in request.first_available
                ]
            for full_name, class_name in names:
                if class_name not in self._devices.classes:
                    return f"request {full_name}: device class {class_name} does not exist"
        return ""

    def _reach(self, claims: tuple[ResourceClaim, ...]) -> Reach:
        allocated = [claim for claim in claims if claim.status.allocation is not None]
        timeout = self._settings.binding_timeout_seconds
        return Reach(
            allocated,
            self._clock.now() if allocated else None,
            timeout if self._devices.features.binding_conditions else None,
        )

    # Choosing ----------------------------------------------------------------------------------

    def _choose(self, pod: PodInfo, tries: Sequence[Try]) -> tuple[NodeInfo, Try] | None:
        nominated = pod.pod.status.nominated_node_name
        if nominated and (node := self._snapshot.nodes.get(nominated)) is not None:
            for one in tries:
                if one.fits(node):
                    return node, one
        if _prefers(pod):
            # What the pod would like may be anywhere among the nodes that would do.
            found = [(one, one.feasible(chain.from_iterable(one.tiers()))) for one in tries]
        else:
            tiers = ((one, one.feasible(tier)) for one in tries for tier in one.tiers())
            found = [next((each for each in tiers if each[1]), (tries[0], []))]
        return self._best(pod, found)

    def _best(
        self, pod: PodInfo, found: Sequence[tuple[Try, list[NodeInfo]]]
    ) -> tuple[NodeInfo, Try] | None:
        pairs = [(one, node) for one, some in found for node in some]
        if len(pairs) <= 1:
            return next(((node, one) for one, node in pairs), None)
        points = self._preferences.points(pod, [node for _, node in pairs])
        several = len(found) > 1 or _prefers(pod)  # tiers: those of one are worth the same

        def rank(number: int) -> tuple[object, ...]:
            one, node = pairs[number]
            return (
                -points.get(node.name, 0),
                one.worth(node) if several else (),
                -least_allocated(pod, node) - balanced_allocation(pod, node),
                number,  # of equals, the first: the same state gives the same choice
            )

        one, node = pairs[min(range(len(pairs)), key=rank)]
        return node, one

    def in_turn(self) -> Iterator[NodeInfo]:
        """All nodes, beginning elsewhere each time, so that all get their share of pods."""
        nodes = list(self._snapshot.nodes.values())
        start = self._turn % len(nodes) if nodes else 0
        self._turn += self._settings.feasible_nodes_max
        return chain(nodes[start:], nodes[:start])

    def _place(self, pod: PodInfo, node: NodeInfo, chosen: Try) -> Placement:
        results = chosen.allocate(node)
        given = dict(
            zip([claim.metadata.uid for claim in chosen.demand.claims], results, strict=True)
        )
        special = chosen.demand.special
        return Placement(
            pod,
            node.name,
            tuple(
                [ClaimPlacement(claim, given.get(claim.metadata.uid)) for claim in chosen.claims]
            ),
            special,
            results[-1] if special is not None else None,
        )

    # Saying no ---------------------------------------------------------------------------------

    def _refuse(self, why: str, *, failed: bool = False) -> Refusal:
        message = tell(len(self._snapshot.nodes), why)
        return Refusal(message, frozenset({DYNAMIC_RESOURCES}), failed=failed)

    def _diagnose(self, tries: Sequence[Try]) -> Refusal:
        rejections: dict[str, Rejection] = {}
        for one in tries:
            rejections.update(one.rejections(self._snapshot.nodes.values()))
        return Refusal(
            tell_nodes(len(self._snapshot.nodes), rejections),
            # Where there are no nodes, only a node can help.
            frozenset([each.plugin for each in rejections.values()] or [NodeName.name]),
            rejections,
            misplaced=tries[0].reach.misplaced,
            # What took too long may well fit. The answer changes with the devices that are in use,
            # of which nobody tells whom to try again.
            failed=any(TIMED_OUT in each.reasons for each in rejections.values()),
        )

    # For a try ---------------------------------------------------------------------------------

    def check(self, pod: PodInfo, demand: Demand) -> NodeCheck:
        return self._feasibility.check(pod, ignored_resources=demand.served_resources)

    def survey(self, demand: Demand) -> Survey | None:
        return self._devices.survey(demand.claims) if demand.claims else None

    @property
    def devices_version(self) -> int:
        return self._devices.version

    def wanted_by(self, pod: PodInfo, node: NodeInfo) -> tuple[ResourceClaim, ...]:
        """The claims of a pod that have no devices yet, and what it wants of a node besides."""
        claims = resolve(pod.pod, self._claims.get)
        if isinstance(claims, Unresolved):
            return ()
        wanted = tuple([claim for claim in claims if claim.status.allocation is None])
        for demand, where in self._demands.split(pod, wanted):
            if where is None or where(node):
                return demand.claims
        return wanted

    def node(self, name: str) -> NodeInfo | None:
        return self._snapshot.nodes.get(name)

    @property
    def feasible_nodes_max(self) -> int:
        return self._settings.feasible_nodes_max


class Try:
    """One pod, on the nodes on which it wants one and the same."""

    def __init__(
        self,
        cycle: Cycle,
        pod: PodInfo,
        claims: tuple[ResourceClaim, ...],
        demand: Demand,
        reach: Reach,
        where: Callable[[NodeInfo], bool],
    ) -> None:
        self.claims = claims
        self.demand = demand
        self.reach = reach
        self._cycle = cycle
        self._pod = pod
        self._where = where
        self.check = cycle.check(pod, demand)
        self._survey = cycle.survey(demand)
        self._version = cycle.devices_version

    def renew(self) -> None:
        """Look at devices again if any came or went since."""
        version = self._cycle.devices_version
        if version != self._version:
            self._version = version
            self._survey = self._cycle.survey(self.demand)

    def tiers(self) -> Iterator[Iterable[NodeInfo]]:
        """The nodes that devices allow, best first; those of one tier are equally good."""
        survey = self._survey
        if (names := self._names()) is not None:
            yield self._known(name for name in names if survey is None or survey.fits(name))
        elif survey is None:
            yield self._cycle.in_turn()
        else:
            for _, tier in groupby(survey.ranked(), key=lambda ranked: ranked[0]):
                yield self._known(chain.from_iterable(group.nodes for _, group in tier))

    def _names(self) -> Iterable[str] | None:
        """The only nodes worth asking about; None if all are."""
        if (only := self.reach.only) is not None:
            return (only,)
        return self.check.candidates()

    def _known(self, names: Iterable[str]) -> Iterator[NodeInfo]:
        for name in names:
            if (node := self._cycle.node(name)) is not None:
                yield node

    def feasible(self, nodes: Iterable[NodeInfo]) -> list[NodeInfo]:
        """Nodes that would do, as many as it takes to choose from."""
        found = []
        enough = self._cycle.feasible_nodes_max
        check = self._rejection if self._cycle.nominations else self.check.on
        restricted = self.reach.restricts
        for node in nodes:
            if restricted and not self.reach.includes(node):
                continue
            if check(node) is None and self._where(node):
                found.append(node)
                if len(found) >= enough:
                    break
        return found

    def fits(self, node: NodeInfo, check: NodeCheck | None = None) -> bool:
        """Whether this one node would do, or a copy of it that has a check of its own."""
        return (
            (self._survey is None or self._survey.fits(node.name))
            and self._where(node)
            and self.reach.includes(node)
            and self._rejection(node, check) is None
        )

    def _rejection(self, node: NodeInfo, check: NodeCheck | None = None) -> Rejection | None:
        """Why the pod cannot be on the node, where others may be meant to be."""
        check = check or self.check
        rejection = check.on(node)
        if rejection is not None or not self._cycle.nominations:
            return rejection
        others = self._cycle.nominations.ahead_of(self._pod, node.name)
        if not others:
            return None
        copy, check = node.copy(), check.copy()
        for other in others:
            check.add_pod(other, copy)
            copy.add_pod(other)
        return check.on(copy) or self._without_devices_of(others, node)

    def _without_devices_of(self, others: Iterable[PodInfo], node: NodeInfo) -> Rejection | None:
        """Whether the claims leave devices to pods that are meant for the node."""
        wanted: dict[str, ResourceClaim] = {}
        for other in others if self.demand.claims else ():
            wanted.update(
                (claim.metadata.uid, claim) for claim in self._cycle.wanted_by(other, node)
            )
        for claim in self.demand.claims:
            wanted.pop(claim.metadata.uid, None)
        if not wanted:
            return None
        together = self._cycle.survey(Demand((*wanted.values(), *self.demand.claims)))
        return None if together is None or together.fits(node.name) else _LEFT_TO_OTHERS

    def worth(self, node: NodeInfo) -> tuple[int, ...]:
        """What devices make of a node on which the pod fits; less is better."""
        return (self._survey.waste(node.name) or ()) if self._survey is not None else ()

    def allocate(self, node: NodeInfo) -> tuple[AllocationResult, ...]:
        """What the claims get on a node on which they fit."""
        if self._survey is None:
            return ()
        answer = self._survey.on(node.name)
        if not isinstance(answer, Allocation):
            raise InternalError(f"claims that fit on node {node.name} do not fit there")
        return answer.results

    def rejections(self, nodes: Iterable[NodeInfo]) -> Iterator[tuple[str, Rejection]]:
        """What every node says that this is about."""
        devices = DeviceReasons(self._survey) if self._survey is not None else None
        for node in nodes:
            if not self._where(node):
                continue
            rejection = self._rejection(node)
            if rejection is None and devices is not None:
                rejection = devices.on(node.name)
            if rejection is None and not self.reach.includes(node):
                rejection = _NOT_AVAILABLE
            if rejection is not None:
                yield node.name, rejection


def _prefers(pod: PodInfo) -> bool:
    """Whether the pod says which of the nodes that would do it would like."""
    spec = pod.pod.spec
    affinity = spec.affinity
    if affinity is not None and (
        (affinity.node_affinity is not None and _preferred(affinity.node_affinity))
        or (affinity.pod_affinity is not None and _preferred(affinity.pod_affinity))
        or (affinity.pod_anti_affinity is not None and _preferred(affinity.pod_anti_affinity))
    ):
        return True
    spread = spec.topology_spread_constraints
    return any(each.when_unsatisfiable == "ScheduleAnyway" for each in spread)


def _preferred(affinity: NodeAffinity | PodAffinity | PodAntiAffinity) -> bool:
    return bool(affinity.preferred_during_scheduling_ignored_during_execution)


def _anywhere(_node: NodeInfo) -> bool:
    return True
