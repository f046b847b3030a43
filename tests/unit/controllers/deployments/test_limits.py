"""How far rollouts may go."""

from __future__ import annotations

import pytest

from dray.controllers.deployments.limits import max_surge, max_unavailable, wanted_replicas
from tests.unit.controllers.deployments.deployment_parts import make_deployment


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "limits"),
    [
        pytest.param(10, 3, 2, (3, 2), id="numbers"),
        pytest.param(10, "25%", "25%", (3, 2), id="more-up-less-down"),
        pytest.param(2, "0%", "1%", (0, 1), id="never-nothing"),
        pytest.param(3, 0, 9, (0, 3), id="no-more-than-there-are"),
        pytest.param(0, "25%", "25%", (0, 0), id="of-none"),
    ],
)
def test_shares_are_of_the_wanted_number(
    replicas: int, surge: int | str, unavailable: int | str, limits: tuple[int, int]
) -> None:
    deployment = make_deployment(replicas, surge=surge, unavailable=unavailable)
    assert (max_surge(deployment), max_unavailable(deployment)) == limits


def test_what_is_recreated_has_no_limits() -> None:
    deployment = make_deployment(strategy="Recreate")
    assert (max_surge(deployment), max_unavailable(deployment)) == (0, 0)
    assert wanted_replicas(deployment) == 10
