"""Bringing default roles and bindings up to date without taking anything away.

What an administrator added stays; what is missing is added again. An object annotated with
autoupdate "false" is left alone. Only a binding whose role is another one is replaced whole: the
role a binding names never changes.

Upstream counterpart: component-helpers' auth/rbac/reconciliation, without removal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, TypeVar

from dray.api.rbac import AggregationRule, ClusterRole, ClusterRoleBinding, Role, RoleBinding
from dray.api.wire import replace
from dray.errors import InternalError
from dray.server.auth.default_roles import AUTO_UPDATE
from dray.server.auth.policy import missing

__all__ = ["Operation", "Step", "reconcile"]

RBACObject: TypeAlias = ClusterRole | ClusterRoleBinding | Role | RoleBinding

R = TypeVar("R", ClusterRole, ClusterRoleBinding, Role, RoleBinding)


class Operation(Enum):
    """What to do with the object of a step."""

    CREATE = "create"
    UPDATE = "update"
    RECREATE = "recreate"  # delete the one that is there, then create


@dataclass(frozen=True, slots=True)
class Step:
    """A write that brings one object up to date."""

    operation: Operation
    object: RBACObject


def reconcile(existing: RBACObject | None, expected: RBACObject) -> Step | None:
    """What to write so that the expected is there, or None if nothing needs to be."""
    if existing is None:
        return Step(Operation.CREATE, expected)
    if existing.metadata.annotations.get(AUTO_UPDATE) == "false":
        return None
    if isinstance(existing, Role) and isinstance(expected, Role):
        return _step(existing, _with_rules(_with_metadata(existing, expected), expected))
    if isinstance(existing, ClusterRole) and isinstance(expected, ClusterRole):
        grown = _with_rules(_with_metadata(existing, expected), expected)
        return _step(existing, _with_aggregation(grown, expected))
    if isinstance(existing, RoleBinding) and isinstance(expected, RoleBinding):
        return _reconcile_binding(existing, expected)
    if isinstance(existing, ClusterRoleBinding) and isinstance(expected, ClusterRoleBinding):
        return _reconcile_binding(existing, expected)
    raise InternalError(
        f"{expected.kind} {expected.metadata.name} was compared with a {existing.kind}"
    )


B = TypeVar("B", ClusterRoleBinding, RoleBinding)


def _reconcile_binding(existing: B, expected: B) -> Step | None:
    if existing.role_ref != expected.role_ref:
        return Step(Operation.RECREATE, expected)
    lacking = tuple(
        subject for subject in dict.fromkeys(expected.subjects) if subject not in existing.subjects
    )
    grown = _with_metadata(existing, expected)
    return _step(existing, replace(grown, subjects=grown.subjects + lacking))


def _step(existing: RBACObject, grown: RBACObject) -> Step | None:
    return None if grown == existing else Step(Operation.UPDATE, grown)


def _with_metadata(existing: R, expected: R) -> R:
    metadata = existing.metadata
    return replace(
        existing,
        metadata=replace(
            metadata,
            labels=_merged(expected.metadata.labels, metadata.labels),
            annotations=_merged(expected.metadata.annotations, metadata.annotations),
        ),
    )


def _merged(expected: Mapping[str, str], existing: Mapping[str, str]) -> Mapping[str, str]:
    return {**expected, **existing}


def _with_rules(grown: ClusterRole | Role, expected: ClusterRole | Role) -> ClusterRole | Role:
    lacking = missing(grown.rules or (), expected.rules or ())
    return replace(grown, rules=(*(grown.rules or ()), *lacking)) if lacking else grown


def _with_aggregation(grown: ClusterRole | Role, expected: ClusterRole) -> ClusterRole | Role:
    assert isinstance(grown, ClusterRole)
    if expected.aggregation_rule is None:
        return replace(grown, aggregation_rule=None)
    held = grown.aggregation_rule or AggregationRule()
    lacking = tuple(
        selector
        for selector in expected.aggregation_rule.cluster_role_selectors
        if selector not in held.cluster_role_selectors
    )
    if not lacking:
        return grown
    selectors = held.cluster_role_selectors + lacking
    return replace(grown, aggregation_rule=AggregationRule(cluster_role_selectors=selectors))
