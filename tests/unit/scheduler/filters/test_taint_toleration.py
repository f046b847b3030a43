"""Tainted nodes."""

from __future__ import annotations

import pytest

from dray.api.core import Taint, Toleration
from dray.scheduler.filters.filter import Rejection
from tests.unit.scheduler.builders import ask, info, node, snapshot

REFUSED = Rejection("TaintToleration", ("node(s) had untolerated taint(s)",), resolvable=False)


@pytest.mark.parametrize(
    ("effect", "expected"),
    [("NoSchedule", REFUSED), ("NoExecute", REFUSED), ("PreferNoSchedule", None)],
)
def test_taints_keep_away_by_their_effect(effect: str, expected: Rejection | None) -> None:
    assert ask(snapshot(node("n", taints=(Taint(key="a", effect=effect),))), info()) == expected


def test_a_tolerated_taint_keeps_nobody_away() -> None:
    cluster = snapshot(node("n", taints=(Taint(key="a", value="b", effect="NoSchedule"),)))
    assert ask(cluster, info(tolerations=(Toleration(key="a", value="b"),))) is None
    assert ask(cluster, info(tolerations=(Toleration(key="a", value="c"),))) == REFUSED
