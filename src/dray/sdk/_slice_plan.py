"""What to write so that a pool's slices become what they should be.

Readers believe the newest generation of a pool, and only once all its slices are there. So what
they see is right if every complete generation is: one slice may change in place, and a generation
that lacks slices but is otherwise right may be completed; anything else is a new generation, every
slice of it written again. Writes go in order: first delete, then update, then create, so that
readers see an incomplete pool rather than a wrong one.

Upstream starts a new generation also to bring back a deleted slice. Completing the one that is
there costs one write instead of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

from dray.api.equality import semantically_equal
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.resource import Device, DeviceTaint, ResourceSlice, ResourceSliceSpec
from dray.api.wire import Time, replace
from dray.sdk._slice_names import generate_name, index_of

__all__ = ["Plan", "TaintTimes", "keep_taint_times", "plan", "same_spec", "taint_times"]

# Servers keep whole seconds, and clocks differ a little.
TAINT_TIME_TOLERANCE: Final = timedelta(seconds=1)

# Device, key, value, effect: when it was added.
TaintTimes: TypeAlias = Mapping[tuple[str, str, str, str], Time]

Same: TypeAlias = Callable[[ResourceSlice, ResourceSliceSpec], bool]


@dataclass(frozen=True, slots=True)
class Plan:
    """Writes, in the order of the fields."""

    generation: int
    deletes: tuple[ResourceSlice, ...] = ()
    updates: tuple[ResourceSlice, ...] = ()
    creates: tuple[ResourceSlice, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.deletes or self.updates or self.creates)


def plan(
    wanted: Sequence[ResourceSliceSpec],
    existing: Sequence[ResourceSlice],
    *,
    node_name: str,
    owners: tuple[OwnerReference, ...],
    generation: int = 0,
    seen_generation: int = 0,
    same: Same | None = None,
) -> Plan:
    """How to get from the existing slices of a pool to the wanted ones.

    `generation` is one the driver asks for, `seen_generation` the newest that was ever read: should
    all its slices be gone, somebody may still remember them. `same` says whether a slice that is
    there is what is wanted; the pool's generation aside.
    """
    same = same or (lambda slice_, spec: same_spec(slice_.spec, spec))
    newest = max((slice_.spec.pool.generation for slice_ in existing), default=0)
    matched = _match(wanted, existing)
    current = {
        index: slice_ for index, slice_ in matched.items() if slice_.spec.pool.generation == newest
    }
    right = {
        index
        for index, slice_ in current.items()
        if same(slice_, _at(wanted[index], newest)) and slice_.metadata.owner_references == owners
    }
    wrong_count = len(current) - len(right)
    complete = len(current) == len(wanted)
    if not current:
        target = max(seen_generation, newest) + 1
    elif wrong_count == 0 or (wrong_count == 1 and complete):
        target = newest
    else:
        target = max(seen_generation, newest) + 1
    target = max(target, generation)
    kept = {id(slice_) for slice_ in matched.values()}
    return Plan(
        generation=target,
        deletes=tuple(slice_ for slice_ in existing if id(slice_) not in kept),
        updates=tuple(
            replace(
                slice_,
                metadata=replace(slice_.metadata, owner_references=owners),
                spec=_at(wanted[index], target),
            )
            for index, slice_ in sorted(matched.items())
            if target != newest or index not in right
        ),
        creates=tuple(
            ResourceSlice(
                metadata=ObjectMeta(
                    generate_name=generate_name(index, spec.driver, node_name),
                    owner_references=owners,
                ),
                spec=_at(spec, target),
            )
            for index, spec in enumerate(wanted)
            if index not in matched
        ),
    )


def _match(
    wanted: Sequence[ResourceSliceSpec], existing: Sequence[ResourceSlice]
) -> dict[int, ResourceSlice]:
    """By index, the slice to keep: of the newest generation, and of those the first by name."""
    matched: dict[int, ResourceSlice] = {}
    ranked = sorted(existing, key=lambda it: (-it.spec.pool.generation, it.metadata.name))
    for slice_ in ranked:
        index = index_of(slice_.metadata.name)
        if index is None or index >= len(wanted) or index in matched:
            continue
        # Neither of these can be changed; and what is being deleted is as good as gone.
        fixed = slice_.spec.node_name == wanted[index].node_name
        if fixed and slice_.metadata.deletion_timestamp is None:
            matched[index] = slice_
    return matched


def _at(spec: ResourceSliceSpec, generation: int) -> ResourceSliceSpec:
    return replace(spec, pool=replace(spec.pool, generation=generation))


# Comparing ---------------------------------------------------------------------------------------


def same_spec(stored: ResourceSliceSpec, wanted: ResourceSliceSpec) -> bool:
    """Whether they say the same; a taint whose time nobody asked for may have any."""
    if stored == wanted:
        return True
    devices, others = stored.devices or (), wanted.devices or ()
    if len(devices) != len(others):
        return False
    if not all(map(_same_device, devices, others)):
        return False
    return semantically_equal(replace(stored, devices=None), replace(wanted, devices=None))


def _same_device(stored: Device, wanted: Device) -> bool:
    if stored == wanted:
        return True
    if len(stored.taints) != len(wanted.taints):
        return False
    if not all(map(_same_taint, stored.taints, wanted.taints)):
        return False
    return semantically_equal(replace(stored, taints=()), replace(wanted, taints=()))


def _same_taint(stored: DeviceTaint, wanted: DeviceTaint) -> bool:
    if replace(stored, time_added=None) != replace(wanted, time_added=None):
        return False
    if stored.time_added is None or wanted.time_added is None:
        return wanted.time_added is None
    return abs(stored.time_added.instant - wanted.time_added.instant) <= TAINT_TIME_TOLERANCE


# Times of taints ---------------------------------------------------------------------------------


def taint_times(existing: Sequence[ResourceSlice]) -> TaintTimes:
    """When each taint in these slices was added."""
    return {
        (device.name, taint.key, taint.value, taint.effect): taint.time_added
        for slice_ in existing
        for device in slice_.spec.devices or ()
        for taint in device.taints
        if taint.time_added is not None
    }


def keep_taint_times(spec: ResourceSliceSpec, times: TaintTimes) -> ResourceSliceSpec:
    """The slice with the times its taints had, so that publishing again restarts no toleration."""
    if not any(device.taints for device in spec.devices or ()):
        return spec
    return replace(
        spec,
        devices=tuple(
            replace(
                device, taints=tuple(_timed(device.name, each, times) for each in device.taints)
            )
            if device.taints
            else device
            for device in spec.devices or ()
        ),
    )


def _timed(device: str, taint: DeviceTaint, times: TaintTimes) -> DeviceTaint:
    if taint.time_added is not None:
        return taint
    return replace(taint, time_added=times.get((device, taint.key, taint.value, taint.effect)))
