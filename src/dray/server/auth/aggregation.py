"""Cluster roles that are the sum of others.

Rules of an aggregated role are never its own: they are those of all roles its selectors match, in
the order of selectors and then of names, each rule once. A role may gather another that gathers in
turn (admin takes edit, edit takes view), so sums are taken until nothing changes any more.

Upstream counterpart: pkg/controller/clusterroleaggregation. There a controller rewrites the stored
rules; here the authorizer sums whenever roles change, and `stale_aggregates` says what to rewrite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dray.api.labels import Selector
from dray.api.rbac import AggregationRule, ClusterRole, PolicyRule
from dray.api.wire import replace
from dray.errors import ParseError

__all__ = ["effective_rules", "stale_aggregates"]

Rules = tuple[PolicyRule, ...]


def effective_rules(roles: Sequence[ClusterRole]) -> Mapping[str, Rules]:
    """The rules of every cluster role by its name, with those of aggregated ones summed up."""
    rules = {
        role.metadata.name: () if role.aggregation_rule else (role.rules or ()) for role in roles
    }
    gathered = {
        role.metadata.name: _sources(role.metadata.name, role.aggregation_rule, roles)
        for role in roles
        if role.aggregation_rule
    }
    # Rules only ever get more, and a pass carries them one role further: as many passes as there
    # are aggregated roles reach every chain's end, and a circle just stops growing.
    for _ in range(len(gathered)):
        changed = False
        for name, sources in gathered.items():
            summed = tuple(dict.fromkeys(rule for source in sources for rule in rules[source]))
            changed |= summed != rules[name]
            rules[name] = summed
        if not changed:
            break
    return rules


def stale_aggregates(roles: Sequence[ClusterRole]) -> list[ClusterRole]:
    """The aggregated roles whose written rules are not their sum, as they should be written."""
    rules = effective_rules(roles)
    return [
        replace(role, rules=rules[role.metadata.name])
        for role in roles
        if role.aggregation_rule and (role.rules or ()) != rules[role.metadata.name]
    ]


def _sources(name: str, rule: AggregationRule, roles: Sequence[ClusterRole]) -> list[str]:
    """The names of the roles that are gathered, in order, without the role itself."""
    found: list[str] = []
    for selector in rule.cluster_role_selectors:
        try:
            matcher = Selector.from_label_selector(
                selector.match_labels,
                [(e.key, e.operator, e.values) for e in selector.match_expressions],
            )
        except ParseError:
            # Validation lets none of these in. One stored all the same grants nothing.
            continue
        found += sorted(
            role.metadata.name
            for role in roles
            if role.metadata.name != name and matcher.matches(role.metadata.labels)
        )
    return found
