from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dray.cli import explain_survey
from dray.cli.explain_survey import DeviceSurvey, allocator_for

from .explain_dumps import claim, device_class, gpus, held, load, node, pod, request


def survey(tmp_path: Path, subject: str, *objects: dict[str, Any]) -> DeviceSurvey:
    snapshot = load(tmp_path, list(objects))
    found = snapshot.subject(subject, "ml")
    return DeviceSurvey(allocator_for(snapshot), found, snapshot.nodes.values())


FLEET = [
    device_class(),
    *(node(name) for name in "abcd"),
    *(gpus(name, 2) for name in "acd"),
    held("taken", "c", ["gpu-0"]),
]


def test_nodes_that_are_alike_are_one_finding(tmp_path: Path) -> None:
    found = survey(tmp_path, "claim/two", *FLEET, claim("two", request(count=2)))
    assert [(one.nodes, one.fits) for one in found.findings] == [
        (("a", "d"), True),
        (("b",), False),
        (("c",), False),
    ]
    assert found.fitting == ("a", "d")


def test_a_node_has_its_own_names_in_its_answer(tmp_path: Path) -> None:
    found = survey(tmp_path, "claim/two", *FLEET, claim("two", request(count=2)))
    allocation = found.allocation("d")
    assert allocation is not None
    assert [one.pool for one in allocation.results[0].devices.results] == ["d", "d"]
    report = found.on("c").report
    assert report is not None
    assert "in use by ml/taken" in report.summary
    assert found.allocation("c") is None


def test_what_cannot_be_judged_says_so_on_the_nodes_where_it_is_met(tmp_path: Path) -> None:
    wrong = claim("wrong", request(selector='device.attributes["x.io"].a'))
    found = survey(tmp_path, "claim/wrong", *FLEET, wrong)
    assert {one.nodes: bool(one.error) for one in found.findings} == {
        ("a", "d"): True,
        ("b",): False,
        ("c",): True,
    }
    assert found.on("a").error


def test_a_node_that_makes_no_sense_is_told_alone(tmp_path: Path) -> None:
    term = {"matchExpressions": [{"key": "a b", "operator": "In", "values": ["x"]}]}
    odd = gpus("odd", 1, nodeSelector={"nodeSelectorTerms": [term]})
    del odd["spec"]["nodeName"]
    found = survey(tmp_path, "claim/two", *FLEET, odd, claim("two"))
    assert [len(one.nodes) for one in found.findings] == [1, 1, 1, 1]
    assert all(one.error for one in found.findings)


def test_beyond_a_limit_kinds_of_nodes_are_counted_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain_survey, "REPORTS_MAX", 1)
    found = survey(tmp_path, "claim/many", *FLEET, claim("many", request(count=9)))
    assert [one.report is not None for one in found.findings] == [True, False, False]


def test_nodes_with_a_device_plugin_are_asked_for_the_rest_only(tmp_path: Path) -> None:
    resource = "example.com/gpu"
    found = survey(
        tmp_path,
        "pod/p",
        device_class(extendedResourceName=resource),
        node("plugin", allocatable={resource: "4"}),
        node("dra"),
        gpus("dra", 2),
        node("bare"),
        pod("p", limits={resource: "2"}),
    )
    assert found.fitting == ("plugin", "dra")
    assert found.claims_on("plugin") == ()
    assert found.allocation("plugin") is None
    assert len(found.claims_on("dra")) == 1
