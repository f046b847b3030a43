"""What pods would rather have."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.core import (
    Affinity,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from dray.api.meta import LabelSelector
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.preferences import Preferences
from dray.scheduler.snapshot import Snapshot
from tests.unit.scheduler.builders import HOSTNAME, ZONE, info, node, snapshot

WEB = {"app": "web"}


def points(cluster: Snapshot, asked: PodInfo) -> dict[str, int]:
    return dict(Preferences(cluster).points(asked, list(cluster.nodes.values())))


def wish(weight: int, key: str, *values: str) -> PreferredSchedulingTerm:
    requirement = NodeSelectorRequirement(key=key, operator="In", values=values)
    return PreferredSchedulingTerm(
        weight=weight, preference=NodeSelectorTerm(match_expressions=(requirement,))
    )


def wishing(*terms: PreferredSchedulingTerm) -> Affinity:
    return Affinity(
        node_affinity=NodeAffinity(preferred_during_scheduling_ignored_during_execution=terms)
    )


def leaning(
    *, near: Iterable[tuple[int, str]] = (), far: Iterable[tuple[int, str]] = ()
) -> Affinity:
    """Weights and keys, all for the pods of the web."""

    def weighted(each: tuple[int, str]) -> WeightedPodAffinityTerm:
        weight, key = each
        term = PodAffinityTerm(topology_key=key, label_selector=LabelSelector(match_labels=WEB))
        return WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term)

    return Affinity(
        pod_affinity=PodAffinity(
            preferred_during_scheduling_ignored_during_execution=tuple(map(weighted, near))
        ),
        pod_anti_affinity=PodAntiAffinity(
            preferred_during_scheduling_ignored_during_execution=tuple(map(weighted, far))
        ),
    )


def evenly(key: str, skew: int = 1, **rest: Any) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        topology_key=key,
        max_skew=skew,
        when_unsatisfiable="ScheduleAnyway",
        label_selector=LabelSelector(match_labels=WEB),
        **rest,
    )


@pytest.fixture
def cluster() -> Snapshot:
    """Two nodes in one zone, one in another."""
    return snapshot(
        node("a1", labels={ZONE: "a"}),
        node("a2", labels={ZONE: "a"}),
        node("b", labels={ZONE: "b"}),
    )


def test_without_wishes_there_are_no_points(cluster: Snapshot) -> None:
    assert points(cluster, info()) == {}
    assert Preferences(cluster).points(info(affinity=wishing()), []) == {}


def test_taints_advise_against_nodes_by_their_number() -> None:
    one, two = (Taint(key=key, effect="PreferNoSchedule") for key in ("one", "two"))
    hard = Taint(key="hard", effect="NoSchedule")
    cluster = snapshot(
        node("0", taints=(hard,)), node("1", taints=(one,)), node("2", taints=(one, two))
    )
    assert points(cluster, info()) == {"0": 300, "1": 150, "2": 0}
    tolerant = info(tolerations=(Toleration(key="one"),))
    assert points(cluster, tolerant) == {"0": 300, "1": 300, "2": 0}
    everything = info(tolerations=(Toleration(operator="Exists"),))
    assert points(cluster, everything) == {}


def test_nodes_are_liked_by_the_weights_of_what_they_match(cluster: Snapshot) -> None:
    asked = info(affinity=wishing(wish(30, ZONE, "a"), wish(10, HOSTNAME, "a1", "b")))
    assert points(cluster, asked) == {"a1": 200, "a2": 150, "b": 50}


def test_a_wish_that_cannot_be_read_is_none(cluster: Snapshot) -> None:
    bad = PreferredSchedulingTerm(
        weight=50,
        preference=NodeSelectorTerm(
            match_expressions=(NodeSelectorRequirement(key="a", operator="?"),)
        ),
    )
    assert points(cluster, info(affinity=wishing(bad, wish(1, ZONE, "b")))) == {
        "a1": 0,
        "a2": 0,
        "b": 200,
    }


def test_pods_would_like_to_be_near_and_far(cluster: Snapshot) -> None:
    cluster.add_pod(info("web", labels=WEB), "a1")
    near_zone_not_host = info(affinity=leaning(near=[(10, ZONE)], far=[(10, HOSTNAME)]))
    assert points(cluster, near_zone_not_host) == {"a1": 0, "a2": 200, "b": 0}


def test_what_placed_pods_like_counts_for_those_that_come(cluster: Snapshot) -> None:
    cluster.add_pod(info("fan", affinity=leaning(near=[(5, HOSTNAME)])), "b")
    cluster.add_pod(info("foe", affinity=leaning(far=[(5, HOSTNAME)])), "a1")
    assert points(cluster, info(labels=WEB)) == {"a1": 0, "a2": 100, "b": 200}
    assert points(cluster, info(labels={"app": "db"})) == {}


def test_what_placed_pods_needed_they_like_more_of(cluster: Snapshot) -> None:
    term = PodAffinityTerm(topology_key=ZONE, label_selector=LabelSelector(match_labels=WEB))
    needing = Affinity(
        pod_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
    )
    cluster.add_pod(info("needing", affinity=needing), "a1")
    assert points(cluster, info(labels=WEB)) == {"a1": 200, "a2": 200, "b": 0}


def test_emptier_zones_are_better(cluster: Snapshot) -> None:
    cluster.add_pod(info("web", labels=WEB), "a1")
    asked = info(labels=WEB, topology_spread_constraints=(evenly(ZONE),))
    assert points(cluster, asked) == {"a1": 0, "a2": 0, "b": 200}


def test_a_node_without_the_label_gets_no_points(cluster: Snapshot) -> None:
    cluster.apply_node(node("nowhere"))
    asked = info(labels=WEB, topology_spread_constraints=(evenly(ZONE),))
    assert points(cluster, asked) == {"a1": 200, "a2": 200, "b": 200, "nowhere": 0}


# Against upstream's arithmetic taken literally -------------------------------------------------

PLACES = ("a1", "a2", "b", "nowhere")
PLACED = st.lists(st.tuples(st.sampled_from(PLACES), st.booleans()), max_size=8)
RULES = st.lists(
    st.builds(evenly, st.sampled_from((HOSTNAME, ZONE)), st.integers(1, 3)), min_size=1, max_size=2
)


@given(PLACED, RULES)
def test_spreading_agrees_with_its_arithmetic(
    placed: list[tuple[str, bool]], rules: list[TopologySpreadConstraint]
) -> None:
    cluster = snapshot(
        *(node(name, labels={ZONE: name[0]}) for name in ("a1", "a2", "b")), node("nowhere")
    )
    for index, (home, web) in enumerate(placed):
        cluster.add_pod(info(f"p{index}", labels=WEB if web else {}), home)
    asked = info("asked", labels=WEB, topology_spread_constraints=tuple(rules))

    scored = [
        each
        for each in cluster.nodes.values()
        if all(rule.topology_key in each.labels for rule in rules)
    ]
    raw: dict[str, int] = {}
    for each in scored:
        total = 0.0
        for rule in rules:
            value = each.labels[rule.topology_key]
            count = sum(
                cluster.nodes[home].labels.get(rule.topology_key) == value
                and cluster.nodes[home] in scored
                for home, web in placed
                if web
            )
            size = len({other.labels[rule.topology_key] for other in scored})
            total += count * log(size + 2) + rule.max_skew - 1
        raw[each.name] = floor(total + 0.5)
    least, most = min(raw.values()), max(raw.values())
    expected = {
        name: 2 * (100 * (most + least - raw[name]) // most if most else 100) if name in raw else 0
        for name in cluster.nodes
    }
    assert points(cluster, asked) == expected


WEIGHTS = st.lists(st.tuples(st.integers(1, 100), st.sampled_from((HOSTNAME, ZONE))), max_size=2)
LEANINGS = st.none() | st.builds(leaning, near=WEIGHTS, far=WEIGHTS)


def _weights(of: PodInfo) -> list[tuple[int, str]]:
    affinity = of.pod.spec.affinity
    if affinity is None or affinity.pod_affinity is None or affinity.pod_anti_affinity is None:
        return []
    return [
        (each.weight, each.pod_affinity_term.topology_key)
        for each in affinity.pod_affinity.preferred_during_scheduling_ignored_during_execution
    ] + [
        (-each.weight, each.pod_affinity_term.topology_key)
        for each in affinity.pod_anti_affinity.preferred_during_scheduling_ignored_during_execution
    ]


@given(
    st.lists(st.tuples(st.sampled_from(PLACES), st.booleans(), LEANINGS), max_size=5),
    st.booleans(),
    LEANINGS,
)
def test_leanings_agree_with_their_arithmetic(
    placed: list[tuple[str, bool, Affinity | None]], is_web: bool, affinity: Affinity | None
) -> None:
    cluster = snapshot(
        *(node(name, labels={ZONE: name[0]}) for name in ("a1", "a2", "b")), node("nowhere")
    )
    for index, (home, web, theirs) in enumerate(placed):
        cluster.add_pod(info(f"p{index}", labels=WEB if web else {}, affinity=theirs), home)
    asked = info("asked", labels=WEB if is_web else {}, affinity=affinity)

    raw = dict.fromkeys(cluster.nodes, 0)
    for name, each in cluster.nodes.items():
        for home, web, theirs in placed:
            other = info("other", affinity=theirs)
            held = (_weights(asked) if web else []) + (_weights(other) if is_web else [])
            for weight, key in held:
                value = each.labels.get(key)
                if value is not None and value == cluster.nodes[home].labels.get(key):
                    raw[name] += weight
    least, most = min(raw.values()), max(raw.values())
    expected = (
        {name: 2 * int(100 * ((total - least) / (most - least))) for name, total in raw.items()}
        if least != most
        else {}
    )
    assert points(cluster, asked) == expected
