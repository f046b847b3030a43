"""Which pods would have to go, and where, so that a pod of higher priority fits.

On each node that might do, all pods of lower priority are thought away, with the devices that only
they use. If the pod fits then, as many of them as possible are let stay, those first whose budgets
are exhausted and then those of higher priority; who is left has to go. The node is chosen where
that hurts least. Nothing is written here.

Upstream counterpart: framework/preemption, and DefaultPreemption. Upstream never takes devices
from pods: what DynamicResources rejects is left alone there, and a pod of high priority waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from math import inf
from typing import Final, NamedTuple

from dray.api.labels import Selector
from dray.api.pod_claims import references
from dray.api.policy import PodDisruptionBudget
from dray.api.resource import ResourceClaim
from dray.client import Informer
from dray.errors import AllocationError
from dray.scheduler.claims import Claims
from dray.scheduler.cycle import Cycle, Try
from dray.scheduler.devices import Devices
from dray.scheduler.diagnosis import DYNAMIC_RESOURCES
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.nominations import Nominations
from dray.scheduler.placement import Refusal
from dray.scheduler.pod_info import PodInfo, read_selector
from dray.scheduler.snapshot import Snapshot
from dray.scheduler.what_if import WhatIf

__all__ = ["Preemption", "Sacrifice"]

# To try a node is dearer than to filter it. Among so many that would do there is a good one; and if
# none of so many would, others have their turn the next time.
FOUND_MAX: Final = 100
TRIED_MAX: Final = 1000

NEVER: Final = "Never"


class Sacrifice(NamedTuple):
    """The pods that have to go from a node."""

    node_name: str
    victims: tuple[PodInfo, ...]
    violations: int = 0  # of disruption budgets
    claims: tuple[ResourceClaim, ...] = ()  # that nobody uses then

    @property
    def pain(self) -> tuple[int, int, int, int, float]:
        """What decides between nodes, upstream's way: less is better."""
        priorities = [victim.priority for victim in self.victims]
        top = max(priorities)
        started = [_started(victim) for victim in self.victims if victim.priority == top]
        return (
            self.violations,
            top,
            # Priorities may be below zero; every victim must count for something.
            sum(priority + _PRIORITY_RANGE for priority in priorities),
            len(self.victims),
            # Of equally important pods, those that have run for the shortest time.
            -min(started),
        )


_PRIORITY_RANGE: Final = 2**31


class Preemption:
    """Looks for victims."""

    def __init__(
        self,
        snapshot: Snapshot,
        cycle: Cycle,
        claims: Claims,
        devices: Devices,
        budgets: Informer[PodDisruptionBudget],
        nominations: Nominations,
    ) -> None:
        self._snapshot = snapshot
        self._cycle = cycle
        self._claims = claims
        self._devices = devices
        self._budgets = budgets
        self._nominations = nominations
        self._turn = 0  # where the search began last

    def find(self, pod: PodInfo, refusal: Refusal) -> Sacrifice | None:
        """The least that must go for the pod; None if nothing would help, or it may not."""
        if pod.pod.spec.preemption_policy == NEVER or self.waits(pod):
            return None
        try:
            tries = self._cycle.tries(pod)
        except AllocationError:
            return None
        if isinstance(tries, Refusal):
            return None
        found: list[Sacrifice] = []
        for node in islice(self._candidates(pod, refusal), TRIED_MAX):
            sacrifice = self._on(pod, node, tries)
            if sacrifice is not None:
                found.append(sacrifice)
                if len(found) >= FOUND_MAX:
                    break
        return min(found, key=lambda each: each.pain, default=None)

    def _candidates(self, pod: PodInfo, refusal: Refusal) -> Iterator[NodeInfo]:
        """Nodes on which it might help that pods go, beginning elsewhere each time."""
        names = list(refusal.rejections)
        start = self._turn % len(names) if names else 0
        self._turn += TRIED_MAX
        for name in chain(names[start:], names[:start]):
            rejection = refusal.rejections[name]
            lacks_devices = rejection.plugin == DYNAMIC_RESOURCES
            node = self._snapshot.nodes.get(name)
            if node is None or not (rejection.resolvable or lacks_devices):
                continue
            lower = (each for each in node.pods.values() if _yields(each, pod))
            # Where devices are lacking, only pods that have some can help.
            if any(not lacks_devices or self._holds(each) for each in lower):
                yield node

    def waits(self, pod: PodInfo) -> bool:
        """Whether room is on its way already, on the node that is meant for the pod.

        Pods take time to end, and the devices they had take a little longer to come free.
        """
        name = self._nominations.node_of(pod.uid) or pod.pod.status.nominated_node_name
        node = self._snapshot.nodes.get(name)
        return node is not None and (
            any(each.terminating and each.priority < pod.priority for each in node.pods.values())
            or any(self._comes_free(claim) for claim in self._nominations.claims_of(pod.uid))
        )

    def _comes_free(self, claim: ResourceClaim) -> bool:
        """Whether a claim still has devices that only those used who had to go."""
        newest = self._claims.get(claim.metadata.name, claim.metadata.namespace)
        users = {user.uid for user in claim.status.reserved_for}
        return (
            newest is not None
            and newest.metadata.uid == claim.metadata.uid
            and newest.status.allocation is not None
            and all(
                user.uid in users and not self._snapshot.has_pod(user.uid)
                for user in newest.status.reserved_for
            )
        )

    def _on(self, pod: PodInfo, node: NodeInfo, tries: Sequence[Try]) -> Sacrifice | None:
        lower = [each for each in node.pods.values() if _yields(each, pod)]
        with WhatIf(tries, node, self._devices, self._claims_with_devices) as scene:
            scene.remove(*lower)
            if not scene.fits():
                return None
            violating, others = self._by_budget(lower)
            victims: list[PodInfo] = []
            violations = 0
            for each in [*_important_first(violating), *_important_first(others)]:
                scene.put_back(each)
                if not scene.fits():
                    scene.remove(each)
                    victims.append(each)
                    violations += each in violating
            if not victims:
                return None  # it would fit as it is: what was in the way has gone
            return Sacrifice(
                node.name, tuple(_important_first(victims)), violations, scene.released
            )

    def _claims_with_devices(self, info: PodInfo) -> Iterator[ResourceClaim]:
        for reference in references(info.pod):
            claim = self._claims.expected(reference.claim_name, info.namespace)
            if claim is not None and claim.status.allocation is not None:
                yield claim

    def _holds(self, info: PodInfo) -> bool:
        return any(True for _ in self._claims_with_devices(info))

    # Budgets -----------------------------------------------------------------------------------

    def _by_budget(self, pods: Sequence[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """The pods whose going would violate a budget, and the others."""
        budgets = [
            (budget, _selector(budget), budget.status.disruptions_allowed)
            for budget in self._budgets.values()
        ]
        allowed = {budget.metadata.uid: count for budget, _, count in budgets}
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        for info in _important_first(pods):
            violates = False
            for budget, selector, _ in budgets:
                if budget.metadata.namespace != info.namespace:
                    continue
                if info.name in budget.status.disrupted_pods or not selector.matches(info.labels):
                    continue
                allowed[budget.metadata.uid] -= 1
                violates = violates or allowed[budget.metadata.uid] < 0
            (violating if violates else others).append(info)
        return violating, others


def _yields(info: PodInfo, to: PodInfo) -> bool:
    return info.priority < to.priority


def _important_first(pods: Iterable[PodInfo]) -> list[PodInfo]:
    return sorted(pods, key=lambda info: (-info.priority, _started(info)))


def _started(info: PodInfo) -> float:
    """When it started; pods that have not will be the latest."""
    start = info.pod.status.start_time
    return start.instant.timestamp() if start is not None else inf


def _selector(budget: PodDisruptionBudget) -> Selector:
    return read_selector(budget.spec.selector)
