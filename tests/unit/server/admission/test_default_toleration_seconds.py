from __future__ import annotations

import pytest

from dray.api.core import Toleration
from dray.server.admission.default_toleration_seconds import DefaultTolerationSeconds
from tests.unit.server.admission.builders import PODS, create, pod

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"


@pytest.mark.parametrize(
    ("given", "added"),
    [
        pytest.param((), [NOT_READY, UNREACHABLE], id="nothing-said"),
        pytest.param((Toleration(key="a"),), [NOT_READY, UNREACHABLE], id="something-else"),
        pytest.param((Toleration(key=NOT_READY),), [UNREACHABLE], id="one-of-the-two"),
        pytest.param((Toleration(operator="Exists"),), [], id="everything"),
        pytest.param(
            (Toleration(operator="Exists", effect="NoSchedule"),),
            [NOT_READY, UNREACHABLE],
            id="everything-of-another-effect",
        ),
    ],
)
def test_a_pod_gets_the_tolerations_it_says_nothing_about(
    given: tuple[Toleration, ...], added: list[str]
) -> None:
    admitted = DefaultTolerationSeconds().admit(create(PODS, pod(tolerations=given)))
    tolerations = admitted.spec.tolerations
    assert tolerations[: len(given)] == given
    assert [one.key for one in tolerations[len(given) :]] == added
    assert all(one.toleration_seconds == 300 for one in tolerations[len(given) :])


def test_the_seconds_can_be_set() -> None:
    plugin = DefaultTolerationSeconds(not_ready_seconds=1, unreachable_seconds=2)
    admitted = plugin.admit(create(PODS, pod()))
    assert [one.toleration_seconds for one in admitted.spec.tolerations] == [1, 2]


def test_a_pod_that_has_both_stays_the_very_same() -> None:
    request = create(PODS, pod(tolerations=(Toleration(operator="Exists"),)))
    assert DefaultTolerationSeconds().admit(request) is request.object
