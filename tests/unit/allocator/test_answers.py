"""What a "no" says of itself, and what is alike about two of them."""

from __future__ import annotations

import pytest

from dray.allocator import Unsatisfiable
from dray.allocator.answers import (
    Cause,
    Conflict,
    ConflictKind,
    Exclusion,
    HolderFacts,
    NodeReport,
    PoolTrouble,
    RequestReport,
    TaintFacts,
)
from dray.allocator.occupancy import PoolID
from dray.api.resource import DeviceID
from tests.unit.allocator.builders import claim, device, request, slice_, taint
from tests.unit.allocator.reporting import allocator, gpus, refused, report


def in_use(count: int, *holders: str, pool: str = "pool-1") -> Exclusion:
    return Exclusion(
        Cause.IN_USE,
        count,
        (DeviceID("gpu.example.com", pool, "gpu-0"),),
        f"{count} in use by {', '.join(holders)}",
        HolderFacts(tuple((holder, 1) for holder in holders)),
    )


def tainted(count: int, key: str = "broken") -> Exclusion:
    return Exclusion(
        Cause.TAINT, count, (), f"{count} tainted {key}", TaintFacts(key, "", "NoSchedule")
    )


def about(request: str = "gpu", *exclusions: Exclusion, **fields: object) -> RequestReport:
    usual: dict[str, object] = {
        "claim": "ml/train",
        "alternative": None,
        "wanted": 1,
        "needed": 1,
        "devices": sum(exclusion.count for exclusion in exclusions),
        "candidates": 0,
        "free": 0,
    }
    return RequestReport(request=request, exclusions=exclusions, **{**usual, **fields})  # type: ignore[arg-type]


def test_a_report_is_worked_out_when_it_is_read_and_only_once() -> None:
    made = []

    def explain() -> NodeReport:
        made.append(1)
        return NodeReport("node-1")

    answer = Unsatisfiable("node-1", 5, explain=explain)
    assert not made
    assert answer.report is answer.report
    assert made == [1]


def test_answers_are_equal_whatever_there_is_to_explain() -> None:
    assert Unsatisfiable("node-1", 5, explain=lambda: NodeReport("a")) == Unsatisfiable("node-1", 5)


def test_an_answer_made_by_hand_has_a_report_too() -> None:
    report = Unsatisfiable("node-1", 5, undecided=True).report
    assert (report.node, report.undecided) == ("node-1", True)


def test_a_summary_names_what_stops_the_first_request_that_is_short() -> None:
    node = NodeReport(
        "node-1",
        (
            about("nic", free=1, devices=1),
            about("gpu", in_use(6, "ml/a", "ml/b"), tainted(2), place=(0, 1)),
        ),
    )
    assert node.summary == (
        "request gpu: 8 devices: 6 in use by ml/a, ml/b, 2 tainted broken; 1 wanted"
    )


def test_a_summary_names_the_claim_where_there_are_several() -> None:
    node = NodeReport(
        "node-1",
        (about("a", free=1, devices=1), about("b", claim="ml/other", place=(1, 0))),
    )
    assert node.summary == "claim ml/other, request b: no devices; 1 wanted"


def test_a_summary_tells_two_alternatives_and_counts_more() -> None:
    alternatives = tuple(about(f"gpu/{name}", alternative=n) for n, name in enumerate("abc"))
    two = NodeReport("node-1", alternatives[:2]).summary
    assert two == "request gpu/a: no devices; 1 wanted; or gpu/b: no devices; 1 wanted"
    three = NodeReport("node-1", alternatives).summary
    assert three == (
        "request gpu/a: no devices; 1 wanted; nor does any of 2 other alternatives fit"
    )


def test_a_request_is_not_short_while_one_alternative_has_devices() -> None:
    conflict = Conflict(ConflictKind.DEVICES, (("ml/train", "gpu"),), "not together")
    alternatives = (about("gpu/a", alternative=0), about("gpu/b", alternative=1, free=1))
    assert NodeReport("node-1", alternatives, (conflict,)).summary == "not together"


@pytest.mark.parametrize(
    ("report", "summary"),
    [
        pytest.param(NodeReport("n", undecided=True), "given up", id="undecided"),
        pytest.param(
            NodeReport("n", pools=(PoolTrouble(PoolID("d", "p"), "pool d/p is incomplete"),)),
            "pool d/p is incomplete",
            id="pool",
        ),
        pytest.param(NodeReport("n"), "no combination", id="nothing-found"),
    ],
)
def test_where_no_request_is_short_something_else_is_said(report: NodeReport, summary: str) -> None:
    assert summary in report.summary


@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        pytest.param({"free": 2, "wanted": 4, "needed": 4}, "2 free, 4 wanted", id="some"),
        pytest.param({"wanted": 4, "needed": 4}, "none free, 4 wanted", id="none"),
        pytest.param({"free": 5, "wanted": "all", "needed": 8}, "5 free, all 8 wanted", id="all"),
        pytest.param(
            {"wanted": "all", "needed": 0}, "none free, all wanted, and there are none", id="empty"
        ),
    ],
)
def test_a_request_says_what_it_has_and_what_it_wants(
    fields: dict[str, object], summary: str
) -> None:
    request = about("gpu", **fields)
    assert request.short
    assert request.summary == summary


def test_reports_have_the_same_key_if_only_names_differ() -> None:
    here = NodeReport(
        "node-1",
        (about("gpu", in_use(2, "ml/a", "ml/b")),),
        pools=(PoolTrouble(PoolID("gpu.example.com", "node-1"), "", "duplicate device name x"),),
    )
    there = NodeReport(
        "node-2",
        (about("gpu", in_use(2, "ml/c", "ml/d", pool="node-2")),),
        pools=(PoolTrouble(PoolID("gpu.example.com", "node-2"), "", "duplicate device name y"),),
    )
    assert here.key == there.key
    assert hash(here.key) == hash(there.key)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(about("gpu", in_use(3, "ml/a", "ml/b")), id="number-of-devices"),
        pytest.param(about("gpu", in_use(2, "ml/a")), id="number-of-holders"),
        pytest.param(about("gpu", tainted(2)), id="cause"),
        pytest.param(about("nic", in_use(2, "ml/a", "ml/b")), id="request"),
        pytest.param(about("gpu", in_use(2, "ml/a", "ml/b"), wanted=2), id="wanted"),
    ],
)
def test_reports_have_different_keys_if_they_say_something_else(other: RequestReport) -> None:
    one = NodeReport("node-1", (about("gpu", in_use(2, "ml/a", "ml/b")),))
    assert one.key != NodeReport("node-1", (other,)).key


def test_nothing_is_explained_unless_somebody_asks() -> None:
    answer = refused(allocator(slice_(*gpus(1))), claim(request(count=2)))
    assert "report" not in vars(answer)
    assert answer.report.requests
    assert "report" in vars(answer)


def test_a_search_that_was_given_up_says_so() -> None:
    few = allocator(slice_(*gpus(4)), steps_max=1)
    answer = refused(few, claim(request("a", count=2), request("b", count=2)))
    assert answer.undecided
    assert answer.report.undecided
    assert "given up" in answer.report.summary


def test_nodes_that_differ_in_names_only_have_one_key() -> None:
    def key(name: str, holder: str) -> object:
        devices = [device(f"{name}-{n}", taints=(taint(),) if n else ()) for n in range(3)]
        by = allocator(slice_(*devices), held={holder: [f"{name}-0"]})
        return report(by).key

    assert key("x", "ml/a") == key("y", "ml/b")
