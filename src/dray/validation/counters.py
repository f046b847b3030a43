"""Counters that partitions of one piece of hardware share, and what each partition takes of them.

Whether a consumed counter exists is not asked: its set lives in another slice of the pool.
Upstream counterpart: pkg/apis/resource/validation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dray.api.equality import semantically_equal
from dray.api.resource import Counter, CounterSet, DeviceCounterConsumption
from dray.validation.findings import Findings
from dray.validation.rules import (
    check_dns_label,
    check_size,
    check_unique,
    declare_dns_label,
    declare_unique,
)

__all__ = [
    "COMPATIBILITY_GROUPS_MAX",
    "CONSUMPTIONS_MAX",
    "COUNTERS_MAX",
    "COUNTER_SETS_MAX",
    "check_consumptions",
    "check_counter_sets",
    "declare_consumptions",
    "declare_counter_sets",
]

COUNTER_SETS_MAX: Final = 8
COUNTERS_MAX: Final = 32
CONSUMPTIONS_MAX: Final = 2
COMPATIBILITY_GROUPS_MAX: Final = 2


def check_counter_sets(found: Findings, sets: Sequence[CounterSet], path: str) -> None:
    if not check_size(found, sets, COUNTER_SETS_MAX, path, shared=True):
        return
    for index, counter_set in enumerate(sets):
        where = f"{path}[{index}]"
        _check_name(found, counter_set.name, f"{where}.name")
        _check_counters(found, counter_set.counters, f"{where}.counters")
    check_unique(found, (counter_set.name for counter_set in sets), path, shared=True)


def check_consumptions(
    found: Findings, consumptions: Sequence[DeviceCounterConsumption], path: str
) -> None:
    if not check_size(found, consumptions, CONSUMPTIONS_MAX, path, shared=True):
        return
    for index, consumption in enumerate(consumptions):
        where = f"{path}[{index}]"
        _check_name(found, consumption.counter_set, f"{where}.counterSet")
        _check_counters(found, consumption.counters, f"{where}.counters")
    check_unique(found, (taken.counter_set for taken in consumptions), path, shared=True)


def _check_name(found: Findings, name: str, path: str) -> None:
    if not name:
        found.required(path, shared=True)
    else:
        check_dns_label(found, name, path, shared=True)


def _check_counters(found: Findings, counters: Mapping[str, Counter], path: str) -> None:
    if not counters:
        found.required(path, shared=True)
    elif len(counters) > COUNTERS_MAX:
        found.too_many(path, len(counters), COUNTERS_MAX)
    else:
        for name in counters:
            check_dns_label(found, name, path, shared=True)


def declare_counter_sets(
    found: Findings, sets: Sequence[CounterSet], old: Sequence[CounterSet], path: str
) -> None:
    """What the stored slice has already is not looked at again."""
    if semantically_equal(sets, old) or not check_size(found, sets, COUNTER_SETS_MAX, path):
        return
    declare_unique(found, sets, (counter_set.name for counter_set in sets), path)
    for index, counter_set in enumerate(sets):
        stored = next((one for one in old if one.name == counter_set.name), None)
        if stored is None:
            _declare_name(found, counter_set.name, f"{path}[{index}].name")
            _declare_counters(found, counter_set.counters, {}, f"{path}[{index}].counters")
        elif not semantically_equal(counter_set.counters, stored.counters):
            known = stored.counters
            _declare_counters(found, counter_set.counters, known, f"{path}[{index}].counters")


def declare_consumptions(
    found: Findings, consumptions: Sequence[DeviceCounterConsumption], path: str
) -> None:
    if not check_size(found, consumptions, CONSUMPTIONS_MAX, path):
        return
    declare_unique(found, consumptions, (taken.counter_set for taken in consumptions), path)
    for index, consumption in enumerate(consumptions):
        where = f"{path}[{index}]"
        _declare_name(found, consumption.counter_set, f"{where}.counterSet")
        _declare_counters(found, consumption.counters, {}, f"{where}.counters")
        groups, where = consumption.compatibility_groups, f"{where}.compatibilityGroups"
        if check_size(found, groups, COMPATIBILITY_GROUPS_MAX, where, shared=False):
            for place, group in enumerate(groups):
                declare_dns_label(found, group, f"{where}[{place}]", shared=False)
            declare_unique(found, groups, groups, where, shared=False)


def _declare_name(found: Findings, name: str, path: str) -> None:
    if not name:
        found.required(path)
    else:
        declare_dns_label(found, name, path)


def _declare_counters(
    found: Findings, counters: Mapping[str, Counter], known: Mapping[str, Counter], path: str
) -> None:
    if not counters:
        found.required(path)
    for name in counters:
        if name not in known:
            declare_dns_label(found, name, path)
