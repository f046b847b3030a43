"""Roles, bindings and users, as short as tests want them."""

from __future__ import annotations

from dray.api.meta import LabelSelector, ObjectMeta
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
from dray.server.user import Attributes, User


def rule(
    verbs: str, resources: str = "", *, groups: str = "", names: str = "", urls: str = ""
) -> PolicyRule:
    """A rule; words are separated by spaces, and the core group is the empty text."""
    return PolicyRule(
        verbs=tuple(verbs.split()),
        api_groups=tuple(groups.split(" ")) if resources else (),
        resources=tuple(resources.split()),
        resource_names=tuple(names.split()),
        non_resource_urls=tuple(urls.split()),
    )


def cluster_role(name: str, *rules: PolicyRule, **labels: str) -> ClusterRole:
    return ClusterRole(metadata=ObjectMeta(name=name, labels=labels), rules=rules)


def aggregate(name: str, gathers: dict[str, str], **labels: str) -> ClusterRole:
    return ClusterRole(
        metadata=ObjectMeta(name=name, labels=labels),
        aggregation_rule=AggregationRule(
            cluster_role_selectors=(LabelSelector(match_labels=gathers),)
        ),
    )


def role(name: str, *rules: PolicyRule, namespace: str = "team") -> Role:
    return Role(metadata=ObjectMeta(name=name, namespace=namespace), rules=rules)


def subject(text: str) -> Subject:
    """user:bob, group:dev, sa:driver (of the binding's namespace), sa:driver@team."""
    kind, _, name = text.partition(":")
    if kind == "sa":
        name, _, namespace = name.partition("@")
        return Subject(kind="ServiceAccount", name=name, namespace=namespace)
    return Subject(kind=kind.capitalize(), api_group=API_GROUP, name=name)


def cluster_binding(name: str, role: str, *subjects: str) -> ClusterRoleBinding:
    return ClusterRoleBinding(
        metadata=ObjectMeta(name=name),
        role_ref=RoleRef(api_group=API_GROUP, kind="ClusterRole", name=role),
        subjects=tuple(map(subject, subjects)),
    )


def binding(
    name: str, role: str, *subjects: str, kind: str = "Role", namespace: str = "team"
) -> RoleBinding:
    return RoleBinding(
        metadata=ObjectMeta(name=name, namespace=namespace),
        role_ref=RoleRef(api_group=API_GROUP, kind=kind, name=role),
        subjects=tuple(map(subject, subjects)),
    )


def user(name: str = "bob", *groups: str) -> User:
    return User(name, groups=groups)


def request(who: User, verb: str, resource: str, **more: str) -> Attributes:
    """A request; the resource may name its subresource: pods/status."""
    plural, _, subresource = resource.partition("/")
    return Attributes(who, verb, resource=plural, subresource=subresource, **more)
