"""The quick look at every device of a slice: is there anything to explain?

A slice may hold 128 devices with thousands of values, and nearly all of them are in order. The
screen says so without building a path or an error, at a fraction of the cost of `device`. It is
strict, never lenient: what it passes breaks no rule, on create or update; what it does not pass
may still be right, and is looked at again with care. A property test holds it to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from dray.api import names
from dray.api.resource import (
    TAINT_EFFECT_NO_EXECUTE,
    TAINT_EFFECT_NO_SCHEDULE,
    TAINT_EFFECT_NONE,
    Device,
)
from dray.validation.attributes import ATTRIBUTE_VALUE_BYTES_MAX, version_holds
from dray.validation.counters import CONSUMPTIONS_MAX, COUNTERS_MAX
from dray.validation.device import ATTRIBUTES_AND_CAPACITIES_MAX, TAINTS_MAX
from dray.validation.findings import Findings
from dray.validation.rules import check_qualified_name

__all__ = ["KnownTexts", "passes"]

# A fleet's drivers use some hundreds of attribute names and thousands of device names. At some 100
# bytes each this is a few megabytes; a set that is full starts again from nothing.
KNOWN_TEXTS_MAX: Final = 16_384


class KnownTexts:
    """Texts that kept a rule when last asked. Asking again costs one look into a set."""

    __slots__ = ("_holds", "_known")

    def __init__(self, holds: Callable[[str], bool]) -> None:
        self._holds = holds
        self._known: set[str] = set()

    def hold(self, texts: Iterable[str]) -> bool:
        """Whether all of them keep the rule."""
        return self._known.issuperset(texts) or all(map(self._learn, texts))

    def holds(self, text: str) -> bool:
        return text in self._known or self._learn(text)

    def _learn(self, text: str) -> bool:
        if text in self._known:
            return True
        if not self._holds(text):
            return False
        if len(self._known) >= KNOWN_TEXTS_MAX:
            self._known.clear()
        self._known.add(text)
        return True


def _qualified(name: str) -> bool:
    found = Findings()
    check_qualified_name(found, name, "")
    return not found


def _short_version(text: str) -> bool:
    return len(text) <= ATTRIBUTE_VALUE_BYTES_MAX and version_holds(text) is not None


_LABELS: Final = KnownTexts(lambda text: not names.dns_label(text))
_LABEL_KEYS: Final = KnownTexts(lambda text: not names.label_key(text))
_LABEL_VALUES: Final = KnownTexts(lambda text: not names.label_value(text))
_NODE_NAMES: Final = KnownTexts(lambda text: not names.dns_subdomain(text))
_QUALIFIED_NAMES: Final = KnownTexts(_qualified)
_VERSIONS: Final = KnownTexts(_short_version)

_EFFECTS: Final = frozenset({TAINT_EFFECT_NO_EXECUTE, TAINT_EFFECT_NO_SCHEDULE, TAINT_EFFECT_NONE})

# A string of this many characters is short enough whatever they are.
_SHORT: Final = ATTRIBUTE_VALUE_BYTES_MAX // 4


def passes(device: Device, selects_nodes: bool) -> bool:
    """Whether nothing at all is wrong with a device. Devices with lists of values never pass."""
    attributes = device.attributes
    capacity = device.capacity
    if not (
        len(attributes) + len(capacity) <= ATTRIBUTES_AND_CAPACITIES_MAX
        and _LABELS.holds(device.name)
        and _QUALIFIED_NAMES.hold(attributes)
        and _QUALIFIED_NAMES.hold(capacity)
        and device.node_selector is None
        and device.all_nodes is None
        and not device.binding_conditions
        and not device.binding_failure_conditions
        and not device.node_allocatable_resources
    ):
        return False
    for attribute in attributes.values():
        text = attribute.string_value
        if text is not None:
            if (
                (
                    len(text) > _SHORT
                    and (len(text) > ATTRIBUTE_VALUE_BYTES_MAX or not text.isascii())
                )
                or attribute.int_value is not None
                or attribute.bool_value is not None
                or attribute.version_value is not None
            ):
                return False
        elif attribute.int_value is not None:
            if attribute.bool_value is not None or attribute.version_value is not None:
                return False
        elif attribute.bool_value is not None:
            if attribute.version_value is not None:
                return False
        else:
            text = attribute.version_value
            if text is None or not _VERSIONS.holds(text):
                return False
        if (
            attribute.string_values is not None
            or attribute.int_values is not None
            or attribute.bool_values is not None
            or attribute.version_values is not None
        ):
            return False
    for amount in capacity.values():
        if amount.request_policy is not None:
            return False
    if selects_nodes:
        if device.node_name is None or not _NODE_NAMES.holds(device.node_name):
            return False
    elif device.node_name is not None:
        return False
    return not (device.taints or device.consumes_counters) or _extras_pass(device)


def _extras_pass(device: Device) -> bool:
    taints = device.taints
    if len(taints) > TAINTS_MAX:
        return False
    for taint in taints:
        if not (
            taint.effect in _EFFECTS
            and _LABEL_KEYS.holds(taint.key)
            and _LABEL_VALUES.holds(taint.value)
        ):
            return False
    consumptions = device.consumes_counters
    if len(consumptions) > CONSUMPTIONS_MAX:
        return False
    if len(consumptions) == 2 and consumptions[0].counter_set == consumptions[1].counter_set:
        return False
    return all(
        _LABELS.holds(taken.counter_set)
        and 0 < len(taken.counters) <= COUNTERS_MAX
        and _LABELS.hold(taken.counters)
        and not taken.compatibility_groups
        for taken in consumptions
    )
