"""What the kinds without pods in them may leave out."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.apiextensions import (
    CustomResourceConversion,
    CustomResourceDefinition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion,
)
from dray.api.core import (
    LimitRange,
    LimitRangeItem,
    LimitRangeSpec,
    Namespace,
    Node,
    NodeSpec,
    NodeStatus,
    ResourceQuota,
    ResourceQuotaSpec,
    Secret,
)
from dray.api.defaults import default
from dray.api.meta import ObjectMeta
from dray.api.plain_defaults import PLAIN_DEFAULTS
from dray.api.quantity import Quantity
from dray.api.rbac import ClusterRoleBinding, RoleBinding, RoleRef, Subject
from dray.api.scheduling import PriorityClass
from dray.api.wire import Time

NOW = Time.parse("2026-02-03T04:05:06Z")


def defaulted(obj: Any) -> Any:
    return default(obj, now=NOW)


def amounts(**named: str) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in named.items()}


def shown(named: Any) -> dict[str, str]:
    return {name: str(amount) for name, amount in named.items()}


@pytest.mark.parametrize("kind", PLAIN_DEFAULTS, ids=lambda kind: kind.__name__)
def test_what_is_filled_in_is_then_left_alone(kind: type[Any]) -> None:
    once = defaulted(kind(metadata=ObjectMeta(name="a")))
    assert defaulted(once) is once


def test_a_namespace_can_be_found_by_its_name() -> None:
    namespace = defaulted(Namespace(metadata=ObjectMeta(name="a", labels={"x": "y"})))
    assert namespace.metadata.labels == {"x": "y", "kubernetes.io/metadata.name": "a"}
    assert namespace.status.phase == "Active"


def test_a_namespace_without_a_name_waits_for_it() -> None:
    assert defaulted(Namespace()).metadata.labels == {}


def test_all_of_a_node_may_be_used_unless_it_says_otherwise() -> None:
    status = defaulted(Node(status=NodeStatus(capacity=amounts(cpu="4")))).status
    assert shown(status.allocatable) == {"cpu": "4"}
    less = NodeStatus(capacity=amounts(cpu="4"), allocatable=amounts(cpu="3"))
    assert shown(defaulted(Node(status=less)).status.allocatable) == {"cpu": "3"}


@pytest.mark.parametrize(
    ("written", "ranges"),
    [
        pytest.param({}, ("", ()), id="none"),
        pytest.param({"pod_cidr": "a"}, ("a", ("a",)), id="only-the-one"),
        pytest.param({"pod_cidrs": ("a", "b")}, ("a", ("a", "b")), id="only-the-list"),
        pytest.param({"pod_cidr": "a", "pod_cidrs": ("a", "b")}, ("a", ("a", "b")), id="both"),
        pytest.param({"pod_cidr": "c", "pod_cidrs": ("a", "b")}, ("c", ("c",)), id="at-odds"),
        pytest.param({"pod_cidrs": ("", "b")}, ("", ("", "b")), id="an-empty-first-one"),
    ],
)
def test_the_one_range_of_a_node_is_the_first_of_its_ranges(
    written: dict[str, Any], ranges: tuple[str, tuple[str, ...]]
) -> None:
    node = defaulted(Node(spec=NodeSpec(**written)))
    assert (node.spec.pod_cidr, node.spec.pod_cidrs) == ranges
    assert defaulted(node) is node


def test_text_of_a_secret_becomes_data() -> None:
    secret = defaulted(Secret(data={"a": "YQ==", "b": "Yg=="}, string_data={"a": "é"}))
    assert secret.data == {"a": "w6k=", "b": "Yg=="}
    assert (secret.string_data, secret.type) == ({}, "Opaque")


def test_a_quota_counts_in_thousandths() -> None:
    quota = defaulted(ResourceQuota(spec=ResourceQuotaSpec(hard=amounts(cpu="1u"))))
    assert shown(quota.spec.hard) == {"cpu": "1m"}


def test_containers_get_what_they_may_have_at_most() -> None:
    item = LimitRangeItem(
        type="Container", max=amounts(cpu="4", memory="4"), min=amounts(storage="1")
    )
    (limit,) = defaulted(LimitRange(spec=LimitRangeSpec(limits=(item,)))).spec.limits
    assert shown(limit.default) == {"cpu": "4", "memory": "4"}
    assert shown(limit.default_request) == {"cpu": "4", "memory": "4", "storage": "1"}


def test_other_things_get_no_defaults() -> None:
    item = LimitRangeItem(type="Pod", max=amounts(cpu="4"))
    (limit,) = defaulted(LimitRange(spec=LimitRangeSpec(limits=(item,)))).spec.limits
    assert limit.default == {}


@pytest.mark.parametrize("kind", [RoleBinding, ClusterRoleBinding])
@pytest.mark.parametrize(
    ("subject", "group"),
    [("User", "rbac.authorization.k8s.io"), ("ServiceAccount", ""), ("Robot", "")],
)
def test_people_and_roles_belong_to_rbac(kind: type[Any], subject: str, group: str) -> None:
    binding = defaulted(kind(role_ref=RoleRef(), subjects=(Subject(kind=subject),)))
    assert binding.role_ref.api_group == "rbac.authorization.k8s.io"
    assert binding.subjects[0].api_group == group


def test_priority_displaces_unless_it_says_otherwise() -> None:
    assert defaulted(PriorityClass()).preemption_policy == "PreemptLowerPriority"
    assert defaulted(PriorityClass(preemption_policy="")).preemption_policy == ""


def test_names_of_a_definition_follow_from_its_kind() -> None:
    versions = (
        CustomResourceDefinitionVersion(name="v2"),
        CustomResourceDefinitionVersion(name="v1", storage=True),
    )
    spec = CustomResourceDefinitionSpec(
        names=CustomResourceDefinitionNames(plural="gpus", kind="Gpu"), versions=versions
    )
    definition = defaulted(CustomResourceDefinition(spec=spec))
    names = definition.spec.names
    assert (names.singular, names.list_kind) == ("gpu", "GpuList")
    assert definition.spec.conversion == CustomResourceConversion(strategy="None")
    assert definition.status.stored_versions == ("v1",)
