"""A document's whole way in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dray.api.features import FeatureGates
from dray.api.wire import Time
from dray.errors import DecodeError
from dray.validation.intake import receive

NOW = Time.parse("2026-01-31T12:00:00Z")


def document(kind: str, spec: Any, *, api_version: str = "resource.k8s.io/v1", **more: Any) -> Any:
    metadata = {"name": "x", **more.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, **more}


REQUEST = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
CLAIM = document("ResourceClaim", {"devices": {"requests": [REQUEST]}})


def test_what_a_server_fills_in_is_filled_in() -> None:
    received = receive(CLAIM, now=NOW)
    assert received.valid
    assert received.object.metadata.namespace == "default"
    assert received.object.spec.devices.requests[0].exactly.count == 1


def test_bytes_and_parsed_documents_are_received_alike() -> None:
    assert receive(json.dumps(CLAIM).encode(), now=NOW) == receive(CLAIM, now=NOW)


def test_an_old_version_arrives_at_the_hub_and_keeps_its_own_paths() -> None:
    request = {"name": "gpu", "deviceClassName": "gpu.example.com", "count": -1}
    old = document(
        "ResourceClaim",
        {"devices": {"requests": [request]}},
        api_version="resource.k8s.io/v1beta1",
    )
    received = receive(old, now=NOW)
    assert received.version.name == "v1beta1"
    assert received.object.api_version == "resource.k8s.io/v1"
    assert [error.field for error in received.errors] == ["spec.devices.requests[0].exactly.count"]


def test_unknown_and_duplicate_fields_are_no_errors_but_not_valid_either() -> None:
    text = (
        b'{"kind": "DeviceClass", "apiVersion": "resource.k8s.io/v1",'
        b' "metadata": {"name": "a", "name": "b"}, "nope": 1}'
    )
    received = receive(text, now=NOW)
    assert received.errors == ()
    assert (received.unknown, received.duplicate) == (("nope",), ("metadata.name",))
    assert not received.valid


def test_what_is_off_is_removed_before_the_rules_look() -> None:
    device = {"name": "d", "attributes": {"a": {"ints": [1]}}}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.example.com", "nodeName": "n", "pool": pool, "devices": [device]}
    slice_ = document("ResourceSlice", spec)
    assert [error.field for error in receive(slice_, now=NOW).errors] == [
        "spec.devices[0].attributes[a]"
    ]
    assert receive(slice_, now=NOW, gates=FeatureGates({"DRAListTypeAttributes": True})).valid


def test_a_status_is_checked_as_the_update_that_would_write_it() -> None:
    result = {"request": "nosuch", "driver": "d.example.com", "pool": "p", "device": "d"}
    claim = CLAIM | {"status": {"allocation": {"devices": {"results": [result]}}}}
    assert [error.field for error in receive(claim, now=NOW).errors] == [
        "status.allocation.devices.results[0].request"
    ]


def test_a_generated_name_is_completed_before_it_is_judged() -> None:
    pod = document("ConfigMap", {}, api_version="v1", metadata={"name": "", "generateName": "a-"})
    del pod["spec"]
    assert receive(pod, now=NOW).valid


def test_a_cluster_scoped_object_loses_its_namespace_with_a_warning() -> None:
    received = receive(document("DeviceClass", {}, metadata={"namespace": "ns"}), now=NOW)
    assert received.valid
    assert received.object.metadata.namespace == ""
    assert received.warnings == ("metadata.namespace: ignored: a DeviceClass is in no namespace",)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet", "Job"])
def test_claims_are_found_in_the_pods_of_workloads(kind: str) -> None:
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "nosuch"}]}}
    pod = {"containers": [container]}
    template: dict[str, Any] = {"metadata": {"labels": {"app": "x"}}, "spec": pod}
    spec: dict[str, Any] = {"template": template}
    if kind == "Job":
        pod["restartPolicy"] = "Never"  # type: ignore[assignment]  # a dict of JSON
    else:
        spec["selector"] = {"matchLabels": {"app": "x"}}
    group = "batch/v1" if kind == "Job" else "apps/v1"
    received = receive(document(kind, spec, api_version=group), now=NOW)
    assert [error.field for error in received.errors] == [
        "spec.template.spec.containers[0].resources.claims[0]"
    ]


def test_what_is_no_object_is_refused_whole() -> None:
    with pytest.raises(DecodeError):
        receive({"kind": "ResourceClaim"}, now=NOW)
