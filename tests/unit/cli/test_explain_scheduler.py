from __future__ import annotations

import pytest

from dray.api.core import Pod, PodCondition, PodSpec, PodStatus
from dray.cli.explain_scheduler import is_outdated, scheduler_message


def unscheduled(message: str, *, status: str = "False", node: str = "") -> Pod:
    condition = PodCondition(
        type="PodScheduled", status=status, reason="Unschedulable", message=message
    )
    return Pod(spec=PodSpec(node_name=node), status=PodStatus(conditions=(condition,)))


def test_what_the_scheduler_says_is_in_the_condition_of_a_pod_without_a_node() -> None:
    assert scheduler_message(unscheduled("0/1 nodes\n are available: x.")) == (
        "0/1 nodes are available: x."
    )
    assert scheduler_message(unscheduled("")) == "Unschedulable"
    assert scheduler_message(unscheduled("x", status="True")) == ""
    assert scheduler_message(unscheduled("x", node="a")) == ""
    assert scheduler_message(Pod()) == ""


@pytest.mark.parametrize(
    "against",
    [
        "3 cannot allocate all claims.",
        "1 cannot allocate all claims. no new claims to deallocate, preemption: 0/3 nodes are.",
        (
            "2 cannot allocate all claims (request gpu: 3 devices: 1 in use, 2 not matching "
            "(memory is 40.5Gi, wanted ≥ 80Gi); 1 wanted), 1 node(s) were unschedulable."
        ),
        "1 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector.",
        "1 node(s) had untolerated taint {a.b/c: }, 1 resourceclaim not available on the node.",
    ],
)
def test_what_explain_judges_itself_is_outdated(against: str) -> None:
    assert is_outdated(f"0/3 nodes are available: {against}")


@pytest.mark.parametrize(
    "message",
    [
        "0/3 nodes are available: 3 Insufficient memory.",
        "0/3 nodes are available: 1 Insufficient cpu, 2 cannot allocate all claims.",
        "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.",
        (
            "0/3 nodes are available: 3 cannot allocate all claims (devices are kept for pods of "
            "higher priority)."
        ),
        "Unschedulable",
        "",
    ],
)
def test_what_explain_does_not_look_at_still_counts(message: str) -> None:
    assert not is_outdated(message)
