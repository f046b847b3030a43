"""The cluster as it was told."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from dray.api.core import (
    Affinity,
    Namespace,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    WeightedPodAffinityTerm,
)
from dray.api.labels import Selector
from dray.api.meta import LabelSelector, ObjectMeta
from dray.api.wire import Time
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.snapshot import Snapshot
from tests.unit.scheduler.builders import info, node, snapshot

TERM = PodAffinityTerm(topology_key="zone", label_selector=LabelSelector())
APART = Affinity(
    pod_affinity=PodAffinity(
        required_during_scheduling_ignored_during_execution=(TERM,),
        preferred_during_scheduling_ignored_during_execution=(
            WeightedPodAffinityTerm(weight=7, pod_affinity_term=TERM),
        ),
    ),
    pod_anti_affinity=PodAntiAffinity(required_during_scheduling_ignored_during_execution=(TERM,)),
)


def test_a_node_that_changes_keeps_its_pods() -> None:
    cluster = snapshot(node("n"))
    cluster.add_pod(info("p", requests={"cpu": "1"}), "n")
    cluster.apply_node(node("n", allocatable={"cpu": "9"}))
    n = cluster.nodes["n"]
    assert n.allocatable["cpu"] == 9000
    assert n.requested == {"cpu": 1000}
    assert list(n.pods) == ["p"]


def test_a_pod_waits_for_its_node() -> None:
    cluster = Snapshot()
    cluster.add_pod(info("p"), "n")
    assert cluster.has_pod("p")
    assert cluster.node_of("p") == "n"
    cluster.apply_node(node("n"))
    assert list(cluster.nodes["n"].pods) == ["p"]


def test_pods_outlive_their_node() -> None:
    cluster = snapshot(node("n"))
    cluster.add_pod(info("p"), "n")
    cluster.add_pod(info("q"), "n")
    cluster.remove_node("n")
    cluster.remove_pod("q")
    assert not cluster.nodes
    cluster.apply_node(node("n"))
    assert list(cluster.nodes["n"].pods) == ["p"]


def test_a_pod_told_of_again_counts_once() -> None:
    cluster = snapshot(node("n"), node("m"))
    cluster.add_pod(info("p", requests={"cpu": "1"}), "n")
    cluster.add_pod(info("p", requests={"cpu": "2"}), "m")
    assert cluster.nodes["n"].requested == {"cpu": 0}
    assert cluster.nodes["m"].requested == {"cpu": 2000}


def test_what_is_not_known_is_forgotten_without_a_word() -> None:
    cluster = snapshot(node("n"))
    cluster.remove_pod("nobody")
    cluster.remove_node("nowhere")
    cluster.remove_namespace("none")
    assert cluster.pod("nobody") is None
    assert cluster.node_of("nobody") is None


def test_nodes_stay_in_the_order_in_which_they_came() -> None:
    cluster = snapshot(node("b"), node("a"), node("c"))
    cluster.apply_node(node("a", labels={"x": "y"}))
    assert list(cluster.nodes) == ["b", "a", "c"]


def test_namespaces_are_known_by_their_labels() -> None:
    cluster = Snapshot()
    cluster.apply_namespace(Namespace(metadata=ObjectMeta(name="blue", labels={"team": "b"})))
    assert cluster.namespaces == {"blue": {"team": "b"}}
    cluster.remove_namespace("blue")
    assert not cluster.namespaces


# Whatever is told in whatever order, the result is as if only what is left had been told.

NODES = ("n", "m")
PODS = ("p", "q", "r")
Step: TypeAlias = tuple[str, str, str, str]
steps = st.lists(
    st.tuples(
        st.sampled_from(("node", "no-node", "pod", "no-pod", "index")),
        st.sampled_from(NODES),
        st.sampled_from(PODS),
        st.sampled_from(("plain", "apart", "terminating")),
    ),
    max_size=30,
)


def _info(name: str, kind: str) -> PodInfo:
    return info(
        name,
        labels={"kind": kind},
        requests={"cpu": "1"},
        metadata={"deletion_timestamp": Time.parse("2026-01-31T12:00:00Z")}
        if kind == "terminating"
        else None,
        affinity=APART if kind == "apart" else None,
    )


def _tell(cluster: Snapshot) -> object:
    everything = Selector.everything()
    return (
        {
            name: (sorted(each.pods), each.requested.get("cpu", 0), each.scored_cpu)
            for name, each in cluster.nodes.items()
        },
        {each.leaning: each.counts for each in cluster.anti_affinity},
        {each.leaning: each.counts for each in cluster.leanings},
        sorted(
            (sorted(group.labels.items()), group.terminating, sorted(group.counts.items()))
            for group in cluster.index.select("default", everything)
        ),
        sorted(each.uid for each in cluster.pods()),
    )


@given(steps)
def test_only_what_is_left_counts(told: list[Step]) -> None:
    cluster = Snapshot()
    nodes: dict[str, None] = {}
    pods: dict[str, tuple[str, str]] = {}
    for what, node_name, pod_name, kind in told:
        match what:
            case "node":
                cluster.apply_node(node(node_name))
                nodes[node_name] = None
            case "no-node":
                cluster.remove_node(node_name)
                nodes.pop(node_name, None)
            case "pod":
                cluster.add_pod(_info(pod_name, kind), node_name)
                pods[pod_name] = (node_name, kind)
            case "no-pod":
                cluster.remove_pod(pod_name)
                pods.pop(pod_name, None)
            case "index":
                assert cluster.index is cluster.index
    fresh = snapshot(*map(node, nodes))
    for pod_name, (node_name, kind) in pods.items():
        fresh.add_pod(_info(pod_name, kind), node_name)
    assert _tell(cluster) == _tell(fresh)
