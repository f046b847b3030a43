from __future__ import annotations

import pytest

from dray.cel._library.table import merged, of_lists


def test_tables_that_share_a_function_become_one() -> None:
    table = merged([{"size": {str: len}}, {"size": of_lists(len)}])
    assert set(table["size"]) >= {str, list}


def test_two_answers_for_one_type_are_a_mistake() -> None:
    with pytest.raises(AssertionError, match="size is implemented twice"):
        merged([{"size": {str: len}}, {"size": {str: len}}])
