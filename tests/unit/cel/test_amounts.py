from __future__ import annotations

import pytest

from dray.cel._amounts import amount_in, has_wrong_amounts, version_in, wrong_amounts
from dray.cel._spans import Spans


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("40Gi", "40Gi"),
        ("40GB", "40G"),
        ("40 GiB", "40Gi"),
        ("40gi", "40Gi"),
        ("1.5k", "1.5k"),
        ("100m", "100m"),
        ("40x", None),
        ("lots", None),
        ("40*1024", None),
    ],
)
def test_an_amount_is_read_as_it_was_meant(text: str, meant: str | None) -> None:
    assert amount_in(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"), [("1", "1.0.0"), ("v1.4", "1.4.0"), ("1.2.3", "1.2.3"), ("new", None)]
)
def test_a_version_is_read_as_it_was_meant(text: str, meant: str | None) -> None:
    assert version_in(text) == meant


def test_only_constants_that_fail_are_found() -> None:
    spans = Spans('quantity("1Gi") == quantity("1GiB") && semver(x) == semver("1")')
    assert [(one.text, one.meant) for one in wrong_amounts(spans)] == [
        ('"1GiB" is no quantity: write "1Gi"', "1Gi"),
        ('"1" is no semantic version: write "1.0.0"', "1.0.0"),
    ]
    assert [spans.word(one.token) for one in wrong_amounts(spans)] == ['"1GiB"', '"1"']
    assert has_wrong_amounts('quantity("much")')
    assert not has_wrong_amounts('quantity("1")')
