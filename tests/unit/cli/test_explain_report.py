from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from dray.allocator.explain.changes import Change, ChangeKind, Relaxation
from dray.cli import explain_report
from dray.cli.explain_answer import Answer, NodeLine, Reason, Step, Suggestion, Verdict
from dray.cli.explain_report import lines_of

from .explain_dumps import claim, device_class, explain, gpus, held, node, pod, request, template


def text(answer: Answer) -> str:
    return click.unstyle("\n".join(lines_of(answer)))


def told(tmp_path: Path, subject: str, *objects: dict[str, Any], **options: Any) -> str:
    return text(explain(tmp_path, subject, device_class(), *objects, **options))


def test_what_fits_is_a_table(tmp_path: Path) -> None:
    assert told(tmp_path, "claim/c", node("a"), node("b"), gpus("a", 1), claim("c")) == (
        "claim ml/c fits on 1 of 2 nodes; first: a\n"
        "\n"
        "on a:\n"
        "  CLAIM  REQUEST  DEVICE                   WHAT                     TAKES\n"
        "  ml/c   gpu      gpu.example.com/a/gpu-0  model H100, memory 80Gi  all of it\n"
        "\n"
        "why not elsewhere:\n"
        "  1 node  request gpu: no devices; 1 wanted\n"
        "          b"
    )


def test_a_pod_that_fits_is_told_what_was_not_looked_at(tmp_path: Path) -> None:
    said = told(
        tmp_path,
        "pod/p",
        node("a"),
        node("b"),
        gpus("a", 1),
        gpus("b", 1),
        template("t", request()),
        pod("p", "t"),
    )
    assert "\nalso on b\n" in said
    assert said.endswith("If it stays Pending, look there.")


def test_what_does_not_fit_shows_the_closest_node_and_what_would_help(tmp_path: Path) -> None:
    said = told(
        tmp_path,
        "claim/c",
        node("a"),
        gpus("a", 3),
        held("x", "a", ["gpu-0"], "p"),
        pod("p", nodeName="a"),
        claim("c", request(count=3)),
    )
    assert said == (
        "claim ml/c does not fit on the only node, a\n"
        "\n"
        "why not:\n"
        "  1 node  request gpu: 3 devices: 2 free, 1 in use by ml/x; 3 wanted\n"
        "          a\n"
        "\n"
        "closest is a:\n"
        "  request gpu (claim ml/c): too few\n"
        "    3 wanted; 3 devices, 3 would do, 2 of those free\n"
        "    1 in use: gpu-0\n"
        "      1 by claim ml/x for pod p (Pending)\n"
        "\n"
        "what would help (each was tried):\n"
        "  1. on a: ask for 2 instead of 3 in request gpu of claim ml/c\n"
        "     ResourceClaim ml/c: spec.devices.requests[0].exactly.count: 2\n"
        "  2. on a: accept 2 in request gpu of claim ml/c where there are not 3 (firstAvailable)\n"
        "     ResourceClaim ml/c: spec.devices.requests[0].firstAvailable: "
        "[{name: preferred, deviceClassName: gpu, allocationMode: ExactCount, count: 3}, "
        "{name: fewer, deviceClassName: gpu, allocationMode: ExactCount, count: 2}] "
        "(in place of exactly)\n"
        "  3. on a: free claim ml/x (1 device)\n"
        "     kubectl delete pod p -n ml\n"
        "  The spec of a claim or template cannot be edited: replace it, and the pod."
    )


def test_conflicts_and_troubles_are_told_of_the_closest_node(tmp_path: Path) -> None:
    two = claim("c", request("a", count=2), request("b", count=2))
    assert "\n  conflict: requests a, b" in told(tmp_path, "claim/c", node("a"), gpus("a", 3), two)
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 2}
    said = told(tmp_path, "claim/c", node("a"), gpus("a", 1, pool=pool), claim("c"))
    assert "\n  trouble: pool gpu.example.com/a is incomplete (1 of 2 slices)" in said
    assert "what would help:" in said
    assert "(nobody can say whether that is enough)" in said


def test_nothing_that_would_help_is_told_too(tmp_path: Path) -> None:
    said = told(tmp_path, "claim/c", node("a"), claim("c"))
    assert "No change of a request or two, and no claims to free, were found" in said


def test_a_problem_is_told_with_what_to_do(tmp_path: Path) -> None:
    said = told(tmp_path, "claim/c", claim("c", request(deviceClassName="gpux")))
    assert said.splitlines()[1] == "  did you mean gpu?"
    two = claim("c", request("a", deviceClassName="x"), request("b", deviceClassName="y"))
    said = told(tmp_path, "claim/c", two)
    assert "in the way:\n" in said
    assert said.count("which is not in the dump") == 3


def test_one_node_has_its_reason_in_the_first_line(tmp_path: Path) -> None:
    objects = [node("a"), gpus("a", 1), claim("c", request(count=2))]
    said = told(tmp_path, "claim/c", *objects, node="a")
    assert "why not" not in said
    assert "\ndevices:\n" in said


def test_a_request_that_no_device_would_do_for_says_so(tmp_path: Path) -> None:
    selector = 'device.attributes["gpu.example.com"].model == "B200"'
    said = told(
        tmp_path, "claim/c", node("a"), gpus("a", 2), claim("c", request(selector=selector))
    )
    assert "    1 wanted; 2 devices, none would do\n" in said
    assert '    2 not matching (model is "H100", wanted "B200"): gpu-0, gpu-1\n' in said


def test_shares_say_what_they_take(tmp_path: Path) -> None:
    shared = gpus("a", 1)
    shared["spec"]["devices"][0]["allowMultipleAllocations"] = True
    mine = claim("c", request(capacity={"requests": {"memory": "20Gi"}}))
    assert told(tmp_path, "claim/c", node("a"), shared, mine).endswith("memory 20Gi")


def test_admin_access_takes_nothing(tmp_path: Path) -> None:
    said = told(tmp_path, "claim/c", node("a"), gpus("a", 1), claim("c", request(adminAccess=True)))
    assert said.endswith("nothing (admin access)")


# Lists that are cut ----------------------------------------------------------------------------


def test_reasons_are_cut_with_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = tuple(Reason((f"n{number}",), f"reason {number}") for number in range(14))
    said = text(Answer(Verdict.DOES_NOT_FIT, "no", nodes=14, reasons=reasons))
    assert said.count("reason ") == 10
    assert said.endswith("4 nodes  for 4 other reasons (-o json has all)")


def test_names_are_cut_with_a_count() -> None:
    reason = Reason(tuple(f"n{number}" for number in range(2000)), "reason")
    said = text(Answer(Verdict.DOES_NOT_FIT, "no", nodes=2000, reasons=(reason,)))
    assert said.endswith("  2,000 nodes  reason\n               n0, n1, n2, n3, n4 and 1,995 more")


@pytest.mark.parametrize(
    ("having", "said"),
    [
        ((), "why"),
        (("a",), "why; the devices of 1 of them would do"),
        (("a", "b"), "why; their devices would do"),
    ],
)
def test_nodes_ruled_out_say_how_many_have_the_devices(having: tuple[str, ...], said: str) -> None:
    reason = Reason(("a", "b"), "why", with_devices=having)
    answer = Answer(Verdict.DOES_NOT_FIT, "no", nodes=2, reasons=(reason,))
    assert f"  2 nodes  {said}\n" in text(answer)


def test_every_node_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_report, "LINES_MAX", 1)
    lines = tuple(NodeLine(name, fits=True, text="fits") for name in ("a", "b", "c"))
    said = text(Answer(Verdict.FITS, "yes", lines=lines))
    assert said.endswith("every node:\n  a  fits\n  and 2 nodes more")


def test_many_devices_and_claims_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_report, "DEVICES_MAX", 2)
    said = told(tmp_path, "claim/c", node("a"), gpus("a", 5), claim("c", request(count=5)))
    assert said.endswith("gpu-1  model H100, memory 80Gi  all of it\n  and 3 more")
    monkeypatch.setattr(explain_report, "HOLDERS_MAX", 1)
    monkeypatch.setattr(explain_report, "REQUESTS_MAX", 1)
    taken = [held(f"x{number}", "a", [f"gpu-{number}"]) for number in range(3)]
    two = claim("c", request("a"), request("b"))
    said = told(tmp_path, "claim/c", node("a"), gpus("a", 3), *taken, two)
    assert "      and 2 more claims\n" in said
    assert "  and 1 more requests\n" in said


# Steps -----------------------------------------------------------------------------------------


def steps(*steps: Step) -> str:
    relaxation = Relaxation((Change(kind=ChangeKind.COUNT, text="do"),))
    answer = Answer(Verdict.DOES_NOT_FIT, "no", suggestions=(Suggestion("n", relaxation, steps),))
    return text(answer)


def test_an_expression_of_several_lines_stays_so() -> None:
    said = steps(Step("DeviceClass c", "spec.selectors[0].cel.expression", "a &&\n  b"))
    assert said.endswith(
        "     DeviceClass c: spec.selectors[0].cel.expression: |-\n       a &&\n         b"
    )


def test_values_are_yaml() -> None:
    said = steps(Step("DeviceClass c", "p", {"value": "79", "effect": "NoSchedule"}))
    assert said.endswith("     DeviceClass c: p: {value: '79', effect: NoSchedule}")
    assert steps(Step("DeviceClass c", "p")).endswith("     DeviceClass c: remove p")
    assert steps(Step(note="only so")).endswith("     only so")


def test_names_that_would_act_on_a_terminal_are_escaped() -> None:
    answer = Answer(Verdict.FITS, "pod \x1b[31m", notes=("a\nb",), nodes=1)
    assert text(answer).startswith("pod \\x1b[31m\n")
    assert "a\\nb" in text(answer)


def test_an_error_is_told_once_and_its_mending_before_the_nodes(tmp_path: Path) -> None:
    wanted = request(selector='device.attributes["gpu.example.com"].modle == "H100"')
    said = told(tmp_path, "claim/c", node("a"), gpus("a", 1), claim("c", wanted))
    assert said.count("no such key") == 1
    assert said.index("did you mean") < said.index("why not")


def test_more_devices_than_a_claim_may_have_are_told_how_many_it_may(tmp_path: Path) -> None:
    said = told(tmp_path, "claim/c", node("a"), gpus("a", 1), claim("c", request(count=1000)))
    assert said.split("\n")[0].endswith("; ask for at most 32 in all")


def test_nobody_is_told_that_nothing_helps_where_a_hint_does(tmp_path: Path) -> None:
    wanted = request(selector='device.driver == "gpu.exmple.com"')
    said = told(tmp_path, "claim/c", node("a"), gpus("a", 1), claim("c", wanted))
    assert ("No change" in said) != ("selectors that look wrong" in said)


def test_a_long_value_is_written_as_people_would_write_it() -> None:
    expression = "device.driver == 'a' &&\ndevice.driver != 'b'"
    value = [{"name": f"choice-{i}", "expression": expression} for i in range(4)]
    lines = list(explain_report._step(Step("Pod ml/train", "spec.things", value)))
    assert lines[0] == "Pod ml/train: spec.things:"
    assert lines[1:5] == [
        "  - name: choice-0",
        "    expression: |-",
        "      device.driver == 'a' &&",
        "      device.driver != 'b'",
    ]


def test_what_would_be_had_is_told_though_the_scheduler_found_no_node(tmp_path: Path) -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "message": "0/2 nodes are available: 2 Insufficient memory.",
    }
    waiting = {**pod("p", "t"), "status": {"conditions": [condition]}}
    fleet = [*(node(name) for name in "ab"), *(gpus(name, 1) for name in "ab")]
    said = told(tmp_path, "pod/p", *fleet, template("t", request()), waiting)
    first, *_ = said.split("\n")
    assert "fit on all 2 nodes; first: a; but the scheduler says: 0/2 nodes" in first
    assert "\non a:\n" in said
    assert "\nalso on b\n" in said
    assert "Not looked at: cpu, memory" in said
