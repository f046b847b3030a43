"""Users by number."""

from __future__ import annotations

import pytest

from dray.validation.user_ids import USER_ID_MAX, check_user_id
from tests.unit.validation.builders import told


@pytest.mark.parametrize("number", [None, 0, USER_ID_MAX])
def test_users_have_numbers(number: int | None) -> None:
    assert told(check_user_id, number, "u") == []


@pytest.mark.parametrize("number", [-1, USER_ID_MAX + 1])
def test_numbers_of_users_are_bounded(number: int) -> None:
    assert told(check_user_id, number, "u") == [
        f"u: Invalid value: {number}: must be between 0 and 2147483647, inclusive"
    ]
