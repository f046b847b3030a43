"""Facts of a pod that its containers may ask for."""

from __future__ import annotations

import pytest

from dray.agent.pods.downward import PodFacts, field_value, resource_value
from dray.agent.pods.starting import ConfigFailed
from dray.api.core import (
    Container,
    ObjectFieldSelector,
    Pod,
    PodSpec,
    ResourceFieldSelector,
    ResourceRequirements,
)
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity

MAIN = Container(
    name="main",
    resources=ResourceRequirements(
        limits={"memory": Quantity.parse("1Gi")},
        requests={"cpu": Quantity.parse("250m"), "memory": Quantity.parse("512Mi")},
    ),
)
POD = Pod(
    metadata=ObjectMeta(
        name="web",
        namespace="prod",
        uid="u-1",
        labels={"b": "2", "a": 'say "hi"'},
        annotations={"example.com/x": "y"},
    ),
    spec=PodSpec(node_name="node-1", service_account_name="robot", containers=(MAIN,)),
)
FACTS = PodFacts(
    pod_addresses=("10.0.0.1", "fd00::1"),
    host_addresses=("192.0.2.1",),
    allocatable={"cpu": Quantity.parse("8")},
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "prod"),
        ("metadata.uid", "u-1"),
        ("metadata.labels", 'a="say \\"hi\\""\nb="2"'),
        ("metadata.labels['b']", "2"),
        ("metadata.labels['missing']", ""),
        ("metadata.annotations['example.com/x']", "y"),
        ("metadata.annotations", 'example.com/x="y"'),
        ("spec.nodeName", "node-1"),
        ("spec.serviceAccountName", "robot"),
        ("status.podIP", "10.0.0.1"),
        ("status.podIPs", "10.0.0.1,fd00::1"),
        ("status.hostIP", "192.0.2.1"),
    ],
)
def test_fields_read_as_upstream_reads_them(path: str, expected: str) -> None:
    assert field_value(ObjectFieldSelector(field_path=path), POD, FACTS) == expected


def test_a_field_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigFailed, match=r"field label not supported: spec\.secret"):
        field_value(ObjectFieldSelector(field_path="spec.secret"), POD, FACTS)


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("limits.memory", "1Mi", "1024"),
        ("limits.memory", "0", "1073741824"),
        ("requests.cpu", "0", "1"),
        ("requests.cpu", "1m", "250"),
        ("limits.cpu", "1", "8"),
        ("requests.ephemeral-storage", "1", "0"),
    ],
)
def test_amounts_are_counted_in_divisors_rounded_up(
    resource: str, divisor: str, expected: str
) -> None:
    selector = ResourceFieldSelector(resource=resource, divisor=Quantity.parse(divisor))
    assert resource_value(selector, POD, MAIN, FACTS) == expected


def test_amounts_of_another_container_can_be_asked_for() -> None:
    selector = ResourceFieldSelector(container_name="main", resource="limits.memory")
    assert resource_value(selector, POD, Container(name="other"), FACTS) == "1073741824"
    missing = ResourceFieldSelector(container_name="nobody", resource="limits.memory")
    with pytest.raises(ConfigFailed, match="container nobody not found"):
        resource_value(missing, POD, MAIN, FACTS)
