"""What constraints of spreading count."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import Taint, TopologySpreadConstraint
from dray.api.labels import Selector
from dray.api.meta import LabelSelector
from dray.scheduler import spread
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.snapshot import Snapshot
from dray.scheduler.spread import Constraint, EligibleNodes, Tally, read_constraints
from tests.unit.scheduler.builders import ZONE, info, node, snapshot

WEB = {"app": "web"}
CONSTRAINT = Constraint(ZONE, 1, 1, Selector.from_labels(WEB), True, False)


def asking(action: str = "DoNotSchedule", **rest: Any) -> PodInfo:
    selector = rest.pop("label_selector", LabelSelector(match_labels=WEB))
    rule = TopologySpreadConstraint(
        max_skew=2, topology_key=ZONE, when_unsatisfiable=action, label_selector=selector, **rest
    )
    return info(labels=WEB | {"version": "1"}, topology_spread_constraints=(rule,))


@pytest.fixture
def cluster() -> Snapshot:
    return snapshot(node("a", labels={ZONE: "a"}), node("b", labels={ZONE: "b"}), node("nowhere"))


def test_what_is_left_open_is_as_upstream_has_it() -> None:
    (found,) = read_constraints(asking(), "DoNotSchedule")
    assert found == Constraint(ZONE, 2, 1, Selector.from_labels(WEB), True, False)
    assert read_constraints(asking(), "ScheduleAnyway") == ()


def test_the_pods_own_labels_narrow_the_selector() -> None:
    (found,) = read_constraints(asking(match_label_keys=("version", "absent")), "DoNotSchedule")
    assert found.selector.matches(WEB | {"version": "1"})
    assert not found.selector.matches(WEB | {"version": "2"})


def test_a_selector_for_no_pods_is_not_widened() -> None:
    nothing = asking(label_selector=None, match_label_keys=("version",))
    (found,) = read_constraints(nothing, "DoNotSchedule")
    assert not found.selector.matches({"version": "1"})


def test_eligible_nodes_have_the_labels_of_all_constraints(cluster: Snapshot) -> None:
    other = CONSTRAINT._replace(key="rack")
    cluster.apply_node(node("b", labels={ZONE: "b", "rack": "1"}))
    one, two = EligibleNodes().of(info(), (CONSTRAINT, other), cluster)
    assert one == {"b": "b"}
    assert two == {"b": "1"}


def test_each_constraint_says_for_itself_what_makes_nodes_eligible(cluster: Snapshot) -> None:
    cluster.apply_node(
        node("c", labels={ZONE: "c", "disk": "ssd"}, taints=(Taint(key="t", effect="NoSchedule"),))
    )
    strict = CONSTRAINT._replace(taints_count=True)
    lenient = CONSTRAINT._replace(affinity_counts=False)
    asked = info(node_selector={"disk": "ssd"})
    found = EligibleNodes().of(asked, (CONSTRAINT, strict, lenient), cluster)
    assert found == ({"c": "c"}, {}, {"a": "a", "b": "b", "c": "c"})


def test_no_more_shapes_are_remembered_than_the_limit(
    cluster: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread, "REMEMBERED_SHAPES_MAX", 1)
    eligible = EligibleNodes()
    one = eligible.of(info(), (CONSTRAINT,), cluster)
    assert eligible.of(info(), (CONSTRAINT,), cluster) is one
    eligible.of(info(node_selector={"a": "b"}), (CONSTRAINT,), cluster)
    assert eligible.of(info(), (CONSTRAINT,), cluster) is not one


def test_a_tally_knows_every_value_and_the_smallest_count(cluster: Snapshot) -> None:
    (eligible,) = EligibleNodes().of(info(), (CONSTRAINT,), cluster)
    cluster.add_pod(info("one", labels=WEB), "a")
    cluster.add_pod(info("two", labels=WEB), "a")
    cluster.add_pod(info("three", labels=WEB), "nowhere")
    tally = Tally.of("default", CONSTRAINT, eligible, cluster)
    assert (tally.count("a"), tally.count("b"), tally.count("unknown")) == (2, 0, 0)
    assert tally.smallest() == 0
    tally.add_pod(info("four", labels=WEB), cluster.nodes["b"])
    assert tally.smallest() == 1
    wanting = Tally.of("default", CONSTRAINT._replace(domains_min=3), eligible, cluster)
    assert wanting.smallest() == 0


def test_a_copied_tally_is_on_its_own(cluster: Snapshot) -> None:
    (eligible,) = EligibleNodes().of(info(), (CONSTRAINT,), cluster)
    tally = Tally.of("default", CONSTRAINT, eligible, cluster)
    tally.copy().add_pod(info("p", labels=WEB), cluster.nodes["a"])
    assert tally.count("a") == 0
