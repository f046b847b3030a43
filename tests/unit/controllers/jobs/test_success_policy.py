"""When enough is done."""

from __future__ import annotations

import pytest

from dray.api.batch import SuccessPolicy, SuccessPolicyRule
from dray.controllers.jobs.indexes import Indexes
from dray.controllers.jobs.success_policy import met_rule


@pytest.mark.parametrize(
    ("indexes", "count", "succeeded", "met"),
    [
        pytest.param("0-2", None, "0-2", True, id="all-listed"),
        pytest.param("0-2", None, "0,1", False, id="one-missing"),
        pytest.param("0-2", 2, "1,2,7", True, id="enough-of-the-listed"),
        pytest.param("0-2", 2, "1,7,8", False, id="not-enough-of-the-listed"),
        pytest.param(None, 2, "7,8", True, id="enough-of-any"),
        pytest.param(None, 3, "7,8", False, id="not-enough-of-any"),
        pytest.param("x", 1, "1", False, id="unreadable"),
        pytest.param(None, 1, "", False, id="nothing-done"),
    ],
)
def test_a_rule_is_met_by_indexes_or_their_number(
    indexes: str | None, count: int | None, succeeded: str, met: bool
) -> None:
    rule = SuccessPolicyRule(succeeded_indexes=indexes, succeeded_count=count)
    policy = SuccessPolicy(rules=(rule,))
    assert met_rule(policy, 10, Indexes.parse(succeeded, 10)) == (0 if met else None)


def test_the_first_rule_that_is_met_is_named() -> None:
    rules = tuple(SuccessPolicyRule(succeeded_count=count) for count in (5, 2, 1))
    assert met_rule(SuccessPolicy(rules=rules), 10, Indexes.of([1, 2])) == 1
    assert met_rule(None, 10, Indexes.of([1, 2])) is None
