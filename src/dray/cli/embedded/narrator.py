"""Tells what happens in a cluster, a line for each thing that people would want to know of.

What a change of an object is worth telling is a pure function of what the object was and what it
is; most changes are worth nothing. Views of the cluster are those that its scheduler and
controllers have anyhow.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from dray.api.core import (
    CONDITION_FALSE,
    CONDITION_TRUE,
    NODE_CONDITION_READY,
    POD_CONDITION_DISRUPTION_TARGET,
    POD_CONDITION_SCHEDULED,
    ContainerStatus,
    Node,
    NodeCondition,
    Pod,
    PodCondition,
)
from dray.api.meta import Object
from dray.api.resource import ResourceClaim, ResourceSlice
from dray.client import Informers
from dray.clock import Clock
from dray.errors import shorten

__all__ = ["Line", "Narrator", "claim_lines", "node_lines", "pod_lines", "slice_lines"]

# By this name lines show where they are from.
_log = logging.getLogger("dray.cluster")

# Messages of others may be of any length.
MESSAGE_CHARACTERS_MAX: Final = 400

# A slice has 128 devices at most, and a change of all of them is one thing that happened.
DEVICES_TOLD_MAX: Final = 8

# Nobody reads faster, and a cluster that schedules hundreds of pods a second has better to do.
LINES_MAX: Final = 100
WINDOW_SECONDS: Final = 1.0

T = TypeVar("T", bound=Object)


class Line(NamedTuple):
    """Something that happened. `about` names the object, for programs."""

    level: int
    text: str
    about: tuple[str, str, str]  # kind, namespace, name


class Narrator:
    """Writes lines to the log, from `begin` on, and counts what is too much to tell."""

    def __init__(self, informers: Informers, clock: Clock) -> None:
        self._clock = clock
        self._begun = False
        self._since = clock.monotonic()
        self._told_count = 0  # in this second
        self._untold_count = 0
        self._too_much = asyncio.Event()
        informers.of(Pod).listen(self._listener(pod_lines))
        informers.of(Node).listen(self._listener(node_lines))
        informers.of(ResourceClaim).listen(self._listener(claim_lines))
        informers.of(ResourceSlice).listen(self._listener(slice_lines))

    def begin(self) -> None:
        """Tell from now on. What was there before is no news."""
        self._begun = True

    async def run(self) -> None:
        """Say how much was not told, for ever."""
        while True:
            await self._too_much.wait()
            await self._clock.sleep(WINDOW_SECONDS)
            self._too_much.clear()
            count, self._untold_count = self._untold_count, 0
            _log.info("%d more changes, which came too fast to be told", count)

    def _listener(
        self, lines: Callable[[T | None, T | None], Iterator[Line]]
    ) -> Callable[[T | None, T | None], None]:
        def hear(old: T | None, new: T | None) -> None:
            if self._begun and self._may_tell():
                for line in lines(old, new):
                    self._told_count += 1
                    kind, namespace, name = line.about
                    details = {"kind": kind, "namespace": namespace, "name": name}
                    _log.log(line.level, "%s", line.text, extra={"details": details})

        return hear

    def _may_tell(self) -> bool:
        now = self._clock.monotonic()
        if now - self._since >= WINDOW_SECONDS:
            self._since, self._told_count = now, 0
        if self._told_count < LINES_MAX:
            return True
        self._untold_count += 1
        self._too_much.set()
        return False


# Pods ------------------------------------------------------------------------------------------


def pod_lines(old: Pod | None, new: Pod | None) -> Iterator[Line]:
    """Scheduled or not and why, started, restarted, failed, evicted, its devices' health, gone."""
    pod = new if new is not None else old
    if pod is None:
        return
    name = f"pod {pod.metadata.namespace}/{pod.metadata.name}"
    about = ("Pod", pod.metadata.namespace, pod.metadata.name)
    if new is None:
        yield Line(logging.INFO, f"{name} deleted", about)
        return
    for level, text in _pod_news(old, new):
        yield Line(level, f"{name} {text}", about)


def _pod_news(old: Pod | None, new: Pod) -> Iterator[tuple[int, str]]:
    if old is None:
        yield logging.INFO, "created"
    before = Pod() if old is None else old
    if new.spec.node_name and not before.spec.node_name:
        yield logging.INFO, f"scheduled to {new.spec.node_name}"
    yield from _conditions(before, new)
    if new.metadata.deletion_timestamp is not None and before.metadata.deletion_timestamp is None:
        yield logging.INFO, "is being deleted"
    yield from _phase(before, new)
    yield from _containers(before, new)


def _conditions(before: Pod, new: Pod) -> Iterator[tuple[int, str]]:
    was, now = (_condition(each, POD_CONDITION_SCHEDULED) for each in (before, new))
    if now is not None and now.status == CONDITION_FALSE and _told(was) != _told(now):
        yield logging.WARNING, f"cannot be scheduled: {_sentence(now.reason, now.message)}"
    was, now = (_condition(each, POD_CONDITION_DISRUPTION_TARGET) for each in (before, new))
    if now is not None and now.status == CONDITION_TRUE and _told(was) != _told(now):
        yield logging.WARNING, f"is to end: {_sentence(now.reason, now.message)}"


def _phase(before: Pod, new: Pod) -> Iterator[tuple[int, str]]:
    if new.status.phase == before.status.phase:
        return
    match new.status.phase:
        case "Running":
            yield logging.INFO, f"runs on {new.spec.node_name}"
        case "Succeeded":
            yield logging.INFO, "succeeded"
        case "Failed":
            why = _sentence(new.status.reason, new.status.message) or _ends(new)
            yield logging.WARNING, f"failed: {why}" if why else "failed"
        case _:
            pass


def _containers(before: Pod, new: Pod) -> Iterator[tuple[int, str]]:
    known = {one.name: one for one in _statuses(before)}
    for one in _statuses(new):
        was = known.get(one.name, ContainerStatus(name=one.name))
        if one.restart_count > was.restart_count:
            yield (
                logging.WARNING,
                f"container {one.name} restarted ({one.restart_count} times): {_end_of(one)}",
            )
        waiting = one.state.waiting
        if waiting is not None and waiting.message and waiting != was.state.waiting:
            yield (
                logging.WARNING,
                f"container {one.name} waits: {_sentence(waiting.reason, waiting.message)}",
            )
        yield from _health(was, one)


def _health(was: ContainerStatus, now: ContainerStatus) -> Iterator[tuple[int, str]]:
    known = {
        each.resource_id: each.health
        for status in was.allocated_resources_status
        for each in status.resources
    }
    for status in now.allocated_resources_status:
        for each in status.resources:
            before = known.get(each.resource_id, "Healthy")
            if each.health != before:
                level = logging.INFO if each.health == "Healthy" else logging.WARNING
                why = f": {_short(each.message)}" if each.message else ""
                yield level, f"has device {each.resource_id}, which is {each.health} now{why}"


def _statuses(pod: Pod) -> tuple[ContainerStatus, ...]:
    return (*pod.status.init_container_statuses, *pod.status.container_statuses)


def _condition(pod: Pod, kind: str) -> PodCondition | None:
    return next((one for one in pod.status.conditions if one.type == kind), None)


def _told(condition: PodCondition | NodeCondition | None) -> tuple[str, str, str] | None:
    if condition is None:
        return None
    return condition.status, condition.reason, condition.message


def _ends(pod: Pod) -> str:
    ended = [one for one in _statuses(pod) if one.state.terminated is not None]
    failed = [one for one in ended if one.state.terminated and one.state.terminated.exit_code]
    return "; ".join(f"container {one.name} {_exit(one)}" for one in failed)


def _end_of(status: ContainerStatus) -> str:
    ended = status.last_state.terminated
    return "it ended" if ended is None else f"it {_said(ended.exit_code, ended.reason)}"


def _exit(status: ContainerStatus) -> str:
    ended = status.state.terminated
    return "ended" if ended is None else _said(ended.exit_code, ended.reason)


def _said(exit_code: int, reason: str) -> str:
    shown = f", {reason}" if reason and reason not in ("Error", "Completed") else ""
    return f"exited with {exit_code}{shown}"


# Nodes -----------------------------------------------------------------------------------------


def node_lines(old: Node | None, new: Node | None) -> Iterator[Line]:
    """Registered, ready or not and why, tainted, gone."""
    node = new if new is not None else old
    if node is None:
        return
    about = ("Node", "", node.metadata.name)
    name = f"node {node.metadata.name}"
    if new is None:
        yield Line(logging.WARNING, f"{name} deleted", about)
        return
    if old is None:
        yield Line(logging.INFO, f"{name} registered", about)
    before = Node() if old is None else old
    was, now = _readiness(before), _readiness(new)
    if now is not None and (was is None or was.status != now.status):
        if now.status == CONDITION_TRUE:
            yield Line(logging.INFO, f"{name} is ready", about)
        elif old is not None:
            why = _sentence(now.reason, now.message)
            yield Line(logging.WARNING, f"{name} is not ready: {why}", about)
    tainted = {str(taint) for taint in before.spec.taints}
    tainting = {str(taint) for taint in new.spec.taints}
    for taint in sorted(tainting - tainted):
        yield Line(logging.WARNING, f"{name} is tainted {taint}", about)
    for taint in sorted(tainted - tainting):
        yield Line(logging.INFO, f"{name} is no longer tainted {taint}", about)


def _readiness(node: Node) -> NodeCondition | None:
    found = (one for one in node.status.conditions if one.type == NODE_CONDITION_READY)
    return next(found, None)


# Claims ----------------------------------------------------------------------------------------


def claim_lines(old: ResourceClaim | None, new: ResourceClaim | None) -> Iterator[Line]:
    """Which devices a claim got, and that it gave them back."""
    claim = new if new is not None else old
    if claim is None:
        return
    metadata = claim.metadata
    about = ("ResourceClaim", metadata.namespace, metadata.name)
    name = f"claim {metadata.namespace}/{metadata.name}"
    had = None if old is None else old.status.allocation
    has = None if new is None else new.status.allocation
    if has is not None and had is None:
        devices = [f"{one.pool}/{one.device}" for one in has.devices.results]
        yield Line(logging.INFO, f"{name} has {_several(devices) or 'no devices'}", about)
    elif had is not None and has is None:
        devices = [f"{one.pool}/{one.device}" for one in had.devices.results]
        yield Line(logging.INFO, f"{name} gave back {_several(devices) or 'nothing'}", about)


# Slices ----------------------------------------------------------------------------------------


def slice_lines(old: ResourceSlice | None, new: ResourceSlice | None) -> Iterator[Line]:
    """Devices that appear or vanish, and their taints."""
    one = new if new is not None else old
    if one is None:
        return
    about = ("ResourceSlice", "", one.metadata.name)
    where = f"{one.spec.driver} in pool {one.spec.pool.name}"
    had, has = _taints(old), _taints(new)
    gone, come = (
        [each for each in had if each not in has],
        [each for each in has if each not in had],
    )
    if come:
        yield Line(logging.INFO, f"{where}: {_several(come)} published", about)
    if gone:
        yield Line(logging.WARNING, f"{where}: {_several(gone)} withdrawn", about)
    changes: dict[tuple[str, bool], list[str]] = {}
    for device, taints in has.items():
        before = had.get(device, frozenset())
        for taint in taints - before:
            changes.setdefault((taint, True), []).append(device)
        for taint in before - taints:
            changes.setdefault((taint, False), []).append(device)
    for (taint, added), devices in sorted(changes.items()):
        text = f"tainted {taint}" if added else f"no longer tainted {taint}"
        level = logging.WARNING if added else logging.INFO
        yield Line(level, f"{where}: {_several(devices)} {text}", about)


def _taints(one: ResourceSlice | None) -> Mapping[str, frozenset[str]]:
    if one is None:
        return {}
    return {
        device.name: frozenset(str(taint) for taint in device.taints)
        for device in one.spec.devices or ()
    }


# Words -----------------------------------------------------------------------------------------


def _several(names: list[str]) -> str:
    told = ", ".join(names[:DEVICES_TOLD_MAX])
    more = len(names) - DEVICES_TOLD_MAX
    return f"{told} and {more} more" if more > 0 else told


def _sentence(reason: str, message: str) -> str:
    return _short(": ".join(part for part in (reason, message) if part))


def _short(text: str) -> str:
    return shorten(text, characters_max=MESSAGE_CHARACTERS_MAX)
