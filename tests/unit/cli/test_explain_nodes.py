"""What would let a pod go to a node that is ruled out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dray.cli.explain_json import to_builtin
from dray.cli.explain_nodes import opening
from dray.cli.snapshot import Against

from .explain_dumps import (
    device_class,
    explain,
    gpus,
    held,
    load,
    node,
    pod,
    request,
    template,
)

TAINT = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
            ]
        }
    }
}


def cluster(where: dict[str, Any], count: int = 1, **spec: Any) -> list[dict[str, Any]]:
    return [
        where,
        gpus("a", 2),
        device_class(),
        template("t", request(count=count)),
        pod("p", "t", **spec),
    ]


@pytest.mark.parametrize(
    ("where", "spec", "types", "told"),
    [
        pytest.param(
            node("a", unschedulable=True),
            {},
            ["Uncordon"],
            {"command": "kubectl uncordon a"},
            id="cordoned",
        ),
        pytest.param(
            node("a", taints=[TAINT]),
            {},
            ["TolerateNode"],
            {"path": "spec.tolerations[]", "value": {**TAINT, "operator": "Equal"}},
            id="tainted",
        ),
        pytest.param(
            node("a"),
            {"nodeSelector": {"zone": "a"}},
            ["NodeSelector"],
            {"path": "spec.nodeSelector[zone]", "value": None},
            id="selector",
        ),
        pytest.param(
            node("a", unschedulable=True),
            {"affinity": AFFINITY},
            ["Uncordon", "NodeAffinity"],
            {"command": "kubectl uncordon a"},
            id="two-things",
        ),
    ],
)
def test_a_node_whose_devices_would_do_is_told_how_to_be_had(
    tmp_path: Path,
    where: dict[str, Any],
    spec: dict[str, Any],
    types: list[str],
    told: dict[str, Any],
) -> None:
    answer = to_builtin(explain(tmp_path, "pod/p", *cluster(where, **spec)))
    (suggestion,) = answer["suggestions"]
    assert suggestion["checked"]
    assert [change["type"] for change in suggestion["changes"]] == types
    assert told.items() <= suggestion["steps"][0].items()


def test_what_is_suggested_for_a_node_that_is_ruled_out_lets_the_pod_go_there(
    tmp_path: Path,
) -> None:
    answer = explain(tmp_path, "pod/p", *cluster(node("a", unschedulable=True), count=3), node="a")
    texts = [suggestion.text for suggestion in answer.suggestions]
    assert texts
    assert all(text.startswith("uncordon the node, and ") for text in texts)
    assert {"uncordon the node, and ask for 2 instead of 3 in request gpu of claim ml/p-c0"} <= {
        *texts
    }
    assert answer.suggestions[0].steps[0].command == "kubectl uncordon a"


def test_nothing_is_suggested_for_a_node_that_the_pod_can_never_have(tmp_path: Path) -> None:
    dump = cluster(node("a"), count=3, nodeName="b")
    assert explain(tmp_path, "pod/p", *dump, node="a").suggestions == ()


def test_a_claim_that_is_allocated_elsewhere_is_not_to_be_argued_with(tmp_path: Path) -> None:
    one = pod("p", nodeSelector={"zone": "a"})
    one["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "held"}]
    dump = [node("a"), node("b"), gpus("a", 1), gpus("b", 1), device_class(), one]
    snapshot = load(tmp_path, [*dump, held("held", "b", ["gpu-0"])])
    subject = snapshot.subject("pod/p", "ml")
    assert subject.places["a"].against is Against.NODE_SELECTOR
    assert opening(snapshot, subject, "a") is None
    assert opening(snapshot, subject, "b") is not None


def test_a_taint_of_the_nodes_condition_is_better_looked_into(tmp_path: Path) -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    answer = explain(tmp_path, "pod/p", *cluster(node("a", taints=[taint])))
    (step,) = answer.suggestions[0].steps
    assert step.value == {"operator": "Exists", **taint}
    assert "look at the node's conditions first" in step.note


def test_one_node_stands_for_those_with_the_same_reason(tmp_path: Path) -> None:
    nodes = [node(name, taints=[TAINT]) for name in "ab"]
    dump = [*nodes, gpus("b", 1), *cluster(nodes[0])[1:]]
    assert [one.node for one in explain(tmp_path, "pod/p", *dump).suggestions] == ["a"]
