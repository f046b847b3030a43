"""Records what a real kube-apiserver answers to the corpus.

    python -m tests.interop.record [AREA ...]            record, write tests/conformance/server
    python -m tests.interop.record --check [AREA ...]    record, compare, write nothing
    python -m tests.interop.record --kubeconfig FILE     use a server that already runs, fresh

Every recording is played twice, against two fresh servers or in two runs of `--check`: an answer
that differs between them does not belong into the corpus.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.interop.compare import differences
from tests.interop.corpus import AREAS
from tests.interop.endpoint import Endpoint
from tests.interop.player import Player
from tests.interop.recording import RECORDINGS, Recorded, play, read, write
from tests.interop.script import Script
from tests.interop.upstream import Upstream

__all__ = ["record_scripts"]

# Most of the time of a recording is spent waiting for watches to end.
SCRIPTS_AT_ONCE = 8


def record_scripts(endpoint: Endpoint, area: str, scripts: Iterable[Script]) -> list[Recorded]:
    """Answers to scripts. They do not know each other, so several are played at a time."""
    with ThreadPoolExecutor(SCRIPTS_AT_ONCE) as pool:
        return list(pool.map(lambda script: record_script(endpoint, area, script), scripts))


def record_script(endpoint: Endpoint, area: str, script: Script) -> Recorded:
    player = Player(endpoint)
    steps = tuple(script.steps)
    answers = play(player, script.namespace, steps, patient=True)
    player.close()
    failures = [
        f"{area}/{script.name}: {step.title}: {answer['failure']}"
        for step, answer in zip(steps, answers, strict=True)
        if "failure" in answer
    ]
    if failures:
        raise SystemExit("\n".join(["the server did not answer:", *failures]))
    return Recorded(area, script.name, script.namespace, steps, tuple(answers))


def check(area: str, fresh: list[Recorded]) -> int:
    """Prints every answer that is not the recorded one; how many there were."""
    kept = {script.name: script for script in read(area)}
    count = 0
    for script in fresh:
        old = kept.get(script.name)
        if old is None or old.steps != script.steps:
            sys.stdout.write(f"{area}/{script.name}: not recorded as it is now\n")
            count += 1
            continue
        for step, before, now in zip(script.steps, old.answers, script.answers, strict=True):
            for difference in differences(before, now):
                sys.stdout.write(f"{area}/{script.name}: {step.title}: {difference}\n")
                count += 1
    return count


def unique_names(area: str) -> None:
    names = [script.name for script in AREAS[area]()]
    assert len(names) == len(set(names)), f"two scripts of {area} share a name"


def requests(scripts: list[Script] | list[Recorded]) -> int:
    return sum(len(script.steps) for script in scripts)


def main() -> None:
    parser = argparse.ArgumentParser(description="Records what a real kube-apiserver answers.")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--kubeconfig", type=Path, help="a fresh server that already runs")
    options = parser.parse_args()
    for area in options.areas:
        if area not in AREAS:
            parser.error(f"no area {area!r}: choose from {', '.join(AREAS)}")
    server = None if options.kubeconfig else Upstream()
    endpoint = server.endpoint if server else Endpoint.from_kubeconfig(options.kubeconfig)
    RECORDINGS.mkdir(exist_ok=True)
    changed = 0
    try:
        for area in options.areas or AREAS:
            unique_names(area)
            scripts = record_scripts(endpoint, area, AREAS[area]())
            if options.check:
                changed += check(area, scripts)
            else:
                write(area, scripts)
            sys.stdout.write(f"{area}: {len(scripts)} scripts, {requests(scripts)} requests\n")
            sys.stdout.flush()
    finally:
        if server:
            server.stop()
    if changed:
        raise SystemExit(f"{changed} answers are not the recorded ones")


if __name__ == "__main__":
    main()
