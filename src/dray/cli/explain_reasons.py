"""Reports of single nodes put together: how many nodes have the same reason, and which is nearest.

A reason that several nodes share must not name what only one of them has: whose claim holds a
device, or what a pool is called. Texts here leave that out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from dray.allocator.answers import (
    AmountFacts,
    Cause,
    Exclusion,
    Facts,
    HolderFacts,
    NodeReport,
    PoolTrouble,
    RequestReport,
    SelectorFacts,
)
from dray.cli.explain_answer import Reason
from dray.cli.explain_survey import Finding
from dray.cli.snapshot import Place
from dray.errors import shorten

__all__ = ["as_close", "closest_first", "combined", "excluded", "text_of", "texts_of_request"]

_UNTOLD = "does not fit; there are too many kinds of nodes to tell them all apart"

# What an error says of the device it came from.
_DEVICE = re.compile(r"(?: on| for)? device \S+(?=:)")

_NONE_TO_HAVE = 1_000_000

NODES_COMPARED_MAX = 32
"""Nodes of one reason that are looked at for whether they have the same values."""

GROUPS_MAX = 12
"""Reasons that are told apart by the values devices have. Beyond, it is not values that matter."""

CONDITION_MAX = 120

OTHER_DRIVERS = "of other drivers"
"""How the allocator calls devices that a condition on the driver turns away."""

ALTERNATIVES_MAX = 2
"""Alternatives of one request that a line has room for."""


def combined(
    findings: Iterable[Finding],
    names: Iterable[str],
    report_on: Callable[[str], NodeReport | None] | None = None,
) -> list[Reason]:
    """The nodes that do not fit, by reason, the most common first; `names` gives their order.

    Nodes that are alike may differ in the values of their devices, such as serial numbers. With
    `report_on` some are asked for theirs, and only what they have in common is said.
    """
    order = {name: place for place, name in enumerate(names)}
    failed = [finding for finding in findings if not finding.fits]
    groups = _grouped(failed, lambda report: report.key)
    if len(groups) > GROUPS_MAX:
        groups = _grouped(failed, _key_without_values)
    reasons = [_reason(group, order, report_on) for group in groups]
    return sorted(reasons, key=lambda reason: -len(reason.nodes))


def _grouped(
    findings: Iterable[Finding], key_of: Callable[[NodeReport], Hashable]
) -> list[list[Finding]]:
    groups: dict[Hashable, list[Finding]] = {}
    for finding in findings:
        report = finding.report
        error = _DEVICE.sub("", finding.error)
        key = (error, key_of(report) if report is not None else None)
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def _key_without_values(report: NodeReport) -> Hashable:
    """What can be said of a node when the values of its devices are left out."""
    requests = tuple(
        (one.place, one.request, one.needed, one.devices, one.candidates, one.free, _causes(one))
        for one in report.requests
    )
    conflicts = tuple(one.key for one in report.conflicts)
    pools = tuple(one.key for one in report.pools)
    return (requests, conflicts, pools, report.undecided)


def _causes(report: RequestReport) -> tuple[Hashable, ...]:
    return tuple(
        (one.cause, one.count, one.facts.source, one.facts.index, one.facts.conjunct_index)
        if isinstance(one.facts, SelectorFacts)
        else one.key
        for one in report.exclusions
    )


def _reason(
    findings: Sequence[Finding],
    order: Mapping[str, int],
    report_on: Callable[[str], NodeReport | None] | None,
) -> Reason:
    nodes = tuple(sorted((name for one in findings for name in one.nodes), key=order.__getitem__))
    first = next(one for one in findings if nodes[0] in one.nodes)
    if first.error:
        text = first.error if len(nodes) == 1 else _DEVICE.sub("", first.error)
        return Reason(nodes, f"cannot be judged: {text}", error=first.error)
    if first.report is None:
        return Reason(nodes, _UNTOLD)
    others = [one.report for one in findings if one.report is not None]
    if report_on is not None:
        step = -(-len(nodes) // NODES_COMPARED_MAX)
        asked = map(report_on, nodes[::step]) if len(nodes) > 1 else ()
        others += (report for report in asked if report is not None)
    text = text_of(first.report, shared=len(nodes) > 1, others=others)
    return Reason(nodes, text, report=first.report)


def excluded(places: Iterable[Place], having: Iterable[str] = ()) -> list[Reason]:
    """The nodes ruled out without looking at devices; `having` are those that have the devices."""
    with_devices = set(having)
    groups: dict[tuple[object, str], list[Place]] = {}
    for place in places:
        if not place.ok:
            groups.setdefault((place.against, place.reason), []).append(place)
    reasons = []
    for group in groups.values():
        nodes = tuple(place.node for place in group)
        fitting = tuple(name for name in nodes if name in with_devices)
        reasons.append(Reason(nodes, group[0].reason, place=group[0], with_devices=fitting))
    return reasons


def closest_first(reports: Iterable[NodeReport]) -> list[NodeReport]:
    """The nodes nearest to fitting first.

    That is: fewest requests unserved, then fewest of these without any device of the class and the
    driver that is wanted, then without any that is selected, then fewest devices missing, then
    fewest that would be missing if nobody else had any, then most that would do, or might after a
    change. Ties keep their order.
    """
    return sorted(reports, key=_distance)


def as_close(one: NodeReport, other: NodeReport) -> bool:
    """Whether neither node is nearer as far as requests and missing devices go."""
    return _distance(one)[:4] == _distance(other)[:4]


def _distance(report: NodeReport) -> tuple[int, ...]:
    unserved = foreign = unselected = missing = lacking = candidates = akin = 0
    for alternatives in report.stages:
        of_kind = sum(map(_of_kind, alternatives))
        short, lack, have = min(_lack(one) for one in alternatives)
        unserved += short > 0
        # Devices of a pool that cannot be used are not counted; they may be of the right kind.
        foreign += short > 0 and not of_kind and not report.pools
        unselected += short > 0 and not sum(map(_selected, alternatives)) and not report.pools
        missing += short
        lacking += lack
        candidates += have  # negative: the more, the nearer
        akin -= of_kind
    troubles = (len(report.conflicts), len(report.pools))
    return (unserved, foreign, unselected, missing, lacking, *troubles, candidates, akin)


def _of_kind(report: RequestReport) -> int:
    """The devices that are of the class and of the driver a request is for."""
    return report.devices - sum(one.count for one in report.exclusions if _is_foreign(one))


def _selected(report: RequestReport) -> int:
    """The devices that no selector turns away."""
    aside = (Cause.SELECTOR, Cause.NODE)
    return report.devices - sum(one.count for one in report.exclusions if one.cause in aside)


def _is_foreign(exclusion: Exclusion) -> bool:
    facts = exclusion.facts
    if exclusion.cause is Cause.NODE:
        return True
    return isinstance(facts, SelectorFacts) and (
        facts.source != "claim" or exclusion.text.endswith(OTHER_DRIVERS)
    )


def _lack(report: RequestReport) -> tuple[int, int, int]:
    needed = report.needed
    if report.wanted == "all" and not needed:
        # All of none is further off than some of all.
        needed = _NONE_TO_HAVE
    return (
        max(needed - report.free, 0),
        max(needed - report.candidates, 0),
        -report.candidates,
    )


# Texts -----------------------------------------------------------------------------------------


def text_of(report: NodeReport, *, shared: bool, others: Iterable[NodeReport] = ()) -> str:
    """The reason in one line; `shared` if it is to hold for several nodes, such as `others`."""
    if not shared:
        return report.summary
    compared = list(others)
    for place, alternatives in enumerate(report.stages):
        if all(one.short for one in alternatives):
            elsewhere = [stage for one in compared for stage in [*one.stages][place : place + 1]]
            return _short(report, alternatives, elsewhere)
    if report.pools and not report.conflicts and not report.undecided:
        return _pool(report.pools[0])
    differs = any(one.summary != report.summary for one in compared)
    return f"{report.summary} (so on {report.node}; others differ)" if differs else report.summary


def _short(
    report: NodeReport,
    alternatives: tuple[RequestReport, ...],
    elsewhere: Sequence[tuple[RequestReport, ...]],
) -> str:
    several = len({one.claim for one in report.requests}) > 1
    claim = f"claim {alternatives[0].claim}, " if several else ""
    shown = alternatives if len(alternatives) <= ALTERNATIVES_MAX else alternatives[:1]
    lines = "; or ".join(
        f"{one.request}: {_line(one, [stage[place] for stage in elsewhere if place < len(stage)])}"
        for place, one in enumerate(shown)
    )
    if len(shown) < len(alternatives):
        lines += f"; nor does any of {len(alternatives) - 1} other alternatives fit"
    pools = "".join(f"; {_pool(trouble)}" for trouble in report.pools)
    return f"{claim}request {lines}{pools}"


def _line(report: RequestReport, others: Sequence[RequestReport]) -> str:
    parts = [f"{report.free} free"] if report.free else []
    parts += texts_of_request(report, shared=True, others=others)
    wanted = "all wanted" if report.wanted == "all" else f"{report.wanted} wanted"
    if not report.devices:
        return f"no devices; {wanted}"
    devices = f"{report.devices} device{'' if report.devices == 1 else 's'}"
    return f"{devices}: {', '.join(parts)}; {wanted}"


def texts_of_request(
    report: RequestReport, *, shared: bool, others: Sequence[RequestReport] = ()
) -> list[str]:
    """Why devices do not do, each reason with how many they are.

    What is `shared` with other nodes leaves out whatever is different there.
    """
    if not shared:
        return [one.text for one in report.exclusions]
    return [
        _without_names(one, differs=any(_facts_at(other, place) != one.facts for other in others))
        for place, one in enumerate(report.exclusions)
    ]


def _facts_at(report: RequestReport, place: int) -> Facts | None:
    return report.exclusions[place].facts if place < len(report.exclusions) else None


def _without_names(exclusion: Exclusion, *, differs: bool = False) -> str:
    facts = exclusion.facts
    if differs and isinstance(facts, SelectorFacts):
        what = exclusion.text.partition(" (")[0]
        condition = shorten(" ".join(facts.conjunct.split()), characters_max=CONDITION_MAX)
        return f"{what} ({condition})" if condition and what != exclusion.text else what
    if isinstance(facts, HolderFacts):
        return f"{exclusion.count} in use"
    amounts = isinstance(facts, AmountFacts) and facts.left and facts.total and not facts.error
    if exclusion.cause is Cause.CAPACITY and isinstance(facts, AmountFacts) and amounts:
        taken = facts.left != facts.total
        there = f"{facts.left} left of {facts.total}" if taken else facts.total
        return f"{exclusion.count} with less than {facts.wanted} {facts.name} (at most {there})"
    return exclusion.text


def _pool(trouble: PoolTrouble) -> str:
    whose = f"a pool of {trouble.pool.driver}"
    if trouble.invalid:
        return f"{whose} is invalid"
    expected = trouble.slices_expected
    there = f" ({trouble.slices_seen} of {expected} slices)" if expected else ""
    return f"{whose} is incomplete{there}"
