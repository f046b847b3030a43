"""Plays the corpus against a real server and dray's at the same time, and ranks the differences.

    python -m tests.interop.live [AREA ...]        the corpus as it is now, recorded or not
    python -m tests.interop.live --seed 7 hostile  damage at other places than the recorded ones

Unlike `replay` this needs the real server, and finds what the recordings do not hold.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import partial

from tests.interop.compare import differences
from tests.interop.corpus import AREAS
from tests.interop.corpus.hostile import hostile
from tests.interop.corpus.sequences import sequences
from tests.interop.dray_server import DrayServer
from tests.interop.endpoint import Endpoint
from tests.interop.player import Player
from tests.interop.record import record_scripts
from tests.interop.recording import play
from tests.interop.replay import Report
from tests.interop.script import Script
from tests.interop.upstream import Upstream

__all__: list[str] = []


def compare(real: Endpoint, ours: Endpoint, area: str, scripts: Iterable[Script]) -> Report:
    player = Player(ours)
    report = Report()
    for recorded in record_scripts(real, area, scripts):
        events = tuple(
            len(answer["events"]) if "events" in answer else None for answer in recorded.answers
        )
        answers = play(player, recorded.namespace, recorded.steps, events=events)
        for index, got in enumerate(answers):
            report.add(recorded, index, differences(recorded.answers[index], got), counted=True)
    player.close()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.interop.live")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    parser.add_argument("--seed", type=int, help="for the areas hostile and sequences")
    parser.add_argument(
        "--limit", type=int, default=25, help="how many kinds of difference to show"
    )
    options = parser.parse_args()
    makers = dict(AREAS)
    if options.seed is not None:
        makers["hostile"] = partial(hostile, options.seed)
        makers["sequences"] = partial(sequences, options.seed)
    for area in options.areas:
        if area not in makers:
            parser.error(f"no area {area!r}: choose from {', '.join(makers)}")
    real, ours = Upstream(), DrayServer()
    try:
        for area in options.areas or makers:
            compare(real.endpoint, ours.endpoint, area, makers[area]()).show(options.limit)
    finally:
        ours.stop()
        real.stop()


if __name__ == "__main__":
    main()
