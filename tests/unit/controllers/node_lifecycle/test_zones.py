"""How fast zones may be emptied."""

from __future__ import annotations

import pytest

from dray.api.core import Node
from dray.api.meta import ObjectMeta
from dray.controllers.node_lifecycle.zones import Zones, ZoneState, zone_of
from dray.testing import FakeClock


def nodes(*, ready: int, failed: int) -> list[bool]:
    return [True] * ready + [False] * failed


@pytest.mark.parametrize(
    ("verdicts", "state"),
    [
        pytest.param(nodes(ready=3, failed=0), ZoneState.NORMAL, id="all-well"),
        pytest.param(nodes(ready=1, failed=2), ZoneState.NORMAL, id="two-are-no-sign"),
        pytest.param(nodes(ready=2, failed=3), ZoneState.PARTIAL_DISRUPTION, id="most"),
        pytest.param(nodes(ready=3, failed=3), ZoneState.NORMAL, id="half"),
        pytest.param(nodes(ready=0, failed=1), ZoneState.FULL_DISRUPTION, id="all"),
        pytest.param([], ZoneState.NORMAL, id="none-that-count"),
    ],
)
def test_a_zone_is_judged_by_how_much_of_it_fails(verdicts: list[bool], state: ZoneState) -> None:
    zones = Zones(FakeClock())
    zones.judge({"a": verdicts, "b": [True]})
    assert zones.state("a") is state


def test_a_node_may_be_marked_every_ten_seconds() -> None:
    clock = FakeClock()
    zones = Zones(clock)
    zones.judge({"a": nodes(ready=9, failed=2)})
    assert zones.ask("a", "n1") == 0
    assert zones.ask("a", "n1") == 0, "a permission holds"
    clock.advance(4)
    assert zones.ask("a", "n2") == 6
    clock.advance(6)
    assert zones.ask("a", "n2") == 0
    zones.give_back("n2")
    assert zones.ask("a", "n2") == 10, "a permission is used once"


@pytest.mark.parametrize(
    ("ready", "failed", "seconds"),
    [pytest.param(20, 30, None, id="small-zone"), pytest.param(20, 31, 100, id="large-zone")],
)
def test_much_trouble_slows_a_large_zone_and_stops_a_small_one(
    ready: int, failed: int, seconds: float | None
) -> None:
    clock = FakeClock()
    zones = Zones(clock)
    zones.judge({"a": nodes(ready=ready, failed=failed)})
    zones.ask("a", "n1")
    assert zones.ask("a", "n2") == seconds


def test_a_zone_that_fails_alone_is_emptied_and_all_that_fail_together_are_not() -> None:
    zones = Zones(FakeClock())
    assert not zones.judge({"a": nodes(ready=0, failed=5), "b": [True]})
    assert not zones.all_disrupted
    assert zones.ask("a", "n1") == 0
    assert not zones.judge({"a": nodes(ready=0, failed=5), "b": [False], "c": []})
    assert zones.all_disrupted
    assert zones.ask("a", "n2") is None
    assert zones.judge({"a": nodes(ready=1, failed=4), "b": [False]}), "something is well again"
    assert not zones.all_disrupted


def test_a_cluster_without_nodes_is_not_in_trouble() -> None:
    zones = Zones(FakeClock())
    zones.judge({})
    assert not zones.all_disrupted
    assert zones.state("a") is ZoneState.INITIAL


@pytest.mark.parametrize(
    ("labels", "zone"),
    [
        ({}, ""),
        ({"topology.kubernetes.io/zone": "z"}, ":\0:z"),
        ({"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z"}, "r:\0:z"),
        ({"failure-domain.beta.kubernetes.io/zone": "old"}, ":\0:old"),
    ],
)
def test_nodes_are_in_the_zone_that_their_labels_name(labels: dict[str, str], zone: str) -> None:
    assert zone_of(Node(metadata=ObjectMeta(name="n1", labels=labels))) == zone
