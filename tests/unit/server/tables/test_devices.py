"""The kinds of resource.k8s.io as rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from dray.api import codec, resource
from dray.server.tables import devices
from dray.server.tables.printer import Printer

NOW = datetime(2026, 1, 1, tzinfo=UTC)
META = {"name": "x", "creationTimestamp": "2025-12-31T23:59:00Z"}
DELETED = META | {"deletionTimestamp": "2025-12-31T23:59:30Z"}


def cells(printer: Printer, kind: type[Any], document: dict[str, Any]) -> list[Any]:
    value = json.dumps({"metadata": META} | document).encode()
    typed = printer.cells(codec.decode(value, kind), NOW)
    assert json.loads(printer.stored_row(value, NOW, b"null"))["cells"] == typed
    return typed


ALLOCATED: dict[str, Any] = {"allocation": {"devices": {"results": []}}}
RESERVED = ALLOCATED | {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}


@pytest.mark.parametrize(
    ("metadata", "status", "state"),
    [
        pytest.param(META, {}, "pending", id="new"),
        pytest.param(META, ALLOCATED, "allocated", id="has-devices"),
        pytest.param(META, RESERVED, "allocated,reserved", id="in-use"),
        pytest.param(DELETED, {}, "deleted", id="on-its-way-out"),
        pytest.param(DELETED, RESERVED, "deleted,allocated,reserved", id="in-use-to-the-end"),
        pytest.param(META, {"allocation": None}, "pending", id="null-is-nothing"),
    ],
)
def test_a_claim_says_how_far_it_is(
    metadata: dict[str, Any], status: dict[str, Any], state: str
) -> None:
    document = {"metadata": metadata, "status": status}
    assert cells(devices.CLAIMS, resource.ResourceClaim, document) == ["x", state, "60s"]


def test_a_slice_says_whose_it_is_and_not_what_is_in_it() -> None:
    spec = {
        "driver": "gpu.example.com",
        "pool": {"name": "pool-1", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0"}],
    }
    shown = cells(devices.SLICES, resource.ResourceSlice, {"spec": spec})
    assert shown == ["x", "", "gpu.example.com", "pool-1", "60s"]
    local = cells(devices.SLICES, resource.ResourceSlice, {"spec": spec | {"nodeName": "node-1"}})
    assert local[1] == "node-1"


def test_a_rule_shows_its_taint() -> None:
    taint = {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2025-12-31T23:58:00Z"}
    shown = cells(devices.TAINT_RULES, resource.DeviceTaintRule, {"spec": {"taint": taint}})
    assert shown == ["x", "k", "v", "NoExecute", "2m", "60s"]
    del taint["timeAdded"]
    assert cells(devices.TAINT_RULES, resource.DeviceTaintRule, {"spec": {"taint": taint}})[4] == ""


POOLS = [
    {"generation": 1, "totalDevices": 8, "availableDevices": 5, "allocatedDevices": 3},
    {"generation": 1, "unavailableDevices": 1, "validationError": "bad"},
]
COMPLETE = {"type": "Complete", "status": "True", "lastTransitionTime": "2025-12-31T23:59:50Z"}


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        pytest.param(None, ["-", "-", "-", "-", "-", 0, "Pending", "<none>"], id="unanswered"),
        pytest.param(
            {"pools": POOLS, "poolCount": 2, "conditions": [COMPLETE]},
            ["8", "5", "3", "1", "1", 2, "Complete", "10s"],
            id="answered",
        ),
        pytest.param(
            {"pools": POOLS, "poolCount": 9, "conditions": [COMPLETE]},
            ["8", "5", "3", "1", "1", 9, "Complete (2/9 pools)", "10s"],
            id="answered-in-part",
        ),
        pytest.param(
            {"pools": POOLS, "conditions": [COMPLETE | {"type": "Failed"}]},
            ["-", "-", "-", "-", "-", 0, "Failed", "<none>"],
            id="failed",
        ),
    ],
)
def test_a_request_sums_up_its_pools(status: dict[str, Any] | None, shown: list[Any]) -> None:
    document: dict[str, Any] = {"spec": {"driver": "d"}}
    if status is not None:
        document["status"] = status
    row = cells(devices.POOL_STATUS_REQUESTS, resource.ResourcePoolStatusRequest, document)
    assert row == ["x", "d", *shown]


@pytest.mark.parametrize(
    ("printer", "kind"),
    [
        (devices.DEVICE_CLASSES, resource.DeviceClass),
        (devices.TEMPLATES, resource.ResourceClaimTemplate),
    ],
)
def test_classes_and_templates_have_an_age(printer: Printer, kind: type[Any]) -> None:
    assert cells(printer, kind, {}) == ["x", "60s"]
