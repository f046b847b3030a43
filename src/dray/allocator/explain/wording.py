"""What an obstacle is called, in words and as facts.

Texts go after a number of devices: `6 in use by ml/train-0`, `2 tainted broken:NoSchedule`. They
are as short as a line needs and name the value that was found next to the one that was wanted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from dray.allocator.answers import (
    AmountFacts,
    AttributeFacts,
    Cause,
    Facts,
    HolderFacts,
    SelectorFacts,
    TaintFacts,
)
from dray.allocator.devices import PlacedDevice
from dray.allocator.explain.near_names import attribute_names, did_you_mean
from dray.allocator.explain.obstacles import Inspector, Obstacle, Sight, source_of
from dray.allocator.layout import OPTIONAL_NODE_OPERATIONS
from dray.allocator.rules.constraints import Value
from dray.allocator.solver.problem import WantView
from dray.api.quantity import Quantity
from dray.api.resource import DeviceConstraint, DeviceTaint
from dray.cel import Conjunct, requirement
from dray.errors import quote, shorten

__all__ = ["attribute_of", "held", "listed", "position_of", "show_value", "tell"]

NAMES_MAX: Final = 3
"""Claims named in one text; the others are counted."""

VALUES_MAX: Final = 5
"""Values told for one condition; the others are counted. Devices may have as many as they are."""

_CHARACTERS_MAX: Final = 160

_PLAIN: Final = {
    Cause.BINDING_CONDITIONS: "with binding conditions, and DRADeviceBindingConditions is off",
    Cause.NODE: "for other nodes",
    Cause.NODE_OPERATIONS: f"for nodes that declare {OPTIONAL_NODE_OPERATIONS} only",
    Cause.PARTITIONS: "drawing from counters, and DRAPartitionableDevices is off",
    Cause.COMPATIBILITY: "not compatible with what is in use",
}


def held(facts: HolderFacts) -> str:
    """That devices are in use, and who has them."""
    names = [holder for holder, _ in facts.holders if holder]
    return f"in use by {listed(names)}" if names else "in use"


def listed(names: list[str]) -> str:
    """A few names, and how many more there are."""
    if len(names) <= NAMES_MAX:
        return ", ".join(names)
    shown = ", ".join(names[: NAMES_MAX - 1])
    return f"{shown} and {len(names) - NAMES_MAX + 1} others"


def tell(
    inspector: Inspector,
    view: WantView,
    obstacle: Obstacle,
    sights: Mapping[Sight, int],
    holders: Mapping[str, int],
) -> tuple[str, Facts | None]:
    """What goes after the number of devices, and the facts in it."""
    if obstacle.cause is Cause.SELECTOR:
        return _selector(inspector, view, obstacle, sights)
    if obstacle.cause is Cause.CAPACITY:
        return _capacity(inspector, view, obstacle, sights, sorted(filter(None, holders)))
    if obstacle.cause is Cause.COUNTERS:
        return _counter(inspector, obstacle, sights)
    if obstacle.cause is Cause.TAINT:
        key, value, effect = obstacle.taint
        taint = DeviceTaint(key=key, value=value, effect=effect)
        return f"tainted {taint}", TaintFacts(key, value, effect)
    if obstacle.cause is Cause.CONSTRAINT_ATTRIBUTE:
        constraint = inspector.problem.constraint(obstacle.position)
        name = attribute_of(constraint)
        position = position_of(inspector, obstacle.position)
        meant = did_you_mean(name, attribute_names(_considered(inspector, view)))
        return (
            f"without attribute {name}{meant}, which constraint {position} compares",
            AttributeFacts(name, position),
        )
    return _PLAIN[obstacle.cause], None


# Selectors -------------------------------------------------------------------------------------


def _selector(
    inspector: Inspector, view: WantView, obstacle: Obstacle, sights: Mapping[Sight, int]
) -> tuple[str, Facts]:
    source, index = source_of(view.want, obstacle.position)
    conjunct = inspector.conjunct(view.want, obstacle)
    found: Counter[str] = Counter()
    descriptions: Counter[str] = Counter()
    for sight, count in sights.items():
        found[sight.shown] += count
        descriptions[sight.description] += count
    facts = SelectorFacts(
        source=source,
        index=index,
        conjunct=conjunct.text if conjunct is not None else "",
        conjunct_index=obstacle.conjunct,
        found=_most(found),
        error=obstacle.error,
    )
    if obstacle.error:
        where = f"selector {index} of {source}"
        return f"failing {where} ({_short(obstacle.error)})", facts
    said = "not matching" if source == "claim" else f"not of {source}"
    if conjunct is None:
        return f"{said} (selector {index})", facts
    if {reference.field for reference in conjunct.references} == {"driver"}:
        return "of other drivers", facts
    return f"{said} ({_short(_described(conjunct, descriptions))})", facts


def _most(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    """The values that most devices have; the others as one."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    if len(ordered) <= VALUES_MAX:
        return tuple(ordered)
    others = ordered[VALUES_MAX - 1 :]
    rest = (f"{len(others)} other values", sum(count for _, count in others))
    return (*ordered[: VALUES_MAX - 1], rest)


def _described(conjunct: Conjunct, descriptions: Counter[str]) -> str:
    """`model is "A100" on 6, "T4" on 2, wanted "H100"`."""
    most = _most(descriptions)
    if len(most) == 1:
        return most[0][0]
    wanted = requirement(conjunct)
    suffix = f", wanted {wanted.wanted}" if wanted is not None else ""
    texts = [text.removesuffix(suffix) for text, _ in most]
    # What is the same in all of them is the name of the thing; it need be said only once.
    name, verb, _ = texts[0].partition(" is ")
    prefix = f"{name}{verb}"
    parts = [
        f"{text if not position else text.removeprefix(prefix)} on {count}"
        for position, (text, (_, count)) in enumerate(zip(texts, most, strict=True))
    ]
    return f"{', '.join(parts)}{suffix}"


def _short(text: str) -> str:
    return shorten(" ".join(text.split()), characters_max=_CHARACTERS_MAX)


# Amounts ---------------------------------------------------------------------------------------


def _capacity(
    inspector: Inspector,
    view: WantView,
    obstacle: Obstacle,
    sights: Mapping[Sight, int],
    holders: list[str],
) -> tuple[str, Facts]:
    name, wanted = obstacle.name, obstacle.wanted
    most = max(sights, key=lambda sight: _nano(sight.left))
    facts = AmountFacts(
        name,
        wanted=_show(wanted),
        left=_show(most.left),
        total=_show(most.total),
        error=obstacle.error,
    )
    if most.left is not None and most.total is not None:
        taken = most.left != most.total
        by = f", the rest in use by {listed(holders)}" if taken and holders else ""
        there = f"at most {most.left} left of {most.total}" if taken else f"at most {most.total}"
        return f"with less than {wanted} {name} ({there}{by})", facts
    if not obstacle.error:
        names = {one for placed in _considered(inspector, view) for one in placed.device.capacity}
        return f"without capacity {name}{did_you_mean(name, names)}", facts
    if name:
        amount = wanted if wanted is not None else "their default of"
        rules = " or ".join(sorted({sight.description for sight in sights} - {""}))
        told = f" ({_short(rules)})" if rules else ""
        return f"not handing out {amount} {name}{told}", facts
    return f"that cannot say what would be taken of them ({_short(obstacle.error)})", facts


def _considered(inspector: Inspector, view: WantView) -> list[PlacedDevice]:
    """The devices that are of the kind the request selects, whatever else is wrong with them."""
    return [
        placed
        for index, placed in enumerate(inspector.layout.devices)
        if inspector.cause(view, index) is not Cause.SELECTOR
    ]


def _counter(
    inspector: Inspector, obstacle: Obstacle, sights: Mapping[Sight, int]
) -> tuple[str, Facts]:
    least = min(sights, key=lambda sight: _nano(sight.drawn))
    pools = [pool for pool in inspector.layout.pools if pool.usable]
    facts = AmountFacts(
        obstacle.name,
        wanted=_show(least.drawn),
        left=_show(least.left),
        total=_show(least.total),
        counter_set=obstacle.counter_set,
        pool=pools[obstacle.pool].id,
    )
    counter = f"counter {obstacle.counter_set}/{obstacle.name}"
    there = f"{facts.left} of {facts.total} left"
    if least.left is not None and least.left.sign < 0:
        return f"held back by {counter}, which is overdrawn ({there})", facts
    return f"drawing more than is left of {counter} ({there}, {facts.wanted} wanted)", facts


def _nano(amount: Quantity | None) -> int:
    return amount.nano if amount is not None else -1


def _show(amount: Quantity | None) -> str:
    return str(amount) if amount is not None else ""


# Constraints -----------------------------------------------------------------------------------


def attribute_of(constraint: DeviceConstraint) -> str:
    """The attribute a constraint compares."""
    name = constraint.match_attribute
    return name if name is not None else constraint.distinct_attribute or ""


def position_of(inspector: Inspector, number: int) -> int:
    """Where a constraint is in its claim."""
    constraints = inspector.problem.preparation.constraints
    claim_index = constraints[number][0]
    return sum(1 for other, _ in constraints[:number] if other == claim_index)


def show_value(value: Value) -> str:
    """What a constraint compares, as people write it."""
    if isinstance(value, tuple) and len(value) == 2:
        kind, held_ = value
        if kind == "bool":
            return "true" if held_ else "false"
        return quote(held_) if kind == "string" else str(held_)
    return "of unknown type"
