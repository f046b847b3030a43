"""How a node's process looks for garbage."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from dray.agent.garbage import THRESHOLDS, keep_what_is_there


class Ring:
    """Refers to itself, so that only a search frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_what_is_there_is_not_searched_again_but_what_comes_is() -> None:
    keep_what_is_there()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == THRESHOLDS
    ring = weakref.ref(Ring())
    gc.collect()
    assert ring() is None


def test_what_is_garbage_by_then_is_not_kept() -> None:
    ring = weakref.ref(Ring())
    keep_what_is_there()
    assert ring() is None
