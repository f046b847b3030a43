"""What an observer of the API sees, and when: the pods, claims, slices and events of a scenario.

Objects are taken apart into facts, a short text under a short name, and each change of a fact is an
entry of the timeline with the fake time at which it was seen. Scenarios ask for facts; when one
fails, the whole timeline is its explanation.

    pod one                  phase                     Running
    pod one                  condition Ready           True
    pod one                  main claim:gpu            Unhealthy (too hot)
    claim gpu                gpu-0 dray.dev/Prepared   False DeviceFailed: …
    slice gpu.simulated.dev  gpu-0                     gpu.simulated.dev/unhealthy:NoSchedule
    pod one                  event                     Warning FailedPrepareDynamicResources: …
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dray.api.core import ContainerStatus, Pod
from dray.api.events import Event
from dray.api.meta import Object
from dray.api.resource import ResourceClaim, ResourceSlice
from dray.client import Client, EventType
from dray.clock import Clock

__all__ = ["EVENT", "KINDS", "Entry", "Timeline"]

EVENT = "event"
GONE = ""

KINDS: tuple[type[Object], ...] = (Pod, ResourceClaim, ResourceSlice, Event)

_WORD = re.compile(r"[\w./:-]*\w")


@dataclass(frozen=True, slots=True)
class Entry:
    """Something was seen to change."""

    seconds: float
    subject: str
    fact: str
    text: str  # empty: it is no longer so

    def __str__(self) -> str:
        return f"{self.seconds:9.2f}  {self.subject:28}  {self.fact:34}  {self.text or '(gone)'}"


class Timeline:
    """Watches the API. `facts` is how things are now, `entries` how they came to be so."""

    def __init__(self, client: Client, *, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._objects: dict[tuple[str, str], tuple[str, frozenset[str]]] = {}
        self.facts: dict[str, dict[str, str]] = {}
        self.entries: list[Entry] = []
        self.pods: dict[str, Pod] = {}

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries))

    async def follow(self, kind: type[Object]) -> None:
        """Watch a kind for ever."""
        while True:
            async for event in self._client.watch(kind):
                if event.type in (EventType.ADDED, EventType.MODIFIED):
                    self._see(event.object)
                elif event.type is EventType.DELETED:
                    self._miss(event.object)

    def read(self, subject: str, fact: str) -> str:
        """A fact as it is now; empty if it is not so."""
        return self.facts.get(subject, {}).get(fact, "")

    def history(self, subject: str, fact: str) -> list[str]:
        """Everything that a fact has been."""
        return [
            entry.text for entry in self.entries if (entry.subject, entry.fact) == (subject, fact)
        ]

    def words(self) -> frozenset[str]:
        """Every word that was shown to users."""
        return frozenset(
            word
            for entry in self.entries
            for text in (entry.fact, entry.text)
            for word in _WORD.findall(text)
        )

    def _see(self, found: Object) -> None:
        if isinstance(found, Event):
            subject = f"{found.regarding.kind.lower()} {found.regarding.name}"
            text = f"{found.type} {found.reason}: {found.note}"
            self.facts.setdefault(subject, {})[EVENT] = text
            self._enter(subject, EVENT, text)
            return
        if isinstance(found, Pod):
            self.pods[found.metadata.name] = found
        subject, facts = _take_apart(found)
        key = type(found).__name__, found.metadata.name
        _, mine = self._objects.get(key, (subject, frozenset()))
        self._objects[key] = subject, frozenset(facts)
        known = self.facts.setdefault(subject, {})
        for fact in sorted(mine - set(facts)):
            del known[fact]
            self._enter(subject, fact, GONE)
        for fact, text in facts.items():
            if known.get(fact) != text:
                known[fact] = text
                self._enter(subject, fact, text)

    def _miss(self, gone: Object) -> None:
        self.pods.pop(gone.metadata.name, None)
        subject, facts = self._objects.pop(
            (type(gone).__name__, gone.metadata.name), ("", frozenset())
        )
        for fact in sorted(facts):
            self.facts[subject].pop(fact, None)
            self._enter(subject, fact, GONE)

    def _enter(self, subject: str, fact: str, text: str) -> None:
        self.entries.append(Entry(self._clock.monotonic(), subject, fact, text))


def _take_apart(found: Object) -> tuple[str, Mapping[str, str]]:
    match found:
        case Pod():
            return f"pod {found.metadata.name}", dict(_of_pod(found))
        case ResourceClaim():
            return f"claim {found.metadata.name}", dict(_of_claim(found))
        case ResourceSlice():
            return f"slice {found.spec.driver}", dict(_of_slice(found))
    raise AssertionError(f"nobody watches {type(found).__name__}")


def _of_pod(pod: Pod) -> Iterator[tuple[str, str]]:
    status = pod.status
    yield "exists", "terminating" if pod.metadata.deletion_timestamp else "yes"
    yield "phase", " ".join(filter(None, (status.phase, status.reason, status.message)))
    for condition in status.conditions:
        yield f"condition {condition.type}", _condition(condition)
    for one in (*status.init_container_statuses, *status.container_statuses):
        yield f"container {one.name}", _state(one)
        yield f"restarts {one.name}", str(one.restart_count)
        for entry in one.allocated_resources_status:
            yield (
                f"{one.name} {entry.name}",
                "; ".join(
                    f"{each.health} ({each.message})" if each.message else each.health
                    for each in entry.resources
                ),
            )


def _state(status: ContainerStatus) -> str:
    state = status.state
    if state.running is not None:
        return "running"
    if state.terminated is not None:
        return f"terminated {state.terminated.reason} {state.terminated.exit_code}"
    if state.waiting is not None:
        return f"waiting {state.waiting.reason}: {state.waiting.message}"
    return "waiting"


def _of_claim(claim: ResourceClaim) -> Iterator[tuple[str, str]]:
    yield "exists", "terminating" if claim.metadata.deletion_timestamp else "yes"
    for device in claim.status.devices:
        for condition in device.conditions or ():
            yield f"{device.device} {condition.type}", _condition(condition)


def _of_slice(found: ResourceSlice) -> Iterator[tuple[str, str]]:
    for device in found.spec.devices or ():
        taints = (f"{taint.key}:{taint.effect}" for taint in device.taints)
        yield device.name, " ".join(taints) or "untainted"


def _condition(condition: object) -> str:
    told = [getattr(condition, name) for name in ("status", "reason", "message")]
    status, reason, message = (text or "" for text in told)
    return f"{status} {reason}: {message}".rstrip(": ")
