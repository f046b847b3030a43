"""Room that is being made for a pod is its own."""

from __future__ import annotations

from dray.api.core import Pod, PodSpec
from dray.api.meta import ObjectMeta
from dray.scheduler.nominations import Nominations
from dray.scheduler.pod_info import PodInfo


def pod(name: str, priority: int = 0) -> PodInfo:
    metadata = ObjectMeta(name=name, namespace="default", uid=name)
    return PodInfo.of(Pod(metadata=metadata, spec=PodSpec(priority=priority)))


def test_pods_leave_room_to_those_of_at_least_their_priority() -> None:
    nominations = Nominations()
    urgent = pod("urgent", 10)
    nominations.add(urgent, "node-1")
    assert nominations.ahead_of(pod("low", 1), "node-1") == [urgent]
    assert nominations.ahead_of(pod("equal", 10), "node-1") == [urgent]
    assert nominations.ahead_of(pod("higher", 11), "node-1") == []
    assert nominations.ahead_of(urgent, "node-1") == [], "it does not keep itself out"
    assert nominations.ahead_of(pod("low", 1), "node-2") == []


def test_a_pod_is_meant_for_one_node() -> None:
    nominations = Nominations()
    urgent = pod("urgent", 10)
    nominations.add(urgent, "node-1")
    nominations.add(urgent, "node-2")
    assert nominations.node_of("urgent") == "node-2"
    assert nominations.node_of("other") is None
    assert nominations.claims_of("urgent") == ()
    assert nominations.uids("node-1") == ()
    assert nominations.uids("node-2") == nominations.uids() == ("urgent",)
    assert nominations.remove("urgent")
    assert not nominations.remove("urgent")
    assert not nominations
