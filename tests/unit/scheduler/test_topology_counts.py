"""Counts by place."""

from __future__ import annotations

from dray.api.core import Namespace
from dray.api.labels import Selector
from dray.api.meta import ObjectMeta
from dray.scheduler.pod_info import AffinityTerm
from dray.scheduler.topology_counts import TopologyCounts, groups_of
from tests.unit.scheduler.builders import ZONE, info, node, snapshot

WEB = Selector.parse("app=web")
CLUSTER = snapshot(node("a1", labels={ZONE: "a"}), node("a2", labels={ZONE: "a"}), node("nowhere"))


def test_what_is_counted_by_node_becomes_counts_by_place() -> None:
    counts = TopologyCounts()
    counts.count(ZONE, {"a1": 1, "a2": 2, "nowhere": 4}, CLUSTER.nodes)
    assert counts == {ZONE: {"a": 3}}
    counts.count(ZONE, {"a1": 1}, CLUSTER.nodes, weight=-2)
    assert counts == {ZONE: {"a": 1}}


def test_nothing_counted_leaves_no_trace() -> None:
    counts = TopologyCounts()
    counts.count(ZONE, {"nowhere": 1}, CLUSTER.nodes)
    assert not counts
    counts.change(ZONE, "a", 2)
    counts.change(ZONE, "a", -2)
    assert not counts


def test_places_are_asked_for_by_the_labels_of_a_node() -> None:
    counts = TopologyCounts({ZONE: {"a": 3}, "rack": {"1": 4}})
    assert counts.touch({ZONE: "a"})
    assert not counts.touch({ZONE: "b", "host": "a"})
    assert counts.total({ZONE: "a", "rack": "1"}) == 7
    assert counts.total({}) == 0


def test_a_clone_is_on_its_own() -> None:
    counts = TopologyCounts({ZONE: {"a": 3}})
    counts.clone().change(ZONE, "a", 1)
    assert counts == {ZONE: {"a": 3}}


def test_a_term_means_pods_of_the_namespaces_it_names_or_selects() -> None:
    cluster = snapshot(node("n"))
    cluster.apply_namespace(Namespace(metadata=ObjectMeta(name="blue", labels={"team": "b"})))
    for index, namespace in enumerate(("default", "blue", "red")):
        cluster.add_pod(info(f"p{index}", namespace=namespace, labels={"app": "web"}), "n")

    def found(namespaces: frozenset[str], selected: Selector) -> list[str]:
        term = AffinityTerm(ZONE, WEB, namespaces, selected)
        return [group.namespace for group in groups_of(term, cluster)]

    assert found(frozenset({"red"}), Selector.nothing()) == ["red"]
    assert found(frozenset({"red"}), Selector.parse("team=b")) == ["blue", "red"]
    assert found(frozenset(), Selector.everything()) == ["default", "blue", "red"]
