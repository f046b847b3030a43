"""What is to be done about the pods of a daemon set, node by node.

First each node gets its one pod, and what should not be there goes; only when that is done do old
pods give way to new ones. With a surge a node may have two pods meanwhile: an old one that is ready
and a new one that is not yet. Upstream counterparts: manage in daemon_controller.go, update.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dray.api.apps import DAEMON_SET_ROLLING_UPDATE, DaemonSet
from dray.api.core import POD_PHASE_FAILED, POD_PHASE_SUCCEEDED, Node, Pod
from dray.controllers.daemon_sets.placement import NOWHERE, Fit, Placement, target_node
from dray.controllers.pod_states import is_available, is_ready, is_terminal
from dray.controllers.proportions import share_of

__all__ = ["Plan", "Scene", "oldest_first", "plan_nodes", "plan_update", "survey"]


@dataclass(frozen=True, slots=True)
class Scene:
    """A daemon set, which nodes it belongs on, and its pods by the node they are for.

    `mark` is the hash of the revision of now, by which its pods are known.
    """

    daemon_set: DaemonSet
    placement: Placement
    mark: str
    now: datetime
    fits: Mapping[str, Fit]
    pods: Mapping[str, Sequence[Pod]]

    @property
    def wanted_count(self) -> int:
        return sum(fit.wanted for fit in self.fits.values())

    def is_current(self, pod: Pod) -> bool:
        return self.placement.is_current(pod, self.mark)

    def is_available(self, pod: Pod) -> bool:
        return is_available(pod, self.daemon_set.spec.min_ready_seconds, self.now)


@dataclass(slots=True)
class Plan:
    """Nodes that need a pod, and pods that are to go; ended ones are replaced not too often."""

    nodes: list[str] = field(default_factory=list)
    surplus: list[Pod] = field(default_factory=list)
    failed: list[tuple[str, Pod]] = field(default_factory=list)
    succeeded: list[tuple[str, Pod]] = field(default_factory=list)


def survey(
    daemon_set: DaemonSet,
    placement: Placement,
    mark: str,
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    now: datetime,
) -> Scene:
    """Look at all nodes and all pods of a daemon set."""
    by_node: dict[str, list[Pod]] = {}
    for pod in pods:
        if is_terminal(pod) and pod.metadata.deletion_timestamp is not None:
            continue  # it is only waiting to be removed
        node = target_node(pod)
        if node:
            by_node.setdefault(node, []).append(pod)
    fits = {node.metadata.name: placement.fit(node) for node in nodes}
    return Scene(daemon_set, placement, mark, now, fits, by_node)


def oldest_first(pods: Iterable[Pod]) -> list[Pod]:
    """Those that are bound before others, then by age."""

    def key(pod: Pod) -> Any:
        made = pod.metadata.creation_timestamp
        seconds = made.instant.timestamp() if made else 0.0
        return not pod.spec.node_name, seconds, pod.metadata.name

    return sorted(pods, key=key)


def plan_nodes(scene: Scene) -> Plan:
    """One pod on every node that fits, and none elsewhere."""
    plan = Plan()
    surges = _limits(scene)[0] > 0
    for node, fit in scene.fits.items():
        pods = scene.pods.get(node)
        if pods is None:
            if fit.wanted:
                plan.nodes.append(node)
        elif fit.tolerated:
            running = _sort_out(plan, node, pods)
            if surges:
                if not running and fit.wanted:
                    plan.nodes.append(node)
                plan.surplus += _beyond_a_pair(scene, running)
            else:
                plan.surplus += oldest_first(running)[1:]
        else:
            plan.surplus += _staying(pods)
    for node, pods in scene.pods.items():
        if node not in scene.fits:
            # Nobody will ever bind these, nor collect them.
            plan.surplus += [pod for pod in _staying(pods) if not pod.spec.node_name]
    return plan


def plan_update(scene: Scene) -> Plan:
    """How far old pods give way to new ones."""
    if scene.daemon_set.spec.update_strategy.type != DAEMON_SET_ROLLING_UPDATE:
        return Plan()
    surge_max, unavailable_max = _limits(scene)
    return _surge(scene, surge_max) if surge_max else _replace(scene, unavailable_max)


def _limits(scene: Scene) -> tuple[int, int]:
    """How many nodes may have two pods, and how many may be without one that is available."""
    strategy = scene.daemon_set.spec.update_strategy
    rolling = strategy.rolling_update
    if strategy.type != DAEMON_SET_ROLLING_UPDATE or rolling is None:
        return 0, 0
    count = scene.wanted_count
    surge = share_of(rolling.max_surge, count, up=True)
    unavailable = share_of(rolling.max_unavailable, count, up=True)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def _staying(pods: Sequence[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.metadata.deletion_timestamp is None]


def _sort_out(plan: Plan, node: str, pods: Sequence[Pod]) -> list[Pod]:
    """The pods that run, or may yet; those that have ended are noted."""
    running: list[Pod] = []
    for pod in _staying(pods):
        if pod.status.phase == POD_PHASE_FAILED:
            plan.failed.append((node, pod))
        elif pod.status.phase == POD_PHASE_SUCCEEDED:
            plan.succeeded.append((node, pod))
        else:
            running.append(pod)
    return running


def _beyond_a_pair(scene: Scene, running: Sequence[Pod]) -> list[Pod]:
    """All but the oldest pod of each kind; and the old one too, once it is no use any more."""
    if len(running) <= 1:
        return []
    ordered = oldest_first(running)
    new = [pod for pod in ordered if scene.is_current(pod)]
    old = [pod for pod in ordered if not scene.is_current(pod)]
    surplus = [*new[1:], *old[1:]]
    if new and old and (not is_ready(old[0]) or scene.is_available(new[0])):
        surplus.append(old[0])
    return surplus


def _pair(scene: Scene, node: str) -> tuple[Pod | None, Pod | None] | None:
    """The new pod and the old one of a node; None if there are more, which go first."""
    staying = _staying(scene.pods.get(node, ()))
    new = [pod for pod in staying if scene.is_current(pod)]
    old = [pod for pod in staying if not scene.is_current(pod)]
    if len(new) > 1 or len(old) > 1:
        return None
    return (new[0] if new else None), (old[0] if old else None)


def _considered(scene: Scene) -> list[str]:
    """Nodes with pods, and nodes that should have one."""
    wanted = (node for node, fit in scene.fits.items() if fit.wanted)
    return list(dict.fromkeys((*scene.pods, *wanted)))


def _replace(scene: Scene, unavailable_max: int) -> Plan:
    """Delete old pods; what is missing then is made anew. Those that are no use go in any case."""
    useless: list[Pod] = []
    candidates: list[Pod] = []
    unavailable = 0
    for node in _considered(scene):
        pair = _pair(scene, node)
        new, old = pair if pair is not None else (None, None)
        if old is None or new is not None:
            if new is None or old is not None or not scene.is_available(new):
                unavailable += 1
        elif scene.is_available(old):
            candidates.append(old)
        else:
            useless.append(old)
            unavailable += 1
    room = max(0, unavailable_max - unavailable)
    return Plan(surplus=[*useless, *candidates[:room]])


def _surge(scene: Scene, surge_max: int) -> Plan:
    """Make new pods beside old ones; an old one goes once its successor is available."""
    plan = Plan()
    candidates: list[str] = []
    misplaced: list[Pod] = []
    surging = available = 0
    for node in _considered(scene):
        pair = _pair(scene, node)
        if pair is None:
            surging += 1
            continue
        new, old = pair
        shown = old or new
        available += shown is not None and scene.is_available(shown)
        if old is None:
            continue
        if new is not None:
            if scene.is_available(new):
                plan.surplus.append(old)
            else:
                surging += 1
            continue
        wanted = scene.fits.get(node, NOWHERE).wanted
        useless = not scene.is_available(old)
        if wanted:
            (plan.nodes if useless else candidates).append(node)
        else:
            (plan.surplus if useless else misplaced).append(old)
    # Whoever surges wants to be available throughout: what is in the wrong place goes only once
    # there is enough in the right ones.
    plan.surplus += misplaced[: max(0, available - scene.wanted_count)]
    plan.nodes += candidates[: max(0, surge_max - surging)]
    return plan
