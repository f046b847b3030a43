from __future__ import annotations

from dray.api.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta
from dray.api.rbac import AggregationRule, ClusterRole
from dray.server.auth.aggregation import effective_rules, stale_aggregates
from tests.unit.server.auth.builders import aggregate, cluster_role, rule

PODS, JOBS, LEASES = (rule("get", kind) for kind in ("pods", "jobs", "leases"))


def test_a_role_gathers_the_rules_of_those_its_labels_match_each_once() -> None:
    roles = [
        aggregate("sum", {"to": "sum"}),
        cluster_role("b", PODS, JOBS, to="sum"),
        cluster_role("a", PODS, to="sum"),
        cluster_role("other", LEASES, to="else"),
    ]
    assert effective_rules(roles)["sum"] == (PODS, JOBS)
    assert effective_rules(roles)["other"] == (LEASES,)


def test_sums_of_sums_are_complete() -> None:
    roles = [
        aggregate("admin", {"admin": "true"}),
        aggregate("edit", {"edit": "true"}, admin="true"),
        aggregate("view", {"view": "true"}, edit="true"),
        cluster_role("reads", PODS, view="true"),
    ]
    assert effective_rules(roles)["admin"] == (PODS,)


def test_roles_that_gather_each_other_share_their_rules() -> None:
    roles = [
        aggregate("a", {"x": "1"}, x="1"),
        aggregate("b", {"x": "1"}, x="1"),
        cluster_role("c", PODS, x="1"),
    ]
    assert effective_rules(roles) == {"a": (PODS,), "b": (PODS,), "c": (PODS,)}


def test_what_an_aggregated_role_says_of_itself_does_not_count() -> None:
    boasting = ClusterRole(
        metadata=ObjectMeta(name="sum"),
        rules=(LEASES,),
        aggregation_rule=AggregationRule(
            cluster_role_selectors=(LabelSelector(match_labels={"to": "sum"}),)
        ),
    )
    roles = [boasting, cluster_role("a", PODS, to="sum")]
    assert effective_rules(roles)["sum"] == (PODS,)
    (written,) = stale_aggregates(roles)
    assert written.rules == (PODS,)
    assert not stale_aggregates([written, roles[1]])


def test_a_selector_nobody_can_read_gathers_nothing() -> None:
    unreadable = LabelSelector(
        match_expressions=(LabelSelectorRequirement(key="to", operator="Near"),)
    )
    odd = ClusterRole(
        metadata=ObjectMeta(name="sum"),
        aggregation_rule=AggregationRule(cluster_role_selectors=(unreadable,)),
    )
    assert effective_rules([odd, cluster_role("a", PODS, to="sum")])["sum"] == ()
