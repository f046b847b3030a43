"""Slices, classes, taint rules and pool requests against recordings of upstream, text by text."""

from __future__ import annotations

import pytest

from tests.conformance.validation_cases import difference, read_cases

RECORDINGS = ("slices", "slice-updates", "classes", "taint-rules", "pool-requests")


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS)
def test_errors_are_upstreams_word_for_word(recording: str) -> None:
    cases = list(read_cases(recording))
    assert sum(bool(case.texts) for case in cases) > 100
    assert [found for case in cases if (found := difference(case))] == []
