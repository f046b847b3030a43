"""Requests that ask for the same, one after the other.

If two requests are alike, exchanging their devices changes nothing, so of two solutions that differ
only in that, the search needs to see the first: the one where the earlier request has the earlier
device. The later one may therefore start where the earlier one stands.
"""

from __future__ import annotations

from dray.allocator.requests import Stage, Want
from dray.allocator.solver.problem import Problem

__all__ = ["twins"]


def twins(problem: Problem, stages: tuple[Stage, ...]) -> tuple[bool, ...]:
    """For each stage, whether it is like the one before it.

    Only stages of one device count: what is remembered of failed states knows where the current
    request stands, and nothing about those before.
    """
    return tuple(
        position > 0 and _alike(problem, stages[position - 1], stage)
        for position, stage in enumerate(stages)
    )


def _alike(problem: Problem, one: Stage, other: Stage) -> bool:
    if one.prioritized or other.prioritized:
        return False
    (first,), (second,) = one.wants, other.wants
    if not _asks_the_same(first, second):
        return False
    if first.claim_index == second.claim_index:
        scopes = [problem.views[want.index].scope for want in (first, second)]
        return scopes[0] == scopes[1]
    # In claims of their own they have constraints of their own, which look at nothing else.
    requests = [want.claim.spec.devices for want in (first, second)]
    return (
        all(len(each.requests or ()) == 1 for each in requests)
        and first.name == second.name
        and requests[0].constraints == requests[1].constraints
    )


def _asks_the_same(one: Want, other: Want) -> bool:
    return (
        one.count == other.count == 1
        and not one.admin_access
        and not other.admin_access
        and one.device_class is other.device_class
        and one.selectors == other.selectors
        and one.tolerations == other.tolerations
        and dict(one.capacity) == dict(other.capacity)
        and dict(one.derived_attributes) == dict(other.derived_attributes)
    )
