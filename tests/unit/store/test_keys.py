from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.store import keys
from dray.store.keys import SortedKeys, end_of

texts = st.text(alphabet="ab/\U0010ffff\ud7ff", max_size=4)


@given(st.text(), st.text())
def test_the_end_of_a_prefix_comes_right_after_all_that_start_with_it(a: str, b: str) -> None:
    end = end_of(a)
    inside = a <= b and (end is None or b < end)
    assert inside == b.startswith(a)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.booleans(), texts)),
    st.sets(texts),
    texts,
    st.none() | texts,
    st.integers(min_value=0, max_value=5),
)
def test_keys_are_a_sorted_set(
    changes: list[tuple[bool, str]], start: set[str], low: str, high: str | None, limit: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "RUN_KEYS_MAX", 4)  # so that runs split and vanish
        found = SortedKeys(start)
        model = set(start)
        for adding, key in changes:
            if adding and key not in model:
                found.add(key)
                model.add(key)
            elif not adding and key in model:
                found.remove(key)
                model.remove(key)
        wanted = [k for k in sorted(model) if k >= low and (high is None or k < high)]
        assert found.within(low, high) == wanted
        assert found.within(low, high, limit) == (wanted[:limit] if limit else wanted)
        assert found.count(low, high) == len(wanted)
        assert len(found) == len(model)


def test_adding_in_order_keeps_runs_short() -> None:
    found = SortedKeys()
    for n in range(5000):
        found.add(f"{n:05}")
    assert max(map(len, found._runs)) <= keys.RUN_KEYS_MAX
    assert found.within("02500", None, 2) == ["02500", "02501"]
