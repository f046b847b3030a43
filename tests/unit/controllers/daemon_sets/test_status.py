"""What daemon sets say."""

from __future__ import annotations

from dray.api.core import Taint
from dray.controllers.daemon_sets.status import current_status
from tests.unit.controllers.daemon_sets.daemon_parts import (
    make_daemon_set,
    make_node,
    make_pod,
    make_scene,
)


def test_nodes_are_counted_by_what_is_on_them() -> None:
    tainted = make_node("bad", taints=[Taint(key="x", effect="NoSchedule")])
    daemon_set = make_daemon_set(min_ready_seconds=60)
    pods = [
        make_pod("a", "n1", age=100),
        make_pod("b", "n2", new=False, age=10),
        make_pod("c", "n3", ready=False),
        make_pod("d", "bad"),
    ]
    status = current_status(make_scene(pods, ["n1", "n2", "n3", "n4", tainted], daemon_set))
    assert (status.desired_number_scheduled, status.current_number_scheduled) == (4, 3)
    assert (status.number_misscheduled, status.number_ready) == (1, 2)
    assert (status.number_available, status.number_unavailable) == (1, 3)
    assert status.updated_number_scheduled == 2


def test_of_two_pods_on_a_node_the_oldest_counts() -> None:
    pods = [make_pod("new", "n1", ready=False), make_pod("old", "n1", new=False, age=9)]
    status = current_status(make_scene(pods, ["n1"]))
    assert (status.number_ready, status.updated_number_scheduled) == (1, 0)
