from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dray.cli.explain_answer import Answer, Verdict
from dray.cli.explain_inquiry import Inquiry
from dray.cli.explain_json import to_builtin
from dray.cli.manifests import ManifestError
from dray.cli.snapshot import Snapshot

from .explain_dumps import (
    EXAMPLE,
    NOW,
    claim,
    device_class,
    explain,
    gpus,
    held,
    node,
    pod,
    request,
    template,
)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "explain.md"


@pytest.fixture(scope="module")
def pending() -> dict[str, Any]:
    snapshot = Snapshot.load([str(EXAMPLE)], now=NOW)
    return to_builtin(Inquiry(snapshot, snapshot.subject("pod/train", "ml"), every=True).answer())


def test_it_says_what_it_is_and_what_it_is_about(pending: dict[str, Any]) -> None:
    assert (pending["apiVersion"], pending["kind"]) == ("dray.dev/v1alpha1", "Explanation")
    assert pending["subject"] == {"kind": "Pod", "namespace": "ml", "name": "train"}
    assert pending["verdict"] == "DoesNotFit"
    assert json.loads(json.dumps(pending)) == pending


def test_numbers_of_nodes_add_up(pending: dict[str, Any]) -> None:
    counts = pending["nodes"]
    parts = (counts[name] for name in ("fitting", "unfit", "excluded", "failed"))
    assert counts["total"] == sum(parts) == len(pending["everyNode"]) == 4
    assert sum(reason["count"] for reason in pending["reasons"]) == 4


def test_reasons_carry_facts(pending: dict[str, Any]) -> None:
    by_node = {reason["nodes"][0]: reason for reason in pending["reasons"]}
    assert by_node["node-d"]["excludedBy"] == "Taint"
    assert by_node["node-d"]["withDevices"] == ["node-d"]

    def exclusion(name: str) -> dict[str, Any]:
        (found,) = by_node[name]["report"]["requests"][0]["exclusions"]
        assert isinstance(found, dict)
        return found

    assert exclusion("node-a")["holders"] == [
        {"claim": "ml/serve-gpu", "devices": 2},
        {"claim": "ml/notebook-gpu", "devices": 1},
    ]
    assert exclusion("node-b")["taint"]["key"] == "gpu.example.com/xid"
    assert exclusion("node-c")["selector"]["found"] == [{"value": '"A100"', "devices": 4}]


def test_suggestions_carry_what_to_do(pending: dict[str, Any]) -> None:
    steps = [step for one in pending["suggestions"] for step in one["steps"]]
    assert {"kubectl delete pod serve -n ml"} <= {step["command"] for step in steps}
    assert 3 in [step["value"] for step in steps]
    types = [change["type"] for one in pending["suggestions"] for change in one["changes"]]
    assert types == ["TolerateNode", "Tolerate", "Count", "Alternative", "Free", "Selector"]


def test_claims_say_where_they_are_from(tmp_path: Path) -> None:
    both = pod("p", "t")
    both["spec"]["resourceClaims"].append({"name": "x", "resourceClaimName": "x"})
    objects = [device_class(), node("a"), gpus("a", 2), held("x", "a", ["gpu-0"])]
    told = to_builtin(explain(tmp_path, "pod/p", *objects, template("t", request()), both))
    made, allocated = told["claims"]
    assert (made["name"], made["template"], made["podClaim"]) == ("p-c0", "t", "c0")
    assert (made["madeUp"], made["allocated"], made["nodes"]) == (True, False, None)
    assert (allocated["name"], allocated["allocated"], allocated["nodes"]) == ("x", True, ["a"])
    assert told["devices"][0]["device"] == "gpu-1"
    assert told["devices"][0]["traits"] == {"model": "H100", "memory": "80Gi"}


def test_conflicts_pools_amounts_and_problems_are_data(tmp_path: Path) -> None:
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 2}
    told = to_builtin(
        explain(tmp_path, "claim/c", device_class(), node("a"), gpus("a", 1, pool=pool), claim("c"))
    )
    (trouble,) = told["closest"]["pools"]
    assert (trouble["slicesSeen"], trouble["slicesExpected"], trouble["invalid"]) == (1, 2, None)
    fleet = [device_class(), node("a"), gpus("a", 2)]
    two = claim("c", request("a", count=2), request("b"))
    (conflict,) = to_builtin(explain(tmp_path, "claim/c", *fleet, two))["closest"]["conflicts"]
    assert (conflict["type"], conflict["needed"], conflict["available"]) == ("Devices", 3, 2)
    large = claim("c", request(capacity={"requests": {"memory": "90Gi"}}))
    told = to_builtin(explain(tmp_path, "claim/c", *fleet, large))
    (exclusion,) = told["closest"]["requests"][0]["exclusions"]
    assert exclusion["amount"]["wanted"] == "90Gi"
    same = claim("c", constraints=[{"matchAttribute": "gpu.example.com/zone"}])
    told = to_builtin(explain(tmp_path, "claim/c", *fleet, same))
    (exclusion,) = told["closest"]["requests"][0]["exclusions"]
    assert exclusion["attribute"] == {"name": "gpu.example.com/zone", "constraint": 0}
    told = to_builtin(explain(tmp_path, "pod/p", *fleet, pod("p", "none")))
    assert told["problems"][0]["type"] == "TemplateMissing"
    assert told["problems"][0]["missing"] == "none"


def test_what_cannot_be_read_is_told_with_its_place() -> None:
    error = ManifestError("not YAML", 3, file="f")
    told = to_builtin(Answer(Verdict.UNJUDGED, "f:3: not YAML", unreadable=(error,)))
    assert told["unreadable"] == [{"file": "f", "line": 3, "column": None, "message": "not YAML"}]


def members(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*(members(one) for one in value.values()))
    return set().union(*(members(one) for one in value)) if isinstance(value, list) else set()


def test_every_member_is_in_the_reference(pending: dict[str, Any]) -> None:
    page = PAGE.read_text()
    # Traits, tolerations and the values of steps have names of their own.
    free = {"preferred", "fewer"}
    for one in pending["suggestions"]:
        free |= members(one["changes"][0]["tolerations"])
        free |= members([step["value"] for step in one["steps"]])
    missing = [name for name in members(pending) - free if not re.search(rf"\b{name}\b", page)]
    assert missing == []


def test_edits_say_all_that_changes_about_fields(pending: dict[str, Any]) -> None:
    steps = [step for one in pending["suggestions"] for step in one["steps"]]
    edits = {step["path"]: step["edits"] for step in steps if step["path"]}
    request = "spec.spec.devices.requests[0]"
    first, second = edits[f"{request}.firstAvailable"]
    assert [one["count"] for one in first["value"]] == [4, 3]
    assert second == {"path": f"{request}.exactly", "remove": True}
    path = f"{request}.exactly.selectors[0]"
    assert edits[path] == [{"path": path, "remove": True}]


def test_what_the_scheduler_says_is_a_member_of_its_own() -> None:
    told = to_builtin(Answer(Verdict.UNSCHEDULED, "no", scheduler_message="0/2 nodes"))
    assert (told["verdict"], told["schedulerMessage"]) == ("Unscheduled", "0/2 nodes")
    assert to_builtin(Answer(Verdict.FITS, "yes"))["schedulerMessage"] is None
