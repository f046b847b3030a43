"""Dray's API server gives the answers that a real kube-apiserver gave.

The recordings beside this file hold requests and normalised answers; tests/interop wrote them and
plays them. To see what differs, ranked, run `python -m tests.interop.replay`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.allowed import undeliberate
from tests.interop.dray_server import DrayServer, has_server
from tests.interop.player import Player
from tests.interop.recording import Recorded, areas, open_scripts, read, replay

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_server(), reason="this dray has no server command"),
]

SHOWN_MAX = 20


@pytest.fixture(scope="module")
def player() -> Iterator[Player]:
    with DrayServer() as endpoint:
        player = Player(endpoint)
        yield player
        player.close()


def scripts() -> Iterator[object]:
    """Every recorded script; those listed in open.txt are known to be answered otherwise so far."""
    known = open_scripts()
    for area in areas():
        for script in read(area):
            name = f"{area}/{script.name}"
            marks = [pytest.mark.xfail(reason="listed in open.txt")] if name in known else []
            yield pytest.param(script, id=name, marks=marks)


@pytest.mark.parametrize("script", list(scripts()))
def test_a_script_is_answered_as_recorded(player: Player, script: Recorded) -> None:
    found = [
        f"{step.title}: {difference}"
        for step, differences in zip(script.steps, replay(player, script), strict=True)
        for difference in undeliberate(script, step, differences)
    ]
    assert not found[:SHOWN_MAX]
