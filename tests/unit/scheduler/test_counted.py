"""Counts that are brought up to date."""

from __future__ import annotations

from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.core import (
    Affinity,
    Namespace,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from dray.api.meta import LabelSelector, ObjectMeta
from dray.api.wire import Time
from dray.scheduler import counted
from dray.scheduler import snapshot as snapshots
from dray.scheduler.counted import Counted, Counting
from dray.scheduler.feasibility import Feasibility
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.preferences import Preferences
from dray.scheduler.snapshot import Snapshot
from tests.unit.scheduler.builders import HOSTNAME, ZONE, info, node, snapshot


class Tally(Counting):
    """Counts how many pods it was told of."""

    def __init__(self) -> None:
        self.count = 0

    def add_pod(self, info: PodInfo, node: NodeInfo) -> None:
        self.count += 1

    def remove_pod(self, info: PodInfo, node: NodeInfo) -> None:
        self.count -= 1


def test_a_count_is_told_of_what_moved_since() -> None:
    cluster = snapshot(node("n"))
    counts, tally = Counted[Tally](), Tally()
    counts.keep("shape", cluster, tally)
    cluster.add_pod(info("a"), "n")
    cluster.add_pod(info("b"), "n")
    cluster.remove_pod("a")
    assert counts.recall("shape", cluster) is tally
    assert tally.count == 1
    assert counts.recall("shape", cluster) is tally
    assert tally.count == 1
    assert counts.recall("another", cluster) is None


def test_a_change_of_the_layout_ends_it() -> None:
    cluster = snapshot(node("n"))
    counts = Counted[Tally]()
    counts.keep("shape", cluster, Tally())
    cluster.apply_node(node("n"))
    assert counts.recall("shape", cluster) is not None
    cluster.apply_node(node("n", labels={"new": "label"}))
    assert counts.recall("shape", cluster) is None
    counts.keep("shape", cluster, Tally())
    cluster.apply_namespace(Namespace(metadata=ObjectMeta(name="new")))
    assert counts.recall("shape", cluster) is None


def test_what_missed_too_much_is_counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MOVES_MAX", 2)
    cluster = snapshot(node("n"))
    counts = Counted[Tally]()
    counts.keep("shape", cluster, Tally())
    for name in ("a", "b"):
        cluster.add_pod(info(name), "n")
    assert counts.recall("shape", cluster) is not None
    for name in ("c", "d", "e"):
        cluster.add_pod(info(name), "n")
    assert counts.recall("shape", cluster) is None


def test_no_more_counts_are_kept_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "REMEMBERED_COUNTS_MAX", 2)
    cluster = snapshot(node("n"))
    counts = Counted[Tally]()
    counts.keep("one", cluster, Tally())
    counts.keep("two", cluster, Tally())
    assert counts.recall("one", cluster) is not None
    counts.keep("three", cluster, Tally())
    assert counts.recall("two", cluster) is None
    assert counts.recall("one", cluster) is not None


# Whatever happens in whatever order, nobody can tell what is remembered ------------------------

LEAVING = {"deletion_timestamp": Time.parse("2026-01-31T12:00:00Z")}
WEB = LabelSelector(match_labels={"app": "web"})


def _term(key: str) -> PodAffinityTerm:
    return PodAffinityTerm(topology_key=key, label_selector=WEB)


NEAR = Affinity(
    pod_affinity=PodAffinity(
        required_during_scheduling_ignored_during_execution=(_term(ZONE),),
        preferred_during_scheduling_ignored_during_execution=(
            WeightedPodAffinityTerm(weight=7, pod_affinity_term=_term(HOSTNAME)),
        ),
    )
)
FAR = Affinity(
    pod_anti_affinity=PodAntiAffinity(
        required_during_scheduling_ignored_during_execution=(_term(HOSTNAME),),
        preferred_during_scheduling_ignored_during_execution=(
            WeightedPodAffinityTerm(weight=3, pod_affinity_term=_term(ZONE)),
        ),
    )
)
EVENLY = (
    TopologySpreadConstraint(
        max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule", label_selector=WEB
    ),
    TopologySpreadConstraint(
        max_skew=1, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway", label_selector=WEB
    ),
    TopologySpreadConstraint(
        max_skew=1, topology_key=ZONE, when_unsatisfiable="ScheduleAnyway", label_selector=WEB
    ),
)
Step: TypeAlias = tuple[str, str, str, str]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("pod", "no-pod", "ask", "node", "no-node")),
        st.sampled_from(("a1", "a2", "b")),
        st.sampled_from(("p", "q", "r")),
        st.sampled_from(("plain", "near", "far", "evenly", "leaving", "other")),
    ),
    max_size=30,
)


def _pod(name: str, kind: str) -> PodInfo:
    return info(
        name,
        labels={"app": "other" if kind == "other" else "web"},
        affinity={"near": NEAR, "far": FAR}.get(kind),
        topology_spread_constraints=EVENLY if kind == "evenly" else (),
        metadata=LEAVING if kind == "leaving" else None,
    )


def _answers(
    cluster: Snapshot, feasibility: Feasibility, preferences: Preferences, kind: str
) -> object:
    asked = _pod("asked", kind)
    check = feasibility.check(asked)
    nodes = list(cluster.nodes.values())
    return [check.on(each) for each in nodes], preferences.points(asked, nodes)


@given(STEPS)
def test_remembering_is_invisible(steps: list[Step]) -> None:
    cluster = snapshot(*(node(name, labels={ZONE: name[0]}) for name in ("a1", "a2", "b")))
    remembering = Feasibility(cluster), Preferences(cluster)
    for what, node_name, pod_name, kind in steps:
        match what:
            case "pod":
                cluster.add_pod(_pod(pod_name, kind), node_name)
            case "no-pod":
                cluster.remove_pod(pod_name)
            case "node":
                cluster.apply_node(node(node_name, labels={ZONE: pod_name}))
            case "no-node":
                cluster.remove_node(node_name)
            case "ask":
                fresh = _answers(cluster, Feasibility(cluster), Preferences(cluster), kind)
                assert _answers(cluster, *remembering, kind) == fresh
