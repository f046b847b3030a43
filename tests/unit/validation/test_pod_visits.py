"""All containers of a pod, in one order."""

from __future__ import annotations

from dray.api.core import EphemeralContainer
from dray.validation.pod_visits import containers_of
from tests.unit.validation.pod_builders import container, pod


def test_containers_come_as_they_start() -> None:
    spec = pod(
        containers=(container("a"), container("b")),
        init_containers=(container("c"),),
        ephemeral_containers=(EphemeralContainer(name="d"),),
    ).spec
    assert [(found.name, path) for found, path in containers_of(spec, "spec")] == [
        ("c", "spec.initContainers[0]"),
        ("a", "spec.containers[0]"),
        ("b", "spec.containers[1]"),
        ("d", "spec.ephemeralContainers[0]"),
    ]
