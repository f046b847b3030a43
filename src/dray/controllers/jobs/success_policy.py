"""Whether enough of a job is done before all of it is. Upstream's: success_policy.go."""

from __future__ import annotations

from dray.api.batch import SuccessPolicy, SuccessPolicyRule
from dray.controllers.jobs.indexes import Indexes

__all__ = ["met_rule"]


def met_rule(policy: SuccessPolicy | None, completions: int, succeeded: Indexes) -> int | None:
    """The index of the first rule that is met."""
    if policy is None or not succeeded:
        return None
    for index, rule in enumerate(policy.rules or ()):
        if _is_met(rule, completions, succeeded):
            return index
    return None


def _is_met(rule: SuccessPolicyRule, completions: int, succeeded: Indexes) -> bool:
    count = rule.succeeded_count
    if rule.succeeded_indexes is None:
        return count is not None and len(succeeded) >= count
    required = Indexes.parse(rule.succeeded_indexes, completions)
    if not required:
        return False
    found = required.overlap_count(succeeded)
    return found == len(required) or (count is not None and found >= count)
