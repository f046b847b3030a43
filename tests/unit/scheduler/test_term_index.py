"""Terms that pods hold."""

from __future__ import annotations

from dray.api.labels import Selector
from dray.scheduler.pod_info import AffinityTerm, Leaning
from dray.scheduler.term_index import TermIndex
from tests.unit.scheduler.builders import HOSTNAME, info

WEB = Selector.parse("app=web")
NAMED = Leaning(AffinityTerm(HOSTNAME, WEB, frozenset({"one", "two"}), Selector.nothing()), 1)
SELECTING = Leaning(AffinityTerm(HOSTNAME, WEB, frozenset(), Selector.parse("team=b")), 1)


def found(index: TermIndex, namespace: str, **labels: str) -> list[Leaning]:
    pod = info(namespace=namespace, labels=labels)
    return [each.leaning for each in index.meaning(pod, {"blue": {"team": "b"}})]


def test_terms_are_found_by_the_pods_they_mean() -> None:
    index = TermIndex()
    index.add(NAMED, "n")
    index.add(SELECTING, "n")
    assert found(index, "one", app="web") == [NAMED]
    assert found(index, "blue", app="web") == [SELECTING]
    assert found(index, "three", app="web") == []
    assert found(index, "one", app="db") == []


def test_equal_terms_are_counted_by_node() -> None:
    index = TermIndex()
    for name in ("n", "m", "n"):
        index.add(NAMED, name)
    (held,) = index
    assert held.counts == {"n": 2, "m": 1}


def test_nothing_is_left_of_terms_that_nobody_holds() -> None:
    index = TermIndex()
    for leaning in (NAMED, SELECTING):
        index.add(leaning, "n")
        index.add(leaning, "n")
    for leaning in (NAMED, SELECTING):
        index.remove(leaning, "n")
        assert len(index) == 2
    for leaning in (NAMED, SELECTING):
        index.remove(leaning, "n")
    assert len(index) == 0
    assert found(index, "one", app="web") == found(index, "blue", app="web") == []
