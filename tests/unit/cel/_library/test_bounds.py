from __future__ import annotations

import pytest

from dray.cel._failures import Abort
from dray.cel._library.bounds import SIZE_MAX, within


def test_a_value_may_be_as_large_as_the_budget_allows() -> None:
    assert within(SIZE_MAX) == SIZE_MAX


def test_a_larger_value_ends_the_evaluation() -> None:
    with pytest.raises(Abort, match="operation cancelled: actual cost limit exceeded"):
        within(SIZE_MAX + 1)
