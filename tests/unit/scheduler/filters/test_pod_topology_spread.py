"""Pods spread over zones and hosts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.core import Taint, Toleration, TopologySpreadConstraint
from dray.api.meta import LabelSelector
from dray.api.wire import Time
from dray.scheduler.feasibility import Feasibility
from dray.scheduler.filters.filter import Attempt, Rejection
from dray.scheduler.filters.pod_topology_spread import PodTopologySpread
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.snapshot import Snapshot
from tests.unit.scheduler.builders import HOSTNAME, ZONE, info, node, snapshot

UNEVEN = Rejection(
    "PodTopologySpread", ("node(s) didn't match pod topology spread constraints",), resolvable=True
)
NO_LABEL = Rejection(
    "PodTopologySpread",
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    resolvable=False,
)
WEB = {"app": "web"}
LEAVING = {"deletion_timestamp": Time.parse("2026-01-31T12:00:00Z")}


def constraint(
    key: str = ZONE, skew: int = 1, selected: dict[str, str] | None = None, **rest: Any
) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        max_skew=skew,
        topology_key=key,
        when_unsatisfiable=rest.pop("when_unsatisfiable", "DoNotSchedule"),
        label_selector=LabelSelector(match_labels=WEB if selected is None else selected),
        **rest,
    )


def web(*constraints: TopologySpreadConstraint, name: str = "asked", **rest: Any) -> PodInfo:
    return info(name, **({"labels": WEB} | rest), topology_spread_constraints=constraints)


@pytest.fixture
def cluster() -> Snapshot:
    """Two nodes in one zone, one in another, one in none."""
    return snapshot(
        node("a1", labels={ZONE: "a"}),
        node("a2", labels={ZONE: "a"}),
        node("b1", labels={ZONE: "b"}),
        node("nowhere"),
    )


def place(cluster: Snapshot, *homes: str, **rest: Any) -> list[PodInfo]:
    placed = []
    for home in homes:
        name = f"{home}-{len(list(cluster.pods()))}"
        placed.append(info(name, **({"labels": WEB} | rest)))
        cluster.add_pod(placed[-1], home)
    return placed


def verdicts(cluster: Snapshot, asked: PodInfo) -> dict[str, Rejection | None]:
    check = Feasibility(cluster).check(asked)
    return {name: check.on(each) for name, each in cluster.nodes.items()}


def accepted(cluster: Snapshot, asked: PodInfo) -> list[str]:
    return [name for name, why in verdicts(cluster, asked).items() if why is None]


def test_no_zone_gets_ahead_by_more_than_the_skew(cluster: Snapshot) -> None:
    place(cluster, "a1")
    assert verdicts(cluster, web(constraint())) == {
        "a1": UNEVEN,
        "a2": UNEVEN,
        "b1": None,
        "nowhere": NO_LABEL,
    }
    assert accepted(cluster, web(constraint(skew=2))) == ["a1", "a2", "b1"]


def test_every_constraint_must_hold(cluster: Snapshot) -> None:
    place(cluster, "a1", "b1")
    both = web(constraint(), constraint(HOSTNAME))
    assert accepted(cluster, both) == ["a2"]


def test_a_pod_that_is_not_selected_adds_nothing(cluster: Snapshot) -> None:
    place(cluster, "a1")
    assert accepted(cluster, web(constraint(), labels={"app": "db"})) == ["a1", "a2", "b1"]


def test_with_too_few_domains_the_smallest_count_is_zero(cluster: Snapshot) -> None:
    place(cluster, "a1", "b1")
    assert accepted(cluster, web(constraint())) == ["a1", "a2", "b1"]
    assert accepted(cluster, web(constraint(min_domains=3))) == []


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"metadata": LEAVING}, id="terminating"),
        pytest.param({"namespace": "other"}, id="of-another-namespace"),
        pytest.param({"labels": {"app": "db"}}, id="of-another-app"),
    ],
)
def test_some_pods_do_not_count(cluster: Snapshot, other: dict[str, Any]) -> None:
    place(cluster, "a1", **other)
    assert accepted(cluster, web(constraint())) == ["a1", "a2", "b1"]


def test_a_selector_for_all_pods_counts_none(cluster: Snapshot) -> None:
    place(cluster, "a1", "a1")
    assert accepted(cluster, web(constraint(selected={}))) == ["a1", "a2", "b1"]


def test_pods_of_another_version_do_not_count(cluster: Snapshot) -> None:
    place(cluster, "a1", labels=WEB | {"version": "1"})
    rule = constraint(match_label_keys=("version", "absent"))
    assert accepted(cluster, web(rule, labels=WEB | {"version": "2"})) == ["a1", "a2", "b1"]
    assert accepted(cluster, web(rule, labels=WEB | {"version": "1"})) == ["b1"]


def test_nodes_the_pod_cannot_be_on_count_only_where_affinity_is_ignored() -> None:
    cluster = snapshot(node("a", labels={ZONE: "a", "disk": "ssd"}), node("b", labels={ZONE: "b"}))
    place(cluster, "a")
    honoring = web(constraint(), node_selector={"disk": "ssd"})
    ignoring = web(constraint(node_affinity_policy="Ignore"), node_selector={"disk": "ssd"})
    assert verdicts(cluster, honoring)["a"] is None
    assert verdicts(cluster, ignoring)["a"] == UNEVEN


def test_tainted_nodes_count_unless_taints_are_honored() -> None:
    taint = Taint(key="a", effect="NoSchedule")
    cluster = snapshot(
        node("a", labels={ZONE: "a"}), node("b", labels={ZONE: "b"}, taints=(taint,))
    )
    place(cluster, "a")
    rule = constraint(node_taints_policy="Honor")
    assert verdicts(cluster, web(constraint()))["a"] == UNEVEN
    assert verdicts(cluster, web(rule))["a"] is None
    assert verdicts(cluster, web(rule, tolerations=(Toleration(key="a"),)))["a"] == UNEVEN


def test_what_is_remembered_of_nodes_ends_when_one_changes(cluster: Snapshot) -> None:
    place(cluster, "a1", "b1")
    feasibility = Feasibility(cluster)

    def ask(name: str) -> Rejection | None:
        return feasibility.check(web(constraint())).on(cluster.nodes[name])

    assert ask("a1") is None
    cluster.apply_node(node("nowhere", labels={ZONE: "c"}))
    assert ask("a1") == UNEVEN
    cluster.remove_node("nowhere")
    assert ask("a1") is None


def test_there_is_nothing_to_ask_without_required_constraints() -> None:
    relaxed = constraint(when_unsatisfiable="ScheduleAnyway")
    assert PodTopologySpread().prepare(Attempt(info(), snapshot())) is None
    assert PodTopologySpread().prepare(Attempt(web(relaxed), snapshot())) is None


def test_a_terminating_pod_that_leaves_frees_nothing(cluster: Snapshot) -> None:
    place(cluster, "a1")
    (leaving,) = place(cluster, "a1", metadata=LEAVING)
    check = Feasibility(cluster).check(web(constraint())).copy()
    check.remove_pod(leaving, cluster.nodes["a1"])
    assert check.on(cluster.nodes["a1"]) == UNEVEN


# Against upstream's rules taken literally ------------------------------------------------------

LABELS = st.dictionaries(st.sampled_from(("p", "q")), st.sampled_from(("x", "y")), max_size=2)
CONSTRAINTS = st.builds(
    TopologySpreadConstraint,
    max_skew=st.integers(1, 2),
    topology_key=st.sampled_from((HOSTNAME, ZONE)),
    when_unsatisfiable=st.just("DoNotSchedule"),
    label_selector=st.none() | st.builds(LabelSelector, match_labels=LABELS),
    min_domains=st.none() | st.integers(1, 3),
    node_affinity_policy=st.sampled_from((None, "Honor", "Ignore")),
    node_taints_policy=st.sampled_from((None, "Honor", "Ignore")),
    match_label_keys=st.sampled_from(((), ("p",))),
)
TAINT = Taint(key="a", effect="NoSchedule")
NODES = st.lists(
    st.tuples(
        st.none() | st.sampled_from(("a", "b", "c")),  # its zone
        st.booleans(),  # has an ssd
        st.booleans(),  # is tainted
    ),
    min_size=1,
    max_size=4,
)
PODS = st.lists(
    st.tuples(LABELS, st.integers(0, 3), st.sampled_from(("default", "other")), st.booleans()),
    max_size=6,
)
ASKED = st.builds(
    info,
    st.just("asked"),
    labels=LABELS,
    topology_spread_constraints=st.lists(CONSTRAINTS, min_size=1, max_size=2).map(tuple),
    node_selector=st.sampled_from(({}, {"disk": "ssd"})),
    tolerations=st.sampled_from(((), (Toleration(key="a", operator="Exists"),))),
)


def _build(nodes: list[tuple[str | None, bool, bool]], pods: list[Any]) -> Snapshot:
    found = Snapshot()
    for index, (zone, ssd, tainted) in enumerate(nodes):
        labels = ({ZONE: zone} if zone else {}) | ({"disk": "ssd"} if ssd else {})
        found.apply_node(node(f"n{index}", labels=labels, taints=(TAINT,) if tainted else ()))
    for index, (labels, home, namespace, leaving) in enumerate(pods):
        placed = info(
            f"p{index}", labels=labels, namespace=namespace, metadata=LEAVING if leaving else None
        )
        found.add_pod(placed, f"n{home % len(nodes)}")
    return found


def _counts(rule: TopologySpreadConstraint, asked: PodInfo, each: PodInfo) -> bool:
    selector = rule.label_selector
    if selector is None or each.namespace != asked.namespace:
        return False
    wanted = list(selector.match_labels.items())
    wanted += [(key, asked.labels[key]) for key in rule.match_label_keys if key in asked.labels]
    return all(each.labels.get(key) == value for key, value in wanted)


def _selects_all(rule: TopologySpreadConstraint, asked: PodInfo) -> bool:
    own = any(key in asked.labels for key in rule.match_label_keys)
    return rule.label_selector is not None and not rule.label_selector.match_labels and not own


def _naive(asked: PodInfo, on: NodeInfo, cluster: Snapshot) -> Rejection | None:
    spec = asked.pod.spec
    rules = spec.topology_spread_constraints
    for rule in rules:
        if rule.topology_key not in on.labels:
            return NO_LABEL
        domains: dict[str, int] = {}
        for each in cluster.nodes.values():
            matches = not spec.node_selector or each.labels.get("disk") == "ssd"
            tolerated = bool(spec.tolerations) or not each.node.spec.taints
            if (
                all(other.topology_key in each.labels for other in rules)
                and (matches or rule.node_affinity_policy == "Ignore")
                and (tolerated or rule.node_taints_policy != "Honor")
            ):
                domain = each.labels[rule.topology_key]
                domains.setdefault(domain, 0)
                domains[domain] += sum(
                    _counts(rule, asked, other)
                    and not other.terminating
                    and not _selects_all(rule, asked)
                    for other in each.pods.values()
                )
        smallest = 0 if len(domains) < (rule.min_domains or 1) else min(domains.values())
        own = int(_counts(rule, asked, asked))
        if domains.get(on.labels[rule.topology_key], 0) + own - smallest > rule.max_skew:
            return UNEVEN
    return None


def _spread_only(cluster: Snapshot, asked: PodInfo) -> dict[str, Rejection | None]:
    check = Feasibility(cluster, (PodTopologySpread(),)).check(asked)
    return {name: check.on(each) for name, each in cluster.nodes.items()}


@given(NODES, PODS, ASKED)
def test_spreading_agrees_with_its_rules(
    nodes: list[tuple[str | None, bool, bool]], pods: list[Any], asked: PodInfo
) -> None:
    cluster = _build(nodes, pods)
    expected = {name: _naive(asked, each, cluster) for name, each in cluster.nodes.items()}
    assert _spread_only(cluster, asked) == expected


@given(NODES, PODS, ASKED, st.sets(st.integers(0, 5)))
def test_what_might_be_is_what_would_be(
    nodes: list[tuple[str | None, bool, bool]], pods: list[Any], asked: PodInfo, gone: set[int]
) -> None:
    """Pods that go in thought leave the verdicts that they leave by going."""
    cluster = _build(nodes, pods)
    check = Feasibility(cluster, (PodTopologySpread(),)).check(asked)
    before = {name: check.on(each) for name, each in cluster.nodes.items()}
    check = check.copy()
    leaving = [each for index, each in enumerate(list(cluster.pods())) if index in gone]
    for each in leaving:
        check.remove_pod(each, cluster.nodes[cluster.node_of(each.uid) or ""])
    back = check.copy()
    for each in leaving:
        back.add_pod(each, cluster.nodes[cluster.node_of(each.uid) or ""])
    assert {name: back.on(each) for name, each in cluster.nodes.items()} == before
    thought = {name: check.on(each) for name, each in cluster.nodes.items()}
    for each in leaving:
        cluster.remove_pod(each.uid)
    assert thought == _spread_only(cluster, asked)
