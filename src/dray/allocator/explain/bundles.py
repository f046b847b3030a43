"""Changes taken apart and put together again, so that none of them does more than it has to.

A change that is made to several requests, or that tolerates several taints, or for which several
claims have to go, consists of parts. What is left when no part can be spared is what to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from dray.allocator.explain.changes import Change, ChangeKind, Place, Unit
from dray.allocator.explain.suggestions import free, tolerate
from dray.allocator.requests import Want

__all__ = ["covers", "fewest", "joined", "merged", "parts_of", "worse"]

Part = TypeVar("Part")


def fewest(parts: Sequence[Part], fits: Callable[[Sequence[Part]], bool]) -> list[Part]:
    """As few of the parts as fit: without any one of them there is no way.

    The first are left out first. Many at once are tried before single ones, because mostly a few
    of many are needed.
    """
    kept = list(parts)
    size = max(len(kept) // 2, 1)
    while True:
        spared = False
        at = 0
        while at < len(kept):
            rest = kept[:at] + kept[at + size :]
            if rest and fits(rest):
                kept, spared = rest, True
            else:
                at += size
        if size > 1:
            size //= 2
        elif not spared:
            return kept


def parts_of(change: Change, wants: Mapping[Place, Want]) -> Iterator[Change]:
    """What a change consists of."""
    for part in change.parts or (change,):
        if part.kind is ChangeKind.TOLERATE:
            for toleration in part.tolerations:
                yield tolerate(wants[part.places[0]], [toleration])
        elif part.kind is ChangeKind.FREE:
            # Those that hold much are to be spared first.
            yield from (free([unit]) for unit in reversed(part.units))
        else:
            yield part


def joined(parts: Iterable[Change], wants: Mapping[Place, Want]) -> tuple[Change, ...]:
    """Parts put together: what one request tolerates, and what several requests do alike."""
    groups: dict[object, list[Change]] = {}
    for part in parts:
        groups.setdefault(_place_of(part), []).append(part)
    each = [_together(group, wants) for group in groups.values()]
    alike: dict[object, list[Change]] = {}
    for change in each:
        alike.setdefault(_same(change) or id(change), []).append(change)
    return tuple(_over(group) for group in alike.values())


def _place_of(part: Change) -> object:
    if part.kind is ChangeKind.TOLERATE:
        return part.kind, part.places
    return part.kind if part.kind is ChangeKind.FREE else id(part)


def _together(group: Sequence[Change], wants: Mapping[Place, Want]) -> Change:
    if len(group) == 1:
        return group[0]
    if group[0].kind is ChangeKind.FREE:
        return free(sorted((unit for part in group for unit in part.units), key=_size))
    tolerations = [toleration for part in group for toleration in part.tolerations]
    return tolerate(wants[group[0].places[0]], tolerations)


def _size(unit: Unit) -> tuple[int, Unit]:
    return len(unit.devices), unit


def merged(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The same change to several requests, for pods that want much of the same."""
    groups: dict[object, list[Change]] = {}
    for change in changes:
        same = _same(change)
        if same is not None:
            groups.setdefault(same, []).append(change)
    return tuple(_over(group) for group in groups.values() if len(group) > 1)


def _same(change: Change) -> object | None:
    """What changes have in common that can be made to several requests at once."""
    if change.kind in (ChangeKind.TOLERATE, ChangeKind.SELECTOR):
        return (
            change.kind,
            change.tolerations,
            change.selector,
            change.conditions,
            change.expression,
        )
    return None


def _over(group: Sequence[Change]) -> Change:
    if len(group) == 1:
        return group[0]
    return replace(
        group[0],
        text=f"{group[0].text} and {len(group) - 1} more",
        weight=sum(change.weight for change in group),
        places=tuple(place for change in group for place in change.places),
        parts=tuple(group),
    )


# Comparing -------------------------------------------------------------------------------------


def covers(one: Change, other: Change) -> bool:
    """Whether a change is the same as another, or less of it, so that only it is worth telling."""
    if one.kind is not other.kind:
        return False
    if one.kind is ChangeKind.FREE:
        return {*one.units} <= {*other.units}
    if one.kind is ChangeKind.CLASS_SELECTOR:
        same = (one.device_class, one.selector) == (other.device_class, other.selector)
        return same and {*one.conditions} <= {*other.conditions}
    if not {*one.places} <= {*other.places}:
        return False
    if one.kind is ChangeKind.TOLERATE:
        return {*one.tolerations} <= {*other.tolerations}
    if one.kind is ChangeKind.SELECTOR:
        return one.selector == other.selector and {*one.conditions} <= {*other.conditions}
    if one.kind is ChangeKind.CAPACITY:
        return one.capacity == other.capacity and _nano(one) >= _nano(other)
    return (one.constraint, one.pool) == (other.constraint, other.pool) and one.count >= other.count


def _nano(change: Change) -> int:
    return change.amount.nano if change.amount is not None else -1


def worse(some: Sequence[Change], others: Sequence[Change]) -> bool:
    """Whether changes are the same as others, or more of them."""
    return all(any(covers(other, one) for one in some) for other in others)
