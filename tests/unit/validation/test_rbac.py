"""Roles and bindings."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.meta import LabelSelector, LabelSelectorRequirement
from dray.api.rbac import (
    API_GROUP,
    AggregationRule,
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
)
from tests.unit.validation.pod_builders import paths
from tests.unit.validation.workload_builders import created, metadata, updated

READ = PolicyRule(verbs=("get",), api_groups=("",), resources=("pods",))
METRICS = PolicyRule(verbs=("get",), non_resource_urls=("/metrics",))
REF = RoleRef(api_group=API_GROUP, kind="ClusterRole", name="reader")
ME = Subject(kind="User", api_group=API_GROUP, name="me")


def role(*rules: PolicyRule, name: str = "system:reader") -> Role:
    return Role(metadata=metadata(name=name), rules=rules)


def cluster_role(*rules: PolicyRule, selectors: Any = None) -> ClusterRole:
    rule = None if selectors is None else AggregationRule(cluster_role_selectors=selectors)
    return ClusterRole(
        metadata=metadata(name="system:reader", namespace=""), rules=rules, aggregation_rule=rule
    )


def binding(*subjects: Subject, ref: RoleRef = REF) -> RoleBinding:
    return RoleBinding(metadata=metadata(), role_ref=ref, subjects=subjects)


def cluster_binding(*subjects: Subject, ref: RoleRef = REF) -> ClusterRoleBinding:
    return ClusterRoleBinding(metadata=metadata(namespace=""), role_ref=ref, subjects=subjects)


@pytest.mark.parametrize(
    "fine", [role(READ), cluster_role(READ, METRICS), binding(ME), cluster_binding(ME)]
)
def test_what_grants_something_is_fine(fine: Any) -> None:
    assert created(fine) == updated(fine, fine) == []


def test_names_are_segments_of_a_path() -> None:
    assert created(role(READ, name="a/b")) == [
        "metadata.name: Invalid value: \"a/b\": may not contain '/'"
    ]


def test_a_rule_has_verbs_groups_and_resources() -> None:
    assert created(role(PolicyRule())) == [
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
        "rules[0].verbs: Required value",
    ]


def test_what_an_update_leaves_alone_is_told_the_old_way() -> None:
    mute = PolicyRule(api_groups=("",), resources=("pods",))
    assert updated(role(mute), role(mute)) == [
        "rules[0].verbs: Required value: verbs must contain at least one value"
    ]
    assert updated(role(mute), role(READ)) == ["rules[0].verbs: Required value"]


def test_paths_are_everybodys_and_stand_alone() -> None:
    assert created(role(METRICS)) == [
        (
            'rules[0].nonResourceURLs: Invalid value: ["/metrics"]: '
            "namespaced rules cannot apply to non-resource URLs"
        )
    ]
    both = PolicyRule(verbs=("get",), resources=("pods",), non_resource_urls=("/metrics",))
    assert created(cluster_role(both)) == [
        (
            'rules[0].nonResourceURLs: Invalid value: ["/metrics"]: '
            "rules cannot apply to both regular resources and non-resource URLs"
        )
    ]


def test_a_sum_of_roles_has_parts() -> None:
    assert created(cluster_role(selectors=(LabelSelector(),))) == []
    assert paths(created(cluster_role(selectors=()))) == ["aggregationRule.clusterRoleSelectors"]
    unreadable = LabelSelector(match_labels={"A!": ""})
    assert paths(created(cluster_role(selectors=(unreadable,)))) == [
        "aggregationRule.clusterRoleSelectors[0].matchLabels",
        "aggregationRule.clusterRoleSelectors[0]",
    ]


def test_a_stored_selector_keeps_its_odd_values() -> None:
    clause = LabelSelectorRequirement(key="app", operator="In", values=("x!",))
    odd = cluster_role(selectors=(LabelSelector(match_expressions=(clause,)),))
    path = "aggregationRule.clusterRoleSelectors[0]"
    assert paths(created(odd)) == [f"{path}.matchExpressions[0].values[0]", path]
    assert paths(updated(odd, odd)) == [path]


@pytest.mark.parametrize(
    ("ref", "texts"),
    [
        (
            RoleRef(api_group="x", kind="ClusterRole", name="a"),
            [f'roleRef.apiGroup: Unsupported value: "x": supported values: "{API_GROUP}"'],
        ),
        (
            RoleRef(api_group=API_GROUP, kind="Role", name="a"),
            ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'],
        ),
        (RoleRef(api_group=API_GROUP, kind="ClusterRole"), ["roleRef.name: Required value"]),
        (
            RoleRef(api_group=API_GROUP, kind="ClusterRole", name="a/b"),
            ["roleRef.name: Invalid value: \"a/b\": may not contain '/'"],
        ),
    ],
)
def test_a_binding_grants_a_role(ref: RoleRef, texts: list[str]) -> None:
    assert created(cluster_binding(ref=ref)) == texts


def test_a_binding_in_a_namespace_may_grant_either() -> None:
    assert created(binding(ref=RoleRef(api_group=API_GROUP, kind="Role", name="a"))) == []


def test_what_is_granted_is_for_life() -> None:
    other = RoleRef(api_group=API_GROUP, kind="ClusterRole", name="admin")
    text = (
        'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole",'
        '"Name":"admin"}: field is immutable'
    )
    assert updated(binding(ref=other), binding()) == [text]
    assert updated(cluster_binding(ref=other), cluster_binding()) == [text]


ACCOUNT = Subject(kind="ServiceAccount", name="a")


@pytest.mark.parametrize(
    ("subject", "texts"),
    [
        (ACCOUNT, ["namespace: Required value"]),
        (
            Subject(kind="ServiceAccount", name="a", namespace="b", api_group="x"),
            ['apiGroup: Unsupported value: "x": supported values: ""'],
        ),
        (
            Subject(kind="Group", name="a"),
            [f'apiGroup: Unsupported value: "": supported values: "{API_GROUP}"'],
        ),
        (
            Subject(kind="Robot", name="a"),
            [
                (
                    'kind: Unsupported value: "Robot": '
                    'supported values: "ServiceAccount", "User", "Group"'
                )
            ],
        ),
        (Subject(kind="User", api_group=API_GROUP), ["name: Required value"]),
    ],
)
def test_a_subject_is_somebody(subject: Subject, texts: list[str]) -> None:
    assert created(cluster_binding(subject)) == [f"subjects[0].{text}" for text in texts]


def test_an_account_in_a_namespace_is_known_by_it() -> None:
    assert created(binding(ACCOUNT)) == []
