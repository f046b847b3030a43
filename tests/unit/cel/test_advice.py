from __future__ import annotations

import pytest

from dray.cel import Environment, compile_selector
from dray.cel._advice import Advice, advice
from dray.cel._rewrites import apply
from dray.cel._vocabulary import Vocabulary

M = 'device.capacity["d.io"].memory'


def given(text: str) -> Advice | None:
    return advice(compile_selector(text, Environment()), Vocabulary([]))


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (f"{M} > 1", f'{M}.isGreaterThan(quantity("1"))'),
        (f'"1Gi" <= {M}', f'{M}.compareTo(quantity("1Gi")) >= 0'),
        (f"{M} >= 2 * 3", f"{M}.asInteger() >= 2 * 3"),
        ("device.driver == abc", 'device.driver == "abc"'),
        ("drivr.driver == 'x'", "device.driver == 'x'"),
        ("device.driver.startswith('x')", "device.driver.startsWith('x')"),
    ],
)
def test_edits_mend_the_first_mistake(text: str, mended: str) -> None:
    found = given(text)
    assert found is not None
    assert apply(text, found.edits) == mended
    assert compile_selector(mended, Environment()).ok


@pytest.mark.parametrize("text", ["device.driver", f"{M}.value > 1", "has(device)", ""])
def test_some_mistakes_get_words_only(text: str) -> None:
    found = given(text)
    assert found is not None
    assert found.text
    assert found.edits == ()


def test_what_nobody_recognises_gets_nothing() -> None:
    assert given("1 + 'a' == 'b'") is None
