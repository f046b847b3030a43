"""Which taints keep a pod away."""

from __future__ import annotations

import pytest

from dray.api.core import Taint, Toleration
from dray.scheduler.tolerations import tolerated, untolerated

HARD = Taint(key="a", value="1", effect="NoSchedule")
EVICTING = Taint(key="b", effect="NoExecute")
ADVICE = Taint(key="c", effect="PreferNoSchedule")


@pytest.mark.parametrize(
    ("tolerations", "left"),
    [
        pytest.param((), HARD, id="none"),
        pytest.param((Toleration(key="a", value="1"),), EVICTING, id="one"),
        pytest.param((Toleration(key="a", value="2"),), HARD, id="another-value"),
        pytest.param((Toleration(key="a", operator="Lt", value="2"),), EVICTING, id="less"),
        pytest.param((Toleration(operator="Exists"),), None, id="all"),
        pytest.param((Toleration(operator="Exists", effect="NoExecute"),), HARD, id="one-effect"),
    ],
)
def test_the_first_taint_not_tolerated_keeps_away(
    tolerations: tuple[Toleration, ...], left: Taint | None
) -> None:
    assert untolerated((ADVICE, HARD, EVICTING), tolerations) == left


def test_advice_keeps_nobody_away() -> None:
    assert untolerated((ADVICE,), ()) is None
    assert not tolerated(ADVICE, ())
