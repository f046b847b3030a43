from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dray.cli.errors import CommandError
from dray.cli.explain_answer import Verdict

from .explain_dumps import claim, device_class, explain, gpus, held, node, pod, request, template

TAINT = [{"key": "k", "effect": "NoSchedule"}]
FLEET = [device_class(), *(node(name) for name in "abc"), *(gpus(name, 2) for name in "ab")]


# Verdicts --------------------------------------------------------------------------------------


def test_what_fits_says_where_and_with_what(tmp_path: Path) -> None:
    answer = explain(tmp_path, "pod/p", *FLEET, template("t", request(count=2)), pod("p", "t"))
    assert answer.verdict is Verdict.FITS
    assert answer.headline == "devices of pod ml/p fit on 2 of 3 nodes; first: a"
    assert [str(one.id) for one in answer.devices] == [
        "gpu.example.com/a/gpu-0",
        "gpu.example.com/a/gpu-1",
    ]
    assert [one.nodes for one in answer.reasons] == [("c",)]
    assert answer.closest is None
    assert answer.suggestions == ()


def waiting(one: dict[str, Any], message: str) -> dict[str, Any]:
    """A pod of which the scheduler has said this."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return {**one, "status": {"conditions": [{**condition, "message": message}]}}


def test_devices_that_fit_are_not_all_a_scheduler_looks_at(tmp_path: Path) -> None:
    said = "0/3 nodes are available: 1 cannot allocate all claims, 2 Insufficient memory."
    one = waiting(pod("p", "t"), said)
    answer = explain(tmp_path, "pod/p", *FLEET, template("t", request(count=2)), one)
    assert answer.verdict is Verdict.UNSCHEDULED
    assert not answer.verdict.good
    assert answer.headline == (
        f"devices of pod ml/p fit on 2 of 3 nodes; first: a; but the scheduler says: {said} "
        "(explain has looked at devices and at nodes' names, cordons, taints, selectors and "
        "required affinity only)"
    )
    assert answer.scheduler_message == said
    assert answer.fitting == ("a", "b")


def test_a_pod_with_its_devices_can_still_be_without_a_node(tmp_path: Path) -> None:
    said = "0/3 nodes are available: 3 Insufficient cpu."
    answer = explain(
        tmp_path, "pod/q", *FLEET, held("x", "b", ["gpu-0"], "q"), waiting(sharing("q"), said)
    )
    assert answer.verdict is Verdict.UNSCHEDULED
    assert answer.headline.startswith(
        "pod ml/q has its claims allocated already: 1 device, on node b; "
        f"but the scheduler says: {said} ("
    )


def test_what_a_scheduler_said_of_devices_that_are_free_now_is_over(tmp_path: Path) -> None:
    said = "0/3 nodes are available: 3 cannot allocate all claims."
    answer = explain(
        tmp_path, "pod/p", *FLEET, template("t", request(count=2)), waiting(pod("p", "t"), said)
    )
    assert answer.verdict is Verdict.FITS
    assert answer.headline == (
        "devices of pod ml/p fit on 2 of 3 nodes; first: a; "
        f"when the scheduler last tried, it said: {said}"
    )
    few = template("t", request(count=9))
    answer = explain(tmp_path, "pod/p", *FLEET, few, waiting(pod("p", "t"), said))
    assert answer.headline == "pod ml/p does not fit on any of 3 nodes"
    assert answer.scheduler_message == said


def test_what_does_not_fit_says_what_comes_closest_and_what_would_help(tmp_path: Path) -> None:
    answer = explain(
        tmp_path, "claim/c", *FLEET, held("x", "b", ["gpu-0"], "q"), claim("c", request(count=3))
    )
    assert answer.verdict is Verdict.DOES_NOT_FIT
    assert answer.headline == "claim ml/c does not fit on any of 3 nodes"
    assert answer.closest is not None
    assert answer.closest.node == "a"
    (fewer, *_) = answer.suggestions
    assert (fewer.node, fewer.steps[0].value) == ("a", 2)


def test_a_claim_that_is_allocated_needs_no_node(tmp_path: Path) -> None:
    answer = explain(tmp_path, "claim/x", *FLEET, held("x", "b", ["gpu-0"], "q"))
    assert answer.verdict is Verdict.ALLOCATED
    assert answer.headline == "claim ml/x is allocated already: 1 device, on node b"
    assert answer.notes[0] == "reserved for pod q"
    alone = explain(tmp_path, "claim/x", held("x", "b", ["gpu-0"]))
    assert alone.headline == "claim ml/x is allocated already: 1 device"
    assert alone.notes[0] == "reserved for nobody"


def sharing(name: str, **spec: Any) -> dict[str, Any]:
    """A pod with a claim that has a name of its own."""
    one: dict[str, Any] = pod(name, **spec)
    one["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "x"}]
    return one


def test_a_pod_whose_claims_are_allocated_fits_where_they_are(tmp_path: Path) -> None:
    objects = [*FLEET, held("x", "b", ["gpu-0"])]
    answer = explain(tmp_path, "pod/p", *objects, sharing("p"))
    assert answer.verdict is Verdict.ALLOCATED
    assert answer.headline == "pod ml/p has its claims allocated already: 1 device, on node b"
    elsewhere = explain(tmp_path, "pod/p", *objects, sharing("p", nodeSelector={"a": "b"}))
    assert elsewhere.verdict is Verdict.DOES_NOT_FIT
    assert elsewhere.closest is None
    running = explain(tmp_path, "pod/p", *objects, sharing("p", nodeName="b"))
    assert running.verdict is Verdict.ALLOCATED


@pytest.mark.parametrize(
    ("objects", "headline"),
    [
        pytest.param(
            [claim("c", request(deviceClassName="other"))],
            'claim ml/c cannot be allocated: request "gpu" asks for device class "other", which is '
            "not in the dump",
            id="class",
        ),
        pytest.param(
            [pod("c", "none", "neither")],
            'pod ml/c cannot be scheduled: claim "c0" is made from template "none", which is not '
            "in the dump (and 1 more)",
            id="templates",
        ),
    ],
)
def test_what_is_missing_comes_before_devices(
    tmp_path: Path, objects: list[dict[str, Any]], headline: str
) -> None:
    kind = objects[0]["kind"].removeprefix("Resource").lower()
    answer = explain(tmp_path, f"{kind}/c", *FLEET, *objects)
    assert answer.verdict is Verdict.BLOCKED
    assert answer.headline == headline
    assert answer.reasons == ()


def test_a_gate_is_in_the_way_but_devices_are_looked_at(tmp_path: Path) -> None:
    gated = pod("p", "t", schedulingGates=[{"name": "x.io/wait"}])
    answer = explain(tmp_path, "pod/p", *FLEET, template("t", request(count=2)), gated)
    assert answer.verdict is Verdict.BLOCKED
    assert answer.headline == (
        "pod ml/p is not scheduled while it has scheduling gates: x.io/wait; "
        "apart from that its devices fit on 2 of 3 nodes; first: a"
    )


def test_one_error_ends_it_though_other_nodes_fit(tmp_path: Path) -> None:
    bare = gpus("c", 1)
    del bare["spec"]["devices"][0]["attributes"]
    selector = 'device.attributes["gpu.example.com"].model == "H100"'
    answer = explain(tmp_path, "claim/c", *FLEET, bare, claim("c", request(selector=selector)))
    assert answer.verdict is Verdict.UNJUDGED
    assert answer.headline.startswith("claim ml/c cannot be judged (on 1 of 3 nodes): ")
    assert answer.fitting == ("a", "b")
    assert answer.hints


def test_without_nodes_and_devices_nothing_can_be_judged(tmp_path: Path) -> None:
    answer = explain(tmp_path, "claim/c", device_class(), claim("c"))
    assert answer.verdict is Verdict.UNJUDGED
    assert answer.headline.endswith("the dump has neither nodes nor devices")
    assert "the dump has no devices at all: kubectl get resourceslices -o yaml" in answer.notes


def test_one_node_is_the_only_one(tmp_path: Path) -> None:
    one = [device_class(), node("a"), gpus("a", 1)]
    answer = explain(tmp_path, "claim/c", *one, claim("c"))
    assert answer.headline == "claim ml/c fits on the only node, a"
    answer = explain(tmp_path, "claim/c", *one, claim("c", request(count=2)))
    assert answer.headline == "claim ml/c does not fit on the only node, a"


# Nodes -----------------------------------------------------------------------------------------


def test_nodes_ruled_out_say_whether_their_devices_would_do(tmp_path: Path) -> None:
    objects = [device_class(), node("a", taints=TAINT), node("b", taints=TAINT), gpus("a", 1)]
    answer = explain(tmp_path, "pod/p", *objects, template("t", request()), pod("p", "t"))
    (reason,) = answer.reasons
    assert (reason.nodes, reason.with_devices) == (("a", "b"), ("a",))


def test_a_node_with_a_device_plugin_that_offers_too_little_is_ruled_out(tmp_path: Path) -> None:
    resource = "example.com/gpu"
    answer = explain(
        tmp_path,
        "pod/p",
        device_class(extendedResourceName=resource),
        node("a", allocatable={resource: "1"}),
        pod("p", limits={resource: "2"}),
    )
    (reason,) = answer.reasons
    assert reason.text == "has 1 example.com/gpu, the pod asks for 2"
    assert reason.with_devices == ()


def test_one_node_can_be_asked_about(tmp_path: Path) -> None:
    objects = [*FLEET, claim("c", request(count=2))]
    answer = explain(tmp_path, "claim/c", *objects, node="b")
    assert answer.headline == "claim ml/c fits on node b"
    assert answer.devices[0].id.pool == "b"
    answer = explain(tmp_path, "claim/c", *objects, node="c")
    assert answer.headline == (
        "claim ml/c does not fit on node c: request gpu: no devices; 2 wanted"
    )
    with pytest.raises(CommandError, match='no node "d"'):
        explain(tmp_path, "claim/c", *objects, node="d")


def test_a_node_ruled_out_is_looked_at_if_it_is_asked_about(tmp_path: Path) -> None:
    objects = [device_class(), node("a", taints=TAINT), gpus("a", 1)]
    for count, said in (
        (1, "its devices would do"),
        (2, "request gpu: 1 device: 1 free; 2 wanted"),
    ):
        answer = explain(
            tmp_path,
            "pod/p",
            *objects,
            template("t", request(count=count)),
            pod("p", "t"),
            node="a",
        )
        assert answer.headline == (
            f"pod ml/p does not fit on node a: untolerated taint k:NoSchedule; {said}"
        )
        assert bool(answer.closest) == (count == 2)


def test_every_node_gets_a_line_if_asked_for(tmp_path: Path) -> None:
    objects = [*FLEET, node("d", unschedulable=True), template("t", request()), pod("p", "t")]
    answer = explain(tmp_path, "pod/p", *objects, every=True)
    assert answer.lines is not None
    assert [(one.node, one.fits, one.text) for one in answer.lines] == [
        ("a", True, "fits"),
        ("b", True, "fits"),
        ("c", False, "request gpu: no devices; 1 wanted"),
        ("d", False, "is unschedulable (cordoned)"),
    ]
    wrong = claim("c", request(selector="1 / 0 == 1"))
    answer = explain(tmp_path, "claim/c", *FLEET, wrong, every=True)
    assert answer.lines is not None
    assert answer.lines[0].text.startswith("cannot be judged: ")


# Advice ----------------------------------------------------------------------------------------


def test_what_a_nearer_node_needs_less_of_is_told_of_that_node_only(tmp_path: Path) -> None:
    answer = explain(
        tmp_path,
        "claim/c",
        device_class(),
        *(node(name) for name in "ab"),
        *(gpus(name, 4) for name in "ab"),
        held("one", "a", ["gpu-0"], "p"),
        held("two", "b", ["gpu-0", "gpu-1"], "q"),
        claim("c", request(count=4)),
    )
    assert {one.node for one in answer.suggestions} == {"a"}
    assert answer.holders == (("ml/one", "claim ml/one for pod p"),)


def test_other_ways_on_other_nodes_are_told_too(tmp_path: Path) -> None:
    selector = 'device.attributes["gpu.example.com"].model == "H100"'
    answer = explain(
        tmp_path,
        "claim/c",
        device_class(),
        *(node(name) for name in "ab"),
        gpus("a", 2),
        gpus("b", 4, "A100"),
        claim("c", request(selector=selector, count=4)),
    )
    assert {one.node: one.steps[0].path for one in reversed(answer.suggestions)} == {
        "a": "spec.devices.requests[0].exactly.count",
        "b": "spec.devices.requests[0].exactly.selectors[0]",
    }


def test_a_container_is_not_told_of_alternatives(tmp_path: Path) -> None:
    answer = explain(
        tmp_path,
        "pod/p",
        device_class(extendedResourceName="example.com/gpu"),
        node("a"),
        gpus("a", 1),
        pod("p", limits={"example.com/gpu": "2"}),
    )
    (fewer,) = answer.suggestions
    assert fewer.steps[0].object == "Pod ml/p"


def test_a_claim_made_from_a_template_leads_to_its_pod_and_template(tmp_path: Path) -> None:
    made = claim("p-c0", request(count=3))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}
    made["metadata"] |= {
        "annotations": {"resource.kubernetes.io/pod-claim-name": "c0"},
        "ownerReferences": [owner],
    }
    dump = [node("a", unschedulable=True), gpus("a", 2), device_class(), pod("p", "t"), made]
    answer = explain(tmp_path, "claim/p-c0", *dump, template("t", request(count=3)))
    assert answer.suggestions[0].steps[0].object == "ResourceClaimTemplate ml/t"
    led, *others = answer.notes
    assert led == (
        'claim ml/p-c0 was made from template "t" for pod p, which has more to say: '
        "dray explain pod/p -n ml"
    )
    assert others == [
        "1 node is cordoned or tainted: of no matter to a claim alone, but to its pods"
    ]


def test_notes_on_objects_that_are_not_used_are_counted(tmp_path: Path) -> None:
    wrong = template("other", request("Not_A_Name"))
    dump = [*FLEET, template("t", request()), pod("p", "t"), wrong]
    assert explain(tmp_path, "pod/p", *dump).notes == (
        "1 note on objects that are not used here (-v shows them)",
    )
    (note,) = explain(tmp_path, "pod/p", *dump, every=True).notes
    assert "ResourceClaimTemplate ml/other" in note
    (note,) = explain(tmp_path, "pod/q", *dump, pod("q", "other")).notes
    assert "ResourceClaimTemplate ml/other" in note
