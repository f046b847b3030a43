from __future__ import annotations

from pathlib import Path
from typing import Any

from dray.allocator.answers import NodeReport, RequestReport
from dray.cli.explain_answer import Reason
from dray.cli.explain_reasons import closest_first, combined, excluded, text_of
from dray.cli.explain_survey import Finding
from dray.cli.snapshot import Against, Place

from .explain_dumps import claim, device_class, explain, gpus, held, node, request


def reasons(tmp_path: Path, *objects: dict[str, Any]) -> tuple[Reason, ...]:
    return explain(tmp_path, "claim/mine", device_class(), *objects).reasons


def report(free: int, candidates: int, *, needed: int = 4, name: str = "n") -> NodeReport:
    one = RequestReport("ml/c", "gpu", None, needed, needed, 8, candidates, free, ())
    return NodeReport(name, (one,))


# Counting --------------------------------------------------------------------------------------


def test_nodes_with_one_reason_are_counted_together_and_the_most_come_first(tmp_path: Path) -> None:
    found = reasons(
        tmp_path,
        *(node(name) for name in "abc"),
        gpus("a", 1),
        *(gpus(name, 2) for name in "bc"),
        held("x", "b", ["gpu-0"]),
        held("y", "c", ["gpu-1"]),
        claim("mine", request(count=2)),
    )
    assert [(one.nodes, one.text) for one in found] == [
        (("b", "c"), "request gpu: 2 devices: 1 free, 1 in use; 2 wanted"),
        (("a",), "request gpu: 1 device: 1 free; 2 wanted"),
    ]


def test_a_reason_of_one_node_names_whose_the_devices_are(tmp_path: Path) -> None:
    (found,) = reasons(tmp_path, node("a"), gpus("a", 1), held("x", "a", ["gpu-0"]), claim("mine"))
    assert found.text == "request gpu: 1 device: 1 in use by ml/x; 1 wanted"


def test_pools_that_are_incomplete_have_no_names_where_several_nodes_are_meant(
    tmp_path: Path,
) -> None:
    pools = [
        gpus(name, 1, pool={"name": name, "generation": 1, "resourceSliceCount": 2})
        for name in "ab"
    ]
    (found,) = reasons(tmp_path, node("a"), node("b"), *pools, claim("mine"))
    assert found.text == (
        "request gpu: no devices; 1 wanted; a pool of gpu.example.com is incomplete (1 of 2 slices)"
    )


def test_amounts_have_no_holders_where_several_nodes_are_meant(tmp_path: Path) -> None:
    shared = []
    for name in "ab":
        one = gpus(name, 1)
        one["spec"]["devices"][0]["allowMultipleAllocations"] = True
        taken = held(f"of-{name}", name, ["gpu-0"])
        taken["status"]["allocation"]["devices"]["results"][0] |= {
            "shareID": "00000000-0000-4000-8000-000000000001",
            "consumedCapacity": {"memory": "60Gi"},
        }
        shared += [node(name), one, taken]
    mine = claim("mine", request(capacity={"requests": {"memory": "40Gi"}}))
    (found,) = reasons(tmp_path, *shared, mine)
    assert found.text == (
        "request gpu: 1 device: 1 with less than 40Gi memory (at most 20Gi left of 80Gi); 1 wanted"
    )


def test_errors_are_the_same_whichever_device_they_are_from() -> None:
    findings = [
        Finding((name,), error=f"claim c: selector #0 on device d/{name}/gpu-0: no such key")
        for name in "ab"
    ]
    (found,) = combined(findings, ["b", "a"])
    assert found.nodes == ("b", "a")
    assert found.text == "cannot be judged: claim c: selector #0: no such key"
    assert found.error == "claim c: selector #0 on device d/b/gpu-0: no such key"


def test_nodes_too_many_to_tell_apart_are_counted() -> None:
    (found,) = combined([Finding(("a", "b")), Finding(("c",))], ["a", "b", "c"])
    assert len(found.nodes) == 3
    assert "too many kinds" in found.text


def test_nodes_ruled_out_are_counted_by_what_rules_them_out() -> None:
    places = [
        Place("a", Against.TAINT, "untolerated taint x"),
        Place("b"),
        Place("c", Against.TAINT, "untolerated taint x"),
        Place("d", Against.UNSCHEDULABLE, "is unschedulable"),
    ]
    found = excluded(places, having=["c"])
    assert [(one.nodes, one.with_devices) for one in found] == [(("a", "c"), ("c",)), (("d",), ())]


# Nearness --------------------------------------------------------------------------------------


def test_the_node_that_lacks_least_is_closest() -> None:
    bare, busy, half, all_taken = (
        report(0, 0, name="bare"),
        report(0, 8, name="busy"),
        report(2, 2, name="half"),
        report(0, 4, name="all-taken"),
    )
    order = closest_first([bare, busy, half, all_taken])
    assert [one.node for one in order] == ["half", "busy", "all-taken", "bare"]


def test_more_requests_served_is_closer_than_fewer_devices_missing() -> None:
    def both(name: str, first: int, second: int) -> NodeReport:
        requests = [
            RequestReport("ml/c", "r", None, 4, 4, 8, free, free, (), (0, place))
            for place, free in enumerate((first, second))
        ]
        return NodeReport(name, tuple(requests))

    order = closest_first([both("two-short", 3, 3), both("one-short", 4, 0)])
    assert order[0].node == "one-short"


def test_a_node_with_the_wanted_driver_is_closer_than_one_with_other_devices(
    tmp_path: Path,
) -> None:
    answer = explain(
        tmp_path,
        "claim/mine",
        device_class(),
        node("other"),
        node("mine"),
        gpus("other", 4, driver="net.example.com"),
        gpus("mine", 1, "A100"),
        claim("mine", request(selector='device.attributes["gpu.example.com"].model == "H100"')),
    )
    assert answer.closest is not None
    assert answer.closest.node == "mine"


def test_some_of_all_is_closer_than_all_of_none() -> None:
    def wanting_all(name: str, needed: int, free: int) -> NodeReport:
        one = RequestReport("ml/c", "gpu", None, "all", needed, 4, needed, free, ())
        return NodeReport(name, (one,))

    order = closest_first([wanting_all("none", 0, 0), wanting_all("some", 4, 1)])
    assert order[0].node == "some"


def test_of_alternatives_the_best_counts() -> None:
    alternatives = [
        RequestReport("ml/c", f"r/{number}", number, 4, 4, 8, free, free, ())
        for number, free in enumerate((0, 3))
    ]
    order = closest_first([report(2, 2, name="two"), NodeReport("three", tuple(alternatives))])
    assert order[0].node == "three"


# Texts -----------------------------------------------------------------------------------------


def test_a_reason_tells_a_few_alternatives_and_counts_the_rest() -> None:
    alternatives = [
        RequestReport("ml/c", f"r/{number}", number, 4, 4, 8, 0, 0, ()) for number in range(3)
    ]
    two = NodeReport("n", tuple(alternatives[:2]))
    assert "; or r/1: 8 devices" in text_of(two, shared=True)
    three = NodeReport("n", tuple(alternatives))
    assert text_of(three, shared=True).endswith("nor does any of 2 other alternatives fit")


def test_a_reason_names_the_claim_where_there_are_several() -> None:
    requests = [
        RequestReport(f"ml/{name}", "gpu", None, 4, 4, 0, 0, 0, (), (place, 0))
        for place, name in enumerate("ab")
    ]
    found = NodeReport("n", tuple(requests))
    assert text_of(found, shared=True) == "claim ml/a, request gpu: no devices; 4 wanted"


def serials(where: str, *values: str) -> dict[str, Any]:
    found = gpus(where, len(values))
    for device, value in zip(found["spec"]["devices"], values, strict=True):
        device["attributes"]["serial"] = {"string": value}
    return found


def test_values_that_differ_between_nodes_are_not_told_of_them_all(tmp_path: Path) -> None:
    wanted = request(selector='device.attributes["gpu.example.com"].serial == "z"')
    (found,) = reasons(
        tmp_path,
        *(node(name) for name in "abcdefghijklmn"),
        *(serials(name, f"{name}-0") for name in "abcdefghijklmn"),
        claim("mine", wanted),
    )
    assert len(found.nodes) == 14
    assert "a-0" not in found.text
    assert found.text.startswith("request gpu: 1 device: 1 not matching (device.attributes")
