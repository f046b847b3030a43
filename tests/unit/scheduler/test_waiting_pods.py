"""An event reaches the pods that it may help, and asks no more hints than it must."""

from __future__ import annotations

from dray.api.core import Pod
from dray.errors import ParseError
from dray.scheduler.cluster_events import (
    NODE,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
    ClusterEvent,
    Interest,
)
from dray.scheduler.interests import Interests
from dray.scheduler.queued_pod import QueuedPod
from dray.scheduler.waiting_pods import WaitingPods
from tests.unit.scheduler.queued import node_added, pod, queued

EVERYTHING = Action.ADD | Action.UPDATE | Action.DELETE


class Asked:
    """A hint that remembers whom it was asked about."""

    def __init__(self, *helped: str) -> None:
        self.names: list[str] = []
        self._helped = helped

    def __call__(self, pod: Pod, _: ClusterEvent) -> bool:
        self.names.append(pod.metadata.name)
        return pod.metadata.name in self._helped


def names(pods: list[QueuedPod]) -> list[str]:
    return [each.uid for each in pods]


def label(pod: Pod) -> str:
    return pod.metadata.labels.get("app", "")


def labelled(name: str, app: str) -> QueuedPod:
    return QueuedPod.of(pod(name, labels={"app": app}), 0.0)


def test_pods_of_other_plugins_are_not_asked() -> None:
    fit, taints = Asked("a"), Asked("b")
    waiting = WaitingPods(Interests({"Fit": {NODE: fit}, "Taints": {RESOURCE_SLICE: taints}}))
    waiting.add(queued("a"), ["Fit"])
    waiting.add(queued("b"), ["Taints"])
    assert names(waiting.woken_by(node_added())) == ["a"]
    assert (fit.names, taints.names) == (["a"], [])


def test_a_pod_that_one_plugin_wakes_is_not_asked_about_again() -> None:
    second = Asked()
    waiting = WaitingPods(Interests({"First": {NODE: None}, "Second": {NODE: second}}))
    waiting.add(queued("a"), ["First", "Second"])
    assert names(waiting.woken_by(node_added())) == ["a"]
    assert not second.names


def test_one_pod_answers_for_all_of_its_shape() -> None:
    hint = Asked("web-0")
    waiting = WaitingPods(Interests({"Fit": {NODE: Interest(EVERYTHING, hint, shape=label)}}))
    for app in ("web", "db"):
        for number in range(100):
            waiting.add(labelled(f"{app}-{number}", app), ["Fit"])
    assert names(waiting.woken_by(node_added())) == [f"web-{number}" for number in range(100)]
    assert hint.names == ["web-0", "db-0"]


def test_a_shape_without_a_hash_is_that_of_one_pod() -> None:
    hint = Asked("a", "b")
    unhashable = Interest(EVERYTHING, hint, shape=lambda pod: ([pod.metadata.labels],))
    waiting = WaitingPods(Interests({"Fit": {NODE: unhashable}}))
    for name in ("a", "b"):
        waiting.add(labelled(name, "x"), ["Fit"])
    assert names(waiting.woken_by(node_added())) == ["a", "b"]
    assert hint.names == ["a", "b"]


def test_who_cannot_be_judged_is_woken() -> None:
    def fail(*_: object) -> bool:
        raise ParseError("x", "is not readable")

    waiting = WaitingPods(
        Interests(
            {
                "Asking": {NODE: fail},
                "Shaping": {NODE: Interest(EVERYTHING, fail, shape=fail)},
            }
        )
    )
    waiting.add(queued("a"), ["Asking"])
    waiting.add(queued("b"), ["Shaping"])
    assert names(waiting.woken_by(node_added())) == ["a", "b"]


def test_an_event_with_keys_asks_only_the_pods_that_have_them() -> None:
    hint = Asked("a", "b")
    interest = Interest(
        EVERYTHING,
        hint,
        pod_keys=lambda pod: (label(pod),),
        event_keys=lambda event: ("x",) if event.action & Action.ADD else None,
    )
    waiting = WaitingPods(Interests({"Claims": {RESOURCE_CLAIM: interest}}))
    waiting.add(labelled("a", "x"), ["Claims"])
    waiting.add(labelled("b", "y"), ["Claims"])
    assert names(waiting.woken_by(ClusterEvent(RESOURCE_CLAIM, Action.ADD))) == ["a"]
    assert hint.names == ["a"]
    assert names(waiting.woken_by(ClusterEvent(RESOURCE_CLAIM, Action.DELETE))) == ["a", "b"]


def test_a_pod_that_changed_is_found_by_what_it_is_now_and_keeps_its_turn() -> None:
    interest = Interest(
        EVERYTHING, pod_keys=lambda pod: (label(pod),), event_keys=lambda _: ("new",)
    )
    waiting = WaitingPods(Interests({"Claims": {RESOURCE_CLAIM: interest}}))
    first, second = labelled("first", "old"), labelled("second", "new")
    waiting.add(first, ["Claims"])
    waiting.add(second, ["Claims"])
    first.pod = pod("first", labels={"app": "new"})
    waiting.add(first, ["Claims"])
    event = ClusterEvent(RESOURCE_CLAIM, Action.ADD)
    assert sorted(names(waiting.woken_by(event))) == ["first", "second"]
    assert names(list(waiting)) == ["first", "second"]
    waiting.remove(first)
    assert names(waiting.woken_by(event)) == ["second"]


def test_everything_wakes_who_was_rejected_by_a_plugin_without_hints() -> None:
    waiting = WaitingPods(Interests({"Fit": {NODE: Asked()}}))
    waiting.add(queued("a"), ["Unheard"])
    assert names(waiting.woken_by(ClusterEvent("PriorityClass", Action.ADD))) == ["a"]


def test_nothing_remains_of_what_is_removed() -> None:
    interest = Interest(EVERYTHING, shape=label, pod_keys=lambda pod: (label(pod),))
    waiting = WaitingPods(Interests({"Fit": {NODE: interest}}))
    one = labelled("a", "x")
    waiting.add(one, ["Fit", "Unheard"])
    assert waiting.count_by_plugin() == {"Fit": 1, "Unheard": 1}
    waiting.remove(one)
    assert not waiting.count_by_plugin()
    assert not len(waiting)
    assert not waiting.woken_by(node_added())
    assert waiting.oldest() is None


def test_those_that_came_before_a_time_are_found_by_it() -> None:
    waiting = WaitingPods(Interests({}))
    for number in range(3):
        waiting.add(queued(f"pod-{number}", waits_since=float(number)), [])
    assert names(waiting.waiting_longer_than(2.0)) == ["pod-0", "pod-1"]
