from __future__ import annotations

import pytest

from dray.api.semver import Semver
from dray.cel import Environment, Reference, Selector, compile_selector, conjuncts
from dray.cel._conjuncts import Conjunct
from dray.cel._retyping import literals, retyped
from dray.cel._rewrites import apply
from dray.cel._spans import Spans

A = 'device.attributes["d"]'
X = Reference("attributes", "d", "x")


def only_conjunct(text: str) -> Conjunct:
    (found,) = conjuncts(Selector(compile_selector(text, Environment(stored=True))))
    return found


@pytest.mark.parametrize(
    ("text", "kind", "instead"),
    [
        (f'{A}.x == "1.2"', Semver, f'{A}.x == semver("1.2.0")'),
        (f'{A}.x > "1.2"', Semver, f'{A}.x.compareTo(semver("1.2.0")) > 0'),
        (f"1 < {A}.x", Semver, f'{A}.x.compareTo(semver("1.0.0")) > 0'),
        (f'{A}.x in ["1.0.0", "2"]', Semver, f'{A}.x in [semver("1.0.0"), semver("2.0.0")]'),
        (f'{A}.x > "10"', int, f"{A}.x > 10"),
        (f"{A}.x == 10", str, f'{A}.x == "10"'),
        (f'{A}.x == "True"', bool, f"{A}.x == true"),
        (f"{A}.x == null", int, f"!has({A}.x)"),
        (f"{A}.x != null || {A}.y == 1", int, f"has({A}.x) || {A}.y == 1"),
        (f'{A}.?x.orValue("") == 1', str, f'{A}.?x.orValue("") == "1"'),
        (f'{A}.x == "much"', int, f'{A}.x == "much"'),
    ],
)
def test_constants_get_the_type_of_the_place(text: str, kind: type, instead: str) -> None:
    assert apply(text, retyped(only_conjunct(text), Spans(text), X, kind)) == instead


def test_constants_are_found_with_their_places() -> None:
    text = f'{A}.x == 1 || "b" == {A}.y || {A}.z in [2, 3] || {A}.x == {A}.y'
    assert [(one.name, value, text[at]) for one, value, at in literals(only_conjunct(text))] == [
        ("x", 1, "1"),
        ("y", "b", '"'),
        ("z", 2, "2"),
        ("z", 3, "3"),
    ]
