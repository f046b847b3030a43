from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pytest

from dray.api.core import LimitRange
from dray.api.meta import Object
from dray.server.admission import listing
from dray.server.admission.listing import Listing
from dray.server.state import FixedState
from tests.unit.server.admission.builders import limit_range

O = TypeVar("O", bound=Object)  # noqa: E741


class Counting(FixedState):
    """Counts how often it is walked."""

    walks = 0

    def list(self, kind: type[O], namespace: str = "") -> Sequence[O]:
        self.walks += 1
        return super().list(kind, namespace)


def test_a_namespace_is_listed_once_while_nothing_changes() -> None:
    state = Counting(limit_range("a"))
    found = Listing(state, LimitRange)
    assert [one.metadata.name for one in found.of("ns")] == ["a"]
    assert found.of("ns") == found.of("ns")
    assert found.of("other") == ()
    assert state.walks == 2


def test_a_change_is_seen_at_once() -> None:
    state = Counting()
    found = Listing(state, LimitRange)
    assert found.of("ns") == ()
    state.put(limit_range("a"))
    assert len(found.of("ns")) == 1


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "NAMESPACES_REMEMBERED_MAX", 2)
    state = Counting()
    found = Listing(state, LimitRange)
    for name in ("a", "b", "c", "c"):
        found.of(name)
    assert state.walks == 3
    found.of("a")
    assert state.walks == 4, "forgotten when the bound was reached"
