from __future__ import annotations

from typing import Any

import pytest

from dray.api.apps import DaemonSet, Deployment
from dray.api.codec import decode_builtins
from dray.api.core import ConfigMap, Namespace, Pod
from dray.api.features import DEFAULT_GATES
from dray.api.meta import Object
from dray.api.preparation import prepare_create, prepare_status_update, prepare_update
from dray.api.resource import ResourceClaim, ResourceSlice
from dray.api.wire import Time

NOW = Time.parse("2026-01-01T00:00:00Z")

# What shows that somebody who knows the kind prepared it.
FAMILIES = [
    pytest.param(ResourceSlice, {}, 1, id="devices"),
    pytest.param(Pod, {"containers": [{"name": "a", "image": "a:1"}]}, 1, id="pods"),
    pytest.param(Deployment, {"replicas": 1}, 1, id="workloads"),
    pytest.param(Namespace, {}, 0, id="plain"),
]


def made(kind: type[Object], spec: Any, status: Any = None) -> Any:
    document = {"metadata": {"name": "x"}, "spec": spec, **({"status": status} if status else {})}
    return decode_builtins(document, kind).value


@pytest.mark.parametrize(("kind", "spec", "generation"), FAMILIES)
def test_every_kind_is_prepared_by_its_family(
    kind: type[Object], spec: Any, generation: int
) -> None:
    prepared = prepare_create(made(kind, spec), gates=DEFAULT_GATES, now=NOW)
    assert prepared.metadata.generation == generation


@pytest.mark.parametrize(
    ("kind", "spec", "status"),
    [
        pytest.param(ResourceClaim, {}, {"reservedFor": [{"uid": "u"}]}, id="devices"),
        pytest.param(
            Pod,
            {"containers": [{"name": "a", "image": "a:1"}]},
            {"phase": "Running"},
            id="pods",
        ),
        pytest.param(DaemonSet, {}, {"currentNumberScheduled": 3}, id="workloads"),
        pytest.param(Namespace, {}, {"phase": "Terminating"}, id="plain"),
    ],
)
def test_a_main_write_keeps_the_status_and_a_status_write_brings_it(
    kind: type[Object], spec: Any, status: Any
) -> None:
    stored, told = made(kind, spec), made(kind, spec, status)
    main: Any = prepare_update(told, stored, gates=DEFAULT_GATES, now=NOW)
    assert main.status == stored.status
    written: Any = prepare_status_update(told, stored, gates=DEFAULT_GATES)
    assert written.status == told.status


def test_a_kind_that_nobody_knows_is_left_alone() -> None:
    config_map = ConfigMap(data={"a": "b"})
    assert prepare_create(config_map, gates=DEFAULT_GATES, now=NOW) == config_map
