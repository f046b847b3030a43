"""Metrics as Prometheus reads them."""

from __future__ import annotations

from dray.metrics import SERIES_MAX, Family, Histogram, render


def test_a_counter_without_labels_is_there_from_the_start() -> None:
    family = Family("things_total", "Things.", kind="counter")
    family.add()
    assert render([family]) == (
        b"# HELP things_total Things.\n# TYPE things_total counter\nthings_total 1\n"
    )


def test_labels_are_shown_in_order_and_escaped() -> None:
    family = Family("things", "Things.", kind="gauge", labels=["a", "b"])
    family.set(1.5, 'x"\\', "y\n")
    assert list(family.lines({"node": "n1"}))[2:] == [
        'things{node="n1",a="x\\"\\\\",b="y\\n"} 1.5',
    ]


def test_values_that_are_replaced_leave_no_others() -> None:
    family = Family("things", "Things.", kind="gauge", labels=["a"])
    family.set(1, "old")
    family.replace({("new",): 2})
    assert list(family.lines({}))[2:] == ['things{a="new"} 2']


def test_buckets_add_up() -> None:
    histogram = Histogram("took", "Seconds.", buckets=[1, 2], labels=["a"])
    for value in (0.5, 1, 1.5, 9):
        histogram.observe(value, "x")
    assert list(histogram.lines({}))[2:] == [
        'took_bucket{a="x",le="1"} 2',
        'took_bucket{a="x",le="2"} 3',
        'took_bucket{a="x",le="+Inf"} 4',
        'took_sum{a="x"} 12',
        'took_count{a="x"} 4',
    ]


def test_names_without_end_are_counted_together() -> None:
    family = Family("things_total", "Things.", kind="counter", labels=["a"])
    for number in range(SERIES_MAX + 10):
        family.add(str(number))
    lines = list(family.lines({}))[2:]
    assert len(lines) == SERIES_MAX + 1
    assert 'things_total{a="other"} 10' in lines
