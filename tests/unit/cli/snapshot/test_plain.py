from __future__ import annotations

import json
from typing import Any

import pytest

from dray.api.codec import decode
from dray.api.core import Node, Pod
from dray.api.resource import ResourceClaim, ResourceSlice
from dray.api.wire import Struct
from dray.cli.snapshot.plain import read_plain

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "creationTimestamp": "2026-08-01T12:00:00Z"},
    "status": {"allocatable": {"cpu": "95500m", "memory": "1000Gi"}},
}
SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "d",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0", "capacity": {"memory": {"value": "80Gi"}}}],
    },
}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        pytest.param(NODE, Node, id="node"),
        pytest.param(SLICE, ResourceSlice, id="slice"),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "spec": {"volumes": [{}]}}, Pod, id="pod"),
        pytest.param({"kind": "ResourceClaim"}, ResourceClaim, id="claim"),
    ],
)
def test_plain_objects_are_what_the_decoder_makes_of_them(value: Any, kind: type[Struct]) -> None:
    data = json.dumps(value).encode()
    assert read_plain(data, kind) == decode(data, kind)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"unheardOf": 1}, id="unknown-field"),
        pytest.param({"spec": None}, id="null"),
        pytest.param({"metadata": {"name": 1}}, id="wrong-type"),
        pytest.param({"status": {"allocatable": {"cpu": 4}}}, id="amount-as-a-number"),
        pytest.param({"status": {"allocatable": {"cpu": []}}}, id="amount-as-a-list"),
        pytest.param({"status": {"allocatable": {"cpu": "four"}}}, id="no-amount"),
        pytest.param({"status": {"allocatable": {"cpu": "0" * 50}}}, id="long-amount"),
    ],
)
def test_what_is_out_of_the_ordinary_is_left_to_the_exact_decoder(change: Any) -> None:
    assert read_plain(json.dumps({**NODE, **change}).encode(), Node) is None


def test_bytes_that_are_no_document_are_none() -> None:
    assert read_plain(b"{", Node) is None
    assert read_plain(b"[" * 100_000, Node) is None
