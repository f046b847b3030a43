"""Only the plugins that rejected a pod are asked, and unknown ones count as interested."""

from __future__ import annotations

import pytest

from dray.api.core import Pod
from dray.scheduler.cluster_events import NODE, RESOURCE_SLICE, Action, ClusterEvent, Interest
from dray.scheduler.interests import Interests
from tests.unit.scheduler.queued import node_added, pod

POD = pod("a")


def never(_: Pod, __: ClusterEvent) -> bool:
    return False


INTERESTS = Interests(
    {
        "Always": {NODE: None},
        "Never": {NODE: never},
        "Labels": {NODE: Interest(Action.LABELS)},
        "Slices": {RESOURCE_SLICE: None},
    }
)


@pytest.mark.parametrize(
    ("rejectors", "worth"),
    [
        pytest.param({"Always"}, True, id="no-hint-is-always"),
        pytest.param({"Never"}, False, id="a-hint-decides"),
        pytest.param({"Never", "Always"}, True, id="one-is-enough"),
        pytest.param({"Labels"}, False, id="another-action"),
        pytest.param({"Slices"}, False, id="another-resource"),
        pytest.param({"Unheard"}, True, id="unknown-plugin"),
    ],
)
def test_whether_a_new_node_is_worth_another_try(rejectors: set[str], worth: bool) -> None:
    assert INTERESTS.worth(POD, frozenset(rejectors), node_added()) is worth


def test_an_event_concerns_those_who_care_for_what_was_done() -> None:
    event = ClusterEvent(NODE, Action.TAINTS)
    assert [each.plugin for each in INTERESTS.listening_to(event)] == ["Always", "Never"]
    event = ClusterEvent(NODE, Action.UPDATE)
    assert [each.plugin for each in INTERESTS.listening_to(event)] == ["Always", "Never", "Labels"]
