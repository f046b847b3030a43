"""What messages call it that is looked at."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from dray.api.wire import Time
from dray.cli.errors import CommandError
from dray.cli.explain_inquiry import Inquiry
from dray.cli.explain_report import lines_of
from dray.cli.snapshot import Origin, Snapshot

NOW = Time.parse("2026-01-01T00:00:00Z")


def pod(name: str, **entry: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "resourceClaims": [{"name": "gpu", **entry}],
            "nodeSelector": {"rack": "r1"},
        },
    }


def claim(name: str) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"devices": {"requests": [request]}},
    }


def slice_(node: str) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {
            "driver": "d.example.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}],
        },
    }


def look(origin: Origin, *objects: dict[str, Any]) -> Snapshot:
    data = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    return Snapshot.load(["-"], now=NOW, standard_input=io.BytesIO(data), origin=origin)


def told(origin: Origin, *objects: dict[str, Any]) -> str:
    snapshot = look(origin, *objects)
    return "\n".join(lines_of(Inquiry(snapshot, snapshot.subject("pod/p", "ml")).answer()))


CASES = [
    pytest.param([pod("p", resourceClaimName="c")], id="no-claim"),
    pytest.param([pod("p", resourceClaimTemplateName="t")], id="no-template"),
    pytest.param([pod("p", resourceClaimName="c"), claim("c")], id="no-class"),
    pytest.param([pod("p", resourceClaimName="c"), claim("c"), slice_("n")], id="no-nodes"),
]


@pytest.mark.parametrize("objects", CASES)
def test_a_running_cluster_is_never_called_a_dump(objects: list[dict[str, Any]]) -> None:
    said = told(Origin.CLUSTER, *objects)
    assert "the cluster" in said
    assert "dump" not in said
    assert "kubectl get" not in said, "nothing was left out that one could get"


@pytest.mark.parametrize("objects", CASES)
def test_of_a_dump_the_same_is_said_with_how_to_get_it(objects: list[dict[str, Any]]) -> None:
    said = told(Origin.DUMP, *objects)
    assert "the dump" in said
    assert "cluster" not in said
    assert "kubectl get" in said


def test_what_a_cluster_has_that_cannot_be_read_is_not_from_standard_input() -> None:
    broken = {**pod("p"), "spec": 7}
    snapshot = look(Origin.CLUSTER, broken, pod("q"))
    (why,) = snapshot.unread_pods.values()
    assert "standard input" not in why


def test_a_node_that_is_not_there_is_not_in_the_cluster() -> None:
    snapshot = look(Origin.CLUSTER, pod("p", resourceClaimName="c"))
    subject = snapshot.subject("pod/p", "ml")
    with pytest.raises(CommandError) as refused:
        Inquiry(snapshot, subject, node="n")
    assert refused.value.message == 'no node "n" in the cluster; the cluster has none at all'
