"""Reports of single nodes put together: how many nodes have the same reason, and which is nearest.

A reason that several nodes share must not name what only one of them has: whose claim holds a
device, or what a pool is called. Texts here leave that out.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence

from dray.allocator.answers import (
    AmountFacts,
    Cause,
    Exclusion,
    HolderFacts,
    NodeReport,
    PoolTrouble,
    RequestReport,
    SelectorFacts,
)
from dray.cli.explain_answer import Reason
from dray.cli.explain_survey import Finding
from dray.cli.snapshot import Place

__all__ = ["closest_first", "combined", "excluded", "text_of", "texts_of_request"]

_UNTOLD = "does not fit; there are too many kinds of nodes to tell them all apart"

# What an error says of the device it came from.
_DEVICE = re.compile(r"(?: on| for)? device \S+(?=:)")

_NONE_TO_HAVE = 1_000_000

OTHER_DRIVERS = "of other drivers"
"""How the allocator calls devices that a condition on the driver turns away."""

ALTERNATIVES_MAX = 2
"""Alternatives of one request that a line has room for."""


def combined(findings: Iterable[Finding], names: Iterable[str]) -> list[Reason]:
    """The nodes that do not fit, by reason, the most common first; `names` gives their order."""
    order = {name: place for place, name in enumerate(names)}
    groups: dict[Hashable, list[Finding]] = {}
    for finding in findings:
        if not finding.fits:
            report = finding.report
            error = _DEVICE.sub("", finding.error)
            key = (error, report.key if report is not None else None)
            groups.setdefault(key, []).append(finding)
    reasons = [_reason(group, order) for group in groups.values()]
    return sorted(reasons, key=lambda reason: -len(reason.nodes))


def _reason(findings: Sequence[Finding], order: Mapping[str, int]) -> Reason:
    nodes = tuple(sorted((name for one in findings for name in one.nodes), key=order.__getitem__))
    first = next(one for one in findings if nodes[0] in one.nodes)
    if first.error:
        text = first.error if len(nodes) == 1 else _DEVICE.sub("", first.error)
        return Reason(nodes, f"cannot be judged: {text}", error=first.error)
    if first.report is None:
        return Reason(nodes, _UNTOLD)
    return Reason(nodes, text_of(first.report, shared=len(nodes) > 1), report=first.report)


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
    driver that is wanted, then fewest devices missing, then fewest that would be missing if nobody
    else had any, then most that would do, or might after a change. Ties keep their order.
    """
    return sorted(reports, key=_distance)


def _distance(report: NodeReport) -> tuple[int, ...]:
    unserved = foreign = missing = lacking = candidates = akin = 0
    for alternatives in report.stages:
        of_kind = sum(map(_of_kind, alternatives))
        short, lack, have = min(_lack(one) for one in alternatives)
        unserved += short > 0
        # Devices of a pool that cannot be used are not counted; they may be of the right kind.
        foreign += short > 0 and not of_kind and not report.pools
        missing += short
        lacking += lack
        candidates += have  # negative: the more, the nearer
        akin -= of_kind
    troubles = (len(report.conflicts), len(report.pools))
    return (unserved, foreign, missing, lacking, *troubles, candidates, akin)


def _of_kind(report: RequestReport) -> int:
    """The devices that are of the class and of the driver a request is for."""
    return report.devices - sum(one.count for one in report.exclusions if _is_foreign(one))


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


def text_of(report: NodeReport, *, shared: bool) -> str:
    """The reason in one line; `shared` if it is to hold for several nodes."""
    if not shared:
        return report.summary
    for alternatives in report.stages:
        if all(one.short for one in alternatives):
            return _short(report, alternatives)
    if report.pools and not report.conflicts and not report.undecided:
        return _pool(report.pools[0])
    return report.summary


def _short(report: NodeReport, alternatives: tuple[RequestReport, ...]) -> str:
    several = len({one.claim for one in report.requests}) > 1
    claim = f"claim {alternatives[0].claim}, " if several else ""
    shown = alternatives if len(alternatives) <= ALTERNATIVES_MAX else alternatives[:1]
    lines = "; or ".join(f"{one.request}: {_line(one)}" for one in shown)
    if len(shown) < len(alternatives):
        lines += f"; nor does any of {len(alternatives) - 1} other alternatives fit"
    pools = "".join(f"; {_pool(trouble)}" for trouble in report.pools)
    return f"{claim}request {lines}{pools}"


def _line(report: RequestReport) -> str:
    parts = [f"{report.free} free"] if report.free else []
    parts += texts_of_request(report, shared=True)
    wanted = "all wanted" if report.wanted == "all" else f"{report.wanted} wanted"
    if not report.devices:
        return f"no devices; {wanted}"
    devices = f"{report.devices} device{'' if report.devices == 1 else 's'}"
    return f"{devices}: {', '.join(parts)}; {wanted}"


def texts_of_request(report: RequestReport, *, shared: bool) -> list[str]:
    """Why devices do not do, each reason with how many they are."""
    return [_without_names(one) if shared else one.text for one in report.exclusions]


def _without_names(exclusion: Exclusion) -> str:
    facts = exclusion.facts
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
