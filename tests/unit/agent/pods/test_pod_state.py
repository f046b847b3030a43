"""What the runtime shows of one pod."""

from __future__ import annotations

from datetime import UTC, datetime

from dray.agent.pods.pod_state import NOTHING, Look, PodState
from dray.agent.runtimes.runtime import Container, ContainerState, PodIdentity, Sandbox

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POD = PodIdentity("default", "web", "uid")
OTHER = PodIdentity("default", "other", "uid-2")


def box(attempt: int, *, ready: bool, pod: PodIdentity = POD) -> Sandbox:
    return Sandbox(f"{pod.name}-{attempt}", pod, attempt, ready=ready, created_at=NOW)


def container(name: str, attempt: int, box_id: str, pod: PodIdentity = POD) -> Container:
    state = ContainerState.RUNNING
    return Container(f"{name}-{attempt}", box_id, pod, name, attempt, state, "image")


def test_the_newest_comes_first() -> None:
    state = PodState.of(
        [box(0, ready=False), box(1, ready=True)],
        [container("a", 0, "web-0"), container("a", 2, "web-1"), container("a", 1, "web-0")],
    )
    assert state.sandbox is not None
    assert state.sandbox.attempt == 1
    assert [one.attempt for one in state.history("a")] == [2, 1, 0]
    assert state.latest("b") is None


def test_only_the_newest_sandbox_will_do_and_only_alone() -> None:
    assert PodState.of([box(0, ready=True), box(1, ready=False)], ()).sandbox is None
    assert PodState.of([box(0, ready=True), box(1, ready=True)], ()).sandbox is None
    assert PodState.of([], ()).sandbox is None


def test_active_containers_are_those_of_the_present_sandbox() -> None:
    boxes = [box(0, ready=False), box(1, ready=True)]
    old, new = container("old", 0, "web-0"), container("new", 0, "web-1")
    state = PodState.of(boxes, [old, new])
    assert (state.active("new"), state.active("old")) == (new, None)
    assert set(state.running) == {old, new}


def test_a_listing_is_sorted_by_pods_also_containers_without_sandbox() -> None:
    look = Look([box(0, ready=True)], [container("x", 0, "other-0", OTHER)])
    assert set(look.pods) == {POD, OTHER}
    assert look.state(OTHER.uid).latest("x") is not None
    assert look.state("nobody") is NOTHING
