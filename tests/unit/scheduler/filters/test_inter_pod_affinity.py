"""Pods that must be near others, or far from them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.core import Affinity, Namespace, PodAffinity, PodAffinityTerm, PodAntiAffinity
from dray.api.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta
from dray.api.wire import Time
from dray.scheduler.feasibility import Feasibility
from dray.scheduler.filters.filter import Attempt, Rejection
from dray.scheduler.filters.inter_pod_affinity import InterPodAffinity
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.snapshot import Snapshot
from tests.unit.scheduler.builders import HOSTNAME, ZONE, ask, info, node, snapshot

NOT_NEAR = Rejection(
    "InterPodAffinity", ("node(s) didn't match pod affinity rules",), resolvable=False
)
NOT_FAR = Rejection(
    "InterPodAffinity", ("node(s) didn't match pod anti-affinity rules",), resolvable=True
)
KEPT_AWAY = Rejection(
    "InterPodAffinity",
    ("node(s) didn't satisfy existing pods anti-affinity rules",),
    resolvable=True,
)


def term(
    key: str,
    labels: dict[str, str] | None,
    *,
    namespaces: tuple[str, ...] = (),
    namespace_labels: dict[str, str] | None = None,
) -> PodAffinityTerm:
    return PodAffinityTerm(
        topology_key=key,
        label_selector=None if labels is None else LabelSelector(match_labels=labels),
        namespaces=namespaces,
        namespace_selector=None
        if namespace_labels is None
        else LabelSelector(match_labels=namespace_labels),
    )


def affinity(
    *, near: Iterable[PodAffinityTerm] = (), far: Iterable[PodAffinityTerm] = ()
) -> Affinity:
    return Affinity(
        pod_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=tuple(near)),
        pod_anti_affinity=PodAntiAffinity(
            required_during_scheduling_ignored_during_execution=tuple(far)
        ),
    )


def near(*terms: PodAffinityTerm) -> Affinity:
    return affinity(near=terms)


def far(*terms: PodAffinityTerm) -> Affinity:
    return affinity(far=terms)


WEB = {"app": "web"}
DB = {"app": "db"}


@pytest.fixture
def cluster() -> Snapshot:
    """Two nodes in one zone, one in another, one in none."""
    return snapshot(
        node("a1", labels={ZONE: "a"}),
        node("a2", labels={ZONE: "a"}),
        node("b1", labels={ZONE: "b"}),
        node("nowhere"),
    )


def verdicts(cluster: Snapshot, asked: PodInfo) -> dict[str, Rejection | None]:
    check = Feasibility(cluster).check(asked)
    return {name: check.on(each) for name, each in cluster.nodes.items()}


def test_a_pod_goes_near_the_pods_it_asks_for(cluster: Snapshot) -> None:
    cluster.add_pod(info("db", labels=DB), "a1")
    assert verdicts(cluster, info(affinity=near(term(ZONE, DB)))) == {
        "a1": None,
        "a2": None,
        "b1": NOT_NEAR,
        "nowhere": NOT_NEAR,
    }


def test_one_pod_must_match_all_terms_of_affinity(cluster: Snapshot) -> None:
    asked = info(affinity=near(term(ZONE, DB), term(HOSTNAME, {"tier": "back"})))
    cluster.add_pod(info("db", labels=DB), "a1")
    cluster.add_pod(info("back", labels={"tier": "back"}), "a1")
    assert set(verdicts(cluster, asked).values()) == {NOT_NEAR}
    cluster.add_pod(info("both", labels=DB | {"tier": "back"}), "a1")
    assert [name for name, why in verdicts(cluster, asked).items() if why is None] == ["a1"]


def test_the_first_of_pods_that_want_each_other_may_begin_anywhere(cluster: Snapshot) -> None:
    asked = info("w1", labels=WEB, affinity=near(term(ZONE, WEB)))
    assert verdicts(cluster, asked) == {"a1": None, "a2": None, "b1": None, "nowhere": NOT_NEAR}
    cluster.add_pod(asked, "b1")
    second = info("w2", labels=WEB, affinity=near(term(ZONE, WEB)))
    assert [name for name, why in verdicts(cluster, second).items() if why is None] == ["b1"]


def test_a_pod_keeps_far_from_others(cluster: Snapshot) -> None:
    cluster.add_pod(info("db", labels=DB), "a1")
    assert verdicts(cluster, info(affinity=far(term(ZONE, DB)))) == {
        "a1": NOT_FAR,
        "a2": NOT_FAR,
        "b1": None,
        "nowhere": None,
    }


def test_pods_that_are_there_keep_others_away(cluster: Snapshot) -> None:
    cluster.add_pod(info("loner", affinity=far(term(ZONE, WEB))), "a1")
    assert verdicts(cluster, info(labels=WEB)) == {
        "a1": KEPT_AWAY,
        "a2": KEPT_AWAY,
        "b1": None,
        "nowhere": None,
    }
    assert set(verdicts(cluster, info(labels=DB)).values()) == {None}


def test_a_terminating_pod_still_keeps_others_away(cluster: Snapshot) -> None:
    leaving = {"deletion_timestamp": Time.parse("2026-01-31T12:00:00Z")}
    cluster.add_pod(info("db", labels=DB, metadata=leaving), "a1")
    assert verdicts(cluster, info(affinity=far(term(HOSTNAME, DB))))["a1"] == NOT_FAR


def test_a_node_that_moves_takes_its_pods_along(cluster: Snapshot) -> None:
    cluster.add_pod(info("db", labels=DB), "a1")
    asked = info(affinity=near(term(ZONE, DB)))
    cluster.apply_node(node("a1", labels={ZONE: "b"}))
    assert [name for name, why in verdicts(cluster, asked).items() if why is None] == ["a1", "b1"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(term(HOSTNAME, DB), None, id="own-namespace"),
        pytest.param(term(HOSTNAME, DB, namespaces=("blue",)), NOT_FAR, id="named"),
        pytest.param(term(HOSTNAME, DB, namespace_labels={"team": "b"}), NOT_FAR, id="selected"),
        pytest.param(term(HOSTNAME, DB, namespace_labels={"team": "r"}), None, id="not-selected"),
        pytest.param(term(HOSTNAME, DB, namespace_labels={}), NOT_FAR, id="all"),
        pytest.param(
            term(HOSTNAME, DB, namespaces=("blue",), namespace_labels={"team": "r"}),
            NOT_FAR,
            id="named-or-selected",
        ),
        pytest.param(term(HOSTNAME, None, namespace_labels={}), None, id="no-selector-no-pods"),
    ],
)
def test_terms_reach_into_namespaces(asked: PodAffinityTerm, expected: Rejection | None) -> None:
    cluster = snapshot(node("n"))
    cluster.apply_namespace(Namespace(metadata=ObjectMeta(name="blue", labels={"team": "b"})))
    cluster.add_pod(info("db", namespace="blue", labels=DB), "n")
    assert ask(cluster, info(affinity=far(asked))) == expected


def test_terms_of_pods_that_are_there_reach_into_namespaces() -> None:
    cluster = snapshot(node("n"))
    cluster.apply_namespace(Namespace(metadata=ObjectMeta(name="blue", labels={"team": "b"})))
    loner = far(term(HOSTNAME, WEB, namespace_labels={"team": "b"}))
    cluster.add_pod(info("loner", affinity=loner), "n")
    assert ask(cluster, info(namespace="blue", labels=WEB)) == KEPT_AWAY
    assert ask(cluster, info(namespace="red", labels=WEB)) is None


def test_there_is_nothing_to_ask_where_nobody_minds() -> None:
    cluster = snapshot(node("n"))
    cluster.add_pod(info("loner", affinity=far(term(HOSTNAME, DB))), "n")
    assert InterPodAffinity().prepare(Attempt(info(labels=WEB), cluster)) is None


# Against upstream's rules taken literally ------------------------------------------------------

VALUES = st.sampled_from(("x", "y"))
LABELS = st.dictionaries(st.sampled_from(("p", "q")), VALUES, max_size=2)
NAMESPACES = ("one", "two")
TERMS = st.builds(
    PodAffinityTerm,
    topology_key=st.sampled_from((HOSTNAME, ZONE)),
    label_selector=st.none()
    | st.builds(LabelSelector, match_labels=LABELS)
    | st.builds(
        LabelSelector,
        match_expressions=st.tuples(
            st.builds(
                LabelSelectorRequirement,
                key=st.just("p"),
                operator=st.sampled_from(("Exists", "DoesNotExist")),
            )
        ),
    ),
    namespaces=st.sampled_from(((), ("one",), NAMESPACES)),
    namespace_selector=st.none() | st.builds(LabelSelector, match_labels=LABELS),
)
AFFINITIES = st.builds(affinity, near=st.lists(TERMS, max_size=2), far=st.lists(TERMS, max_size=2))
PODS = st.builds(
    info,
    st.uuids().map(str),
    namespace=st.sampled_from(NAMESPACES),
    labels=LABELS,
    affinity=st.none() | AFFINITIES,
)
PLACED = st.tuples(PODS, st.sampled_from(("a1", "a2", "b1", "nowhere")))


def _means(each: PodAffinityTerm, of: PodInfo, other: PodInfo, cluster: Snapshot) -> bool:
    """Whether a pod's term means another pod."""
    names = set(each.namespaces)
    if not each.namespaces and each.namespace_selector is None:
        names.add(of.namespace)
    chosen = each.namespace_selector
    if other.namespace not in names and (
        chosen is None or not _selects(chosen, cluster.namespaces.get(other.namespace, {}))
    ):
        return False
    return each.label_selector is not None and _selects(each.label_selector, other.labels)


def _selects(selector: LabelSelector, labels: object) -> bool:
    assert isinstance(labels, dict)
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        (each.key in labels) == (each.operator == "Exists") for each in selector.match_expressions
    )


def _together(one: NodeInfo, other: NodeInfo, key: str) -> bool:
    return key in one.labels and one.labels[key] == other.labels.get(key)


def _required(of: PodInfo) -> tuple[tuple[PodAffinityTerm, ...], tuple[PodAffinityTerm, ...]]:
    found = of.pod.spec.affinity
    if found is None or found.pod_affinity is None or found.pod_anti_affinity is None:
        return (), ()
    return (
        found.pod_affinity.required_during_scheduling_ignored_during_execution,
        found.pod_anti_affinity.required_during_scheduling_ignored_during_execution,
    )


def _naive(asked: PodInfo, on: NodeInfo, cluster: Snapshot) -> Rejection | None:
    nears, fars = _required(asked)
    there = [(other, home) for home in cluster.nodes.values() for other in home.pods.values()]
    friends = [
        home for other, home in there if all(_means(each, asked, other, cluster) for each in nears)
    ]
    if nears:
        if any(each.topology_key not in on.labels for each in nears):
            return NOT_NEAR
        if not all(
            any(_together(on, home, each.topology_key) for home in friends) for each in nears
        ):
            alone = not any(each.topology_key in home.labels for home in friends for each in nears)
            own = all(_means(each, asked, asked, cluster) for each in nears)
            if not (alone and own):
                return NOT_NEAR
    for other, home in there:
        for each in fars:
            if _means(each, asked, other, cluster) and _together(on, home, each.topology_key):
                return NOT_FAR
    for other, home in there:
        for each in _required(other)[1]:
            if _means(each, other, asked, cluster) and _together(on, home, each.topology_key):
                return KEPT_AWAY
    return None


def _build(placed: list[tuple[PodInfo, str]], labels: dict[str, str]) -> Snapshot:
    found = snapshot(
        node("a1", labels={ZONE: "a"}),
        node("a2", labels={ZONE: "a"}),
        node("b1", labels={ZONE: "b"}),
        node("nowhere"),
    )
    found.apply_namespace(Namespace(metadata=ObjectMeta(name="one", labels=labels)))
    for each, home in placed:
        found.add_pod(each, home)
    return found


@given(st.lists(PLACED, max_size=5), LABELS, PODS)
def test_affinity_agrees_with_its_rules(
    placed: list[tuple[PodInfo, str]], labels: dict[str, str], asked: PodInfo
) -> None:
    cluster = _build(placed, labels)
    expected = {name: _naive(asked, each, cluster) for name, each in cluster.nodes.items()}
    assert verdicts(cluster, asked) == expected


@given(st.lists(PLACED, min_size=1, max_size=5), LABELS, PODS, st.data())
def test_what_might_be_is_what_would_be(
    placed: list[tuple[PodInfo, str]], labels: dict[str, str], asked: PodInfo, data: st.DataObject
) -> None:
    """Pods that go in thought leave the verdicts that they leave by going."""
    cluster = _build(placed, labels)
    check = Feasibility(cluster).check(asked)
    leaving = [each for each in placed if data.draw(st.booleans())]
    what_if = check.copy()
    for each, home in leaving:
        what_if.remove_pod(each, cluster.nodes[home])
    back = what_if.copy()
    for each, home in leaving:
        back.add_pod(each, cluster.nodes[home])
    before = verdicts(cluster, asked)
    assert {name: back.on(each) for name, each in cluster.nodes.items()} == before
    thought = {name: what_if.on(each) for name, each in cluster.nodes.items()}
    for each, _ in leaving:
        cluster.remove_pod(each.uid)
    assert thought == verdicts(cluster, asked)
