"""Checks are listed in the order in which they are written."""

from __future__ import annotations

from typing import cast

from dray.conform.bench import Bench
from dray.conform.check import Checks
from dray.conform.runner import CHECKS


def test_a_check_is_listed_under_its_sentence_and_stays_what_it_was() -> None:
    check = Checks("Area")

    @check("the first", rule="because")
    async def first(bench: Bench) -> None:
        del bench

    @check("the second", must=False)
    async def second(bench: Bench) -> None:
        del bench

    one, other = check.listed
    assert (one.area, one.claim, one.rule, one.must) == ("Area", "the first", "because", True)
    assert (other.claim, other.must) == ("the second", False)
    assert [one.run, other.run] == [first, second]
    assert cast("object", first) is not second


def test_every_sentence_is_there_once() -> None:
    claims = [check.claim for check in CHECKS]
    assert len(claims) == len(set(claims))
