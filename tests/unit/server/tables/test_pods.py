"""Pods as rows; the recordings of tests/conformance/tables hold every combination."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from dray.api import codec
from dray.api.core import Pod
from dray.server.tables.pods import PODS, pod_cells

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUNNING = {"running": {"startedAt": None}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}
CRASHED = {"terminated": {"exitCode": 2, "reason": "Error"}}


def container(name: str, state: dict[str, Any], **more: Any) -> dict[str, Any]:
    told = {"name": name, "state": state, "ready": "running" in state, "restartCount": 0}
    return told | more


def pod(
    *containers: dict[str, Any],
    init: tuple[dict[str, Any], ...] = (),
    sidecars: tuple[str, ...] = (),
    metadata: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    **status: Any,
) -> dict[str, Any]:
    made_of = {
        "containers": [{"name": one["name"]} for one in containers] or [{"name": "app"}],
        "initContainers": [
            {"name": one["name"]} | ({"restartPolicy": "Always"} if one["name"] in sidecars else {})
            for one in init
        ],
    }
    told = {
        "phase": "Running",
        "containerStatuses": list(containers),
        "initContainerStatuses": list(init),
    }
    return {
        "metadata": {"name": "web", "creationTimestamp": "2025-12-31T23:59:00Z"} | (metadata or {}),
        "spec": made_of | (spec or {}),
        "status": told | status,
    }


def cells(document: dict[str, Any]) -> dict[str, Any]:
    value = json.dumps(document).encode()
    typed = pod_cells(codec.decode(value, Pod), NOW)
    assert json.loads(PODS.stored_row(value, NOW, b"null"))["cells"] == typed
    return dict(zip([column.name for column in PODS.columns], typed, strict=True))


READY = [{"type": "Ready", "status": "True"}]
GATED = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
INITIALIZED = [{"type": "Initialized", "status": "True"}]
DELETED = {"deletionTimestamp": "2025-12-31T23:59:50Z"}
WAITING = {"waiting": {"reason": "ImagePullBackOff"}}


@pytest.mark.parametrize(
    ("document", "status", "ready"),
    [
        pytest.param(pod(container("a", RUNNING)), "Running", "1/1", id="running"),
        pytest.param(pod(phase="Pending"), "Pending", "0/1", id="nothing-known-yet"),
        pytest.param(pod(phase="Failed", reason="Evicted"), "Evicted", "0/1", id="its-own-reason"),
        pytest.param(
            pod(phase="Pending", conditions=GATED), "SchedulingGated", "0/1", id="held-by-a-gate"
        ),
        pytest.param(
            pod(container("a", WAITING), container("b", CRASHED)),
            "ImagePullBackOff",
            "0/2",
            id="the-first-container-speaks",
        ),
        pytest.param(
            pod(container("a", {"terminated": {"exitCode": 3}})), "ExitCode:3", "0/1", id="code"
        ),
        pytest.param(
            pod(container("a", {"terminated": {"exitCode": 0, "signal": 9}})),
            "Signal:9",
            "0/1",
            id="signal",
        ),
        pytest.param(
            pod(container("a", DONE), container("b", RUNNING), conditions=READY),
            "Running",
            "1/2",
            id="one-done-the-other-runs",
        ),
        pytest.param(
            pod(container("a", DONE), container("b", RUNNING)),
            "NotReady",
            "1/2",
            id="one-done-the-pod-not-ready",
        ),
        pytest.param(
            pod(container("a", DONE), container("b", CRASHED)),
            "Error",
            "0/2",
            id="one-done-the-other-failed",
        ),
        pytest.param(
            pod(init=(container("i", RUNNING),)), "Init:0/1", "0/1", id="an-init-container-runs"
        ),
        pytest.param(
            pod(init=(container("i", DONE), container("j", WAITING))),
            "Init:ImagePullBackOff",
            "0/1",
            id="an-init-container-waits",
        ),
        pytest.param(
            pod(init=(container("i", {"waiting": {"reason": "PodInitializing"}}),)),
            "Init:0/1",
            "0/1",
            id="waiting-for-its-turn-is-no-reason",
        ),
        pytest.param(
            pod(init=(container("i", CRASHED),)), "Init:Error", "0/1", id="an-init-container-failed"
        ),
        pytest.param(
            pod(init=(container("i", {"terminated": {"exitCode": 1}}),)),
            "Init:ExitCode:1",
            "0/1",
            id="it-failed-without-a-word",
        ),
        pytest.param(
            pod(container("a", RUNNING), init=(container("i", CRASHED),), conditions=INITIALIZED),
            "Init:Error",
            "1/1",
            id="initialized-all-the-same",
        ),
        pytest.param(
            pod(
                container("a", RUNNING),
                init=(container("s", RUNNING, started=True),),
                sidecars=("s",),
            ),
            "Running",
            "2/2",
            id="a-sidecar-counts",
        ),
        pytest.param(
            pod(init=(container("s", RUNNING, started=False),), sidecars=("s",)),
            "Init:0/1",
            "0/2",
            id="a-sidecar-is-waited-for",
        ),
        pytest.param(
            pod(container("a", RUNNING), metadata=DELETED), "Terminating", "1/1", id="deleted"
        ),
        pytest.param(
            pod(metadata=DELETED, reason="NodeLost"), "Unknown", "0/1", id="its-node-is-lost"
        ),
        pytest.param(
            pod(container("a", DONE), metadata=DELETED, phase="Succeeded"),
            "Completed",
            "0/1",
            id="what-is-done-does-not-terminate",
        ),
    ],
)
def test_the_status_is_what_holds_the_pod_up(
    document: dict[str, Any], status: str, ready: str
) -> None:
    row = cells(document)
    assert (row["Status"], row["Ready"]) == (status, ready)


def ended(when: str) -> dict[str, Any]:
    return {"terminated": {"exitCode": 1, "finishedAt": when}}


def test_restarts_say_when_the_last_one_was() -> None:
    document = pod(
        container("a", RUNNING, restartCount=2, lastState=ended("2025-12-31T23:50:00Z")),
        container("b", RUNNING, restartCount=1, lastState=ended("2025-12-31T23:58:00Z")),
    )
    assert cells(document)["Restarts"] == "3 (2m ago)"
    assert cells(pod(container("a", RUNNING, restartCount=2)))["Restarts"] == "2"
    assert cells(pod(container("a", RUNNING)))["Restarts"] == "0"


def test_restarts_of_init_containers_are_forgotten_once_the_pod_runs() -> None:
    done = container("i", DONE, restartCount=5)
    sidecar = container("s", RUNNING, restartCount=3, started=True)
    document = pod(container("a", RUNNING), init=(done, sidecar), sidecars=("s",))
    assert cells(document)["Restarts"] == "3"
    assert cells(pod(init=(container("i", RUNNING, restartCount=5),)))["Restarts"] == "5"


def test_wide_cells_say_none_where_there_is_nothing() -> None:
    row = cells(pod())
    wide = [row[name] for name in ("IP", "Node", "Nominated Node", "Readiness Gates")]
    assert wide == ["<none>"] * 4
    assert row["Age"] == "60s"


def test_wide_cells_say_where_the_pod_is_and_which_gates_are_open() -> None:
    gates = [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]
    row = cells(
        pod(
            spec={"nodeName": "node-1", "readinessGates": gates},
            podIPs=[{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
            nominatedNodeName="node-2",
            conditions=[{"type": "example.com/b", "status": "True"}],
        )
    )
    assert (row["IP"], row["Node"], row["Nominated Node"]) == ("10.0.0.1", "node-1", "node-2")
    assert row["Readiness Gates"] == "1/2"


@pytest.mark.parametrize(
    ("phase", "reasons"), [("Succeeded", ["Succeeded"]), ("Failed", ["Failed"]), ("Running", [])]
)
def test_a_row_says_that_its_pod_is_done(phase: str, reasons: list[str]) -> None:
    row = json.loads(PODS.stored_row(json.dumps(pod(phase=phase)).encode(), NOW, b"null"))
    found = row.get("conditions", [])
    assert [one["reason"] for one in found] == reasons
    assert all((one["type"], one["status"]) == ("Completed", "True") for one in found)


def test_what_a_glimpse_cannot_read_is_read_exactly() -> None:
    document = pod(container("a", RUNNING))
    document["status"]["reason"] = None  # as a null it means nothing
    value = json.dumps(document).encode()
    assert json.loads(PODS.stored_row(value, NOW, b"null"))["cells"][2] == "Running"
