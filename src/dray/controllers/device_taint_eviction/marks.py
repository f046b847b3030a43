"""Which devices have taints that end pods: from slices and from rules. Pure.

Slices count if they are of the newest generation of their pool. Rules are matched with devices by
name and not by what is published, so a rule also reaches pods whose device was withdrawn. Upstream
counterpart: the pools and evictingRules of pkg/controller/devicetainteviction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dray.api.resource import (
    TAINT_EFFECT_NO_EXECUTE,
    DeviceID,
    DeviceTaint,
    DeviceTaintRule,
    ResourceSlice,
)

__all__ = ["Mark", "Marks", "RuleID", "selects"]


class RuleID(NamedTuple):
    """A rule; one that is made anew under the same name is another."""

    name: str
    uid: str

    @classmethod
    def of(cls, rule: DeviceTaintRule) -> RuleID:
        return cls(rule.metadata.name, rule.metadata.uid)


@dataclass(frozen=True, slots=True)
class Mark:
    """A NoExecute taint of a device, and the rule it is from unless it is the driver's own."""

    taint: DeviceTaint
    rule: RuleID | None = None


def selects(rule: DeviceTaintRule, device: DeviceID) -> bool:
    """Whether a rule is for a device. One without a selector is for none, an empty one for all."""
    selector = rule.spec.device_selector
    return (
        selector is not None
        and selector.driver in (None, device.driver)
        and selector.pool in (None, device.pool)
        and selector.device in (None, device.device)
    )


_Taints = tuple[DeviceTaint, ...]
_PoolKey = tuple[str, str]


class Marks:
    """The NoExecute taints of all devices, kept up to date by one slice or rule at a time."""

    def __init__(self) -> None:
        self._pools: dict[_PoolKey, _Pool] = {}
        self._published: dict[DeviceID, _Taints] = {}
        self._rules: dict[str, DeviceTaintRule] = {}

    def __bool__(self) -> bool:
        """Whether any pod may have to go at all."""
        return bool(self._published or self._rules)

    def on(self, device: DeviceID) -> Iterator[Mark]:
        """What a device is marked with; the driver's own taints first."""
        for taint in self._published.get(device, ()):
            yield Mark(taint)
        for rule in self._rules.values():
            if selects(rule, device):
                yield Mark(rule.spec.taint, RuleID.of(rule))

    def put_slice(self, old: ResourceSlice | None, new: ResourceSlice | None) -> set[DeviceID]:
        """Take a slice instead of another, and return the devices that are marked differently."""
        changed: set[DeviceID] = set()
        if old is not None and (new is None or _pool_key(old) != _pool_key(new)):
            pool = self._pools.get(_pool_key(old))
            if pool is not None:
                pool.remove(old.metadata.name)
                changed |= self._compare(_pool_key(old), pool)
                if not pool.slices:
                    del self._pools[_pool_key(old)]
        if new is not None:
            pool = self._pools.setdefault(_pool_key(new), _Pool())
            pool.put(new)
            changed |= self._compare(_pool_key(new), pool)
        return changed

    def put_rule(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> None:
        """Take a rule instead of another."""
        if old is not None:
            self._rules.pop(old.metadata.name, None)
        if new is not None and new.spec.taint.effect == TAINT_EFFECT_NO_EXECUTE:
            self._rules[new.metadata.name] = new

    def _compare(self, key: _PoolKey, pool: _Pool) -> set[DeviceID]:
        before, now = pool.shown, pool.newest()
        pool.shown = now
        changed: set[DeviceID] = set()
        for name in before.keys() | now.keys():
            if before.get(name) == now.get(name):
                continue
            device = DeviceID(*key, name)
            changed.add(device)
            if name in now:
                self._published[device] = now[name]
            else:
                del self._published[device]
        return changed


@dataclass(slots=True)
class _Pool:
    slices: dict[str, _Slice] = field(default_factory=dict)
    marked_count: int = 0  # slices with marks, of whichever generation
    shown: Mapping[str, _Taints] = field(default_factory=dict)

    def put(self, slice_: ResourceSlice) -> None:
        self.remove(slice_.metadata.name)
        added = _Slice(slice_.spec.pool.generation, _marked_devices(slice_))
        self.slices[slice_.metadata.name] = added
        self.marked_count += bool(added.marked)

    def remove(self, name: str) -> None:
        removed = self.slices.pop(name, None)
        if removed is not None:
            self.marked_count -= bool(removed.marked)

    def newest(self) -> Mapping[str, _Taints]:
        """The marks that count, by device."""
        if not self.marked_count:
            return {}
        generation = max(each.generation for each in self.slices.values())
        found: dict[str, _Taints] = {}
        for each in self.slices.values():
            if each.marked and each.generation == generation:
                found.update(each.marked)
        return found


class _Slice(NamedTuple):
    generation: int
    marked: Mapping[str, _Taints]


def _pool_key(slice_: ResourceSlice) -> _PoolKey:
    return slice_.spec.driver, slice_.spec.pool.name


def _marked_devices(slice_: ResourceSlice) -> Mapping[str, _Taints]:
    found: dict[str, _Taints] = {}
    for device in slice_.spec.devices or ():
        if device.taints:
            taints = tuple(
                taint for taint in device.taints if taint.effect == TAINT_EFFECT_NO_EXECUTE
            )
            if taints:
                found[device.name] = taints
    return found
