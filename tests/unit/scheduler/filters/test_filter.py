"""What filters are asked, and what they answer."""

from __future__ import annotations

from dray.scheduler.feasibility import default_filters
from dray.scheduler.filters.filter import Attempt, Rejection
from tests.unit.scheduler.builders import info, node, snapshot


def test_every_filter_has_upstreams_name_and_one_of_its_own() -> None:
    names = [each.name for each in default_filters()]
    assert len(set(names)) == len(names)
    assert {"NodeResourcesFit", "TaintToleration", "InterPodAffinity"} <= set(names)


def test_a_plain_pod_gives_few_filters_anything_to_ask() -> None:
    attempt = Attempt(info(), snapshot(node("n")))
    asking = [each.name for each in default_filters() if each.prepare(attempt) is not None]
    assert "InterPodAffinity" not in asking
    assert "PodTopologySpread" not in asking
    assert "NodePorts" not in asking


def test_a_rejection_says_who_and_why() -> None:
    rejection = Rejection("NodeName", ("elsewhere",), resolvable=False)
    assert (rejection.plugin, rejection.reasons) == ("NodeName", ("elsewhere",))
