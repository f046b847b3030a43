"""Pods by their labels."""

from __future__ import annotations

from dray.api.labels import Selector
from dray.api.wire import Time
from dray.scheduler.pod_index import PodIndex
from tests.unit.scheduler.builders import info

GONE_SOON = {"deletion_timestamp": Time.parse("2026-01-31T12:00:00Z")}
WEB = Selector.parse("app=web")


def test_pods_with_the_same_labels_are_one_group() -> None:
    index = PodIndex()
    index.add(info("a", labels={"app": "web"}), "n")
    index.add(info("b", labels={"app": "web"}), "n")
    index.add(info("c", labels={"app": "web"}), "m")
    index.add(info("d", labels={"app": "db"}), "m")
    (group,) = index.select("default", WEB)
    assert group.counts == {"n": 2, "m": 1}


def test_namespaces_and_terminating_pods_are_groups_of_their_own() -> None:
    index = PodIndex()
    index.add(info("a", labels={"app": "web"}), "n")
    index.add(info("b", labels={"app": "web"}, metadata=GONE_SOON), "n")
    index.add(info("c", labels={"app": "web"}, namespace="other"), "n")
    assert [group.terminating for group in index.select("default", WEB)] == [False, True]
    assert list(index.namespaces()) == ["default", "other"]


def test_nothing_is_left_of_pods_that_left() -> None:
    index = PodIndex()
    one = info("a", labels={"app": "web"})
    index.add(one, "n")
    index.remove(one, "n")
    assert not list(index.namespaces())
    assert not list(index.select("default", WEB))
