"""Selectors without some of their conditions."""

from __future__ import annotations

import pytest

from dray.allocator.explain.expressions import without
from dray.cel import conjuncts
from tests.unit.allocator.reporting import allocator

A = 'device.driver == "a"'
B = 'device.driver != "b"'
C = "device.allowMultipleAllocations"
D = 'device.attributes["d"].model'


def dropped(expression: str, *numbers: int) -> str | None:
    selectors = allocator().selectors
    selector = selectors.selector(expression).selector
    assert selector is not None
    parts = [conjuncts(selector)[number] for number in numbers]
    return without(selector, parts, lambda text: selectors.selector(text).selector)


@pytest.mark.parametrize(
    ("expression", "numbers", "rest"),
    [
        (f"{A} && {B}", (0,), B),
        (f"{A} && {B}", (1,), A),
        (f"{A} && {B} && {C}", (1,), f"{A} && {C}"),
        (f"{A} &&\n  {B} &&\n  {C}", (1,), f"{A} &&\n  {C}"),
        (f"{A} && {B} && {C}", (0, 2), B),
        (f"{A} && {B} && {C}", (0, 1, 2), "true"),
        (A, (0,), "true"),
        (f"({A}) && {B}", (0,), B),
        (f"({A} && {B}) && {C}", (1,), f"{A} && {C}"),
        (f"({A} && {B}) && {C}", (0,), f"{B} && {C}"),
        (f"({A} && {B}) && {C}", (0, 1), C),
        (f"(({A} || {B}) && {C}) && {B}", (1,), f"({A} || {B}) && {B}"),
        (f"({A} && {B} && {C})", (1,), f"({A} && {C})"),
        (f'cel.bind(m, {D}, m != "x" && m == "y")', (1,), f'cel.bind(m, {D}, m != "x")'),
        (f'{A} && cel.bind(m, {D}, m != "x" && m == "y")', (1, 2), A),
        (f'cel.bind(m, {D}, (m != ")")) && {A}', (0,), A),
        (f'cel.bind(m, {D}, cel.bind(n, m, n == "x")) && {A}', (0,), A),
        (f'cel.bind(m, {D}, cel.bind(n, m, n == "x") && m == "y")', (0,), None),
    ],
)
def test_a_condition_goes_with_what_is_there_for_it(
    expression: str, numbers: tuple[int, ...], rest: str | None
) -> None:
    expected = rest if rest is not None else f'cel.bind(m, {D}, m == "y")'
    assert dropped(expression, *numbers) == expected


def test_comments_stay_and_true_takes_the_place_of_a_condition() -> None:
    assert dropped(f"{A} && // why &&\n{B}", 1) == f"{A} && // why &&\ntrue"


def test_texts_that_look_alike_are_told_apart_by_their_place() -> None:
    assert dropped(f"{A} && {B} && {A}", 2) == f"{A} && {B}"
    assert dropped(f"{A} && {B} && {A}", 0) == f"{B} && {A}"
