"""The pods that wait for something to happen, found by what they wait for.

A pod lies under each plugin that rejected it; where a plugin's interest in a resource tells pods
apart by shape or by key, also under those. An event then costs one question per shape, or one per
pod of a key, not one per pod. Pods are found in the order in which they came. Upstream
counterpart: unschedulablePods in pkg/scheduler/backend/queue, and its pre-hints.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dray.api.core import Pod
from dray.errors import DrayError
from dray.scheduler.cluster_events import ClusterEvent, Interest
from dray.scheduler.interests import Interests
from dray.scheduler.queued_pod import QueuedPod

__all__ = ["WaitingPods"]

Pods: TypeAlias = dict[str, QueuedPod]
Shelf: TypeAlias = dict[Hashable, Pods]
KeyedShelves: TypeAlias = dict[Callable[[Pod], tuple[str, ...]], Shelf]
ShapedShelves: TypeAlias = dict[Callable[[Pod], Hashable], Shelf]


@dataclass(slots=True)
class _Rejected:
    """The pods of one plugin: all, and by what its interests tell them apart by."""

    pods: Pods
    by_key: KeyedShelves
    by_shape: ShapedShelves


class WaitingPods:
    """Each pod once, with the plugins that it waits for."""

    def __init__(self, interests: Interests) -> None:
        self._interests = interests
        self._pods: Pods = {}
        self._rejected: dict[str, _Rejected] = {}
        self._unknown: Pods = {}  # rejected by a plugin without any hints
        # Where each pod lies: it must be found there even after the pod has changed.
        self._spots: dict[str, list[tuple[Shelf, Hashable]]] = {}

    def add(self, queued: QueuedPod, plugins: Iterable[str]) -> None:
        """Take in a pod, or one that has changed anew; that one keeps its turn."""
        uid, pod = queued.uid, queued.pod
        if uid in self._pods:
            self._clear(uid)
        self._pods[uid] = queued
        spots = self._spots[uid] = []
        for plugin in sorted(plugins):
            rejected = self._rejected_by(plugin)
            rejected.pods[uid] = queued
            if not self._interests.knows(plugin):
                self._unknown[uid] = queued
            for keys_of, shelf in rejected.by_key.items():
                for key in keys_of(pod):
                    shelf.setdefault(key, {})[uid] = queued
                    spots.append((shelf, key))
            for shape_of, shelf in rejected.by_shape.items():
                shape = _shape(shape_of, pod)
                shelf.setdefault(shape, {})[uid] = queued
                spots.append((shelf, shape))

    def remove(self, queued: QueuedPod) -> None:
        """Forget a pod that is in here."""
        del self._pods[queued.uid]
        self._clear(queued.uid)

    def woken_by(self, event: ClusterEvent) -> list[QueuedPod]:
        """Those for whom the event is worth another try; they stay in here."""
        woken: Pods = dict(self._unknown)
        for listener in self._interests.listening_to(event):
            rejected = self._rejected.get(listener.plugin)
            if rejected is not None and rejected.pods:
                _wake(rejected, listener.interest, event, woken)
        return list(woken.values())

    def waiting_longer_than(self, since: float) -> list[QueuedPod]:
        """Those that came before a time, the oldest first."""
        found = []
        for queued in self._pods.values():
            if queued.waits_since >= since:
                break
            found.append(queued)
        return found

    def count_by_plugin(self) -> Mapping[str, int]:
        return {name: len(each.pods) for name, each in self._rejected.items() if each.pods}

    def oldest(self) -> QueuedPod | None:
        return next(iter(self._pods.values()), None)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    def __len__(self) -> int:
        return len(self._pods)

    def _rejected_by(self, plugin: str) -> _Rejected:
        rejected = self._rejected.get(plugin)
        if rejected is None:
            interests = [each.interest for each in self._interests.of_plugin(plugin)]
            keys: KeyedShelves = {
                each.pod_keys: {} for each in interests if each.pod_keys is not None
            }
            shapes: ShapedShelves = {each.shape: {} for each in interests if each.shape is not None}
            rejected = self._rejected[plugin] = _Rejected({}, keys, shapes)
        return rejected

    def _clear(self, uid: str) -> None:
        self._unknown.pop(uid, None)
        for rejected in self._rejected.values():
            rejected.pods.pop(uid, None)
        for shelf, key in self._spots.pop(uid):
            pods = shelf.get(key)
            if pods is not None:  # else the pod named this key twice
                pods.pop(uid, None)
                if not pods:
                    del shelf[key]


def _wake(rejected: _Rejected, interest: Interest, event: ClusterEvent, woken: Pods) -> None:
    keys = None if interest.event_keys is None else interest.event_keys(event)
    if keys is not None and interest.pod_keys is not None:
        shelf = rejected.by_key[interest.pod_keys]
        for key in keys:
            _ask(shelf.get(key, {}), interest, event, woken)
    elif interest.shape is not None:
        for pods in rejected.by_shape[interest.shape].values():
            if interest.helps(next(iter(pods.values())).pod, event):
                woken.update(pods)
    else:
        _ask(rejected.pods, interest, event, woken)


def _ask(pods: Pods, interest: Interest, event: ClusterEvent, woken: Pods) -> None:
    if interest.hint is None:
        woken.update(pods)
        return
    for uid, queued in pods.items():
        if uid not in woken and interest.helps(queued.pod, event):
            woken[uid] = queued


def _shape(shape_of: Callable[[Pod], Hashable], pod: Pod) -> Hashable:
    """The pod's shape; its uid if that fails, or has no hash for members unknown to dray."""
    try:
        shape = shape_of(pod)
        hash(shape)
    except (DrayError, TypeError):
        return pod.metadata.uid
    return shape
