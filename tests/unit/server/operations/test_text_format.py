from __future__ import annotations

from dray.server.operations.measures import Distribution
from dray.server.operations.text_format import Family, Page


def test_a_family_has_its_help_its_type_and_its_samples() -> None:
    page = Page()
    family = Family("requests_total", "counter", "All of them.", ("code",))
    page.family(family, [(("200",), 3), (("500",), 0.5)])
    assert page.encode().decode() == (
        "# HELP requests_total All of them.\n"
        "# TYPE requests_total counter\n"
        'requests_total{code="200"} 3\n'
        'requests_total{code="500"} 0.5\n'
    )


def test_a_sample_without_labels_has_no_braces() -> None:
    page = Page()
    page.family(Family("up", "gauge", "Whether."), [((), 1)])
    assert page.encode().endswith(b"\nup 1\n")


def test_a_histogram_has_buckets_a_sum_and_a_count() -> None:
    values = Distribution((1.0, 2.0))
    values.add(1.5)
    page = Page()
    page.histogram(Family("seconds", "histogram", "How long.", ("verb",)), [(("GET",), values)])
    assert page.encode().decode().splitlines()[2:] == [
        'seconds_bucket{verb="GET",le="1"} 0',
        'seconds_bucket{verb="GET",le="2"} 1',
        'seconds_bucket{verb="GET",le="+Inf"} 1',
        'seconds_sum{verb="GET"} 1.5',
        'seconds_count{verb="GET"} 1',
    ]


def test_a_value_cannot_end_its_label_or_its_line() -> None:
    page = Page()
    page.family(Family("x", "gauge", "Two\nlines."), [])
    page.family(Family("y", "gauge", "", ("l",)), [(('a"b\\c\nd',), 1)])
    lines = page.encode().decode().splitlines()
    assert lines[0] == "# HELP x Two\\nlines."
    assert lines[-1] == 'y{l="a\\"b\\\\c\\nd"} 1'
