"""Which taints keep a request off a device, and the taints that rules add to published ones.

TaintRules keeps the DeviceTaintRules of a cluster by what they select, so that a slice is patched
without a look at rules for other drivers, pools or devices. It patches copies: a slice that no
rule selects comes back as it was, and nobody's slice ever changes.

Rules are applied in the order of their names, where upstream applies them in any order
(test_taints_of_rules_follow_published_ones_in_the_order_of_rule_names). Upstream counterparts:
resourceclaim/devicetoleration.go, and applyPatches of resourceslice/tracker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from dray.api.resource import (
    TAINT_EFFECT_NO_EXECUTE,
    TAINT_EFFECT_NO_SCHEDULE,
    TOLERATION_OPERATOR_EQUAL,
    TOLERATION_OPERATOR_EXISTS,
    Device,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    DeviceToleration,
    ResourceSlice,
)
from dray.api.wire import replace

__all__ = ["TaintRules", "tolerates", "untolerated"]

# Other effects, and ones yet to be invented, keep nobody off.
_REPELLING: Final = frozenset({TAINT_EFFECT_NO_SCHEDULE, TAINT_EFFECT_NO_EXECUTE})


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Whether a toleration covers a taint; what the taint's effect does is not asked."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    # Before defaulting, a missing operator stands for Equal.
    if toleration.operator in ("", TOLERATION_OPERATOR_EQUAL):
        return toleration.value == taint.value
    return toleration.operator == TOLERATION_OPERATOR_EXISTS


def untolerated(
    taints: Iterable[DeviceTaint], tolerations: Iterable[DeviceToleration]
) -> DeviceTaint | None:
    """The first taint that keeps a request with these tolerations off; None if none does."""
    accepted = tuple(tolerations)
    for taint in taints:
        if taint.effect in _REPELLING and not any(tolerates(each, taint) for each in accepted):
            return taint
    return None


# Rules by name; under the device they are for, or None for any.
_Rules: TypeAlias = dict[str, DeviceTaintRule]
_ByDevice: TypeAlias = dict[str | None, _Rules]


class TaintRules:
    """The DeviceTaintRules of a cluster, kept up to date one by one."""

    def __init__(self, rules: Iterable[DeviceTaintRule] = ()) -> None:
        self._rules: _Rules = {}
        # By driver and pool, each None where a rule takes any.
        self._index: dict[tuple[str | None, str | None], _ByDevice] = {}
        for rule in rules:
            self.apply(rule)

    def __len__(self) -> int:
        return len(self._rules)

    def apply(self, rule: DeviceTaintRule) -> DeviceTaintRule | None:
        """Take a new or changed rule, and return the one it replaces."""
        replaced = self.remove(rule.metadata.name)
        self._rules[rule.metadata.name] = rule
        selector = rule.spec.device_selector
        if selector is not None:
            by_device = self._index.setdefault((selector.driver, selector.pool), {})
            by_device.setdefault(selector.device, {})[rule.metadata.name] = rule
        return replaced

    def remove(self, name: str) -> DeviceTaintRule | None:
        """Forget a rule, and return it; None if there is none of this name."""
        rule = self._rules.pop(name, None)
        if rule is None or rule.spec.device_selector is None:
            return rule
        self._forget(name, rule.spec.device_selector)
        return rule

    def _forget(self, name: str, selector: DeviceTaintSelector) -> None:
        place = (selector.driver, selector.pool)
        by_device = self._index[place]
        del by_device[selector.device][name]
        if not by_device[selector.device]:
            del by_device[selector.device]
        if not by_device:
            del self._index[place]

    def patched(self, slice_: ResourceSlice) -> ResourceSlice:
        """The slice with the taints of all rules that select its devices.

        The very slice if none does.
        """
        devices = slice_.spec.devices
        if not devices:
            return slice_
        found = tuple(self._about(slice_))
        if not found:
            return slice_
        everywhere = _merged(found, None)
        patched = tuple(_taint(device, found, everywhere) for device in devices)
        if all(new is old for new, old in zip(patched, devices, strict=True)):
            return slice_
        return replace(slice_, spec=replace(slice_.spec, devices=patched))

    def _about(self, slice_: ResourceSlice) -> Iterator[_ByDevice]:
        """The rules that have nothing against the slice's driver and pool."""
        spec = slice_.spec
        for driver in (None, spec.driver):
            for pool in (None, spec.pool.name):
                by_device = self._index.get((driver, pool))
                if by_device is not None:
                    yield by_device

    @staticmethod
    def selects(rule: DeviceTaintRule, slice_: ResourceSlice) -> bool:
        """Whether the rule taints any device of the slice.

        When a rule changes, the slices to patch again are those that the old or the new selects.
        """
        selector, spec = rule.spec.device_selector, slice_.spec
        # A rule without a selector is for no device; one with an empty selector is for all.
        if selector is None:
            return False
        if selector.driver is not None and selector.driver != spec.driver:
            return False
        if selector.pool is not None and selector.pool != spec.pool.name:
            return False
        names = (device.name for device in spec.devices or ())
        return any(selector.device is None or selector.device == name for name in names)


def _taint(device: Device, found: tuple[_ByDevice, ...], everywhere: _Rules) -> Device:
    own = _merged(found, device.name)
    rules = {**everywhere, **own} if own else everywhere
    if not rules:
        return device
    added = tuple(rules[name].spec.taint for name in sorted(rules))
    return replace(device, taints=device.taints + added)


def _merged(found: tuple[_ByDevice, ...], device: str | None) -> _Rules:
    """All rules there are for a device, or for any."""
    merged: _Rules = {}
    for by_device in found:
        merged.update(by_device.get(device, {}))
    return merged
