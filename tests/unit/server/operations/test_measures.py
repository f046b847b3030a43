from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dray.server.operations.measures import Distribution


def test_a_value_at_a_bound_is_below_it() -> None:
    values = Distribution((1.0, 2.0))
    values.add(1.0)
    assert values.buckets() == [("1", 1.0), ("2", 1.0), ("+Inf", 1.0)]


def test_bounds_are_written_as_go_writes_them() -> None:
    assert [name for name, _ in Distribution((0.005, 1.25, 1000, 1e9)).buckets()] == [
        "0.005",
        "1.25",
        "1000",
        "1e+09",
        "+Inf",
    ]


@given(st.lists(st.floats(0, 10)))
def test_buckets_count_what_is_at_or_below_their_bound(values: list[float]) -> None:
    bounds = (0.5, 1.0, 5.0)
    distribution = Distribution(bounds)
    for value in values:
        distribution.add(value)
    told = [count for _name, count in distribution.buckets()]
    assert told == [*(sum(v <= bound for v in values) for bound in bounds), len(values)]
    assert distribution.count == len(values)
    assert distribution.total == sum(values)
