"""The pods that wait for something to happen, found by what they wait for.

A pod lies under each plugin that rejected it; where a plugin's interest in a resource tells pods
apart by shape or by key, also under those. An event then costs one question per shape, or one per
pod of a key, not one per pod. Pods are found in the order in which they came. Upstream
counterpart: unschedulablePods in pkg/scheduler/backend/queue, and its pre-hints.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeAlias

from dray.scheduler.cluster_events import ClusterEvent
from dray.scheduler.interests import Interests, Listener
from dray.scheduler.queued_pod import QueuedPod

__all__ = ["WaitingPods"]

Pods: TypeAlias = dict[str, QueuedPod]
Shelf: TypeAlias = dict[Hashable, Pods]


class WaitingPods:
    """Each pod once, with the plugins that it waits for."""

    def __init__(self, interests: Interests) -> None:
        self._interests = interests
        self._pods: Pods = {}
        self._by_plugin: Shelf = {}
        self._unknown: Pods = {}  # rejected by a plugin without any hints
        self._by_shape: dict[Listener, Shelf] = {}
        self._by_key: dict[Listener, Shelf] = {}
        # Where each pod lies: it must be found there even after the pod has changed.
        self._spots: dict[str, list[tuple[Shelf, Hashable]]] = {}

    def add(self, queued: QueuedPod, plugins: Iterable[str]) -> None:
        """Take in a pod, or one that has changed anew; that one keeps its turn."""
        uid = queued.uid
        if uid in self._pods:
            self._clear(uid)
        self._pods[uid] = queued
        spots = self._spots[uid] = []
        for plugin in sorted(plugins):
            self._put(queued, self._by_plugin, plugin, spots)
            if not self._interests.knows(plugin):
                self._unknown[uid] = queued
            for listener in self._interests.of_plugin(plugin):
                interest = listener.interest
                if interest.pod_keys is not None:
                    shelf = self._by_key.setdefault(listener, {})
                    for key in dict.fromkeys(interest.pod_keys(queued.pod)):
                        self._put(queued, shelf, key, spots)
                if interest.shape is not None:
                    shelf = self._by_shape.setdefault(listener, {})
                    self._put(queued, shelf, _hashable(interest.shape(queued.pod), uid), spots)

    def remove(self, queued: QueuedPod) -> None:
        """Forget a pod that is in here."""
        del self._pods[queued.uid]
        self._clear(queued.uid)

    def _clear(self, uid: str) -> None:
        self._unknown.pop(uid, None)
        for shelf, key in self._spots.pop(uid):
            pods = shelf[key]
            del pods[uid]
            if not pods:
                del shelf[key]

    def woken_by(self, event: ClusterEvent) -> list[QueuedPod]:
        """Those for whom the event is worth another try; they stay in here."""
        woken: Pods = dict(self._unknown)
        for listener in self._interests.listening_to(event):
            interest = listener.interest
            keys = None if interest.event_keys is None else interest.event_keys(event)
            if keys is not None:
                shelf = self._by_key.get(listener, {})
                for key in keys:
                    _ask(shelf.get(key, {}), listener, event, woken)
            elif interest.hint is None:
                woken.update(self._by_plugin.get(listener.plugin, {}))
            elif interest.shape is not None:
                for pods in self._by_shape.get(listener, {}).values():
                    if interest.hint(next(iter(pods.values())).pod, event):
                        woken.update(pods)
            else:
                _ask(self._by_plugin.get(listener.plugin, {}), listener, event, woken)
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
        return {str(plugin): len(pods) for plugin, pods in self._by_plugin.items()}

    def oldest(self) -> QueuedPod | None:
        return next(iter(self._pods.values()), None)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    def __len__(self) -> int:
        return len(self._pods)

    @staticmethod
    def _put(
        queued: QueuedPod, shelf: Shelf, key: Hashable, spots: list[tuple[Shelf, Hashable]]
    ) -> None:
        shelf.setdefault(key, {})[queued.uid] = queued
        spots.append((shelf, key))


def _ask(pods: Pods, listener: Listener, event: ClusterEvent, woken: Pods) -> None:
    hint = listener.interest.hint
    for uid, queued in pods.items():
        if uid not in woken and (hint is None or hint(queued.pod, event)):
            woken[uid] = queued


def _hashable(shape: Hashable, uid: str) -> Hashable:
    """The shape; of a pod with members that dray does not know, which have no hash, the uid."""
    try:
        hash(shape)
    except TypeError:
        return uid
    return shape
