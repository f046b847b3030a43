"""When nodes were last heard of."""

from __future__ import annotations

from datetime import timedelta

from dray.api.coordination import Lease, LeaseSpec
from dray.api.core import Node, NodeCondition, NodeStatus
from dray.api.meta import ObjectMeta
from dray.api.wire import MicroTime, Time
from dray.controllers.node_lifecycle.health import HealthBook, node_condition
from dray.testing import FakeClock


def node(clock: FakeClock, *, heartbeat: float | None) -> Node:
    conditions: tuple[NodeCondition, ...] = ()
    if heartbeat is not None:
        said = Time(clock.now() + timedelta(seconds=heartbeat))
        conditions = (NodeCondition(type="Ready", status="True", last_heartbeat_time=said),)
    metadata = ObjectMeta(name="n1", creation_timestamp=Time(clock.now()))
    return Node(metadata=metadata, status=NodeStatus(conditions=conditions))


def lease(clock: FakeClock) -> Lease:
    return Lease(spec=LeaseSpec(renew_time=MicroTime(clock.now())))


def test_any_change_of_the_heartbeat_is_a_sign_of_life_whatever_time_it_names() -> None:
    clock = FakeClock()
    book = HealthBook(clock)
    book.note(node(clock, heartbeat=0), None)
    late = node(clock, heartbeat=-3600)
    clock.advance(10)
    book.note(late, None)
    assert book.silent_seconds("n1") == 0
    clock.advance(10)
    book.note(late, None)
    assert book.silent_seconds("n1") == 10


def test_a_lease_counts_when_it_was_renewed() -> None:
    clock = FakeClock()
    book = HealthBook(clock)
    quiet = node(clock, heartbeat=0)
    first = lease(clock)
    book.note(quiet, first)
    clock.advance(10)
    book.note(quiet, first)
    assert book.silent_seconds("n1") == 10
    assert book.is_news("n1", lease(clock))
    book.note(quiet, lease(clock))
    assert book.silent_seconds("n1") == 0
    assert not book.is_news("n1", lease(clock))
    assert not book.is_news("n1", Lease()), "it was never renewed"


def test_a_node_that_never_spoke_has_been_silent_since_it_was_created() -> None:
    clock = FakeClock()
    book = HealthBook(clock)
    mute = node(clock, heartbeat=None)
    clock.advance(40)
    book.note(mute, None)
    assert book.silent_seconds("n1") == 40
    book.note(node(clock, heartbeat=0), None)
    assert book.silent_seconds("n1") == 0


def test_all_can_be_given_another_chance_and_one_be_forgotten() -> None:
    clock = FakeClock()
    book = HealthBook(clock)
    quiet = node(clock, heartbeat=0)
    book.note(quiet, None)
    clock.advance(40)
    book.refresh()
    assert book.silent_seconds("n1") == 0
    clock.advance(40)
    book.forget("n1")
    book.note(quiet, None)
    assert book.silent_seconds("n1") == 0


def test_a_condition_is_found_by_its_type() -> None:
    found = node(FakeClock(), heartbeat=0)
    assert node_condition(found, "Ready") is found.status.conditions[0]
    assert node_condition(found, "DiskPressure") is None
