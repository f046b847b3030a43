"""Whether a server would take these slices: the same rules as `dray validate`, before sending.

The rules are loaded at the first use: drivers that publish nothing do without. All features are
taken to be on, because which are is the server's business; what it then leaves out is seen when
it answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from dray.api.meta import ObjectMeta
from dray.api.resource import ResourceSlice, ResourceSliceSpec
from dray.sdk._inventory import Pool
from dray.sdk._slice_names import generate_name

if TYPE_CHECKING:
    from dray.api.features import FeatureGates

__all__ = ["find_problems"]

# A mistake in a loop is in every device: more lines say nothing more.
PROBLEMS_MAX: Final = 50

_DEVICE_PATH: Final = re.compile(r"spec\.devices\[(\d+)\]\.?")


def find_problems(pool: Pool, specs: Sequence[ResourceSliceSpec]) -> list[str]:
    """All that is wrong with a pool, by device; empty when a server would take it."""
    problems = _counter_problems(pool)
    for index, spec in enumerate(specs):
        problems += _slice_problems(index, spec)
    if len(problems) > PROBLEMS_MAX:
        rest = len(problems) - PROBLEMS_MAX
        problems[PROBLEMS_MAX:] = [f"and {rest} more"]
    return problems


def _counter_problems(pool: Pool) -> list[str]:
    """Counters that are drawn from, but not there: no slice alone can tell."""
    names = [counters.name for counters in pool.counters]
    problems = [
        f"two counter sets are named {name}" for name in sorted(set(names)) if names.count(name) > 1
    ]
    sets = {counters.name: counters.counters for counters in pool.counters}
    for device in pool.devices:
        for taken in device.consumes_counters:
            if taken.counter_set not in sets:
                problems.append(
                    f"device {device.name} draws from the counter set {taken.counter_set},"
                    " which the pool does not have"
                )
                continue
            problems += [
                f"device {device.name} draws from the counter {taken.counter_set}/{counter},"
                " which the pool does not have"
                for counter in taken.counters
                if counter not in sets[taken.counter_set]
            ]
    return problems


def _slice_problems(index: int, spec: ResourceSliceSpec) -> list[str]:
    from dray.validation import validate_create  # noqa: PLC0415 - see the module's docstring

    name = f"{generate_name(index, 'driver', 'node')}xxxxx"
    slice_ = ResourceSlice(metadata=ObjectMeta(name=name), spec=spec)
    problems = []
    for error in validate_create(slice_, gates=_all_gates()):
        found = _DEVICE_PATH.match(error.field)
        if found is None:
            problems.append(str(error))
            continue
        device = (spec.devices or ())[int(found[1])]
        where = error.field[found.end() :]
        problems.append(f"device {device.name}: {where + ': ' if where else ''}{error.body}")
    return problems


@cache
def _all_gates() -> FeatureGates:
    from dray.api.features import FeatureGates  # noqa: PLC0415 - see the module's docstring

    return FeatureGates.parse("AllAlpha=true,AllBeta=true")
