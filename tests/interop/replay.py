"""Plays the recordings against a server and says where it differs from the real one.

    python -m tests.interop.replay                              against `dray server`, started here
    python -m tests.interop.replay --kubeconfig FILE [--url U]  against a server that runs, fresh
    python -m tests.interop.replay --area writes --script 'crud-pods'
    python -m tests.interop.replay --first                      only the first difference of each
    python -m tests.interop.replay --write-open                 list what differs in open.txt
    python -m tests.interop.replay --step 'crud-pods: update'   all about the steps of that name

Without `--step` it prints kinds of difference, the most frequent first, each with examples: one
cause usually shows up under many kinds. Exits with 1 when anything differs that is not deliberate.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.interop.allowed import undeliberate
from tests.interop.compare import Difference, differences
from tests.interop.dray_server import DrayServer
from tests.interop.endpoint import Endpoint
from tests.interop.player import Player
from tests.interop.recording import OPEN, Recorded, areas, play, read

__all__ = ["Report"]

EXAMPLES_MAX = 3


class Report:
    """Differences by kind, and by step for whoever wants all of one."""

    def __init__(self) -> None:
        self.steps = 0
        self.same = 0
        self.deliberate = 0
        self.open: set[str] = set()
        self.by_sort: dict[str, list[tuple[str, Difference]]] = defaultdict(list)
        self.by_area: dict[str, list[int]] = defaultdict(lambda: [0, 0])

    def add(self, script: Recorded, index: int, found: list[Difference], *, counted: bool) -> None:
        step = script.steps[index]
        where = f"{script.name}: {step.title}"
        real = undeliberate(script, step, found)
        self.steps += 1
        self.by_area[script.area][0] += 1
        if not real:
            self.same += not found
            self.deliberate += bool(found)
            self.by_area[script.area][1] += 1
            return
        self.open.add(f"{script.area}/{script.name}")
        if counted:
            for sort in dict.fromkeys(one.sort for one in real):
                example = next(one for one in real if one.sort == sort)
                self.by_sort[sort].append((f"{where} ({step.method} {step.path})", example))

    def show(self, limit: int) -> None:
        ranked = sorted(self.by_sort.items(), key=lambda item: -len(item[1]))
        for sort, examples in ranked[:limit]:
            say(f"{len(examples):5}  {sort}")
            for where, difference in examples[:EXAMPLES_MAX]:
                say(f"         {where}")
                say(f"           {difference}")
        if len(ranked) > limit:
            say(f"       … {len(ranked) - limit} more kinds of difference")
        for area, (steps, good) in self.by_area.items():
            say(f"{area:12} {good:5} of {steps:5} answers as recorded")
        say(
            f"{self.same + self.deliberate} of {self.steps} answers as recorded, "
            f"{self.deliberate} of them with deliberate differences"
        )


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def show_step(script: Recorded, index: int, got: dict[str, Any]) -> None:
    step, expected = script.steps[index], script.answers[index]
    say(f"=== {script.area}/{script.name}: {step.title}")
    say(json.dumps(step.as_data(), indent=1))
    say("--- expected")
    say(json.dumps(expected, indent=1))
    say("--- differences")
    for difference in differences(expected, got):
        say(str(difference))


def replay(endpoint: Endpoint, options: argparse.Namespace) -> Report:
    report = Report()
    player = Player(endpoint)
    for area in options.area or areas():
        for script in read(area):
            if not fnmatch(script.name, options.script):
                continue
            events = tuple(
                len(answer["events"]) if "events" in answer else None for answer in script.answers
            )
            answers = play(
                player, script.namespace, script.steps, events=events, patient=options.patient
            )
            clean = True
            for index, got in enumerate(answers):
                found = differences(script.answers[index], got)
                report.add(script, index, found, counted=clean or not options.first)
                clean = clean and not found
                name = f"{script.name}: {script.steps[index].title}"
                if options.step and fnmatch(name, options.step):
                    show_step(script, index, got)
    player.close()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares a server with the recordings.")
    parser.add_argument("--kubeconfig", type=Path, help="of the server; without it one is started")
    parser.add_argument("--url", help="where it answers, if not where the kubeconfig says")
    parser.add_argument("--area", action="append", choices=areas(), help="only this area")
    parser.add_argument("--script", default="*", help="only scripts of this name (a pattern)")
    parser.add_argument("--step", help="show all about steps of this name (a pattern)")
    parser.add_argument("--first", action="store_true", help="count a script's first difference")
    parser.add_argument(
        "--limit", type=int, default=25, help="how many kinds of difference to show"
    )
    parser.add_argument("--write-open", action="store_true", help="list what differs in open.txt")
    parser.add_argument("--patient", action="store_true", help="wait for caches, as recording does")
    options = parser.parse_args()
    server = None if options.kubeconfig else DrayServer()
    try:
        endpoint = (
            server.endpoint
            if server
            else Endpoint.from_kubeconfig(options.kubeconfig, url=options.url)
        )
        report = replay(endpoint, options)
    finally:
        if server:
            server.stop()
    report.show(options.limit)
    if options.write_open:
        OPEN.write_text("".join(f"{name}\n" for name in sorted(report.open)))
    if report.same + report.deliberate < report.steps:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
