"""Clients that mean harm do not keep a server from answering others, and leave nothing behind.

The attacks are those of tests/fuzz/hostile.py, smaller. How long others wait is measured there;
here it is enough that they are answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.fuzz.hostile import Target, attack

pytestmark = pytest.mark.slow

SIZES = {
    "half-open": 50,
    "slow-heads": 20,
    "large-heads": 5,
    "resets": 10,
    "writers": 20,
    "storm": 30,
    "slow-watches": 5,
    "heavy": 1,
}


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with Target() as server:
        yield server


@pytest.mark.parametrize("name", SIZES)
def test_others_are_answered_during_an_attack(target: Target, name: str) -> None:
    report = asyncio.run(attack(target, name, SIZES[name]))
    assert report.waits, "the probe asked, and each of its requests was answered"
    assert report.files_after <= report.files_before, "the server noticed that they are gone"
    assert "Traceback" not in target.log
